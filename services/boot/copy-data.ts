import { createReadStream, existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { FileBlobStore, syncPath } from '../../shared/adapters/files/blob-store';
import { copySqliteFile } from '../../shared/adapters/sqlite/copy-file';
import { ENVIRONMENTS, REALMS } from '../../shared/catalog/realm';
import { BLOB_AREAS, type BlobStore, isBlobHash } from '../../shared/ports/blob-store';
import { eventsFile, INCOMPLETE, mediaFolder } from './open-adapters';

export interface CopiedData {
  /** Number of media files. */
  readonly files: number;
  readonly bytes: number;
  /** Media files whose bytes do not have the hash in their name. */
  readonly damaged: readonly string[];
}

/** Whether a folder contains the logs of a catalog. A copy that \`copyData\` did not complete lacks that of \`control\`. */
export const hasLogs = (folder: string): boolean =>
  REALMS.every((realm) => existsSync(eventsFile(folder, realm)));

/**
 * Copies what cannot be made again from a DATA_DIR to an empty folder, in the same places: the logs, the media files, and
 * the files next to them, such as the token keys. Processes may use `from` meanwhile. If the copy fails, `to` stays
 * without a catalog.
 *
 * The logs are copied before the media files: an upload stores its file before its event, so the copy has a file for
 * each event. `control` is the first log, so that every store that a copied key names is in the copy.
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
    let [files, bytes] = [0, 0];
    const damaged: string[] = [];
    for (const environment of ENVIRONMENTS)
      for (const area of BLOB_AREAS) {
        const store = await FileBlobStore.open({ folder: mediaFolder(incomplete, environment, area) });
        const source = mediaFolder(from, environment, area);
        const paths = existsSync(source) ? await readdir(source, { recursive: true }) : [];
        for (const path of paths.filter((name) => isBlobHash(basename(name)))) {
          const stored = await putFile(store, join(source, path));
          files += stored ? 1 : 0;
          bytes += stored?.size_bytes ?? 0;
          if (stored && stored.hash !== basename(path)) damaged.push(join(environment, 'media', area, path));
        }
        await store.close();
      }
    for (const entry of await readdir(from, { withFileTypes: true }))
      if (entry.isFile() && !entry.name.includes('.sqlite'))
        await writeFile(join(incomplete, entry.name), await readFile(join(from, entry.name)), {
          flush: true,
        });
    await syncPath(incomplete);
    // `control` last: it makes the copy count as complete.
    const names = (await readdir(incomplete)).filter((name) => name !== 'control');
    for (const name of [...names, 'control']) await rename(join(incomplete, name), join(to, name));
    await syncPath(to);
    return { files, bytes, damaged };
  } finally {
    await rm(incomplete, { recursive: true, force: true });
  }
}

/** Returns undefined if the file was deleted meanwhile: nothing has used it for a day. */
async function putFile(store: BlobStore, path: string) {
  try {
    return await store.put(createReadStream(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
