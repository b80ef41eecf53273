import type { StreamName } from '../../shared/catalog/events/envelope';
import { isOutage } from '../../shared/kernel/errors';
import type { EventStore } from '../../shared/ports/event-store';

/** Per log, the end of each stream's queue of writers. */
const queues = new WeakMap<EventStore, Map<StreamName, Promise<void>>>();

/**
 * Runs the writes to one stream of this process one after the other. The expected revision alone keeps them
 * correct; this keeps writers of one process from spending each other's retries. Where the store is away, those that
 * wait fail with the one whose turn it is: one after the other they would wait for ever longer. Never nest for the
 * same stream.
 */
export async function inTurn<Result>(
  events: EventStore,
  stream: StreamName,
  work: () => Promise<Result>,
): Promise<Result> {
  const queue = queues.get(events) ?? new Map<StreamName, Promise<void>>();
  queues.set(events, queue);
  const running = (queue.get(stream) ?? Promise.resolve()).then(work);
  const end = running.then(ignore, throwOutage);
  end.catch(ignore);
  queue.set(stream, end);
  try {
    return await running;
  } finally {
    if (queue.get(stream) === end) queue.delete(stream);
  }
}

function ignore(): void {}

function throwOutage(error: unknown): void {
  if (isOutage(error)) throw error;
}
