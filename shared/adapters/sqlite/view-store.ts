import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { PARTITION_COUNT } from '../../catalog/events/partitions';
import { CatalogError, DamagedFileError } from '../../kernel/errors';
import { timestamp } from '../../kernel/system';
import type { VersionInfo, VersionStatus, ViewStore } from '../../ports/view-store';
import type { CommitNotifier } from './commit-notifier';
import { freeBytes, type OnDamage, type SqliteConnection } from './connection';
import { nameOfFormat, type OnRecreated, openDisposable } from './disposable-file';
import { SqliteViewVersion, VERSION_REMEDY, VIEWS_FORMAT } from './view-version';

/**
 * AUTOINCREMENT: a version number is never reused, so that a reader cannot confuse a new version with a dropped one.
 */
const SCHEMA = `
  CREATE TABLE settings (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
  CREATE TABLE versions (
    version INTEGER PRIMARY KEY AUTOINCREMENT,
    status TEXT NOT NULL,
    schema INTEGER NOT NULL,
    created_at TEXT NOT NULL
  ) STRICT;
  CREATE TABLE leases (name TEXT PRIMARY KEY, owner TEXT NOT NULL, expires_at_ms INTEGER NOT NULL) STRICT`;

/** The setting with the Unix milliseconds at which a version was retired. */
const RETIRED_AT = "'retired_at_ms ' || version";
/** The setting with the Unix milliseconds at which the realm was paused. */
const PAUSED_AT = 'paused_at_ms';

const CLOCK_SLACK_MS = 60_000;
const MB = 1_000_000;
/** What a copy of the documents needs, as a share of their size: also a write-ahead log, and what is written meanwhile. */
const COPY_SHARE = 1.25;
const VIEWS = nameOfFormat('views', VIEWS_FORMAT);
/** The file with the list of versions, in the folder of a realm. */
export const LIST_FILE = `${VIEWS}.sqlite`;
/** The file of a version, in the folder of a realm. */
export const versionFile = (version: number): string => `${VIEWS}-v${version}.sqlite`;

export interface SqliteViewStoreOptions {
  /** Contains the list of versions, `views.<format>.sqlite`, and one `views.<format>-v<N>.sqlite` per version. */
  readonly folder: string;
  /** Partition count of a new store. An existing store keeps its own. */
  readonly partition_count?: number;
  /** Returns Unix milliseconds, for leases and `created_at`. */
  readonly now?: () => number;
  /** Called each time that a file of a version, or the open list of versions, turns out to be damaged. */
  readonly onDamage?: OnDamage;
  /** Called after a damaged list of versions was replaced by an empty one: the documents are made again from the log. */
  readonly onRecreated?: OnRecreated;
  /** Tells another process of written batches, and this one of batches of the other. */
  readonly commits?: CommitNotifier;
}

type VersionRow = Omit<VersionInfo, 'keys_differ'>;

/** Stores one realm's views: one file lists the versions, and each version has a file of its own. */
export class SqliteViewStore implements ViewStore {
  readonly ready = Promise.resolve();
  readonly partition_count: number;
  private readonly list: SqliteConnection;
  private readonly files: VersionFiles;
  private readonly onDamage: OnDamage | undefined;
  private readonly commits: CommitNotifier | undefined;
  private readonly now: () => number;
  private readonly opened = new Map<number, Promise<SqliteViewVersion>>();

  private constructor(
    list: SqliteConnection,
    files: VersionFiles,
    partition_count: number,
    { now = Date.now, onDamage, commits }: SqliteViewStoreOptions,
  ) {
    this.list = list;
    this.files = files;
    this.partition_count = partition_count;
    this.now = now;
    this.onDamage = onDamage;
    this.commits = commits;
    commits?.listen(() => this.wakeWaiting());
  }

  static async open(options: SqliteViewStoreOptions): Promise<SqliteViewStore> {
    const { folder, partition_count = PARTITION_COUNT, onDamage, onRecreated } = options;
    const files = new VersionFiles(folder);
    const list = await openDisposable(join(folder, LIST_FILE), {
      // FULL: a power failure must not undo a flip after the old version's file was deleted.
      synchronous: 'FULL',
      schema: () => {
        // Numbers continue after those of all files, also of other releases: the jobs of a queue are named by them.
        const numbers = `INSERT INTO sqlite_sequence (name, seq) VALUES ('versions', ${Math.max(0, ...files.numbers(ANY_RELEASE))})`;
        return `${SCHEMA}; ${numbers}; INSERT INTO settings (name, value) VALUES ('lane_count', ${partition_count})`;
      },
      format: VIEWS_FORMAT,
      onDamage,
      onRecreated,
    });
    // "Lane" is the name of a partition in earlier releases.
    const stored_count = await list.attempt(() =>
      list.value("SELECT value FROM settings WHERE name = 'lane_count'"),
    );
    const store = new SqliteViewStore(list, files, Number(stored_count), options);
    await list.attempt(() => removeOrphans(list, files));
    return store;
  }

  /** Lets everybody who waits for a checkpoint read it again. */
  private wakeWaiting(): void {
    for (const opening of this.opened.values())
      opening.then(
        (version) => version.wakeWaiting(),
        () => {},
      );
  }

  async versions(): Promise<VersionInfo[]> {
    const opened_before = [...this.opened.keys()];
    const rows = await this.list.attempt(readVersions);
    // Another process may have dropped versions. An open file would keep its space on the disk. A file that somebody has
    // deleted or replaced is opened again.
    for (const version of opened_before)
      if (!rows.some((row) => row.version === version) || (await this.isReplaced(version)))
        await this.closeVersion(version);
    return Promise.all(rows.map(async (row) => ({ ...row, keys_differ: await this.readKeysDiffer(row) })));
  }

  private async isReplaced(version: number): Promise<boolean> {
    const opened = await this.opened.get(version)?.catch(() => undefined);
    return opened?.isReplaced() ?? false;
  }

  /** Returns false if the file does not exist yet or is damaged. */
  private async readKeysDiffer({ version, status }: VersionRow): Promise<boolean> {
    if (status === 'building' && !this.files.exists(version)) return false;
    try {
      return (await this.open(version)).keys_differ;
    } catch (error) {
      if (error instanceof CatalogError && error.condition === 'unavailable') return false;
      throw error;
    }
  }

  /** Throws `CatalogError('unavailable')` if the disk has no room for the documents once more. */
  async createVersion(schema: number): Promise<VersionInfo> {
    await this.assertRoom();
    const info = { status: 'building', schema, created_at: timestamp(this.now()) } as const;
    const version = await this.list.attempt((connection) =>
      Number(
        connection.write('INSERT INTO versions (status, schema, created_at) VALUES (?, ?, ?)', [
          info.status,
          info.schema,
          info.created_at,
        ]).lastInsertRowid,
      ),
    );
    await this.open(version);
    return { version, ...info, keys_differ: false };
  }

  /** Throws if too little space is free for what the active version has. A full disk would end the writes of the shop, too. */
  private async assertRoom(): Promise<void> {
    const active = (await this.list.attempt(readVersions)).find(({ status }) => status === 'active');
    if (!active) return;
    const used = await this.open(active.version)
      .then((version) => version.bytes())
      .catch((error: unknown) => {
        if (error instanceof DamagedFileError) return 0;
        throw error;
      });
    const { folder } = this.files;
    const needed_mb = Math.ceil((used * COPY_SHARE) / MB);
    const free_mb = Math.floor(freeBytes(folder) / MB);
    if (free_mb >= needed_mb) return;
    const message =
      `${folder}: another copy of the documents needs ${needed_mb} MB, and ${free_mb} MB are free. ` +
      'Free some, or drop a retired version ("catalog projections drop").';
    throw new CatalogError('unavailable', { message });
  }

  async setStatus(version: number, status: Exclude<VersionStatus, 'active'>): Promise<void> {
    if (status !== 'building') await (await this.open(version)).createIndexes();
    await this.list.attempt((connection) =>
      connection.transaction(() => {
        if (statusOf(connection, version) === 'active') throw new Error(`view version ${version} is active`);
        connection.run('UPDATE versions SET status = ? WHERE version = ?', [status, version]);
      }),
    );
  }

  async activate(version: number): Promise<void> {
    await (await this.open(version)).createIndexes();
    await this.list.attempt((connection) =>
      connection.transaction(() => {
        statusOf(connection, version);
        connection.run(
          `INSERT OR REPLACE INTO settings (name, value)
           SELECT ${RETIRED_AT}, ? FROM versions WHERE status = 'active' AND version <> ?`,
          [this.now(), version],
        );
        connection.run("UPDATE versions SET status = 'retired' WHERE status = 'active'");
        connection.run("UPDATE versions SET status = 'active' WHERE version = ?", [version]);
      }),
    );
  }

  async drop(version: number): Promise<void> {
    await this.list.attempt((connection) =>
      connection.transaction(() => {
        if (statusOf(connection, version) === 'active') throw new Error(`view version ${version} is active`);
        connection.run(
          `DELETE FROM settings WHERE name IN (SELECT ${RETIRED_AT} FROM versions WHERE version = ?)`,
          [version],
        );
        connection.run('DELETE FROM versions WHERE version = ?', [version]);
      }),
    );
    await this.closeVersion(version);
    this.files.remove(version);
  }

  async dropEarlierFormats(unused_since_ms: number): Promise<readonly string[]> {
    return this.files.removeEarlierFormats(unused_since_ms);
  }

  /** Closes this process's connection to a dropped version. */
  private async closeVersion(version: number): Promise<void> {
    const opened = this.opened.get(version);
    this.opened.delete(version);
    (await opened)?.close();
  }

  async open(version: number): Promise<SqliteViewVersion> {
    const rows = await this.list.attempt(readVersions);
    const found = rows.find((row) => row.version === version);
    if (!found) {
      await this.closeVersion(version);
      throw unknownVersion(version);
    }
    const opened = this.opened.get(version);
    if (opened) return opened;
    const opening = this.openFile(found);
    this.opened.set(version, opening);
    opening.catch(() => this.opened.delete(version));
    return opening;
  }

  private async openFile({ version, status }: VersionRow): Promise<SqliteViewVersion> {
    // A version that is being built may have no file yet, because its creator died before it created the file.
    const file = this.files.pathOf(version);
    if (status !== 'building' && !this.files.exists(version)) {
      const error = new DamagedFileError(file, { problem: 'is missing', remedy: VERSION_REMEDY });
      this.onDamage?.(error);
      throw error;
    }
    const { partition_count, onDamage, commits } = this;
    const opened = await SqliteViewVersion.open(version, file, partition_count, {
      onDamage,
      ...(commits && { onCommit: () => commits.publish() }),
    });
    const close = (error: unknown): never => {
      opened.close();
      throw error;
    };
    const rows = await this.list.attempt(readVersions).catch(close);
    if (rows.some((row) => row.version === version)) return opened;
    // Another process has dropped the version meanwhile, so `open` may have created an empty file. After a failed read of
    // the list, for example because this store was closed, the file must stay.
    opened.close();
    this.files.remove(version);
    throw unknownVersion(version);
  }

  async pausedSince(): Promise<string | undefined> {
    const paused_at_ms = await this.list.attempt((connection) =>
      connection.value('SELECT value FROM settings WHERE name = ?', [PAUSED_AT]),
    );
    return typeof paused_at_ms === 'number' ? timestamp(paused_at_ms) : undefined;
  }

  async setPaused(is_paused: boolean): Promise<void> {
    await this.list.attempt((connection) =>
      is_paused
        ? connection.write('INSERT OR IGNORE INTO settings (name, value) VALUES (?, ?)', [
            PAUSED_AT,
            this.now(),
          ])
        : connection.write('DELETE FROM settings WHERE name = ?', [PAUSED_AT]),
    );
  }

  async lease(name: string, owner: string, ttl_ms: number): Promise<boolean> {
    if (await this.takeLease(name, owner, ttl_ms)) return true;
    return (await this.freeDeadLease(name)) && this.takeLease(name, owner, ttl_ms);
  }

  /** Releases the lease of a process that no longer runs. All processes that share a file run on one machine. */
  private async freeDeadLease(name: string): Promise<boolean> {
    const owner = await this.list.attempt((connection) =>
      connection.value('SELECT owner FROM leases WHERE name = ?', [name]),
    );
    const pid = /^pid:(\d+):/.exec(String(owner))?.[1];
    if (pid === undefined || isAlive(Number(pid))) return false;
    await this.release(name, String(owner));
    return true;
  }

  private async takeLease(name: string, owner: string, ttl_ms: number): Promise<boolean> {
    const now_ms = this.now();
    // The last condition: if the clock was set back, an old lease may end very late. No lease that is taken now ends that
    // late, so the lease counts as expired.
    const taken = await this.list.attempt((connection) =>
      connection.write(
        `INSERT INTO leases (name, owner, expires_at_ms) VALUES (?, ?, ?)
         ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires_at_ms = excluded.expires_at_ms
         WHERE owner = excluded.owner OR expires_at_ms <= ? OR expires_at_ms > ?`,
        [name, owner, now_ms + ttl_ms, now_ms, now_ms + 2 * ttl_ms + CLOCK_SLACK_MS],
      ),
    );
    return taken.changes === 1;
  }

  async release(name: string, owner: string): Promise<void> {
    await this.list.attempt((connection) =>
      connection.write('DELETE FROM leases WHERE name = ? AND owner = ?', [name, owner]),
    );
  }

  async close(): Promise<void> {
    await this.closeVersions();
    this.list.close();
  }

  private async closeVersions(): Promise<void> {
    const opening = [...this.opened.values()];
    this.opened.clear();
    for (const version of await Promise.allSettled(opening))
      if (version.status === 'fulfilled') version.value.close();
  }
}

function readVersions(connection: SqliteConnection): VersionRow[] {
  const rows = connection.all(
    `SELECT version, status, schema, created_at, value FROM versions
     LEFT JOIN settings ON status = 'retired' AND name = ${RETIRED_AT} ORDER BY version DESC`,
  );
  return rows.map(([version, status, schema, created_at, retired_at_ms]) => ({
    version: Number(version),
    status: status as VersionStatus,
    schema: Number(schema),
    created_at: String(created_at),
    ...(typeof retired_at_ms === 'number' && { retired_at: timestamp(retired_at_ms) }),
  }));
}

/** Throws if there is no such version. */
function statusOf(connection: SqliteConnection, version: number): VersionStatus {
  const found = readVersions(connection).find((info) => info.version === version);
  if (!found) throw unknownVersion(version);
  return found.status;
}

/** Removes files of dropped versions that a process left behind when it died. */
function removeOrphans(connection: SqliteConnection, files: VersionFiles): void {
  // Lists the files before the rows: a version's row is inserted before its file is created.
  const versions_with_files = files.numbers();
  const listed = new Set(readVersions(connection).map(({ version }) => version));
  for (const version of versions_with_files) if (!listed.has(version)) files.remove(version);
}

function unknownVersion(version: number): CatalogError {
  return new CatalogError('unavailable', { message: `view version ${version} does not exist` });
}

const NUMBER = String.raw`-v(\d+)\.sqlite`;
/** A file of any release, and its format. */
const VIEW_FILE = /^views(?:\.(\d+))?(?:-v\d+)?\.sqlite/;
const THIS_RELEASE = new RegExp(`^${VIEWS}${NUMBER}`);
const ANY_RELEASE = new RegExp(String.raw`^views(?:\.\d+)?${NUMBER}`);

/** The files of a realm's view versions: `views.<format>-v<N>.sqlite` and its `-wal` and `-shm` files. */
class VersionFiles {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  pathOf(version: number): string {
    return join(this.folder, versionFile(version));
  }

  exists(version: number): boolean {
    return existsSync(this.pathOf(version));
  }

  remove(version: number): void {
    for (const suffix of ['', '-wal', '-shm']) rmSync(this.pathOf(version) + suffix, { force: true });
  }

  /** Removes the lists and versions of earlier formats, unless one of these files was written after `unused_since_ms`. */
  removeEarlierFormats(unused_since_ms: number): string[] {
    const earlier = readdirSync(this.folder).filter((name) => {
      const [is_view_file, format = 1] = VIEW_FILE.exec(name) ?? [];
      return is_view_file && Number(format) < VIEWS_FORMAT;
    });
    const modified = earlier.map((name) => statSync(join(this.folder, name)).mtimeMs);
    if (Math.max(0, ...modified) > unused_since_ms) return [];
    for (const name of earlier) rmSync(join(this.folder, name), { force: true });
    return earlier;
  }

  /** Returns the numbers of the versions that have any file. */
  numbers(name_pattern = THIS_RELEASE): number[] {
    const numbers = readdirSync(this.folder).map((name) => name_pattern.exec(name)?.[1]);
    return [...new Set(numbers.filter((number) => number !== undefined).map(Number))];
  }
}

/** Returns true if the process still runs on this machine. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return !hasEnded(pid);
}

/**
 * Returns true if the process is a zombie: it has ended, but its parent has not waited for it, so `kill(pid, 0)` still
 * succeeds. On Linux, reads the state letter after the process name. On other systems the process counts as running.
 */
function hasEnded(pid: number): boolean {
  try {
    return /^ [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'latin1').split(')').at(-1)!);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
