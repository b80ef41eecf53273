import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EncodedEvent, Position, RecordedEvent, StreamName } from '../../catalog/events/envelope';
import { recordedEvent } from '../../catalog/events/envelope';
import { withTimeout } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';
import { type AppendResult, type EventStore, type LogBatch, NO_STREAM } from '../../ports/event-store';
import { ChangeSignal, type SqlInput, SqliteConnection, type SqlRow, sqliteCode } from './connection';

/** AUTOINCREMENT: a position is never given twice, also where events were wiped. */
const SCHEMA = `
  CREATE TABLE events (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    stream TEXT NOT NULL,
    revision INTEGER NOT NULL,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    schema_version INTEGER NOT NULL,
    data TEXT NOT NULL,
    metadata TEXT NOT NULL,
    UNIQUE (stream, revision)
  ) STRICT`;

const COLUMNS = 'position, stream, revision, id, type, schema_version, data, metadata';
const BATCH_SIZE = 256;
/** The most events of one transaction, so that a flood of appends does not hold the process up for long. */
const GROUP_EVENTS_MAX = 1_000;
/** How long a subscription rests after the file failed, before it reads again. */
const FAILURE_PAUSE_MS = 500;
/** Rows have no time of their own beside what their metadata tells. */
const NO_TIME = new Date(0).toISOString();

export interface SqliteEventStoreOptions {
  readonly file: string;
  /** How long an append goes on against other processes' locks; 5 s by default. */
  readonly deadline_ms?: number;
}

/** One realm's log in one SQLite file. Appending the id of an event that stands elsewhere in the log is an error. */
export class SqliteEventStore implements EventStore {
  private readonly connection: SqliteConnection;
  private readonly changes: ChangeSignal;
  private readonly queue: AppendQueue;
  private readonly closing = new AbortController();

  private constructor(connection: SqliteConnection) {
    this.connection = connection;
    this.changes = new ChangeSignal(connection);
    this.queue = new AppendQueue(connection, () => this.changes.notify());
  }

  static async open({ file, ...limits }: SqliteEventStoreOptions): Promise<SqliteEventStore> {
    const options = { synchronous: 'FULL', schema: SCHEMA, format: 1, ...limits } as const;
    return new SqliteEventStore(await SqliteConnection.open(file, options));
  }

  async append(
    stream: StreamName,
    expected_revision: number,
    events: readonly EncodedEvent[],
  ): Promise<AppendResult> {
    if (events.length === 0) throw new Error(`an append of no events to ${stream}`);
    if (this.closing.signal.aborted)
      throw new CatalogError('unavailable', { message: 'the event store is closed' });
    return this.queue.append(stream, expected_revision, events);
  }

  async readStream(stream: StreamName, from = 0): Promise<RecordedEvent[]> {
    const rows = await this.connection.attempt(() =>
      this.connection.all(
        `SELECT ${COLUMNS} FROM events WHERE stream = ? AND revision >= ? ORDER BY revision`,
        [stream, from],
      ),
    );
    return rows.map(toRecordedEvent);
  }

  subscribe(options: {
    after: Position;
    signal: AbortSignal;
    batch_size?: number;
  }): AsyncGenerator<LogBatch, void, undefined> {
    const size = options.batch_size ?? BATCH_SIZE;
    return follow({
      after: options.after,
      signals: [options.signal, this.closing.signal],
      changes: this.changes,
      read: (after) => this.readBatch(after, size),
    });
  }

  private async readBatch(after: Position, size: number): Promise<LogBatch> {
    // One more than is given tells whether the log goes on.
    const sql = `SELECT ${COLUMNS} FROM events WHERE position > ? ORDER BY position LIMIT ?`;
    const rows = await this.connection.attempt(() => this.connection.all(sql, [after, size + 1]));
    const events = rows.slice(0, size).map(toRecordedEvent);
    return { events, position: events.at(-1)?.position ?? after, caught_up: rows.length <= size };
  }

  async head(): Promise<Position> {
    const last = await this.connection.attempt(() =>
      this.connection.value('SELECT max(position) FROM events'),
    );
    return BigInt(last ?? 0);
  }

  /** What was appended is committed first; subscriptions end. */
  async close(): Promise<void> {
    this.closing.abort();
    await this.queue.drain();
    this.connection.close();
  }
}

function toRecordedEvent(row: SqlRow): RecordedEvent {
  const [position, stream, revision, id, type, schema_version, data, metadata] = row;
  const kept = {
    ...{ position: BigInt(position!), stream: stream as StreamName, revision: Number(revision) },
    ...{ id: String(id), type: String(type), schema_version: Number(schema_version) },
    ...{ data: jsonOrNothing(data), metadata: jsonOrNothing(metadata) },
  };
  return recordedEvent(kept, NO_TIME);
}

/** Undefined where the row is damaged. */
function jsonOrNothing(text: SqlRow[number] | undefined): unknown {
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

/** What one append of a group came to, before the group is on disk. */
type Outcome = { readonly result: AppendResult } | { readonly error: unknown };

/**
 * Group commit: the appends that arrive in one turn of the event loop share one transaction and one fsync. Each of
 * them is all or nothing on its own, and none is answered before the group is on disk.
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
    const rows = events.map((event) => [
      event.id,
      event.type,
      event.schema_version,
      JSON.stringify(event.data),
      JSON.stringify(event.metadata),
    ]);
    return new Promise((resolve, reject) => {
      this.waiting.push({ stream, expected_revision, ids, rows, resolve, reject });
      this.flushing ??= this.flush();
    });
  }

  /** Resolves when everything that was appended so far is answered. */
  async drain(): Promise<void> {
    await this.flushing;
  }

  private async flush(): Promise<void> {
    do {
      await nextTurn();
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
    // In the same step as the last look: an append from here on starts a flush of its own.
    this.flushing = undefined;
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
    return this.connection.transaction(() => group.map((append) => this.attemptOne(append)));
  }

  /** One append inside the group's transaction: a failure of its own undoes it alone. */
  private attemptOne(append: PendingAppend): Outcome {
    const actual = this.lastRevision(append.stream);
    if (actual !== append.expected_revision) return { result: this.earlierAnswer(append, actual) };
    this.connection.run('SAVEPOINT one_append');
    try {
      const position = this.insert(append);
      this.connection.run('RELEASE one_append');
      const revision = append.expected_revision + append.rows.length;
      return { result: { outcome: 'appended', revision, position } };
    } catch (error) {
      if (!sqliteCode(error).startsWith('SQLITE_CONSTRAINT')) throw error;
      this.connection.run('ROLLBACK TO one_append');
      this.connection.run('RELEASE one_append');
      return { error };
    }
  }

  private lastRevision(stream: StreamName): number {
    const last = this.connection.value('SELECT max(revision) FROM events WHERE stream = ?', [stream]);
    return last === undefined || last === null ? NO_STREAM : Number(last);
  }

  /** The first answer where these very events stand right after the expected revision, else a lost race. */
  private earlierAnswer({ stream, expected_revision, ids }: PendingAppend, actual: number): AppendResult {
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
        'INSERT INTO events (stream, revision, id, type, schema_version, data, metadata) VALUES (?, ?, ?, ?, ?, ?, ?)',
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

/** Follows a log for ever: reads while there is something, then rests until it changes. Any of `signals` ends it. */
async function* follow(log: {
  readonly after: Position;
  readonly signals: readonly AbortSignal[];
  readonly changes: ChangeSignal;
  readonly read: (after: Position) => Promise<LogBatch>;
}): AsyncGenerator<LogBatch, void, undefined> {
  const rest = new Rest(log.changes, log.signals);
  try {
    let { after } = log;
    let told_caught_up = false;
    while (!rest.ended) {
      // Before the read: a change after that is not slept through.
      rest.begin();
      const batch = await readUnlessFailing(log.read, after);
      if (!batch) await rest.untilChange(FAILURE_PAUSE_MS);
      if (!batch || rest.ended) continue;
      if (batch.events.length > 0 || !told_caught_up) yield batch;
      after = batch.position;
      told_caught_up = batch.caught_up;
      // Reads settle without waiting: between two of them other work of the process gets its turn.
      if (batch.caught_up) await rest.untilChange();
      else await nextTurn();
    }
  } finally {
    rest.stop();
  }
}

/** Undefined where the file fails, so that a subscription outlives an outage. */
async function readUnlessFailing(
  read: (after: Position) => Promise<LogBatch>,
  after: Position,
): Promise<LogBatch | undefined> {
  try {
    return await read(after);
  } catch (error) {
    if (error instanceof CatalogError) return undefined;
    throw error;
  }
}

/** What a subscription does at the log's end. Its end wakes it as a change does. */
class Rest {
  private woken = false;
  private wake: () => void = () => {};
  private readonly signals: readonly AbortSignal[];
  private readonly stopListening: () => void;

  constructor(changes: ChangeSignal, signals: readonly AbortSignal[]) {
    this.signals = signals;
    this.stopListening = changes.listen(this.ring);
    for (const signal of signals) signal.addEventListener('abort', this.ring);
  }

  get ended(): boolean {
    return this.signals.some((signal) => signal.aborted);
  }

  private readonly ring = (): void => {
    this.woken = true;
    this.wake();
    // Also where whoever follows has left without a word: nothing of an ended subscription keeps running.
    if (this.ended) this.stop();
  };

  begin(): void {
    this.woken = false;
  }

  /** Until a ring since `begin`, or `at_most_ms`. */
  async untilChange(at_most_ms?: number): Promise<void> {
    if (this.woken || this.ended) return;
    const change = new Promise<void>((resolve) => {
      this.wake = resolve;
    });
    if (at_most_ms === undefined) await change;
    else await withTimeout(change, at_most_ms, () => undefined);
  }

  stop(): void {
    for (const signal of this.signals) signal.removeEventListener('abort', this.ring);
    this.stopListening();
  }
}
