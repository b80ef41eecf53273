import type { EncodedEvent, Position, RecordedEvent, StreamName } from '../../shared/catalog/events/envelope';
import type { AppendResult, EventStore, LogBatch, LogMark } from '../../shared/ports/event-store';
import { NO_STREAM } from '../../shared/ports/event-store';

/**
 * The event store of a dry run. Keeps appended events in memory and never writes to the real log. Reads return the real
 * events followed by the appended ones. Each row therefore sees the events of the rows before it, as in
 * a real import.
 */
export class DryRunLog implements EventStore {
  private readonly appended = new Map<StreamName, RecordedEvent[]>();

  constructor(private readonly real: EventStore) {}

  async append(
    stream: StreamName,
    expected_revision: number,
    events: readonly EncodedEvent[],
  ): Promise<AppendResult> {
    const position = await this.real.head();
    const actual = (await this.readStream(stream)).at(-1)?.revision ?? NO_STREAM;
    if (actual !== expected_revision) return { outcome: 'wrong_revision', actual };
    const recorded = events.map((event, index) => ({
      ...event,
      stream,
      position,
      revision: actual + 1 + index,
    }));
    this.appended.set(stream, [...(this.appended.get(stream) ?? []), ...recorded]);
    return { outcome: 'appended', revision: actual + events.length, position };
  }

  async readStream(stream: StreamName, from = 0, count?: number): Promise<RecordedEvent[]> {
    const appended = (this.appended.get(stream) ?? []).filter((event) => event.revision >= from);
    return [...(await this.real.readStream(stream, from, count)), ...appended].slice(0, count);
  }

  readBackwards(): Promise<RecordedEvent[]> {
    throw new Error('a dry run does not read the log');
  }

  truncate(): Promise<void> {
    throw new Error('a dry run does not remove events');
  }

  subscribe(): AsyncIterable<LogBatch> {
    throw new Error('a dry run does not support subscriptions');
  }

  head(): Promise<Position> {
    return this.real.head();
  }

  markAt(position: Position): Promise<LogMark | undefined> {
    return this.real.markAt(position);
  }

  /** Does nothing. The owner of the real log closes it. */
  async close(): Promise<void> {}
}
