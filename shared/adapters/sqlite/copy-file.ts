import Database from 'libsql';

/** How long the copy waits for locks. */
const TIMEOUT_MS = 5_000;

/**
 * Copies a SQLite file as it is at one moment, also while other processes write to it. `to` must not exist. Reads every
 * page, so it throws if the file is damaged. Blocks this process.
 */
export function copySqliteFile(from: string, to: string): void {
  const database = new Database(from, { timeout: TIMEOUT_MS });
  try {
    database.prepare('VACUUM INTO ?').run([to]);
  } catch (cause) {
    throw new Error(`${from} cannot be copied to ${to}: ${(cause as Error).message}`, { cause });
  } finally {
    database.close();
  }
}
