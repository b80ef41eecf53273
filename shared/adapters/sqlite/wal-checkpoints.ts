import { existsSync, statSync } from 'node:fs';
import Database from 'libsql';
import type { Logger } from '../../kernel/log';

/** How often the sizes of the write-ahead logs are read. */
const EVERY_MS = 1_000;
/** A write-ahead log of this size is copied into its file. */
const WAL_BYTES_MAX = 16_000_000;
/** How long the last step may wait for a lock. If it does not get it, the next round tries again. */
const LOCK_WAIT_MS = 50;

/**
 * Copies the write-ahead logs of files into the files, in place of the process that writes them (`wal_pages_max` of
 * `SqliteOptions`). A checkpoint writes and syncs up to the size of the log, which would hold the event loop of that
 * process. Call the returned function to stop.
 */
export function startWalCheckpoints(files: readonly string[], log: Logger): () => void {
  const timer = setInterval(() => {
    for (const file of files) if (walBytes(file) >= WAL_BYTES_MAX) checkpoint(file, log);
  }, EVERY_MS);
  return () => clearInterval(timer);
}

function walBytes(file: string): number {
  return statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/** Opens the file anew each time, because another process may have replaced it. Does not create a deleted one. */
function checkpoint(file: string, log: Logger): void {
  if (!existsSync(file)) return;
  try {
    const database = new Database(file, { timeout: LOCK_WAIT_MS });
    try {
      // PASSIVE copies nearly everything, and locks out nobody. TRUNCATE copies the rest, for which it locks out writers,
      // and empties the log. Without it, the log would grow for as long as there are writes at each checkpoint.
      for (const mode of ['PASSIVE', 'TRUNCATE']) database.prepare(`PRAGMA wal_checkpoint(${mode})`).all();
    } finally {
      database.close();
    }
  } catch (error) {
    // The next round tries again. The writing process checkpoints itself if the log becomes much larger.
    log.debug({ err: error, file }, 'checkpoint of a write-ahead log failed; retrying');
  }
}
