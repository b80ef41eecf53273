import { accessSync, chmodSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'libsql';
import { pause, withJitter } from '../../kernel/async';
import { CatalogError, DamagedFileError } from '../../kernel/errors';
import type { StoreHealth } from '../../ports/event-store';

export type SqlInput = string | number | bigint | Uint8Array | null;
export type SqlValue = string | number | null;
/** The columns of a row, in the order of the SELECT. */
export type SqlRow = readonly SqlValue[];
/**
 * Parameters are passed as one array. libsql treats a single `null` argument as an object of named parameters, and
 * fails.
 */
type Statement = Database.Statement<[readonly SqlInput[]]>;

/** How long SQLite may block the process while it waits for a lock. After this time, `attempt` waits without blocking. */
const BLOCKING_WAIT_MS = 2;
const TIMEOUT_MS = 5_000;
const RETRY_MS_MAX = 20;
const CACHE_KB = 16_000;
/**
 * SQLite copies the write-ahead log (WAL) to the database file after this many pages (16 MB). If a page is written
 * several times before that, SQLite copies it once.
 */
const WAL_PAGES_MAX = 4_000;
/**
 * The same for a file whose WAL another process copies (`wal-checkpoints.ts`). Only reached if that process does not run.
 */
export const WAL_PAGES_MAX_UNATTENDED = 64_000;
/** More than the different statements that a process repeats. At this number, all prepared statements are forgotten. */
const STATEMENTS_MAX = 512;
/** Free space that counts as room: more than a usual append. */
const ROOM_BYTES = 262_144;
/** The least time between two probes. */
const PROBE_EVERY_MS = 1_000;
/** How often a connection checks whether the file that it has open is still the file at the path. */
const COMPARE_EVERY_MS = 1_000;

export interface SqliteOptions {
  /**
   * FULL: a commit is on disk when it returns. NORMAL: a power failure may undo the latest commits, but cannot corrupt
   * the file.
   */
  readonly synchronous: 'FULL' | 'NORMAL';
  /** Returns the statements that create the tables. They run once, in a transaction. */
  readonly schema: () => string;
  /** Version of the schema, at least 1. `open` rejects a file of another format. */
  readonly format: number;
  /** How long `attempt` waits for locks of other connections; 5 s by default. */
  readonly timeout_ms?: number;
  /** After how many pages a commit copies the write-ahead log (WAL) to the file, which takes long; 4,000 by default. */
  readonly wal_pages_max?: number | undefined;
  /** Size of the pages of a new file, in bytes; 4,096 by default. */
  readonly page_bytes?: number;
  /** What an operator does if the file is damaged, as a sentence. */
  readonly remedy: string;
  /** Called each time that the file turns out to be damaged. */
  readonly onDamage?: OnDamage | undefined;
}

const REPLACED_REMEDY = 'Put it back, or restart all processes.';

export type OnDamage = (error: DamagedFileError) => void;

/**
 * A SQLite file in WAL mode. Calls are synchronous, so no other code of this process runs between the statements of a
 * transaction. Several processes may open the same file, and may create it at the same time.
 */
export class SqliteConnection {
  readonly file: string;
  private database: Database.Database;
  private readonly statements = new Map<string, Statement>();
  /** Whether a read was refused with SQLITE_BUSY. libsql does not reset its statement. */
  private was_refused = false;
  private reopened = 0;
  /** Identifies the open file. */
  private readonly inode: bigint | undefined;
  /** Identifies its write-ahead log. SQLite keeps that as long as a connection is open. */
  private wal_inode: bigint | undefined;
  private was_replaced = false;
  private compared_at_ms = performance.now();
  private readonly options: SqliteOptions;
  private closed = false;
  /** Whether a call has found the file damaged. */
  private is_damaged = false;
  /** Whether a call has failed since the last successful probe, in a way that suggests that the file cannot be written. */
  private has_failed = false;
  private probed_at_ms = Number.NEGATIVE_INFINITY;

  private constructor(file: string, options: SqliteOptions) {
    this.file = file;
    this.options = options;
    this.database = openDatabase(file);
    this.inode = inodeOf(file);
  }

  /**
   * Throws `CatalogError('unavailable')` if the file cannot be opened, `DamagedFileError` if it is damaged, and `Error` if
   * it has another format.
   */
  static async open(file: string, options: SqliteOptions): Promise<SqliteConnection> {
    const connection = new SqliteConnection(file, options);
    try {
      // Has no effect on a file that has pages.
      if (options.page_bytes) connection.database.exec(`PRAGMA page_size = ${options.page_bytes}`);
      // If several processes switch a new file to WAL at once, SQLite returns SQLITE_BUSY without waiting for the
      // timeout.
      await connection.attempt(() => connection.all('PRAGMA journal_mode = WAL'));
      await connection.attempt(() => connection.prepareFile());
      connection.wal_inode = inodeOf(`${file}-wal`);
    } catch (error) {
      connection.close();
      throw error;
    }
    return connection;
  }

  /**
   * Returns whether the open file, or its write-ahead log, is no longer the one at the path, because somebody deleted or
   * replaced it. Asks the file system again after `max_age_ms`.
   */
  isReplaced(max_age_ms = COMPARE_EVERY_MS): boolean {
    if (this.was_replaced || performance.now() - this.compared_at_ms >= max_age_ms) {
      this.compared_at_ms = performance.now();
      const wal_inode = inodeOf(`${this.file}-wal`);
      this.wal_inode ??= wal_inode;
      const is_in_place = inodeOf(this.file) === this.inode;
      const was_wal_deleted = is_in_place && wal_inode === undefined && this.wal_inode !== undefined;
      if (was_wal_deleted && !this.was_replaced) this.saveWal();
      this.was_replaced = !is_in_place || wal_inode !== this.wal_inode;
    }
    return this.was_replaced;
  }

  /** Moves what a deleted write-ahead log contains to the file. Without one at the path, nobody else uses another. */
  private saveWal(): void {
    try {
      this.all('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // Another process is moving it, or the disk fails.
    }
  }

  /** Others do not see what is written to a file that is not at the path, and it is lost when this process ends. */
  private assertInPlace(max_age_ms?: number): void {
    if (!this.isReplaced(max_age_ms)) return;
    const problem = 'was deleted or replaced while it was open';
    throw this.report(new DamagedFileError(this.file, { problem, remedy: REPLACED_REMEDY }));
  }

  private configure(): void {
    const { synchronous, wal_pages_max = WAL_PAGES_MAX } = this.options;
    this.database.exec(
      `PRAGMA synchronous = ${synchronous}; PRAGMA cache_size = -${CACHE_KB}; PRAGMA wal_autocheckpoint = ${wal_pages_max}`,
    );
  }

  private prepareFile(): void {
    const { format, schema } = this.options;
    this.configure();
    if (this.format() === format) return;
    this.transaction(() => {
      const file_format = this.format();
      if (file_format === 0) this.database.exec(`${schema()}; PRAGMA user_version = ${format}`);
      else if (file_format !== format)
        throw new Error(`${this.file} has format ${file_format}, but this release reads format ${format}`);
    });
  }

  private format(): number {
    return Number(this.value('PRAGMA user_version') ?? 0);
  }

  /**
   * Returns all rows. There are no cursors, because a cursor that is not read to its end blocks checkpoints of the WAL.
   */
  all(sql: string, parameters: readonly SqlInput[] = []): SqlRow[] {
    return this.read(() => this.statement(sql).all(parameters) as SqlRow[]);
  }

  /** Returns the row of a statement that yields at most one. */
  first(sql: string, parameters: readonly SqlInput[] = []): SqlRow | undefined {
    // `get` does not reset a refused statement, and so ignores new parameters. `all` resets it.
    if (this.was_refused) return this.all(sql, parameters)[0];
    return this.read(() => this.statement(sql).get(parameters) as SqlRow | undefined);
  }

  private read<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      this.was_refused ||= isBusy(error);
      throw error;
    }
  }

  /** Returns the first column of the first row; undefined if there is no row. */
  value(sql: string, parameters: readonly SqlInput[] = []): SqlValue | undefined {
    return this.first(sql, parameters)?.[0];
  }

  /**
   * Runs a write of a transaction. Throws outside of one: there, SQLite can refuse the write with SQLITE_BUSY, and libsql
   * does not reset a refused statement. It stays in progress, so that later writes of the connection are not committed.
   */
  run(sql: string, parameters: readonly SqlInput[] = []): Database.RunResult {
    if (!this.database.inTransaction) throw new Error(`a write outside of a transaction: ${sql}`);
    return this.statement(sql).run(parameters);
  }

  /** Runs a single write in a transaction of its own. */
  write(sql: string, parameters: readonly SqlInput[] = []): Database.RunResult {
    return this.transaction(() => this.run(sql, parameters));
  }

  private exec(sql: string): void {
    this.assertOpen();
    this.database.exec(sql);
  }

  private assertOpen(): void {
    if (this.closed) throw new CatalogError('unavailable', { message: `${this.file} is closed` });
  }

  private statement(sql: string): Statement {
    this.assertOpen();
    const cached = this.statements.get(sql);
    if (cached) return cached;
    const prepared = this.database.prepare<[readonly SqlInput[]]>(sql);
    const statement = prepared.reader ? prepared.raw() : prepared;
    if (this.statements.size >= STATEMENTS_MAX) this.statements.clear();
    this.statements.set(sql, statement);
    return statement;
  }

  /**
   * Runs `work` in a write transaction. Rolls back if `work` throws. `exec` begins it, because it leaves no statement in
   * progress if SQLite refuses the lock.
   */
  transaction<Result>(work: () => Result): Result {
    this.assertInPlace(0);
    this.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.exec('COMMIT');
      return result;
    } catch (error) {
      this.rollBack();
      throw error;
    }
  }

  /** Runs reads that all see the file as it is at the first one. */
  snapshot<Result>(work: () => Result): Result {
    this.exec('BEGIN');
    try {
      return work();
    } finally {
      this.rollBack();
    }
  }

  private rollBack(): void {
    try {
      // Some failures, such as a full disk, end the transaction themselves.
      if (this.database.inTransaction) this.exec('ROLLBACK');
    } catch {
      // Ignored, because the caller gets the original failure. The transaction ends at the latest when the connection
      // closes.
    }
  }

  /**
   * Runs `work`, and retries it while another connection has a lock that it needs. Does not block the process between
   * the attempts. Throws `CatalogError('database_timeout')` after the deadline, `DamagedFileError` if the file is
   * damaged, and `CatalogError('unavailable')` if the file fails or is closed.
   */
  async attempt<Result>(
    work: (connection: this) => Result,
    limit_ms = this.options.timeout_ms ?? TIMEOUT_MS,
  ): Promise<Result> {
    this.assertInPlace();
    try {
      return await retryWhileBusy(() => work(this), limit_ms);
    } catch (error) {
      if (isBusy(error)) this.reopen();
      if (isDamage(error)) throw this.toDamagedFileError(error);
      if (isBusy(error) || DISK_FAILURE.test(sqliteCode(error))) this.has_failed = true;
      throw toCatalogError(error);
    }
  }

  /**
   * Replaces the connection after a lock was not released in time. It may keep an old view of the file: all of its writes
   * would then be refused, and the write-ahead log would grow for as long as there are writes.
   */
  private reopen(): void {
    // SQLite would create a file that was deleted.
    if (this.closed || this.isReplaced(0)) return;
    const previous = this.database;
    this.database = openDatabase(this.file);
    this.reopened++;
    this.statements.clear();
    this.was_refused = false;
    previous.close();
    this.configure();
  }

  /**
   * Returns whether the file can be used. Costs a system call or two, so it may be called often. After a write has failed,
   * it commits an unchanged page, at most once per second, until that succeeds. A transaction that is rolled back would
   * show nothing: SQLite writes to the disk when it commits.
   */
  async health(): Promise<StoreHealth> {
    if (this.is_damaged || this.isReplaced()) return 'damaged';
    if (!hasRoom(dirname(this.file))) return 'not_writable';
    if (this.has_failed && performance.now() - this.probed_at_ms >= PROBE_EVERY_MS) {
      this.probed_at_ms = performance.now();
      const commit = (): void => {
        this.transaction(() => this.database.exec(`PRAGMA user_version = ${this.options.format}`));
        this.has_failed = false;
      };
      await this.attempt(commit, PROBE_EVERY_MS).catch(() => undefined);
    }
    return this.has_failed ? 'not_writable' : 'ok';
  }

  private toDamagedFileError(cause: unknown): DamagedFileError {
    const { remedy } = this.options;
    this.is_damaged = true;
    return this.report(new DamagedFileError(this.file, { problem: 'is damaged', remedy, cause }));
  }

  private report(error: DamagedFileError): DamagedFileError {
    this.options.onDamage?.(error);
    return error;
  }

  /** Reads all pages. Throws an error that `isDamage` recognises if the file is damaged. Slow for a large file. */
  checkPages(): void {
    const found = this.value('PRAGMA quick_check(1)');
    if (found !== 'ok') throw Object.assign(new Error(String(found)), { code: 'SQLITE_CORRUPT' });
  }

  /**
   * Returns a number that changes whenever another connection, of this or another process, has committed. NaN, which
   * differs from every number, if the file was replaced.
   */
  dataVersion(): number {
    if (this.isReplaced()) return Number.NaN;
    return this.reopened * 2 ** 32 + Number(this.value('PRAGMA data_version'));
  }

  /** Writes the file anew, without what was deleted. Pages may have copies of that, also if it was overwritten. */
  vacuum(): void {
    this.database.exec('VACUUM');
    this.all('PRAGMA wal_checkpoint(TRUNCATE)');
  }

  close(): void {
    if (this.closed) return;
    try {
      // Empties the WAL. SQLite does that when the last connection closes, but libsql keeps the connection open until its
      // statements are garbage-collected. If the file was replaced, the WAL may belong to the new one.
      if (!this.isReplaced(0)) this.all('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // Another process uses the file. That is no problem: the next process that opens the file reads the WAL.
    }
    this.closed = true;
    this.statements.clear();
    this.database.close();
  }
}

export function openDatabase(file: string): Database.Database {
  try {
    const database = new Database(file, { timeout: BLOCKING_WAIT_MS });
    makePrivate(file);
    return database;
  } catch (cause) {
    throw new CatalogError('unavailable', { message: `cannot open ${file}`, cause });
  }
}

/** Returns the number of the file at a path, or undefined if there is none. */
function inodeOf(file: string): bigint | undefined {
  try {
    return statSync(file, { bigint: true, throwIfNoEntry: false })?.ino;
  } catch (cause) {
    throw new CatalogError('unavailable', { message: `cannot read ${file}`, cause });
  }
}

/** Lets only the owner read the file. A new -wal or -shm file gets the mode of the database file. */
function makePrivate(file: string): void {
  for (const path of [file, `${file}-wal`, `${file}-shm`])
    try {
      if (existsSync(path)) chmodSync(path, 0o600);
    } catch {
      // The file belongs to another user, or is on a read-only disk. Whether it can be used shows later.
    }
}

/**
 * Runs `work`, and retries it for `limit_ms` while another connection has a lock that it needs. Throws the errors of
 * the driver.
 */
export async function retryWhileBusy<Result>(work: () => Result, limit_ms = TIMEOUT_MS): Promise<Result> {
  const deadline_ms = Date.now() + limit_ms;
  for (let pause_ms = 1; ; pause_ms = Math.min(pause_ms * 2, RETRY_MS_MAX)) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || Date.now() >= deadline_ms) throw error;
    }
    await pause(withJitter(pause_ms));
  }
}

/** Codes of a full or read-only disk, or of one that fails. */
const DISK_FAILURE = /^SQLITE_(FULL|READONLY|IOERR|CANTOPEN|PERM)/;

/** Returns false if the folder is on a read-only file system, or on one without room. Writes nothing. */
function hasRoom(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return freeBytes(folder) >= ROOM_BYTES;
  } catch {
    return false;
  }
}

/** Returns the free space of the disk that the folder is on. */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Returns true if another connection has a lock that this connection needs. The same call may succeed later. */
function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(sqliteCode(error));
}

/**
 * Maps an error of SQLite: a lock that was not released in time is `database_timeout`. Every other code, also one that
 * this release does not know, is `unavailable`, unless it says something about the statement or its values. Returns such
 * an error, and any error that is not of SQLite, unchanged.
 */
export function toCatalogError(error: unknown): unknown {
  if (isBusy(error)) return new CatalogError('database_timeout', { cause: error });
  const code = sqliteCode(error);
  if (!code.startsWith('SQLITE_') || WRONG_STATEMENT.test(code) || isRefusedValue(error)) return error;
  return new CatalogError('unavailable', { cause: error });
}

/** Codes of a statement that is wrong or is used wrongly. */
const WRONG_STATEMENT = /^SQLITE_(ERROR|MISUSE|RANGE)$/;

/** Returns whether SQLite refuses a value: it violates a constraint, or is too large. */
export function isRefusedValue(error: unknown): error is Error {
  return /^SQLITE_(CONSTRAINT|TOOBIG|MISMATCH)/.test(sqliteCode(error));
}

/**
 * Returns true for an error of the driver that means: the file is not a SQLite database, is corrupt or truncated. A disk
 * that fails to read (EIO) also looks like this.
 */
export function isDamage(error: unknown): boolean {
  return /^SQLITE_(CORRUPT|NOTADB|IOERR_SHORT_READ)/.test(sqliteCode(error));
}

/** Returns the code of a SQLite error, such as `SQLITE_BUSY`; empty for other errors. */
export function sqliteCode(error: unknown): string {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : '';
}
