import type { Document } from 'mongodb';
import type { MongoConnection } from './connection';
import { isDuplicateKey } from './errors';

const CLOCK_SLACK_MS = 60_000;

interface LeaseDocument extends Document {
  readonly _id: string;
  readonly owner: string;
  /** Unix milliseconds. */
  readonly until_ms: number;
}

/**
 * Leases by compare-and-set. Time is that of the callers' clocks, for a plain server offers none to compare with:
 * a clock that is ahead by d takes over d too early. That does no harm, for every write compares before it sets,
 * but clocks that differ by more than a lease's time make two holders trade it to and fro.
 */
export class Leases {
  private readonly connection: MongoConnection;
  private readonly now: () => number;

  constructor(connection: MongoConnection, now: () => number) {
    this.connection = connection;
    this.now = now;
  }

  private get collection() {
    return this.connection.collection<LeaseDocument>('leases');
  }

  async take(name: string, owner: string, ttl_ms: number): Promise<boolean> {
    const now_ms = this.now();
    const until_ms = now_ms + ttl_ms;
    // A lease that ends later than anybody asked for was taken before the clock was set back.
    const ended = [
      { until_ms: { $lte: now_ms } },
      { until_ms: { $gt: now_ms + 2 * ttl_ms + CLOCK_SLACK_MS } },
    ];
    return this.connection.run(async () => {
      const renewed = await this.collection.updateOne(
        { _id: name, $or: [{ owner }, ...ended] },
        { $set: { owner, until_ms } },
      );
      if (renewed.matchedCount === 1) return true;
      try {
        await this.collection.insertOne({ _id: name, owner, until_ms });
        return true;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    });
  }

  async release(name: string, owner: string): Promise<void> {
    await this.connection.run(() => this.collection.deleteOne({ _id: name, owner }));
  }
}
