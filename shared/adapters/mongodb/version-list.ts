import { setTimeout as sleep } from 'node:timers/promises';
import type { Collection, Document } from 'mongodb';
import { CatalogError } from '../../kernel/errors';
import type { VersionInfo } from '../../ports/view-store';
import type { MongoConnection } from './connection';
import { isDuplicateKey } from './errors';

const TRIES_MAX = 20;
const ID = 'versions';

/** All that is said of a realm's versions, in one document: a change of any of it is one atomic step. */
export interface VersionsDocument extends Document {
  readonly _id: typeof ID;
  /** Counts the changes: the compare of the compare-and-set. */
  readonly revision: number;
  readonly lane_count: number;
  /** The number of the version that comes next; no number is given twice. */
  readonly next: number;
  /** Newest first. */
  readonly versions: readonly VersionInfo[];
}

export type VersionsChange = Partial<Pick<VersionsDocument, 'next' | 'versions'>>;

export class VersionList {
  private readonly connection: MongoConnection;
  private readonly lane_count: number;
  private readonly collection: Collection<VersionsDocument>;

  /** `lane_count` is what a store made here gets. */
  constructor(connection: MongoConnection, lane_count: number) {
    this.connection = connection;
    this.lane_count = lane_count;
    this.collection = connection.collection('meta');
  }

  /** The document as it is now; made where there is none. */
  async read(): Promise<VersionsDocument> {
    return this.connection.run(async () => (await this.collection.findOne({ _id: ID })) ?? this.create());
  }

  /** Several processes may make it at once; the first one's counts. */
  private async create(): Promise<VersionsDocument> {
    const fresh: VersionsDocument = {
      _id: ID,
      revision: 0,
      lane_count: this.lane_count,
      next: 1,
      versions: [],
    };
    try {
      await this.collection.insertOne(fresh);
      return fresh;
    } catch (error) {
      const others = isDuplicateKey(error) ? await this.collection.findOne({ _id: ID }) : null;
      if (others) return others;
      throw error;
    }
  }

  /** Applies `decide` to the newest state, again where another came first; it may throw to refuse. */
  async change(decide: (before: VersionsDocument) => VersionsChange): Promise<void> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const before = await this.read();
      const after = { ...before, ...decide(before), revision: before.revision + 1 };
      const { _id, ...replacement } = after;
      const result = await this.connection.run(() =>
        this.collection.replaceOne({ _id, revision: before.revision }, replacement),
      );
      if (result.matchedCount === 1) return;
      await sleep(Math.random() * 10 * (tries + 1));
    }
    throw new CatalogError('lost_race', { message: 'the list of versions is changed too often' });
  }
}
