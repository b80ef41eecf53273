import type { Collection, IndexDescription, MongoClient } from 'mongodb';
import { COLLECTION_NAMES, type CollectionName } from '../../catalog/documents';
import { pause } from '../../kernel/async';
import type { IndexProgress } from '../../ports/view-store';
import { storedCollection } from '../stored-collections';
import { isCollectionMissing, type MongoConnection } from './connection';
import { documentsName, indexesOf, type MongoDocument } from './documents';

/** How often the server is asked for the progress of an index. */
const POLL_MS = 5_000;

/** The indexes that a collection lacks. */
export interface MissingIndexes {
  readonly version: number;
  /** The collection as it is stored. */
  readonly name: string;
  readonly collection: Collection<MongoDocument>;
  readonly indexes: readonly IndexDescription[];
}

/** Creates the missing indexes of a version's empty collections. Returns those that its other collections lack. */
export async function indexEmptyCollections(
  connection: MongoConnection,
  version: number,
): Promise<MissingIndexes[]> {
  const of_full_collections: MissingIndexes[] = [];
  for (const name of COLLECTION_NAMES) {
    const missing = await missingIndexes(connection, name, version);
    if (missing.indexes.length === 0) continue;
    if (await isEmpty(connection, missing.collection))
      await connection.run(() => missing.collection.createIndexes([...missing.indexes]));
    else of_full_collections.push(missing);
  }
  return of_full_collections;
}

async function missingIndexes(
  connection: MongoConnection,
  collection_name: CollectionName,
  version: number,
): Promise<MissingIndexes> {
  const name = documentsName(collection_name, version);
  const collection = connection.collection<MongoDocument>(name);
  const declared = indexesOf(storedCollection(collection_name));
  const existing = declared.length === 0 ? [] : await connection.run(() => keysOfIndexes(collection));
  const indexes = declared.filter(
    ({ key }) => !existing.includes(textOf(key as ReadonlyMap<string, number>)),
  );
  return { version, name, collection, indexes };
}

async function keysOfIndexes(collection: Collection<MongoDocument>): Promise<string[]> {
  try {
    return (await collection.indexes()).map(({ key }) => textOf(new Map(Object.entries(key))));
  } catch (error) {
    if (isCollectionMissing(error)) return [];
    throw error;
  }
}

const textOf = (key: ReadonlyMap<string, unknown>): string =>
  JSON.stringify([...key].map(([field, direction]) => [field, Number(direction)]));

async function isEmpty(connection: MongoConnection, collection: Collection<MongoDocument>): Promise<boolean> {
  return (await connection.run(() => collection.findOne({}, { projection: { _id: 1 } }))) === null;
}

/**
 * Creates these indexes one by one and without a deadline, because each may take hours. If this call fails, the server
 * may complete the index that it was building; a repeated call waits for it.
 */
export async function buildIndexes(
  connection: MongoConnection,
  missing: readonly MissingIndexes[],
  onProgress: (progress: IndexProgress, version: number) => void,
): Promise<void> {
  const total = missing.reduce((sum, { indexes }) => sum + indexes.length, 0);
  let built = 0;
  for (const { version, name, indexes } of missing)
    for (const index of indexes) {
      onProgress({ name, built, total }, version);
      await connection.runWithoutDeadline(async (client, database) => {
        const ended = new AbortController();
        const report = (fraction: number): void => onProgress({ name, built, total, fraction }, version);
        const polling = pollProgress(client, `${database}.${name}`, ended.signal, report);
        try {
          await client.db(database).collection(name).createIndexes([index]);
        } finally {
          ended.abort();
          await polling;
        }
      });
      built++;
      onProgress({ name, built, total }, version);
    }
}

/**
 * Asks the server for its progress until `signal` aborts. Reports nothing if the server or the user's rights forbid it.
 */
async function pollProgress(
  client: MongoClient,
  namespace: string,
  signal: AbortSignal,
  report: (fraction: number) => void,
): Promise<void> {
  for (await pause(POLL_MS, signal); !signal.aborted; await pause(POLL_MS, signal)) {
    const operations = [{ $currentOp: {} }, { $match: { ns: namespace, 'progress.total': { $gt: 0 } } }];
    const found = await client
      .db('admin')
      .aggregate(operations)
      .toArray()
      .catch(() => []);
    for (const { progress } of found) report(Number(progress.done) / Number(progress.total));
  }
}
