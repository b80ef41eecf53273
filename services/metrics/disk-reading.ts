import { statfs } from 'node:fs/promises';
import type { DiskReading } from './service-metrics';

/** Reads the space on the disk of a folder. Resolves to undefined if it cannot be read. */
export async function readDisk(folder: string): Promise<DiskReading | undefined> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    return { free_bytes: bavail * bsize, size_bytes: blocks * bsize };
  } catch {
    return undefined;
  }
}
