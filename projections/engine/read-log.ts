import type { Position } from '../../shared/catalog/events/envelope';
import type { EventStore, LogBatch } from '../../shared/ports/event-store';

export interface LogSpan {
  readonly after: Position;
  /** The end; a position that the log has reached already. */
  readonly to: Position;
  readonly batch_size?: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The part of the log in (after, to], in batches whose positions grow up to `to` exactly. Ends early, without an
 * error, when `signal` aborts.
 */
export async function* readLog(events: EventStore, span: LogSpan): AsyncGenerator<LogBatch, void, void> {
  const { after, to, batch_size, signal } = span;
  if (after >= to) return;
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
      const within = batch.events.filter(({ position }) => position <= to);
      yield { events: within, position: to, caught_up: batch.caught_up };
      return;
    }
  } finally {
    stop();
    signal?.removeEventListener('abort', stop);
  }
}
