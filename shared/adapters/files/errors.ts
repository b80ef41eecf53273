import { CatalogError } from '../../kernel/errors';

/** A disk, its file system or the process' share of files that fails; ENOENT where a folder was taken away. */
const AWAY = new Set([
  'EACCES',
  'EBUSY',
  'EDQUOT',
  'EIO',
  'EMFILE',
  'ENFILE',
  'ENOENT',
  'ENOSPC',
  'ENOTDIR',
  'EPERM',
  'EROFS',
]);

/** Runs `work`; throws `CatalogError('unavailable')` where the disk fails. */
export async function onDisk<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw AWAY.has(codeOf(error)) ? new CatalogError('unavailable', { cause: error }) : error;
  }
}

/** The same, and undefined where there is no such file. */
export function onDiskIfThere<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  return onDisk(async () => {
    try {
      return await work();
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  });
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException | undefined)?.code);
}
