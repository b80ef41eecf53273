import { randomUUID } from 'node:crypto';
import type { Collection, Document } from 'mongodb';
import type { CollectionName } from '../../catalog/documents';
import type { BatchSize } from './batch-size';
import type { MongoConnection } from './connection';
import type { MongoDocument } from './documents';

/** A document and the collection that it belongs to. */
export interface JournalWrite {
  readonly collection: CollectionName;
  readonly document: MongoDocument;
  /** Whether no document with this id was stored before the batch. */
  readonly is_new: boolean;
  /** Whether the document is removed. Absent in a journal of an earlier release. */
  readonly is_removed?: boolean;
}

/** Names a journal: the documents of one batch, in chunks. */
export interface JournalName {
  readonly journal: string;
  readonly chunks: number;
}

/** A chunk is one document of MongoDB, so its size is limited. */
interface Chunk extends Document {
  readonly _id: string;
  readonly writes: readonly JournalWrite[];
}

/**
 * Stores the documents of a batch before any of them is written in its place, so that each process can complete the
 * batch. Each attempt to apply a batch has a journal of its own. See `docs/decisions/0003-ordered-writes-without-transactions.md`.
 */
export class Journals {
  private readonly connection: MongoConnection;
  private readonly size: BatchSize;
  private readonly collection: Collection<Chunk>;

  constructor(connection: MongoConnection, version: number, size: BatchSize) {
    this.connection = connection;
    this.size = size;
    this.collection = connection.collection(journalsName(version));
  }

  /**
   * Stores the journal of a batch that follows this revision of the partition. Also removes the journals of earlier
   * revisions: their batches are complete, or have lost their race.
   */
  async write(
    partition: number,
    revision: number,
    chunks: readonly (readonly JournalWrite[])[],
  ): Promise<JournalName> {
    const journal = `${prefixOf(partition, revision)}${randomUUID()}`;
    const store = async (): Promise<void> => {
      for (const [index, writes] of chunks.entries()) {
        const chunk = { _id: chunkId(journal, index), writes };
        const insert = () => this.connection.run(() => this.collection.insertOne(chunk));
        await this.size.measure(writes.length, insert);
      }
    };
    await Promise.all([store(), this.removeBefore(partition, revision)]);
    return { journal, chunks: chunks.length };
  }

  /** Returns the documents of the journal. Undefined if a chunk is missing: another process has completed the batch. */
  async read({ journal, chunks }: JournalName): Promise<JournalWrite[] | undefined> {
    const writes: JournalWrite[] = [];
    for (let index = 0; index < chunks; index++) {
      const _id = chunkId(journal, index);
      const chunk = await this.connection.run(() => this.collection.findOne({ _id }));
      if (!chunk) return undefined;
      writes.push(...chunk.writes);
    }
    return writes;
  }

  private async removeBefore(partition: number, revision: number): Promise<void> {
    const earlier = { $gte: prefixOf(partition, 0), $lt: prefixOf(partition, revision) };
    await this.connection.run(() => this.collection.deleteMany({ _id: earlier }));
  }
}

export const journalsName = (version: number): string => `journal_v${version}`;

/** As many digits as the largest safe integer has, so that the ids of a partition sort by revision. */
const REVISION_DIGITS = 16;

const prefixOf = (partition: number, revision: number): string =>
  `${partition}.${String(revision).padStart(REVISION_DIGITS, '0')}.`;

const chunkId = (journal: string, index: number): string => `${journal}.${index}`;
