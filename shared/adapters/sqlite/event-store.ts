import type { EncodedEvent, Position, RecordedEvent, StreamName } from '../../catalog/events/envelope';
import { recordedEvent } from '../../catalog/events/kept-event';
import { CatalogError } from '../../kernel/errors';
import type { AppendResult, EventStore, LogBatch } from '../../ports/event-store';
import { AppendQueue } from './append-queue';
import { ChangeSignal } from './change-signal';
import { Connection, type SqlRow } from './connection';
import { follow } from './subscription';

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
/** Rows have no time of their own beside what their metadata tells. */
const NO_TIME = new Date(0).toISOString();

export interface SqliteEventStoreOptions {
  readonly file: string;
  /** How long an append goes on against other processes' locks; 5 s by default. */
  readonly deadline_ms?: number;
}

/** One realm's log in one SQLite file. Appending the id of an event that stands elsewhere in the log is an error. */
export class SqliteEventStore implements EventStore {
  private readonly connection: Connection;
  private readonly changes: ChangeSignal;
  private readonly queue: AppendQueue;
  private readonly closing = new AbortController();

  private constructor(connection: Connection) {
    this.connection = connection;
    this.changes = new ChangeSignal(() => connection.dataVersion());
    this.queue = new AppendQueue(connection, () => this.changes.notify());
  }

  static async open({ file, ...limits }: SqliteEventStoreOptions): Promise<SqliteEventStore> {
    const options = { synchronous: 'FULL', schema: SCHEMA, format: 1, ...limits } as const;
    return new SqliteEventStore(await Connection.open(file, options));
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
