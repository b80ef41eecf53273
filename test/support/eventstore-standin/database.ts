import { join } from 'node:path';
import { LogFile } from './log-file';
import {
  DELETED,
  type Expected,
  fromLine,
  type Proposal,
  type StoredEvent,
  toLine,
  type WriteOutcome,
} from './records';
import { StreamState } from './stream-state';
import { metadataEvent, tombstoneEvent, truncateBeforeOf } from './system-events';

/** The first position. A real log begins with internal records, so no event has position 0. */
const FIRST_POSITION = 211n;
const RECORD_OVERHEAD = 87;
/** How long readers do not find a stream that was deleted and appended to. The server reads the end of its deletion later. */
const REVIVED_AFTER_MS = 100;

/** All streams in one log. Events are on disk before readers see them. For one process at a time. */
export class Database {
  /** All visible events in order. Positions grow by the size of each event. */
  readonly all: StoredEvent[] = [];
  private readonly file: LogFile;
  private readonly streams = new Map<string, StreamState>();
  private readonly byId = new Map<string, StoredEvent>();
  private readonly watchers = new Set<(event: StoredEvent) => void>();
  private end = FIRST_POSITION;
  /** The positions of all visible records, also of scavenged events. */
  private readonly records = new Set<bigint>();
  /** The end of the last visible record. */
  private visible_end = FIRST_POSITION;

  private constructor(file: LogFile) {
    this.file = file;
  }

  static async open(folder: string): Promise<Database> {
    const { file, lines } = await LogFile.open(join(folder, 'events.jsonl'));
    const database = new Database(file);
    for (const line of lines) {
      const events = fromLine(line);
      database.stage(events);
      database.publish(events);
    }
    return database;
  }

  /** Appends one or more events. Resolves when they are durable and visible. */
  async append(name: string, expected: Expected, proposals: readonly Proposal[]): Promise<WriteOutcome> {
    const stream = this.stream(name);
    const verdict = stream.check(expected, proposals, (id) => this.byId.get(id)?.stream === name);
    if (verdict === 'deleted') return { result: 'deleted' };
    if (verdict === 'wrong_revision')
      return { result: 'wrong_revision', current: stream.last < 0n ? undefined : stream.last };
    if (verdict === 'idempotent') return this.repeated(stream, proposals);
    const revive = stream.softDeleted ? [this.truncation(name, stream.last + 1n)] : [];
    const events = this.write(name, stream.last + 1n, proposals);
    if (revive.length > 0) stream.hideFor(REVIVED_AFTER_MS);
    await this.commit([...events, ...revive]);
    const last = events.at(-1)!;
    return { result: 'written', revision: last.revision, position: last.position };
  }

  /** Deletes a stream. `hard` leaves a tombstone, after which the name can never be used again. */
  async delete(name: string, expected: Expected, hard: boolean): Promise<WriteOutcome> {
    const stream = this.stream(name);
    const verdict = stream.check(expected, [], () => false);
    if (verdict === 'deleted') return { result: 'deleted' };
    if (verdict !== 'ok')
      return { result: 'wrong_revision', current: stream.last < 0n ? undefined : stream.last };
    const has_records = stream.last >= 0n || this.stream(`$$${name}`).last >= 0n;
    if (!hard && !has_records) return { result: 'wrong_revision', current: undefined };
    const mark = hard ? this.write(name, DELETED, [tombstoneEvent()])[0]! : this.truncation(name, DELETED);
    await this.commit([mark]);
    return { result: 'written', revision: mark.revision, position: mark.position };
  }

  stream(name: string): StreamState {
    const stream = this.streams.get(name) ?? new StreamState();
    this.streams.set(name, stream);
    return stream;
  }

  /** Returns the index in `all` of the first event at or after the position. */
  indexAt(position: bigint): number {
    let low = 0;
    let high = this.all.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.all[middle]!.position < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * Returns whether the log can be read from the position: a record begins there, or the log ends there or before. From
   * any other position, the server reads bytes in the middle of a record.
   */
  isReadableFrom(position: bigint): boolean {
    return this.records.has(position) || position >= this.visible_end || position === 0n;
  }

  /** Calls `watcher` with every event that becomes visible. Returns a function that stops it. */
  watch(watcher: (event: StoredEvent) => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  async close(): Promise<void> {
    await this.file.close();
  }

  private repeated(stream: StreamState, proposals: readonly Proposal[]): WriteOutcome {
    const last = this.byId.get(proposals.at(-1)!.id)!;
    if (last.revision >= BigInt(stream.visible)) return { result: 'dropped' };
    return { result: 'written', revision: last.revision, position: last.position };
  }

  private truncation(name: string, before: bigint): StoredEvent {
    const stream = `$$${name}`;
    return this.write(stream, this.stream(stream).last + 1n, [metadataEvent(before)])[0]!;
  }

  private write(name: string, revision: bigint, proposals: readonly Proposal[]): StoredEvent[] {
    const created_ms = Date.now();
    return proposals.map((proposal, index) => {
      const event = {
        ...proposal,
        position: this.end,
        stream: name,
        revision: revision + BigInt(index),
        created_ms,
      };
      this.end += sizeOf(event);
      return event;
    });
  }

  private async commit(events: readonly StoredEvent[]): Promise<void> {
    this.stage(events);
    await this.file.append(toLine(events));
    this.publish(events);
  }

  /** Makes the events count for expected revisions and for the detection of repeats. */
  private stage(events: readonly StoredEvent[]): void {
    for (const event of events) {
      this.byId.set(event.id, event);
      const end = event.position + sizeOf(event);
      if (end > this.end) this.end = end;
      if (event.revision === DELETED) this.stream(event.stream).tombstoned = true;
      else this.stream(event.stream).events.push(event);
      const truncated = truncateBeforeOf(event);
      if (truncated) this.stream(truncated.stream).truncate_before = truncated.before;
    }
  }

  private publish(events: readonly StoredEvent[]): void {
    for (const event of events) {
      this.all.push(event);
      this.records.add(event.position);
      this.visible_end = event.position + sizeOf(event);
      if (event.revision !== DELETED) this.stream(event.stream).visible++;
      for (const watcher of this.watchers) watcher(event);
    }
  }
}

function sizeOf({ stream, type, data, metadata }: StoredEvent): bigint {
  return BigInt(RECORD_OVERHEAD + stream.length + type.length + data.length + metadata.length);
}
