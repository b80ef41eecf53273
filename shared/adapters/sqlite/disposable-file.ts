import { existsSync, renameSync } from 'node:fs';
import {
  isDamage,
  openDatabase,
  retryWhileBusy,
  SqliteConnection,
  type SqliteOptions,
  toCatalogError,
} from './connection';

/** How long a process waits while others open the file, which includes the check of all pages. */
const OPEN_WAIT_MS = 30_000;
const REMEDY = 'Restart all processes: the first one moves the file aside and creates an empty one.';
/**
 * Suffixes of the files of a database. The main file is moved last: after a crash during the move, the damaged main file
 * is still at the path, so the next process moves the files again.
 */
const SUFFIXES = ['-wal', '-shm', ''];

/** The move of an unusable file. Afterwards, an empty file is created at its path. */
export interface RecreatedFile {
  readonly file: string;
  /** Where the old file is now. */
  readonly moved_to: string;
}

/** Called by the process that moved the file. */
export type OnRecreated = (recreated: RecreatedFile) => void;

export interface DisposableOptions extends Omit<SqliteOptions, 'remedy'> {
  readonly onRecreated?: OnRecreated | undefined;
}

/** The options of a store that keeps its data in a disposable file. */
export interface DisposableStoreOptions
  extends Pick<DisposableOptions, 'onDamage' | 'onRecreated' | 'wal_pages_max'> {
  readonly file: string;
}

/**
 * Returns the name of a disposable file. Each format has a name of its own, so a release never meets the file of another
 * release, and finds its own file when an operator goes back to it. The first format has no number.
 */
export const nameOfFormat = (name: string, format: number): string =>
  format === 1 ? name : `${name}.${format}`;

/**
 * Opens a SQLite file whose content may be lost, after a check of all of its pages. A damaged file is moved to
 * `<file>.damaged-<UTC time>`, and an empty one is created. A process that has the old file open reports it as replaced.
 * Throws what `SqliteConnection.open` throws.
 */
export async function openDisposable(
  file: string,
  { onRecreated, ...options }: DisposableOptions,
): Promise<SqliteConnection> {
  return withLock(`${file}.moving`, async () => {
    if (await retryWhileBusy(() => isDamaged(file))) {
      const moved_to = `${file}.damaged-${new Date().toISOString().replace(/[:.]/g, '-')}`;
      for (const suffix of SUFFIXES)
        if (existsSync(file + suffix)) renameSync(file + suffix, moved_to + suffix);
      onRecreated?.({ file, moved_to });
    }
    return SqliteConnection.open(file, { ...options, remedy: REMEDY });
  });
}

/**
 * The connection stays open until its statements are garbage-collected. If the file was moved by then, SQLite does not
 * touch the new write-ahead log at its path.
 */
function isDamaged(file: string): boolean {
  if (!existsSync(file)) return false;
  const database = openDatabase(file);
  try {
    const [row] = database.prepare('PRAGMA quick_check(1)').raw().all([]) as unknown[][];
    return row?.[0] !== 'ok';
  } catch (error) {
    if (isDamage(error)) return true;
    throw error;
  } finally {
    database.close();
  }
}

/**
 * Runs `work` in one process at a time: SQLite would combine files from before and after a move. The lock is that of an
 * empty SQLite file, because the operating system releases it if the process dies. The file is not removed.
 */
async function withLock<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  const lock = openDatabase(file);
  try {
    await retryWhileBusy(() => lock.exec('BEGIN EXCLUSIVE'), OPEN_WAIT_MS);
    return await work();
  } catch (error) {
    throw toCatalogError(error);
  } finally {
    if (lock.inTransaction) lock.exec('ROLLBACK');
    lock.close();
  }
}
