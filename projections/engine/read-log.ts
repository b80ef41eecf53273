import type { Position } from '../../shared/catalog/events/envelope';
import { LogMismatchError } from '../../shared/kernel/errors';
import type { EventStore, LogBatch } from '../../shared/ports/event-store';
import { readTwice } from './log-match';

export interface LogRange {
  readonly after: Position;
  /** Last position, inclusive. */
  readonly to: Position;
  readonly batch_size?: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Yields the events in (after, to] in batches. The last batch has exactly the position `to`. Ends early, without an
 * error, if `signal` aborts. Throws `LogMismatchError` if the log ends before `to` also when it is read again.
 */
export async function* readLog(events: EventStore, range: LogRange): AsyncGenerator<LogBatch, void, void> {
  const { after, to, batch_size, signal } = range;
  if (after >= to) return;
  await readTwice(async () => {
    const head = await events.head();
    if (to > head)
      throw new LogMismatchError(`The log ends at position ${head}, and is read up to position ${to}.`);
  }, signal);
  // Ends the subscription when `signal` aborts, and when `to` is reached or the caller stops reading.
  const ended = new AbortController();
  const stop = (): void => ended.abort();
  signal?.addEventListener('abort', stop, { once: true });
  if (signal?.aborted) stop();
  try {
    const options = { after, signal: ended.signal, ...(batch_size === undefined ? {} : { batch_size }) };
    for await (const batch of events.subscribe(options)) {
      if (batch.position < to) {
        yield batch;
        continue;
      }
      const last_events = batch.events.filter(({ position }) => position <= to);
      yield { events: last_events, position: to, caught_up: batch.caught_up };
      return;
    }
  } finally {
    stop();
    signal?.removeEventListener('abort', stop);
  }
}
