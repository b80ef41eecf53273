import { COLLECTION_NAMES } from '../../catalog/documents';
import type { IndexProgress } from '../../ports/view-store';
import { storedCollection } from '../stored-collections';
import type { MongoConnection } from './connection';
import { documentsName, indexesOf } from './documents';

/** How often the creation of indexes is reported that takes long. */
const REPORT_EVERY_MS = 5_000;

/**
 * Creates the collections and indexes of a version that do not exist yet. Has no deadline, because a full collection may
 * take hours, and the dozens of files of a new version some seconds on a slow disk. Calls `onProgress` every 5 s.
 */
export async function completeIndexes(
  connection: MongoConnection,
  version: number,
  onProgress: (progress: IndexProgress) => void = () => {},
): Promise<void> {
  const progress = { name: '', built: 0, total: COLLECTION_NAMES.length };
  const timer = setInterval(() => onProgress({ ...progress }), REPORT_EVERY_MS).unref();
  try {
    await connection.runWithoutDeadline(async (database) => {
      for (const collection of COLLECTION_NAMES) {
        progress.name = documentsName(collection, version);
        const indexes = indexesOf(storedCollection(collection));
        if (indexes.length > 0) await database.collection(progress.name).createIndexes(indexes);
        progress.built++;
      }
    });
  } finally {
    clearInterval(timer);
  }
}
