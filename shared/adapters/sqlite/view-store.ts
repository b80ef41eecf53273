import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { LANE_COUNT } from '../../catalog/events/lanes';
import { CatalogError } from '../../kernel/errors';
import { timestamp } from '../../kernel/system';
import type { VersionInfo, VersionStatus, ViewStore } from '../../ports/view-store';
import { SqliteConnection } from './connection';
import { SqliteViewVersion } from './view-version';

/** A version's number is never given twice, so that a reader cannot take a new version for the one it knew. */
const SCHEMA = `
  CREATE TABLE settings (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
  CREATE TABLE versions (
    version INTEGER PRIMARY KEY AUTOINCREMENT,
    status TEXT NOT NULL,
    schema INTEGER NOT NULL,
    created_at TEXT NOT NULL
  ) STRICT;
  CREATE TABLE leases (name TEXT PRIMARY KEY, owner TEXT NOT NULL, expires_at_ms INTEGER NOT NULL) STRICT`;

const FORMAT = 1;
const CLOCK_SLACK_MS = 60_000;

export interface SqliteViewStoreOptions {
  /** Holds `views.sqlite` and one `views-v<N>.sqlite` per version. */
  readonly folder: string;
  /** Counts only when the store is first opened. */
  readonly lane_count?: number;
  /** Unix milliseconds: the clock of leases and of `created_at`. */
  readonly now?: () => number;
}

type VersionRow = Omit<VersionInfo, 'keys_differ'>;

/** One realm's view store: a file that knows the versions, and a file per version. */
export class SqliteViewStore implements ViewStore {
  readonly ready = Promise.resolve();
  readonly lane_count: number;
  private readonly connection: SqliteConnection;
  private readonly files: VersionFiles;
  private readonly now: () => number;
  private readonly opened = new Map<number, Promise<SqliteViewVersion>>();
  /** Of versions that were looked into; a version's keys never change. */
  private readonly keys_differ = new Map<number, boolean>();

  private constructor(
    connection: SqliteConnection,
    files: VersionFiles,
    lane_count: number,
    now: () => number,
  ) {
    this.connection = connection;
    this.files = files;
    this.lane_count = lane_count;
    this.now = now;
  }

  static async open({
    folder,
    lane_count = LANE_COUNT,
    now = Date.now,
  }: SqliteViewStoreOptions): Promise<SqliteViewStore> {
    const schema = `${SCHEMA}; INSERT INTO settings (name, value) VALUES ('lane_count', ${lane_count})`;
    // FULL: after a power cut a flip must not be undone whose old version is deleted already.
    const connection = await SqliteConnection.open(join(folder, 'views.sqlite'), {
      synchronous: 'FULL',
      schema,
      format: FORMAT,
    });
    const kept = await connection.attempt(() =>
      connection.value("SELECT value FROM settings WHERE name = 'lane_count'"),
    );
    const store = new SqliteViewStore(connection, new VersionFiles(folder), Number(kept), now);
    await connection.attempt(() => store.removeOrphans());
    return store;
  }

  async versions(): Promise<VersionInfo[]> {
    const rows = await this.connection.attempt(() => this.readVersions());
    return Promise.all(
      rows.map(async (row) => ({
        ...row,
        keys_differ: this.keys_differ.get(row.version) ?? (await this.lookAtKeys(row)),
      })),
    );
  }

  /** False where it cannot be told: there is no file yet, or it is damaged, of which `open` tells. */
  private async lookAtKeys({ version, status }: VersionRow): Promise<boolean> {
    try {
      const file = this.files.pathOf(version);
      const seen = await this.connection.attempt(() => SqliteViewVersion.keysDiffer(file));
      if (seen === undefined && status === 'building') return false;
      const differ = seen ?? (await this.open(version)).keys_differ;
      this.keys_differ.set(version, differ);
      return differ;
    } catch (error) {
      if (error instanceof CatalogError && error.condition === 'unavailable') return false;
      throw error;
    }
  }

  private readVersions(): VersionRow[] {
    const rows = this.connection.all(
      'SELECT version, status, schema, created_at FROM versions ORDER BY version DESC',
    );
    return rows.map(([version, status, schema, created_at]) => ({
      version: Number(version),
      status: status as VersionStatus,
      schema: Number(schema),
      created_at: String(created_at),
    }));
  }

  async createVersion(schema: number): Promise<VersionInfo> {
    const info = { status: 'building', schema, created_at: timestamp(this.now()) } as const;
    const version = await this.connection.attempt(() =>
      Number(
        this.connection.run('INSERT INTO versions (status, schema, created_at) VALUES (?, ?, ?)', [
          info.status,
          info.schema,
          info.created_at,
        ]).lastInsertRowid,
      ),
    );
    await this.open(version);
    return { version, ...info, keys_differ: false };
  }

  async setStatus(version: number, status: Exclude<VersionStatus, 'active'>): Promise<void> {
    if (status !== 'building') await (await this.open(version)).index();
    await this.connection.attempt(() =>
      this.connection.transaction(() => {
        if (this.statusOf(version) === 'active') throw new Error(`view version ${version} is the active one`);
        this.connection.run('UPDATE versions SET status = ? WHERE version = ?', [status, version]);
      }),
    );
  }

  async activate(version: number): Promise<void> {
    await (await this.open(version)).index();
    await this.connection.attempt(() =>
      this.connection.transaction(() => {
        this.statusOf(version);
        this.connection.run("UPDATE versions SET status = 'retired' WHERE status = 'active'");
        this.connection.run("UPDATE versions SET status = 'active' WHERE version = ?", [version]);
      }),
    );
  }

  async drop(version: number): Promise<void> {
    await this.connection.attempt(() =>
      this.connection.transaction(() => {
        if (this.statusOf(version) === 'active') throw new Error(`view version ${version} is the active one`);
        this.connection.run('DELETE FROM versions WHERE version = ?', [version]);
      }),
    );
    await this.letGo(version);
    this.files.remove(version);
  }

  /** Closes what this process has open of a version that is gone. */
  private async letGo(version: number): Promise<void> {
    const opened = this.opened.get(version);
    this.opened.delete(version);
    (await opened)?.close();
  }

  private statusOf(version: number): VersionStatus {
    const found = this.readVersions().find((info) => info.version === version);
    if (!found) throw unknownVersion(version);
    return found.status;
  }

  async open(version: number): Promise<SqliteViewVersion> {
    const rows = await this.connection.attempt(() => this.readVersions());
    const found = rows.find((row) => row.version === version);
    if (!found) {
      await this.letGo(version);
      throw unknownVersion(version);
    }
    const known = this.opened.get(version);
    if (known) return known;
    const opening = this.openFile(found);
    this.opened.set(version, opening);
    opening.catch(() => this.opened.delete(version));
    return opening;
  }

  private async openFile({ version, status }: VersionRow): Promise<SqliteViewVersion> {
    // Only a version that is being built has lost nothing with its file: its maker may have died before it was there.
    if (status !== 'building' && !this.files.exists(version))
      throw new CatalogError('unavailable', { message: `the file of view version ${version} is gone` });
    const opened = await SqliteViewVersion.open(version, this.files.pathOf(version), this.lane_count);
    try {
      await this.connection.attempt(() => this.statusOf(version));
      return opened;
    } catch (error) {
      // Dropped by another process in between: the file may have come back empty.
      opened.close();
      this.files.remove(version);
      throw error;
    }
  }

  async lease(name: string, owner: string, ttl_ms: number): Promise<boolean> {
    if (await this.takeLease(name, owner, ttl_ms)) return true;
    return (await this.freeDeadLease(name)) && this.takeLease(name, owner, ttl_ms);
  }

  /** All who share a file are on one machine: nobody need wait for the lease of a process that is gone. */
  private async freeDeadLease(name: string): Promise<boolean> {
    const held = await this.connection.attempt(() =>
      this.connection.value('SELECT owner FROM leases WHERE name = ?', [name]),
    );
    const pid = /^pid:(\d+):/.exec(String(held))?.[1];
    if (pid === undefined || isAlive(Number(pid))) return false;
    await this.release(name, String(held));
    return true;
  }

  private async takeLease(name: string, owner: string, ttl_ms: number): Promise<boolean> {
    const now_ms = this.now();
    // A lease that ends later than anybody asked for was taken before the clock was set back.
    const taken = await this.connection.attempt(() =>
      this.connection.run(
        `INSERT INTO leases (name, owner, expires_at_ms) VALUES (?, ?, ?)
         ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires_at_ms = excluded.expires_at_ms
         WHERE owner = excluded.owner OR expires_at_ms <= ? OR expires_at_ms > ?`,
        [name, owner, now_ms + ttl_ms, now_ms, now_ms + 2 * ttl_ms + CLOCK_SLACK_MS],
      ),
    );
    return taken.changes === 1;
  }

  async release(name: string, owner: string): Promise<void> {
    await this.connection.attempt(() =>
      this.connection.run('DELETE FROM leases WHERE name = ? AND owner = ?', [name, owner]),
    );
  }

  async close(): Promise<void> {
    const opened = await Promise.allSettled(this.opened.values());
    this.opened.clear();
    for (const version of opened) if (version.status === 'fulfilled') version.value.close();
    this.connection.close();
  }

  /** Files whose version was dropped by a process that died before it deleted them. */
  private removeOrphans(): void {
    // Files first: a version's row is always there before its file is.
    const found = this.files.list();
    const known = new Set(this.readVersions().map(({ version }) => version));
    for (const version of found) if (!known.has(version)) this.files.remove(version);
  }
}

function unknownVersion(version: number): CatalogError {
  return new CatalogError('unavailable', { message: `there is no view version ${version}` });
}

/** The files of a realm's view versions: `views-v<N>.sqlite` and what SQLite keeps beside it. */
class VersionFiles {
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  pathOf(version: number): string {
    return join(this.folder, `views-v${version}.sqlite`);
  }

  exists(version: number): boolean {
    return existsSync(this.pathOf(version));
  }

  remove(version: number): void {
    for (const suffix of ['', '-wal', '-shm']) rmSync(this.pathOf(version) + suffix, { force: true });
  }

  /** The versions of which there is some file. */
  list(): number[] {
    const numbers = readdirSync(this.folder).map((name) => /^views-v(\d+)\.sqlite/.exec(name)?.[1]);
    return [...new Set(numbers.filter((number) => number !== undefined).map(Number))];
  }
}

/** Whether a process of this machine still runs. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is there, and another user's.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return !hasEnded(pid);
}

/**
 * A process that ended can still be signalled until whoever started it has asked for its end, which some never do.
 * Linux tells by its state, the letter behind its name; elsewhere it counts as alive.
 */
function hasEnded(pid: number): boolean {
  try {
    return /^ [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'latin1').split(')').at(-1)!);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
