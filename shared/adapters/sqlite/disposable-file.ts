import { closeSync, existsSync, openSync, readSync, renameSync } from 'node:fs';
import Database from 'libsql';
import { CatalogError, DamagedFileError } from '../../kernel/errors';
import {
  inodeOf,
  isBusy,
  isDamage,
  type OnDamage,
  retryWhileBusy,
  SqliteConnection,
  type SqliteOptions,
  sqliteCode,
} from './connection';

/** Openings of a file that other processes move or create at the same time, before `open` fails. */
const OPEN_ATTEMPTS_MAX = 10;
/** How long a process waits while another one moves the file, which includes the check of it. */
const MOVE_WAIT_MS = 30_000;
/** How long the check of a file that seems to be damaged waits for locks of other processes. */
const CONFIRM_WAIT_MS = 2_000;
/**
 * Suffixes of the files of a database. The main file is moved last: after a crash during the move, the damaged main file
 * is still at the path, so the next process moves the files again.
 */
const SUFFIXES = ['-wal', '-shm', ''];

/** The move of a damaged file. Afterwards, an empty file is created at its path. */
export interface RecreatedFile {
  readonly file: string;
  /** Where the damaged file is now. */
  readonly moved_to: string;
}

/** Called by the process that moved the damaged file. */
export type OnRecreated = (recreated: RecreatedFile) => void;

export interface DisposableOptions extends Omit<SqliteOptions, 'remedy' | 'onDamage'> {
  readonly onRecreated?: OnRecreated | undefined;
  /**
   * Recreates the file only in `open`, which then checks all of its pages. For a file that is found damaged later,
   * `attempt` calls `onDamage` and throws `DamagedFileError`.
   */
  readonly only_at_open?: boolean;
  readonly onDamage?: OnDamage | undefined;
  /** Called after this process has opened the new file at the path. */
  readonly onReopened?: () => void;
}

/**
 * A SQLite file whose content may be lost. If it turns out to be damaged, at the start or later, it is moved to
 * `<file>.damaged-<UTC time>` and an empty one is created. Other processes that have the damaged file open notice this
 * within a second, and open the new one.
 */
export class DisposableFile {
  private readonly file: string;
  private readonly options: DisposableOptions;
  private connection: SqliteConnection;
  /** The replacement that is in progress. */
  private replacing: Promise<void> | undefined;
  private closed = false;

  private constructor(file: string, options: DisposableOptions, connection: SqliteConnection) {
    this.file = file;
    this.options = options;
    this.connection = connection;
  }

  /** Throws what `SqliteConnection.open` throws. A damaged file is an error only if it cannot be moved. */
  static async open(file: string, options: DisposableOptions): Promise<DisposableFile> {
    return new DisposableFile(file, options, await openOrRecreate(file, options));
  }

  /** Runs `work` as `SqliteConnection.attempt` does. If the file is damaged, runs it again on an empty one. */
  async attempt<Result>(work: (connection: SqliteConnection) => Result, limit_ms?: number): Promise<Result> {
    await this.reopenIfReplaced();
    const { connection } = this;
    try {
      return await connection.attempt(() => work(connection), limit_ms);
    } catch (error) {
      if (!(error instanceof DamagedFileError)) throw error;
      if (this.options.only_at_open) this.options.onDamage?.(error);
      if (this.options.only_at_open) throw error;
      // A concurrent call may have replaced the file meanwhile.
      if (connection === this.connection) await this.replace(true);
    }
    const recreated = this.connection;
    return recreated.attempt(() => work(recreated), limit_ms);
  }

  private async reopenIfReplaced(): Promise<void> {
    await this.replacing;
    if (this.connection.isReplaced()) await this.replace(false);
  }

  /** Opens the file at the path. If `is_damaged`, first moves aside the file that this process has open. */
  private async replace(is_damaged: boolean): Promise<void> {
    if (this.closed) throw new CatalogError('unavailable', { message: `${this.file} is closed` });
    this.replacing ??= this.replaceOnce(is_damaged).finally(() => {
      this.replacing = undefined;
    });
    await this.replacing;
  }

  private async replaceOnce(is_damaged: boolean): Promise<void> {
    const { file, options } = this;
    if (is_damaged) await moveAside(file, this.connection.inode, options.onRecreated);
    const opened = await openOrRecreate(file, options);
    this.connection.close();
    this.connection = opened;
    if (this.closed) opened.close();
    options.onReopened?.();
  }

  close(): void {
    this.closed = true;
    this.connection.close();
  }
}

/**
 * Opens the file. Creates it if there is none, and moves a damaged one aside. Repeats the opening if another process moved
 * the file meanwhile.
 */
async function openOrRecreate(file: string, options: DisposableOptions): Promise<SqliteConnection> {
  let failure: unknown = new CatalogError('unavailable', {
    message: `other processes keep replacing ${file}`,
  });
  for (let attempt = 1; attempt <= OPEN_ATTEMPTS_MAX; attempt++) {
    const inode = inodeOf(file);
    try {
      const connection = await openUnlessMoving(file, options);
      if (!connection.isReplaced(0)) return connection;
      connection.close();
    } catch (error) {
      if (!(error instanceof DamagedFileError)) throw error;
      failure = error;
      await moveAside(file, inode, options.onRecreated);
    }
  }
  throw failure;
}

/**
 * Opens the file while no process moves it. SQLite would otherwise combine files from before and after the move: the
 * database file with a new `-wal` file, which then stays next to the empty file.
 */
async function openUnlessMoving(file: string, options: DisposableOptions): Promise<SqliteConnection> {
  try {
    return await withLock(file, 'shared', () => open(file, options));
  } catch (error) {
    if (isBusy(error)) throw new CatalogError('database_timeout', { cause: error });
    if (sqliteCode(error) === '') throw error;
    throw new CatalogError('unavailable', { message: `cannot open ${lockOf(file)}`, cause: error });
  }
}

async function open(file: string, options: DisposableOptions): Promise<SqliteConnection> {
  const { onRecreated: _, onDamage: __, onReopened: ___, only_at_open, ...sqlite } = options;
  const remedy = only_at_open
    ? 'Restart the service: it moves the file aside and creates an empty one.'
    : 'Stop all processes and delete it.';
  const connection = await SqliteConnection.open(file, { ...sqlite, remedy });
  try {
    if (only_at_open) await connection.attempt(() => connection.checkPages());
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * Moves a damaged file to `<file>.damaged-<UTC time>`, unless another file has its path by now, or the damage cannot be
 * confirmed. Several processes may call it at once: one of them moves the file.
 */
async function moveAside(
  file: string,
  inode: bigint | undefined,
  onRecreated: OnRecreated | undefined,
): Promise<void> {
  try {
    await withLock(file, 'exclusive', async () => {
      if (inode === undefined || inodeOf(file) !== inode || !isDamageConfirmed(file)) return;
      const moved_to = `${file}.damaged-${new Date().toISOString().replace(/[:.]/g, '-')}`;
      for (const suffix of SUFFIXES)
        if (existsSync(file + suffix)) renameSync(file + suffix, moved_to + suffix);
      onRecreated?.({ file, moved_to });
    });
  } catch (cause) {
    throw new CatalogError('unavailable', {
      message: `${file} seems to be damaged, and cannot be read or moved aside. Check the disk, or stop all processes and delete the file.`,
      cause,
    });
  }
}

const lockOf = (file: string): string => `${file}.moving`;

/** Statements that take the lock. An empty file has no tables, but reading it takes the shared lock. */
const LOCKS = {
  shared: ['BEGIN', 'SELECT count(*) FROM sqlite_schema'],
  exclusive: ['BEGIN EXCLUSIVE'],
} as const;

/**
 * Runs `work` while no other process runs work under an exclusive lock, or under any lock if this one is exclusive. The
 * lock is that of an empty SQLite file, because the operating system releases it if the process dies. The file is not
 * removed. Throws errors of the driver if the lock cannot be taken.
 */
async function withLock<Result>(
  file: string,
  kind: keyof typeof LOCKS,
  work: () => Promise<Result>,
): Promise<Result> {
  const lock = new Database(lockOf(file));
  try {
    await retryWhileBusy(() => {
      if (lock.inTransaction) lock.exec('ROLLBACK');
      for (const statement of LOCKS[kind]) lock.exec(statement);
    }, MOVE_WAIT_MS);
    const result = await work();
    lock.exec('ROLLBACK');
    return result;
  } finally {
    lock.close();
  }
}

/**
 * Returns whether a complete check finds the file damaged. SQLite reports a read that the disk failed as corruption, too.
 * Therefore this reads the files first, and throws if the disk fails again: then nobody knows what they contain.
 *
 * Closing a descriptor of the file releases the locks that this process has on it. So the caller must not use a connection
 * that was open before.
 */
export function isDamageConfirmed(file: string): boolean {
  for (const path of [file, `${file}-wal`]) if (existsSync(path)) readToEnd(path);
  const database = new Database(file, { timeout: CONFIRM_WAIT_MS });
  try {
    const rows = database.prepare('PRAGMA integrity_check(1)').raw().all([]) as unknown[][];
    return rows[0]?.[0] !== 'ok';
  } catch (error) {
    if (isDamage(error)) return true;
    throw error;
  } finally {
    database.close();
  }
}

function readToEnd(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    const chunk = Buffer.allocUnsafe(1_048_576);
    while (readSync(descriptor, chunk) > 0);
  } finally {
    closeSync(descriptor);
  }
}
