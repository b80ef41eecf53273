import { stat, statfs } from 'node:fs/promises';

/** Space on the disk of DATA_DIR, in bytes. */
export interface DiskReading {
  /** What this process may still write; less than what is free if the system keeps a reserve for root. */
  readonly free_bytes: number;
  readonly size_bytes: number;
  /** In seconds since 1970. Undefined if there is no back-up. */
  readonly backed_up_at_s: number | undefined;
}

/**
 * Reads the space on the disk of DATA_DIR. The folder was last backed up when `backup_file` was modified. Resolves to
 * undefined if the disk cannot be read.
 */
export async function readDisk(folder: string, backup_file: string): Promise<DiskReading | undefined> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    const last_backup = await stat(backup_file).catch(() => undefined);
    return {
      free_bytes: bavail * bsize,
      size_bytes: blocks * bsize,
      backed_up_at_s: last_backup && last_backup.mtimeMs / 1_000,
    };
  } catch {
    return undefined;
  }
}
