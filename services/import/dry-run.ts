import type { EncodedEvent, Position, RecordedEvent, StreamName } from '../../shared/catalog/events/envelope';
import type { AppendResult, EventStore, LogBatch } from '../../shared/ports/event-store';
import { NO_STREAM } from '../../shared/ports/event-store';

/**
 * A log that keeps what is appended to itself and leaves the one below untouched: the write side decides on it as it
 * would in earnest, on what the same run has "written" too. For one run; it is not subscribed to.
 */
export class DryRunLog implements EventStore {
  private readonly appended = new Map<StreamName, RecordedEvent[]>();

  constructor(private readonly below: EventStore) {}

  async append(
    stream: StreamName,
    expected_revision: number,
    events: readonly EncodedEvent[],
  ): Promise<AppendResult> {
    const position = await this.below.head();
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

  async readStream(stream: StreamName, from = 0): Promise<RecordedEvent[]> {
    const own = (this.appended.get(stream) ?? []).filter((event) => event.revision >= from);
    return [...(await this.below.readStream(stream, from)), ...own];
  }

  subscribe(): AsyncIterable<LogBatch> {
    throw new Error('a dry run is not subscribed to');
  }

  head(): Promise<Position> {
    return this.below.head();
  }

  /** The log below is its owner's to close. */
  async close(): Promise<void> {}
}
