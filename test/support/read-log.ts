import { type Position, type RecordedEvent, START } from '../../shared/catalog/events/envelope';
import type { EventStore, LogBatch } from '../../shared/ports/event-store';
import { within } from './wait-for';

/** Returns the events after `after` up to the log's head, and the batch that reached it. */
export async function readLogBatches(
  store: EventStore,
  after: Position,
  batch_size?: number,
): Promise<{ events: RecordedEvent[]; last: LogBatch }> {
  const stop = new AbortController();
  const size = batch_size === undefined ? {} : { batch_size };
  const events: RecordedEvent[] = [];
  const reading = async () => {
    for await (const batch of store.subscribe({ after, signal: stop.signal, ...size })) {
      events.push(...batch.events);
      if (batch.caught_up) return { events, last: batch };
    }
    throw new Error('the subscription ended before it caught up');
  };
  try {
    return await within(reading(), `a subscription after ${after} to catch up`);
  } finally {
    stop.abort();
  }
}

/** Returns all events of a log. */
export async function readLog(store: EventStore): Promise<RecordedEvent[]> {
  return (await readLogBatches(store, START)).events;
}
