import type { Collection, Document, UpdateFilter } from 'mongodb';
import type { Position } from '../../catalog/events/envelope';
import { CatalogError } from '../../kernel/errors';
import type { LogMark } from '../../ports/event-store';
import type { CheckpointMove, DeadLetter, PartitionState, WriteBatch } from '../../ports/view-store';
import { isDuplicateKey, type MongoConnection } from './connection';
import type { JournalName } from './journal';

/** What a batch changes in the document of its partition. */
interface PartitionChange {
  readonly position: Position;
  readonly parked?: readonly Document[];
  readonly mark?: LogMark;
}

/** A batch that is decided: every process that finds it completes it. */
export interface PendingBatch extends JournalName {
  readonly change: PartitionChange;
}

/**
 * The state of a partition. It is one document, so that it changes in one atomic step. The maximum size of a document is
 * enough for tens of thousands of dead letters; usually there are few.
 */
interface PartitionDocument extends PartitionChange, Document {
  readonly _id: number;
  /** Absent in a version of an earlier release, which is only read. */
  readonly revision?: number;
  /** The dead letters. Earlier releases stored an object, by stream. */
  readonly parked: readonly Document[];
  readonly pending?: PendingBatch;
}

/** Stores the partitions of one version in the collection `lanes_v<N>`. */
export class Partitions {
  private readonly connection: MongoConnection;
  private readonly version: number;
  private readonly collection: Collection<PartitionDocument>;

  constructor(connection: MongoConnection, version: number) {
    this.connection = connection;
    this.version = version;
    this.collection = connection.collection(partitionsName(version));
  }

  /** Creates the partitions that do not exist yet. */
  async create(partition_count: number): Promise<void> {
    for (let partition = 0; partition < partition_count; partition++) {
      const initial: PartitionDocument = { _id: partition, position: 0n, revision: 0, parked: [] };
      await this.connection.run(async () => {
        try {
          await this.collection.insertOne(initial);
        } catch (error) {
          if (!isDuplicateKey(error)) throw error;
        }
      });
    }
  }

  async checkpoints(): Promise<Position[]> {
    const found = await this.connection.run(() =>
      this.collection.find({}, { projection: { position: 1 }, sort: { _id: 1 } }).toArray(),
    );
    if (found.length === 0) throw this.droppedError();
    return found.map(({ position }) => position);
  }

  async checkpoint(partition: number): Promise<Position> {
    const found = await this.connection.run(() =>
      this.collection.findOne({ _id: partition }, { projection: { position: 1 } }),
    );
    if (!found) throw this.droppedError();
    return found.position;
  }

  /** Returns the state of the partition, and the batch that must be completed before documents are read. */
  async read(partition: number): Promise<{ state: PartitionState; pending: PendingBatch | undefined }> {
    const found = await this.connection.run(() => this.collection.findOne({ _id: partition }));
    if (!found) throw this.droppedError();
    const { position: checkpoint, revision = 0, pending } = found;
    return { state: { checkpoint, revision, dead_letters: deadLettersOf(found) }, pending };
  }

  /**
   * Returns the revision of each of these partitions. NaN, which equals no number, while a batch is pending, because some
   * of its documents may be written and others not.
   */
  async revisions(partitions: readonly number[]): Promise<number[]> {
    const found = await this.connection.run(() =>
      this.collection
        .find({ _id: { $in: [...new Set(partitions)] } })
        .project<PartitionDocument>({ revision: 1, 'pending.journal': 1 })
        .toArray(),
    );
    const by_partition = new Map(found.map((one) => [one._id, one.pending ? undefined : one.revision]));
    return partitions.map((partition) => by_partition.get(partition) ?? Number.NaN);
  }

  /** Returns the newest mark of all partitions. */
  async mark(): Promise<LogMark | undefined> {
    const newest = await this.connection.run(() =>
      this.collection.findOne(
        { mark: { $exists: true } },
        { projection: { mark: 1 }, sort: { 'mark.position': -1 } },
      ),
    );
    return newest?.mark;
  }

  /** Returns the partitions whose checkpoint is now at or after `to`. Takes one round trip if all of them move. */
  async advanceIdle(moves: readonly CheckpointMove[]): Promise<number[]> {
    if (moves.length === 0) return [];
    const updates = moves.map(({ partition, from, to }) => ({
      updateOne: {
        filter: { _id: partition, position: { $gte: from, $lt: to }, ...NOTHING_PENDING },
        update: { $set: { position: to } },
      },
    }));
    const { matchedCount } = await this.connection.run(() =>
      this.collection.bulkWrite(updates, { ordered: false }),
    );
    if (matchedCount === moves.length) return moves.map(({ partition }) => partition);
    const checkpoints = await this.checkpoints();
    return moves
      .filter(({ partition, to }) => checkpoints[partition]! >= to)
      .map(({ partition }) => partition);
  }

  /**
   * Decides that the batch is applied. From then on, every process that reads the partition completes it. Returns
   * undefined if another batch was applied or decided since the partition was read.
   */
  async decide(batch: WriteBatch, journal: JournalName): Promise<PendingBatch | undefined> {
    const pending = { ...journal, change: changeOf(batch) };
    return (await this.update(batch, { $set: { pending } })) ? pending : undefined;
  }

  /** Ends the batch after all of its documents are written. Does nothing if another process has ended it. */
  async complete(partition: number, { journal, change }: PendingBatch): Promise<void> {
    await this.connection.run(() =>
      this.collection.updateOne(
        { _id: partition, 'pending.journal': journal },
        { $set: change, $inc: { revision: 1 }, $unset: { pending: '' } },
      ),
    );
  }

  /** Applies a batch without documents. Returns false if another batch was applied or decided since. */
  applyAlone(batch: WriteBatch): Promise<boolean> {
    return this.update(batch, { $set: changeOf(batch), $inc: { revision: 1 } });
  }

  private async update(
    { partition, revision, checkpoint }: WriteBatch,
    update: UpdateFilter<PartitionDocument>,
  ): Promise<boolean> {
    const filter = { _id: partition, revision, position: { $lte: checkpoint }, ...NOTHING_PENDING };
    const { matchedCount } = await this.connection.run(() => this.collection.updateOne(filter, update));
    if (matchedCount === 1) return true;
    // Throws if the version was dropped.
    await this.checkpoint(partition);
    return false;
  }

  async deadLetters(): Promise<DeadLetter[]> {
    const found = await this.connection.run(() => this.collection.find({}).toArray());
    return sortByPosition(found.flatMap(deadLettersOf));
  }

  private droppedError(): CatalogError {
    return new CatalogError('unavailable', { message: `view version ${this.version} was dropped` });
  }
}

/**
 * "Lane" and "parked" are the names of earlier releases. They are kept because an older process may share the database.
 */
export const partitionsName = (version: number): string => `lanes_v${version}`;

const deadLettersOf = ({ _id: partition, parked }: PartitionDocument): DeadLetter[] =>
  sortByPosition(
    Object.values(parked).map(
      ({ parked_at, ...dead_letter }) => ({ ...dead_letter, partition, failed_at: parked_at }) as DeadLetter,
    ),
  );

const sortByPosition = (dead_letters: DeadLetter[]): DeadLetter[] =>
  dead_letters.sort((a, b) => (a.position < b.position ? -1 : Number(a.position > b.position)));

const NOTHING_PENDING = { pending: { $exists: false } };

const changeOf = ({ checkpoint, dead_letters, mark }: WriteBatch): PartitionChange => ({
  position: checkpoint,
  ...(dead_letters && { parked: dead_letters.map(toStored) }),
  ...(mark && { mark }),
});

const toStored = ({ stream, revision, position, reason, cause, failed_at }: DeadLetter): Document => ({
  stream,
  revision,
  position,
  reason,
  ...(cause !== undefined && { cause }),
  parked_at: failed_at,
});
