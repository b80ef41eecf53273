import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** An event as the stand-in stores it. */
export interface StoredEvent extends Proposal {
  /** Commit and prepare position, which are equal here because every event is its own transaction. */
  readonly position: number;
  readonly stream: string;
  readonly revision: number;
  readonly created_ms: number;
}

/** An event to append. Its bytes are in base64. */
export interface Proposal {
  readonly id: string;
  readonly type: string;
  readonly content_type: string;
  readonly data: string;
  readonly metadata: string;
}

/** The expected revision of an append. */
export type Expected = number | 'any';
export const NO_STREAM = -1;

export type WriteOutcome =
  | { readonly result: 'written'; readonly revision: number; readonly position: number }
  /** `current` is the revision of the stream, or `NO_STREAM`. */
  | { readonly result: 'wrong_revision'; readonly current: number }
  | { readonly result: 'deleted' };

/** Revision of a tombstone, and `$tb` of a stream that was deleted. */
const DELETED = Number.MAX_SAFE_INTEGER;
/** The first position. A real log begins with internal records, so no event has position 0. */
const FIRST_POSITION = 211;
const RECORD_OVERHEAD = 87;

/** One stream, and which of its events are hidden. */
class Stream {
  readonly events: StoredEvent[] = [];
  /** Events with a lower revision are hidden. */
  truncate_before = 0;
  tombstoned = false;

  get last(): number {
    return this.events.length - 1;
  }

  get deleted(): boolean {
    return this.truncate_before === DELETED;
  }

  get exists(): boolean {
    return this.last >= 0 && !this.deleted;
  }

  /** Returns the visible events from `revision` on, in order. */
  from(revision: number): StoredEvent[] {
    return this.events.slice(Math.max(revision, this.truncate_before));
  }

  /** Returns the last event of an earlier append of exactly these events at the same revision. */
  repeated(expected: Expected, proposals: readonly Proposal[]): StoredEvent | undefined {
    const first =
      expected === 'any' ? this.events.findIndex(({ id }) => id === proposals[0]!.id) : expected + 1;
    const same = proposals.every(({ id }, index) => this.events[first + index]?.id === id);
    return same ? this.events[first + proposals.length - 1] : undefined;
  }

  accepts(expected: Expected): boolean {
    return expected === 'any' || expected === this.last || (expected === NO_STREAM && this.deleted);
  }
}

/** All streams in one log. Events are in its file before readers see them. For one process at a time. */
export class Database {
  /** All events in order. Positions grow by the size of each event. */
  readonly all: StoredEvent[] = [];
  private file = '';
  private readonly streams = new Map<string, Stream>();
  private readonly watchers = new Set<(event: StoredEvent) => void>();
  private end = FIRST_POSITION;

  constructor(folder: string) {
    this.open(folder);
  }

  /** Uses the log in another folder, as a proxy does that forwards the calls of its connections to another server. */
  open(folder: string): void {
    this.all.length = 0;
    this.streams.clear();
    this.end = FIRST_POSITION;
    mkdirSync(folder, { recursive: true });
    this.file = join(folder, 'events.jsonl');
    const text = existsSync(this.file) ? readFileSync(this.file, 'utf8') : '';
    // The process may have died while it wrote the last line.
    const whole = text.slice(0, text.lastIndexOf('\n') + 1);
    if (whole !== text) writeFileSync(this.file, whole);
    for (const line of whole.split('\n').slice(0, -1)) this.publish(JSON.parse(line));
  }

  append(name: string, expected: Expected, proposals: readonly Proposal[]): WriteOutcome {
    const stream = this.stream(name);
    if (stream.tombstoned) return { result: 'deleted' };
    const repeated = stream.repeated(expected, proposals);
    if (repeated) return { ...repeated, result: 'written' };
    if (!stream.accepts(expected)) return { result: 'wrong_revision', current: stream.last };
    const next = stream.last + 1;
    const revival = stream.deleted ? [this.truncation(name, next)] : [];
    const events = this.place(name, next, proposals);
    this.commit([...revival, ...events]);
    return { ...events.at(-1)!, result: 'written' };
  }

  /** Deletes a stream. `hard` leaves a tombstone, after which the name can never be used again. */
  delete(name: string, hard: boolean): WriteOutcome {
    const stream = this.stream(name);
    if (stream.tombstoned) return { result: 'deleted' };
    if (!hard && stream.last < 0 && this.stream(metadataOf(name)).last < 0)
      return { result: 'wrong_revision', current: NO_STREAM };
    const tombstone = systemEvent('$streamDeleted', '');
    const mark = hard ? this.place(name, DELETED, [tombstone])[0]! : this.truncation(name, DELETED);
    this.commit([mark]);
    return { ...mark, result: 'written' };
  }

  stream(name: string): Stream {
    const stream = this.streams.get(name) ?? new Stream();
    this.streams.set(name, stream);
    return stream;
  }

  /** Returns the index in `all` of the first event at or after the position. */
  indexAt(position: number): number {
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
  isReadableFrom(position: number): boolean {
    return position >= this.end || this.all[this.indexAt(position)]?.position === position;
  }

  /** Calls `watcher` with every new event. Returns a function that stops it. */
  watch(watcher: (event: StoredEvent) => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  private truncation(name: string, before: number): StoredEvent {
    const stream = metadataOf(name);
    const event = systemEvent('$metadata', JSON.stringify({ $tb: before }));
    return this.place(stream, this.stream(stream).last + 1, [event])[0]!;
  }

  /** Gives the events their places in the stream and in the log. */
  private place(stream: string, revision: number, proposals: readonly Proposal[]): StoredEvent[] {
    const created_ms = Date.now();
    return proposals.map((proposal, index) => {
      const event = { ...proposal, stream, revision: revision + index, created_ms, position: this.end };
      this.end = endOf(event);
      return event;
    });
  }

  private commit(events: readonly StoredEvent[]): void {
    appendFileSync(this.file, `${JSON.stringify(events)}\n`);
    this.publish(events);
  }

  private publish(events: readonly StoredEvent[]): void {
    for (const event of events) {
      const { type, stream, revision, data } = event;
      this.all.push(event);
      this.end = Math.max(this.end, endOf(event));
      if (revision === DELETED) this.stream(stream).tombstoned = true;
      else this.stream(stream).events.push(event);
      const { $tb } = type === '$metadata' ? JSON.parse(Buffer.from(data, 'base64').toString()) : {};
      if ($tb !== undefined) this.stream(stream.slice(METADATA_PREFIX.length)).truncate_before = $tb;
      for (const watcher of this.watchers) watcher(event);
    }
  }
}

const METADATA_PREFIX = '$$';
const metadataOf = (stream: string): string => `${METADATA_PREFIX}${stream}`;

function endOf({ position, stream, type, data, metadata }: StoredEvent): number {
  return position + RECORD_OVERHEAD + stream.length + type.length + data.length + metadata.length;
}

/** Returns an event of the server itself. */
export function systemEvent(type: string, data: string): Proposal {
  const content = { content_type: 'application/json', data: Buffer.from(data).toString('base64') };
  return { id: randomUUID(), type, ...content, metadata: '' };
}
