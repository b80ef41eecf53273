import type { Collection, Document } from 'mongodb';
import { type Position, START, type StreamName } from '../../catalog/events/envelope';
import { CatalogError } from '../../kernel/errors';
import type { LaneMove, LaneState, ParkedStream, WriteBatch } from '../../ports/view-store';
import { isDuplicateKey, type MongoConnection } from './connection';

const POLL_MS_MIN = 2;
const POLL_MS_MAX = 25;

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

interface Waiter {
  readonly lane: number;
  readonly position: Position;
  readonly done: (reached: boolean) => void;
}

/**
 * Waits for checkpoints, for a store that tells of no changes: what this process moves it says itself, and the others'
 * moves are asked for. However many wait, one question at a time is under way. While nothing moves the pauses grow
 * from 2 to 25 ms; for a lane whose last move came from here they are 25 ms, for the next one most likely does too.
 */
export class CheckpointWatch {
  private readonly read: () => Promise<Position[]>;
  private readonly waiters = new Set<Waiter>();
  /** As far as each lane was seen. */
  private readonly seen: Position[] = [];
  /** Lanes whose last move came from this process. */
  private readonly own = new Set<number>();
  private pause_ms = POLL_MS_MIN;
  private looking = false;
  private next: { readonly at_ms: number; readonly timer: NodeJS.Timeout } | undefined;

  constructor(read: () => Promise<Position[]>) {
    this.read = read;
  }

  /** True as soon as the lane's checkpoint is seen at or past `position`; false after `timeout_ms`, however the store does. */
  wait(lane: number, position: Position, timeout_ms: number): Promise<boolean> {
    if (this.hasSeen(lane, position)) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => waiter.done(false), timeout_ms);
      const done = (reached: boolean): void => {
        clearTimeout(timer);
        this.waiters.delete(waiter);
        resolve(reached);
      };
      const waiter: Waiter = { lane, position, done };
      this.waiters.add(waiter);
      this.pause_ms = POLL_MS_MIN;
      this.lookWithin(this.own.has(lane) ? POLL_MS_MAX : 0);
    });
  }

  /** This process has moved the lane's checkpoint to `position`. */
  moved(lane: number, position: Position): void {
    this.own.add(lane);
    if (this.hasSeen(lane, position)) return;
    this.seen[lane] = position;
    this.tell();
  }

  private hasSeen(lane: number, position: Position): boolean {
    return (this.seen[lane] ?? START) >= position;
  }

  private tell(): void {
    for (const waiter of [...this.waiters]) if (this.hasSeen(waiter.lane, waiter.position)) waiter.done(true);
  }

  private lookWithin(wait_ms: number): void {
    const at_ms = performance.now() + wait_ms;
    if (this.looking || (this.next && this.next.at_ms <= at_ms)) return;
    clearTimeout(this.next?.timer);
    this.next = { at_ms, timer: setTimeout(() => void this.look(), wait_ms) };
  }

  private async look(): Promise<void> {
    this.next = undefined;
    if (this.waiters.size === 0) return;
    this.looking = true;
    // A store that is away may be back before the waiters' time is up.
    const positions = await this.read().catch((): Position[] => []);
    this.looking = false;
    for (const [lane, position] of positions.entries()) {
      if (this.hasSeen(lane, position)) continue;
      this.seen[lane] = position;
      this.own.delete(lane);
    }
    this.tell();
    if (this.waiters.size === 0) return;
    const others = [...this.waiters].some(({ lane }) => !this.own.has(lane));
    this.lookWithin(others ? this.pause_ms : POLL_MS_MAX);
    this.pause_ms = Math.min(this.pause_ms * 1.5, POLL_MS_MAX);
  }
}
