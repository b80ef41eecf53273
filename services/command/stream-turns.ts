import type { StreamName } from '../../shared/contracts/envelope';
import type { EventStore } from '../../shared/ports/event-store';

/** Per log, the end of each stream's queue of writers. */
const queues = new WeakMap<EventStore, Map<StreamName, Promise<void>>>();

/**
 * Runs the writes to one stream of this process one after the other. The expected revision alone keeps them
 * correct; this keeps writers of one process from spending each other's retries. Never nest for the same stream.
 */
export async function inTurn<Result>(
  events: EventStore,
  stream: StreamName,
  work: () => Promise<Result>,
): Promise<Result> {
  const queue = queues.get(events) ?? new Map<StreamName, Promise<void>>();
  queues.set(events, queue);
  const running = (queue.get(stream) ?? Promise.resolve()).then(work);
  const end = running.then(ignore, ignore);
  queue.set(stream, end);
  try {
    return await running;
  } finally {
    if (queue.get(stream) === end) queue.delete(stream);
  }
}

function ignore(): void {}
