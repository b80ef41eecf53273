import type { StreamName } from '../../shared/catalog/events/envelope';
import { isOutage } from '../../shared/kernel/errors';
import type { EventStore } from '../../shared/ports/event-store';

/** The last queued write of each stream, per log. */
const queues = new WeakMap<EventStore, Map<StreamName, Promise<void>>>();

/**
 * Runs this process's writes to a stream one after another. Appends at the expected revision are correct without
 * it. But concurrent writers of one process would make each other lose races until their retries are used up.
 *
 * If a write fails because the event store is unavailable, the writes queued behind it fail with the same error.
 * Otherwise each of them would wait for a timeout of its own. Calls for the same stream must not be nested, because the
 * inner call would wait for the outer call forever.
 */
export async function serialiseByStream<Result>(
  events: EventStore,
  stream: StreamName,
  write: () => Promise<Result>,
): Promise<Result> {
  const queue = queues.get(events) ?? new Map<StreamName, Promise<void>>();
  queues.set(events, queue);
  const running = (queue.get(stream) ?? Promise.resolve()).then(write);
  const end = running.then(
    () => {},
    (error: unknown) => {
      if (isOutage(error)) throw error;
    },
  );
  end.catch(() => {});
  queue.set(stream, end);
  try {
    return await running;
  } finally {
    if (queue.get(stream) === end) queue.delete(stream);
  }
}
