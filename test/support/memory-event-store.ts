import { randomUUID } from 'node:crypto';
import { follow } from '../../shared/adapters/follow';
import {
  type EncodedEvent,
  type JsonObject,
  type Position,
  type RecordedEvent,
  START,
  type StreamName,
} from '../../shared/catalog/events/envelope';
import { CatalogError, LogMismatchError } from '../../shared/kernel/errors';
import {
  type AppendResult,
  assertAppendable,
  assertFits,
  assertRange,
  bytesOfEvent,
  type EventStore,
  type LogBatch,
  type LogMark,
  NO_STREAM,
} from '../../shared/ports/event-store';
import { parseSnapshot, type Snapshot, type SnapshotStore } from '../../shared/ports/snapshot-store';

/** Only appends add events, and each one wakes the subscriptions. */
const POLL_MS = 60_000;

/** Snapshots in memory, as JSON text like in every other store. */
class MemorySnapshotStore implements SnapshotStore {
  readonly stored = new Map<StreamName, string>();

  async read(stream: StreamName): Promise<Snapshot | undefined> {
    const text = this.stored.get(stream);
    return text === undefined ? undefined : parseSnapshot(JSON.parse(text));
  }

  async write(stream: StreamName, snapshot: Snapshot): Promise<void> {
    this.stored.set(stream, JSON.stringify(snapshot));
  }

  async delete(stream: StreamName): Promise<void> {
    this.stored.delete(stream);
  }
}

/** A log in memory, for tests that replay many histories or change what is stored. */
export class MemoryEventStore implements EventStore {
  readonly log: RecordedEvent[];
  readonly snapshots: MemorySnapshotStore;
  private readonly listeners: Set<() => void>;
  private readonly closing = new AbortController();

  /** Opens the log of another store, as another process would, or an empty one. */
  constructor(shared?: MemoryEventStore) {
    this.log = shared?.log ?? [];
    this.snapshots = shared?.snapshots ?? new MemorySnapshotStore();
    this.listeners = shared?.listeners ?? new Set();
  }

  async append(
    stream: StreamName,
    expected: number,
    events: readonly EncodedEvent[],
    beforeSend?: () => Promise<void>,
  ): Promise<AppendResult> {
    assertAppendable(stream, expected, events);
    assertFits(events.reduce((sum, event) => sum + sizeOf(event), 0));
    const copies = structuredClone(events);
    await beforeSend?.();
    this.assertOpen();
    const stored = this.log.filter((event) => event.stream === stream);
    const actual = stored.at(-1)?.revision ?? NO_STREAM;
    if (actual !== expected) {
      const later = stored.filter(({ revision }) => revision > expected);
      const same = later.filter(({ id }, index) => id === events[index]?.id);
      const last = same.at(-1);
      if (last && same.length === events.length)
        return { outcome: 'appended', revision: last.revision, position: last.position };
      return { outcome: 'wrong_revision', actual };
    }
    let [revision, position] = [actual, this.log.at(-1)?.position ?? START];
    for (const event of copies)
      this.log.push({ ...event, stream, revision: ++revision, position: ++position });
    for (const listener of [...this.listeners]) listener();
    return { outcome: 'appended', revision, position };
  }

  /** Appends at the end of the stream, whatever its revision. */
  async push(
    stream: StreamName,
    type: string,
    data: JsonObject,
    partition_key: string,
    occurred_at = '2026-01-01T00:00:00.000Z',
  ): Promise<RecordedEvent> {
    const revision = this.log.findLast((event) => event.stream === stream)?.revision ?? NO_STREAM;
    const metadata = { occurred_at, partition_key, source: 'system' } as const;
    await this.append(stream, revision, [{ id: randomUUID(), type, schema_version: 1, data, metadata }]);
    return this.log.at(-1)!;
  }

  /** Replaces parts of a stored event. */
  amend(position: Position, change: Partial<RecordedEvent>): void {
    const index = this.log.findIndex((event) => event.position === position);
    this.log[index] = { ...this.log[index]!, ...change };
  }

  async readStream(stream: StreamName, from = 0, count?: number): Promise<RecordedEvent[]> {
    assertRange(stream, from, count);
    return this.log.filter((event) => event.stream === stream && event.revision >= from).slice(0, count);
  }

  async readBackwards(count: number, before?: Position): Promise<RecordedEvent[]> {
    const earlier = this.log.filter(({ position }) => before === undefined || position < before);
    return earlier.reverse().slice(0, count);
  }

  async truncate(stream: StreamName, before: number): Promise<void> {
    const kept = this.log.filter((event) => event.stream !== stream || event.revision >= before);
    this.log.splice(0, this.log.length, ...kept);
    await this.snapshots.delete(stream);
  }

  subscribe(options: {
    after: Position;
    signal: AbortSignal;
    batch_size?: number;
  }): AsyncGenerator<LogBatch, void, undefined> {
    return follow({
      after: options.after,
      signal: AbortSignal.any([options.signal, this.closing.signal]),
      hints: { listen: (onHint) => this.listen(onHint) },
      read: (after) => this.readBatch(after, options.batch_size ?? 256),
      pollMs: () => POLL_MS,
    });
  }

  private async readBatch(after: Position, size: number): Promise<LogBatch> {
    const head = await this.head();
    if (after > head) throw new LogMismatchError(`Position ${after} is after the end of the log.`);
    const events = this.log.filter(({ position }) => position > after).slice(0, size);
    const position = events.at(-1)?.position ?? after;
    return { events, position, caught_up: position === head };
  }

  private listen(onHint: () => void): () => void {
    this.listeners.add(onHint);
    return () => this.listeners.delete(onHint);
  }

  async head(): Promise<Position> {
    this.assertOpen();
    return this.log.at(-1)?.position ?? START;
  }

  async markAt(at: Position): Promise<LogMark | undefined> {
    const event = this.log.find(({ position }) => position >= at);
    return event && { position: event.position, event_id: event.id };
  }

  async close(): Promise<void> {
    this.closing.abort();
  }

  private assertOpen(): void {
    if (this.closing.signal.aborted) throw new CatalogError('unavailable');
  }
}

function sizeOf({ type, data, metadata, schema_version }: EncodedEvent): number {
  const texts = [JSON.stringify(data), JSON.stringify({ ...metadata, schema_version })] as const;
  const [data_bytes, metadata_bytes] = texts.map((text) => Buffer.byteLength(text)) as [number, number];
  return bytesOfEvent(type, data_bytes, metadata_bytes);
}
