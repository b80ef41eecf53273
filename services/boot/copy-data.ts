import { createReadStream, existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { FileBlobStore, syncPath } from '../../shared/adapters/files/blob-store';
import { copySqliteFile } from '../../shared/adapters/sqlite/copy-file';
import { ENVIRONMENTS, REALMS } from '../../shared/catalog/realm';
import { ifExists } from '../../shared/kernel/if-exists';
import { BLOB_AREAS, isBlobHash } from '../../shared/ports/blob-store';
import { eventsFile, INCOMPLETE, mediaFolder } from './open-adapters';

export interface CopiedData {
  /** Number of media files, and their total size. */
  readonly files: number;
  readonly bytes: number;
  /** Paths of media files whose content does not match the hash in their name. */
  readonly damaged: readonly string[];
}

/**
 * Returns whether a folder contains the logs of all realms. A copy that `copyData` did not complete has no log of
 * `control`.
 */
export const hasLogs = (folder: string): boolean =>
  REALMS.every((realm) => existsSync(eventsFile(folder, realm)));

/** Returns an empty file. It was modified when `catalog backup` last copied the folder. */
export const lastBackupFile = (data_dir: string): string => join(data_dir, LAST_BACKUP);
const LAST_BACKUP = 'last-backup';

/**
 * Copies the files of a DATA_DIR that cannot be made again to an empty folder, under the same paths: the logs, the media
 * files, and other files such as the token keys. Processes may use `from` meanwhile. If the copy fails, `to` contains no
 * catalog.
 *
 * Copies the logs before the media files. An upload stores its file before its event, so the copy has a file for each
 * event. Copies the log of `control` first, so that the later logs contain every store of its API keys.
 */
export async function copyData(from: string, to: string): Promise<CopiedData> {
  const incomplete = join(to, INCOMPLETE);
  try {
    for (const realm of REALMS) {
      await mkdir(join(incomplete, realm), { recursive: true });
      const copy = eventsFile(incomplete, realm);
      copySqliteFile(eventsFile(from, realm), copy);
      await syncPath(copy);
      await syncPath(join(incomplete, realm));
    }
    let files = 0;
    let bytes = 0;
    const damaged: string[] = [];
    for (const environment of ENVIRONMENTS)
      for (const area of BLOB_AREAS) {
        const store = await FileBlobStore.open({ folder: mediaFolder(incomplete, environment, area) });
        const source = mediaFolder(from, environment, area);
        const paths = existsSync(source) ? await readdir(source, { recursive: true }) : [];
        for (const path of paths.filter((name) => isBlobHash(basename(name)))) {
          // The file may be deleted meanwhile: nothing has used it for a day then.
          const stored = await ifExists(store.put(createReadStream(join(source, path))));
          files += stored ? 1 : 0;
          bytes += stored?.size_bytes ?? 0;
          if (stored && stored.hash !== basename(path)) damaged.push(join(environment, 'media', area, path));
        }
        await store.close();
      }
    // The service creates the SQLite files of this folder again (rate limits, idempotency).
    for (const entry of await readdir(from, { withFileTypes: true }))
      if (entry.isFile() && !entry.name.includes('.sqlite') && entry.name !== LAST_BACKUP)
        await writeFile(join(incomplete, entry.name), await readFile(join(from, entry.name)), {
          flush: true,
        });
    await syncPath(incomplete);
    // Move `control` last, because a folder counts as a complete copy as soon as it contains this log.
    const names = (await readdir(incomplete)).filter((name) => name !== 'control');
    for (const name of [...names, 'control']) await rename(join(incomplete, name), join(to, name));
    await syncPath(to);
    return { files, bytes, damaged };
  } finally {
    await rm(incomplete, { recursive: true, force: true });
  }
}
