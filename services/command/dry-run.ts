import type { EncodedEvent, Position, RecordedEvent, StreamName } from '../../shared/catalog/events/envelope';
import type { Environment } from '../../shared/catalog/realm';
import type { AppendResult, EventStore, LogBatch, LogMark } from '../../shared/ports/event-store';
import type { SnapshotStore } from '../../shared/ports/snapshot-store';
import type { StoreDeps } from './execute';

/** Returns dependencies with which writes to an environment are decided and answered, and written nowhere. */
export function dryRun<Deps extends Pick<StoreDeps, 'events'>>(deps: Deps, environment: Environment): Deps {
  const { events } = deps;
  return { ...deps, events: { ...events, [environment]: new DryRunLog(events[environment]) } };
}

/** Returns the ids of the stores that a dry run with this log would change. */
export const storesWrittenIn = (log: EventStore): string[] =>
  log instanceof DryRunLog ? log.storesWritten() : [];

const NO_SNAPSHOTS = { write: async () => {}, delete: async () => {} };

/**
 * The event store of a dry run. Keeps appended events in memory and never writes to the real log. Reads return the real
 * events followed by the appended ones. Each write therefore sees the events of the writes before it, as if they were real.
 */
class DryRunLog implements EventStore {
  private readonly appended = new Map<StreamName, RecordedEvent[]>();
  private count = 0n;

  constructor(private readonly real: EventStore) {}

  storesWritten(): string[] {
    const events = [...this.appended.values()].flat();
    return [...new Set(events.map(({ metadata }) => metadata.partition_key))];
  }

  async append(
    stream: StreamName,
    expected_revision: number,
    events: readonly EncodedEvent[],
  ): Promise<AppendResult> {
    const head = await this.real.head();
    const later = await this.real.readStream(stream, expected_revision + 1);
    const before = this.appended.get(stream) ?? [];
    const actual = (before.at(-1) ?? later.at(-1))?.revision ?? expected_revision;
    if (actual !== expected_revision) return { outcome: 'wrong_revision', actual };
    const position = head + ++this.count;
    const recorded = events.map((event, index) => ({
      ...event,
      stream,
      position,
      revision: actual + 1 + index,
    }));
    this.appended.set(stream, [...before, ...recorded]);
    return { outcome: 'appended', revision: actual + events.length, position };
  }

  async readStream(stream: StreamName, from = 0, count?: number): Promise<RecordedEvent[]> {
    const real = await this.real.readStream(stream, from, count);
    const appended = this.appended.get(stream) ?? [];
    const first = appended[0]?.revision ?? Number.POSITIVE_INFINITY;
    // Another process may append to the real stream meanwhile.
    const before = real.filter(({ revision }) => revision < first);
    return [...before, ...appended.filter(({ revision }) => revision >= from)].slice(0, count);
  }

  /** Reads the snapshots of the real log, and writes none. */
  get snapshots(): SnapshotStore | undefined {
    const { snapshots } = this.real;
    return snapshots && { ...NO_SNAPSHOTS, read: (stream) => snapshots.read(stream) };
  }

  readBackwards(): Promise<RecordedEvent[]> {
    throw new Error('a dry run does not read the log');
  }

  truncate(): Promise<void> {
    throw new Error('a dry run does not remove events');
  }

  /** Yields the real events only. */
  subscribe(options: Parameters<EventStore['subscribe']>[0]): AsyncIterable<LogBatch> {
    return this.real.subscribe(options);
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
