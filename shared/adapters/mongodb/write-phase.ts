import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import type { CollectionName } from '../../catalog/documents';
import type { DocumentWrite } from '../../ports/view-store';
import type { MongoConnection } from './connection';
import { type MongoDocument, toStored } from './documents';
import { duplicatesIn } from './errors';

type Outcome = 'applied' | 'lost_race';

/**
 * Writes documents side by side, each under its own guard, and returns when all of them are durable or refused.
 * `lost_race`: some document was not as expected, the others are written. Throws where a unique key is taken by
 * another document, which no repetition heals.
 */
export async function writePhase(
  connection: MongoConnection,
  nameOf: (collection: CollectionName) => string,
  phase: readonly DocumentWrite[],
): Promise<Outcome> {
  const by_collection = byCollection(phase);
  const written = await Promise.allSettled(
    [...by_collection].map(([collection, writes]) =>
      writeCollection(connection, connection.collection<MongoDocument>(nameOf(collection)), writes),
    ),
  );
  const failed = written.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
  return written.every((result) => result.status === 'fulfilled' && result.value === 'applied')
    ? 'applied'
    : 'lost_race';
}

function byCollection(phase: readonly DocumentWrite[]): Map<CollectionName, DocumentWrite[]> {
  const groups = new Map<CollectionName, DocumentWrite[]>();
  for (const write of phase) {
    const group = groups.get(write.collection);
    if (group) group.push(write);
    else groups.set(write.collection, [write]);
  }
  return groups;
}

async function writeCollection(
  connection: MongoConnection,
  collection: Collection<MongoDocument>,
  writes: readonly DocumentWrite[],
): Promise<Outcome> {
  const operations = writes.map(toOperation);
  const replaced = writes.filter(({ expected }) => expected !== null).length;
  return connection.run(async () => {
    try {
      const result = await collection.bulkWrite(operations, { ordered: false });
      return result.matchedCount === replaced ? 'applied' : 'lost_race';
    } catch (error) {
      const duplicates = duplicatesIn(error);
      if (!duplicates) throw error;
      const refused = duplicates.map((index) => writes[index]!);
      if (await exist(collection, refused)) return 'lost_race';
      throw error;
    }
  });
}

function toOperation(write: DocumentWrite): AnyBulkWriteOperation<MongoDocument> {
  const document = toStored(write.collection, write);
  if (write.expected === null) return { insertOne: { document } };
  const { _id, ...replacement } = document;
  return { replaceOne: { filter: { _id, position: write.expected }, replacement } };
}

/**
 * Whether every refused write was an insert of a document that is there by now. If not, another document holds
 * its unique key. Servers word the error each in its own way, so the documents are asked, not the message.
 */
async function exist(
  collection: Collection<MongoDocument>,
  refused: readonly DocumentWrite[],
): Promise<boolean> {
  if (refused.some(({ expected }) => expected !== null)) return false;
  const ids = refused.map(({ id }) => id);
  const found = await collection.find({ _id: { $in: ids } }, { projection: { _id: 1 } }).toArray();
  return found.length === new Set(ids).size;
}
