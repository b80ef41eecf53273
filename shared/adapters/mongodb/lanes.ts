import type { Collection, Document } from 'mongodb';
import type { Position, StreamName } from '../../catalog/events/envelope';
import { CatalogError } from '../../kernel/errors';
import type { LaneMove, LaneState, ParkedStream, WriteBatch } from '../../ports/view-store';
import type { MongoConnection } from './connection';
import { isDuplicateKey } from './errors';

/**
 * A lane's state in one document, so that moving the checkpoint and parking streams is one atomic step. Of parked
 * streams there are few: a document holds some tens of thousands.
 */
interface LaneDocument extends Document {
  readonly _id: number;
  readonly position: Position;
  /** By the stream's name in a form that can be a field's name. */
  readonly parked: Readonly<Record<string, Document>>;
}

/** The lanes of one version: the collection `lanes_v<N>`. */
export class Lanes {
  private readonly connection: MongoConnection;
  private readonly version: number;
  private readonly collection: Collection<LaneDocument>;

  constructor(connection: MongoConnection, version: number) {
    this.connection = connection;
    this.version = version;
    this.collection = connection.collection(lanesName(version));
  }

  /** Makes what is missing of `lane_count` lanes; done again it changes nothing. */
  async create(lane_count: number): Promise<void> {
    for (let lane = 0; lane < lane_count; lane++) {
      const at_start: LaneDocument = { _id: lane, position: 0n, parked: {} };
      await this.connection.run(async () => {
        try {
          await this.collection.insertOne(at_start);
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
    if (found.length === 0) throw this.dropped();
    return found.map(({ position }) => position);
  }

  async checkpoint(lane: number): Promise<Position> {
    const found = await this.connection.run(() =>
      this.collection.findOne({ _id: lane }, { projection: { position: 1 } }),
    );
    if (!found) throw this.dropped();
    return found.position;
  }

  async lane(lane: number): Promise<LaneState> {
    const found = await this.connection.run(() => this.collection.findOne({ _id: lane }));
    if (!found) throw this.dropped();
    return { checkpoint: found.position, parked: parkedIn(found) };
  }

  /** In one round trip where all of them move. Gives the lanes that are at their `to` or beyond. */
  async moveOn(moves: readonly LaneMove[]): Promise<number[]> {
    if (moves.length === 0) return [];
    const updates = moves.map(({ lane, from, to }) => ({
      updateOne: {
        filter: { _id: lane, position: { $gte: from, $lt: to } },
        update: { $set: { position: to } },
      },
    }));
    const { matchedCount } = await this.connection.run(() =>
      this.collection.bulkWrite(updates, { ordered: false }),
    );
    if (matchedCount === moves.length) return moves.map(({ lane }) => lane);
    const checkpoints = await this.checkpoints();
    return moves.filter(({ lane, to }) => checkpoints[lane]! >= to).map(({ lane }) => lane);
  }

  /** Moves the checkpoint, parks and unparks, if the checkpoint is where the batch expects it; false if not. Throws in a dropped version. */
  async advance({ lane, from, to, park = [], unpark = [] }: WriteBatch): Promise<boolean> {
    const parked = new Map(park.map((stream) => [fieldOf(stream.stream), stored(stream)]));
    const freed = unpark.map(fieldOf).filter((name) => !parked.has(name));
    const result = await this.connection.run(() =>
      this.collection.updateOne(
        { _id: lane, position: from },
        {
          $set: { position: to, ...Object.fromEntries(parked) },
          ...(freed.length > 0 ? { $unset: Object.fromEntries(freed.map((name) => [name, ''])) } : {}),
        },
      ),
    );
    if (result.matchedCount === 1) return true;
    await this.checkpoint(lane);
    return false;
  }

  async parked(): Promise<ParkedStream[]> {
    const found = await this.connection.run(() => this.collection.find({}).toArray());
    return inLogOrder(found.flatMap(parkedIn));
  }

  private dropped(): CatalogError {
    return new CatalogError('unavailable', { message: `view version ${this.version} is gone` });
  }
}

export const lanesName = (version: number): string => `lanes_v${version}`;

const parkedIn = ({ _id: lane, parked }: LaneDocument): ParkedStream[] =>
  inLogOrder(Object.values(parked).map((stream) => ({ ...stream, lane }) as ParkedStream));

const inLogOrder = (streams: ParkedStream[]): ParkedStream[] =>
  streams.sort((a, b) => (a.position < b.position ? -1 : Number(a.position > b.position)));

/** No two streams share a name in this form, and none of its characters means anything in an update. */
const fieldOf = (stream: StreamName): string => `parked.${encodeURIComponent(stream).replaceAll('.', '%2E')}`;

const stored = ({ stream, revision, position, reason, parked_at }: ParkedStream): Document => ({
  stream,
  revision,
  position,
  reason,
  parked_at,
});
