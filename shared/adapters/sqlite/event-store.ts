import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EncodedEvent, Position, RecordedEvent, StreamName } from '../../catalog/events/envelope';
import { recordedEvent } from '../../catalog/events/envelope';
import { longTurn, PageSize } from '../../kernel/async';
import { CatalogError, DamagedFileError, LogMismatchError } from '../../kernel/errors';
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
  type StoreHealth,
} from '../../ports/event-store';
import { follow } from '../follow';
import type { CommitNotifier } from './commit-notifier';
import {
  type OnDamage,
  type SqlInput,
  SqliteConnection,
  type SqliteOptions,
  type SqlRow,
  sqliteCode,
} from './connection';
import type { OnRecreated } from './disposable-file';
import { SqliteSnapshotStore } from './snapshot-store';

/**
 * AUTOINCREMENT: SQLite never reuses a position, even if events were deleted. In files of earlier releases, `id` is
 * UNIQUE: they refuse an id that another stream has. The service does not notice, because it derives ids from the stream.
 */
const SCHEMA = `
  CREATE TABLE events (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    stream TEXT NOT NULL,
    revision INTEGER NOT NULL,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    schema_version INTEGER NOT NULL,
    data TEXT NOT NULL,
    metadata TEXT NOT NULL,
    UNIQUE (stream, revision)
  ) STRICT`;

/** The files of `SqliteViewStore`, of any release. It is opened after the log. */
const VIEWS = /^views(\.\d+)?(-v\d+)?\.sqlite$/;
/** The file of the snapshots, next to that of the log. */
const SNAPSHOTS = 'snapshots.sqlite';
const COLUMNS = 'position, stream, revision, id, type, schema_version, data, metadata';
const INSERT_COLUMNS = 'stream, revision, id, type, schema_version, data, metadata';
const BATCH_SIZE = 256;
/** Maximum size of the events that a subscription yields at once, in characters of JSON. One event may be larger. */
const BATCH_LENGTH_MAX = 8_000_000;
/** SQLite takes a negative limit for none. */
const NO_LIMIT = -1;
const POSITION_MAX: Position = 2n ** 63n - 1n;
/** The most events per transaction: 1,000 would hold the event loop for 25 ms. A single append may have more. */
const GROUP_EVENTS_MAX = 250;
/** The schema version is a column here. For the size of an event, it counts as if it were in the metadata. */
const VERSION_BYTES = ',"schema_version":1'.length;
/** For how many turns of the event loop appends are collected for a commit. */
const COLLECT_TURNS_MAX = 8;
const REMEDY = 'Restore it from a back-up (docs/operations/failures.md#damaged-files).';
/** How long a subscription waits at the end of the log. Then it looks for appends of other processes. */
const POLL_MS = 25;
/** Time of an event whose metadata has none: rows have no time column. */
const NO_TIME = new Date(0).toISOString();

export interface SqliteEventStoreOptions {
  readonly file: string;
  /** How long an append waits for locks of other processes; 5 s by default. */
  readonly timeout_ms?: number;
  /** Called each time that the file turns out to be damaged. */
  readonly onDamage?: OnDamage;
  /** Called after a damaged file of snapshots was replaced by an empty one. */
  readonly onRecreated?: OnRecreated;
  /** See `SqliteOptions`. */
  readonly wal_pages_max?: number | undefined;
  /** Tells another process of appends, and this one of appends of the other. */
  readonly commits?: CommitNotifier;
}

/** Stores one realm's log in one SQLite file. */
export class SqliteEventStore implements EventStore {
  private readonly connection: SqliteConnection;
  /** Called after appends of this process, and of another one that reports them. */
  private readonly listeners = new Set<() => void>();
  private readonly queue: AppendQueue;
  private readonly closing = new AbortController();
  readonly snapshots: SqliteSnapshotStore;

  private constructor(
    connection: SqliteConnection,
    snapshots: SqliteSnapshotStore,
    commits: CommitNotifier | undefined,
  ) {
    this.connection = connection;
    this.snapshots = snapshots;
    const notify = (): void => {
      for (const listener of [...this.listeners]) listener();
    };
    this.queue = new AppendQueue(connection, () => {
      notify();
      commits?.publish();
    });
    commits?.listen(notify);
  }

  /**
   * Creates the file if it does not exist. Throws `DamagedFileError` if it has lost its content: if it is missing or
   * empty, and other files of the folder show that there was a log.
   */
  static async open({
    file,
    onRecreated,
    commits,
    ...limits
  }: SqliteEventStoreOptions): Promise<SqliteEventStore> {
    const remains = remainsOf(file);
    const assertNothingLost = (): void => {
      if (remains === undefined) return;
      const problem = `is missing or empty, but ${remains} shows that there were events`;
      throw new DamagedFileError(file, { problem, remedy: REMEDY });
    };
    // SQLite would delete the write-ahead log of an empty file.
    if (!statSync(file, { throwIfNoEntry: false })?.size) assertNothingLost();
    const options: SqliteOptions = {
      ...limits,
      synchronous: 'FULL',
      // If the opened file has no tables, its content is lost, too.
      schema: () => {
        assertNothingLost();
        return SCHEMA;
      },
      format: 1,
      remedy: REMEDY,
    };
    const snapshots = new SqliteSnapshotStore({
      ...{ file: join(dirname(file), SNAPSHOTS), onRecreated, onDamage: limits.onDamage },
    });
    return new SqliteEventStore(await SqliteConnection.open(file, options), snapshots, commits);
  }

  async append(
    stream: StreamName,
    expected_revision: number,
    events: readonly EncodedEvent[],
    beforeSend?: () => Promise<void>,
  ): Promise<AppendResult> {
    assertAppendable(stream, expected_revision, events);
    if (beforeSend) await beforeSend();
    if (this.closing.signal.aborted)
      throw new CatalogError('unavailable', { message: 'the event store is closed' });
    return this.queue.append(stream, expected_revision, events);
  }

  async readStream(stream: StreamName, from = 0, count?: number): Promise<RecordedEvent[]> {
    assertRange(stream, from, count);
    const rows = await this.connection.attempt(() =>
      this.connection.all(
        `SELECT ${COLUMNS} FROM events WHERE stream = ? AND revision >= ? ORDER BY revision LIMIT ?`,
        [stream, from, count ?? NO_LIMIT],
      ),
    );
    const recorded: RecordedEvent[] = [];
    for (const row of rows) {
      // Parsing an event takes up to 5 ms, and many reads may end in the same turn.
      const turn = longTurn();
      if (turn) await turn;
      recorded.push(toRecordedEvent(row));
    }
    return recorded;
  }

  async readBackwards(count: number, before = POSITION_MAX): Promise<RecordedEvent[]> {
    const sql = `SELECT ${COLUMNS} FROM events WHERE position < ? ORDER BY position DESC LIMIT ?`;
    const rows = await this.connection.attempt(() => this.connection.all(sql, [before, count]));
    return rows.map(toRecordedEvent);
  }

  /** Keeps the first event of the log, by which documents know it. Writes the whole log anew, which takes 1.5 s per 100 MB. */
  async truncate(stream: StreamName, before: number): Promise<void> {
    const sql = `DELETE FROM events WHERE stream = ? AND revision < ?
      AND position > (SELECT min(position) FROM events)`;
    await this.connection.attempt(() => this.connection.write(sql, [stream, before]));
    await this.connection.attempt(() => this.connection.vacuum());
    await this.snapshots.delete(stream);
  }

  subscribe(options: {
    after: Position;
    signal: AbortSignal;
    batch_size?: number;
  }): AsyncGenerator<LogBatch, void, undefined> {
    const size = new PageSize({ items_max: options.batch_size ?? BATCH_SIZE, length_max: BATCH_LENGTH_MAX });
    return follow({
      after: options.after,
      signal: AbortSignal.any([options.signal, this.closing.signal]),
      hints: { listen: (onHint) => this.listen(onHint) },
      read: (after) => this.readBatch(after, size),
      pollMs: () => POLL_MS,
    });
  }

  private listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private async readBatch(after: Position, page: PageSize): Promise<LogBatch> {
    const size = page.items;
    // Reads one more row than requested, to find out whether the log continues.
    const sql = `SELECT ${COLUMNS} FROM events WHERE position > ? ORDER BY position LIMIT ?`;
    const rows = await this.connection.attempt(() => this.connection.all(sql, [after, size + 1]));
    if (rows.length === 0) await this.assertNotAfterEnd(after);
    page.report(rows.length, lengthOf(rows));
    const events = rows.slice(0, size).map(toRecordedEvent);
    return { events, position: events.at(-1)?.position ?? after, caught_up: rows.length <= size };
  }

  private async assertNotAfterEnd(position: Position): Promise<void> {
    const head = await this.head();
    if (position > head)
      throw new LogMismatchError(`Position ${position} is after the end of the log, which is at ${head}.`);
  }

  async head(): Promise<Position> {
    const last = await this.connection.attempt(() =>
      this.connection.value('SELECT max(position) FROM events'),
    );
    return BigInt(last ?? 0);
  }

  async markAt(position: Position): Promise<LogMark | undefined> {
    const sql = 'SELECT position, id FROM events WHERE position >= ? ORDER BY position LIMIT 1';
    const row = await this.connection.attempt(() => this.connection.first(sql, [position]));
    return row && { position: BigInt(row[0]!), event_id: String(row[1]) };
  }

  health(): Promise<StoreHealth> {
    return this.connection.health();
  }

  /** Commits pending appends, ends subscriptions, and closes the file. */
  async close(): Promise<void> {
    this.closing.abort();
    await this.queue.drain();
    await this.snapshots.close();
    this.connection.close();
  }
}

/**
 * Returns a file that exists only next to a log: its write-ahead log, or documents made from it. Call it before reading
 * anything of the log, because another process may be creating all of them at the same time, the log first.
 */
function remainsOf(file: string): string | undefined {
  const folder = dirname(file);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const others = names.filter((name) => name === `${basename(file)}-wal` || VIEWS.test(name));
  return others
    .map((name) => join(folder, name))
    .find((path) => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0);
}

/** Returns the size of the events, in characters of JSON. */
function lengthOf(rows: readonly SqlRow[]): number {
  return rows.reduce((total, row) => total + String(row[6]).length + String(row[7]).length, 0);
}

function toRecordedEvent(row: SqlRow): RecordedEvent {
  const [position, stream, revision, id, type, schema_version, data, metadata] = row;
  const stored = {
    position: BigInt(position!),
    stream: stream as StreamName,
    revision: Number(revision),
    id: String(id),
    type: String(type),
    schema_version: Number(schema_version),
    data: jsonOrUndefined(data),
    metadata: jsonOrUndefined(metadata),
  };
  return recordedEvent(stored, NO_TIME);
}

/** Returns undefined if the text is damaged. */
function jsonOrUndefined(text: SqlRow[number] | undefined): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}

interface PendingAppend {
  readonly stream: StreamName;
  readonly expected_revision: number;
  readonly ids: readonly string[];
  /** id, type, schema_version, data, metadata. */
  readonly rows: readonly (readonly SqlInput[])[];
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: unknown) => void;
}

/** The outcome of one append of a group. The caller gets it after the group is on disk. */
type Outcome = { readonly result: AppendResult } | { readonly error: unknown };

/**
 * Commits appends in groups that share one transaction and one fsync: those of one turn of the event loop, and of the next
 * turns while each brings further ones. Each append is all or nothing on its own. None resolves before the group is on
 * disk.
 */
class AppendQueue {
  private readonly connection: SqliteConnection;
  private readonly onCommit: () => void;
  private waiting: PendingAppend[] = [];
  private flushing: Promise<void> | undefined;

  constructor(connection: SqliteConnection, onCommit: () => void) {
    this.connection = connection;
    this.onCommit = onCommit;
  }

  append(
    stream: StreamName,
    expected_revision: number,
    events: readonly EncodedEvent[],
  ): Promise<AppendResult> {
    const ids = events.map((event) => event.id);
    let bytes = 0;
    const rows = events.map(({ id, type, schema_version, data, metadata }) => {
      const texts = [JSON.stringify(data), JSON.stringify(metadata)] as const;
      const [data_bytes, metadata_bytes] = texts.map((text) => Buffer.byteLength(text)) as [number, number];
      bytes += bytesOfEvent(type, data_bytes, metadata_bytes + VERSION_BYTES);
      return [id, type, schema_version, ...texts];
    });
    assertFits(bytes);
    return new Promise((resolve, reject) => {
      this.waiting.push({ stream, expected_revision, ids, rows, resolve, reject });
      this.flushing ??= this.flush();
    });
  }

  /** Resolves when all appends so far are settled. */
  async drain(): Promise<void> {
    await this.flushing;
  }

  private async flush(): Promise<void> {
    do {
      await this.collect();
      const group = this.nextGroup();
      try {
        const outcomes = await this.connection.attempt(() => this.commit(group));
        group.forEach((append, index) => {
          settle(append, outcomes[index]!);
        });
        this.onCommit();
      } catch (error) {
        for (const append of group) append.reject(error);
      }
    } while (this.waiting.length > 0);
    // Between the loop condition and this line there is no await. So no append can be added that nobody flushes.
    this.flushing = undefined;
  }

  /** Waits for further appends while each turn of the event loop brings some: each commit waits for the disk once. */
  private async collect(): Promise<void> {
    for (let turn = 0; turn < COLLECT_TURNS_MAX; turn++) {
      const { length } = this.waiting;
      await nextTurn();
      if (this.waiting.length === length || this.waiting.length >= GROUP_EVENTS_MAX) return;
    }
  }

  private nextGroup(): PendingAppend[] {
    let events = 0;
    const end = this.waiting.findIndex((append, index) => {
      events += append.rows.length;
      return index > 0 && events > GROUP_EVENTS_MAX;
    });
    return this.waiting.splice(0, end === -1 ? this.waiting.length : end);
  }

  private commit(group: readonly PendingAppend[]): Outcome[] {
    return this.connection.transaction(() => group.map((append) => this.appendOne(append)));
  }

  /** Runs one append in the transaction of its group. If SQLite refuses one of the events, none of this append is stored. */
  private appendOne(append: PendingAppend): Outcome {
    const { stream, expected_revision, rows } = append;
    const actual = this.lastRevision(stream);
    if (actual !== expected_revision) return { result: this.earlierResult(append, actual) };
    try {
      const position = this.insert(append);
      return { result: { outcome: 'appended', revision: expected_revision + rows.length, position } };
    } catch (error) {
      if (!sqliteCode(error).startsWith('SQLITE_CONSTRAINT')) throw error;
      this.connection.run('DELETE FROM events WHERE stream = ? AND revision > ?', [
        stream,
        expected_revision,
      ]);
      return { error };
    }
  }

  private lastRevision(stream: StreamName): number {
    const last = this.connection.value('SELECT max(revision) FROM events WHERE stream = ?', [stream]);
    return last === undefined || last === null ? NO_STREAM : Number(last);
  }

  /** Returns the result of an earlier append of the same events at the same revision; otherwise `wrong_revision`. */
  private earlierResult({ stream, expected_revision, ids }: PendingAppend, actual: number): AppendResult {
    const stored = this.connection.all(
      'SELECT id, position FROM events WHERE stream = ? AND revision > ? AND revision <= ? ORDER BY revision',
      [stream, expected_revision, expected_revision + ids.length],
    );
    if (stored.length !== ids.length || !stored.every(([id], index) => id === ids[index]))
      return { outcome: 'wrong_revision', actual };
    const position = BigInt(stored[stored.length - 1]![1]!);
    return { outcome: 'appended', revision: expected_revision + ids.length, position };
  }

  private insert({ stream, expected_revision, rows }: PendingAppend): bigint {
    let position = 0n;
    rows.forEach((row, index) => {
      const { lastInsertRowid } = this.connection.run(
        `INSERT INTO events (${INSERT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`,
        [stream, expected_revision + 1 + index, ...row],
      );
      position = BigInt(lastInsertRowid);
    });
    return position;
  }
}

function settle(append: PendingAppend, outcome: Outcome): void {
  if ('result' in outcome) append.resolve(outcome.result);
  else append.reject(outcome.error);
}
