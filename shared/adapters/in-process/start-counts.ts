import { appendFile, mkdir, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Counts by key, in a folder. The file of a key has one byte per start, so a process that dies at any moment leaves a
 * valid count. The counts survive the process, but not always a power failure.
 */
export class StartCounts {
  constructor(private readonly folder: string) {}

  /** Adds one to the count of a key. Returns the new count. Throws if the disk fails. */
  async add(key: string): Promise<number> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const file = join(this.folder, key);
    await appendFile(file, '.', { mode: 0o600 });
    return (await stat(file)).size;
  }

  /** Sets the count of a key to a lower one. If the disk fails, the count stays too high. */
  async set(key: string, count: number): Promise<void> {
    const file = join(this.folder, key);
    await (count === 0 ? rm(file, { force: true }) : truncate(file, count)).catch(() => undefined);
  }
}
