import type { StreamName } from '../../catalog/events/envelope';
import { CatalogError } from '../../kernel/errors';
import { parseSnapshot, type Snapshot, type SnapshotStore } from '../../ports/snapshot-store';
import type { OnDamage, SqliteConnection } from './connection';
import { type OnRecreated, openDisposable } from './disposable-file';

const SCHEMA = 'CREATE TABLE snapshots (stream TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT';

export interface SqliteSnapshotOptions {
  readonly file: string;
  /** Called each time that the open file turns out to be damaged. */
  readonly onDamage?: OnDamage | undefined;
  /** Called after a damaged file was replaced by an empty one. */
  readonly onRecreated?: OnRecreated | undefined;
}

/** Stores snapshots in a SQLite file next to the log. Opens it at the first call, because only long streams need it. */
export class SqliteSnapshotStore implements SnapshotStore {
  private readonly options: SqliteSnapshotOptions;
  private opening: Promise<SqliteConnection> | undefined;
  private closed = false;

  constructor(options: SqliteSnapshotOptions) {
    this.options = options;
  }

  /** Never rejects: without the file, the stream is read. */
  async read(stream: StreamName): Promise<Snapshot | undefined> {
    try {
      const snapshots = await this.open();
      const sql = 'SELECT body FROM snapshots WHERE stream = ?';
      return parseSnapshot(
        JSON.parse(String(await snapshots.attempt((connection) => connection.value(sql, [stream])))),
      );
    } catch {
      return undefined;
    }
  }

  async write(stream: StreamName, snapshot: Snapshot): Promise<void> {
    const body = JSON.stringify(snapshot);
    const sql = 'INSERT OR REPLACE INTO snapshots (stream, body) VALUES (?, ?)';
    await (await this.open()).attempt((connection) => connection.write(sql, [stream, body]));
  }

  async delete(stream: StreamName): Promise<void> {
    const snapshots = await this.open();
    const sql = 'DELETE FROM snapshots WHERE stream = ?';
    const { changes } = await snapshots.attempt((connection) => connection.write(sql, [stream]));
    if (changes > 0) await snapshots.attempt((connection) => connection.vacuum());
  }

  async close(): Promise<void> {
    this.closed = true;
    const snapshots = await this.opening?.catch(() => undefined);
    snapshots?.close();
  }

  private open(): Promise<SqliteConnection> {
    if (this.closed) throw new CatalogError('unavailable', { message: `${this.options.file} is closed` });
    const { file, ...reports } = this.options;
    // NORMAL: a power failure may undo the latest snapshots.
    this.opening ??= openDisposable(file, {
      ...{ synchronous: 'NORMAL', schema: () => SCHEMA, format: 1, ...reports },
    }).catch((error) => {
      this.opening = undefined;
      throw error;
    });
    return this.opening;
  }
}
