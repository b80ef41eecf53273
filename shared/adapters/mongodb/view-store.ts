import type { Collection, Document, ReadPreferenceMode } from 'mongodb';
import { COLLECTION_NAMES, type CollectionName } from '../../catalog/documents';
import { LANE_COUNT } from '../../catalog/events/lanes';
import { pause, withJitter, withTimeout } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';
import { timestamp } from '../../kernel/system';
import type { VersionInfo, VersionStatus, ViewStore } from '../../ports/view-store';
import { declaredKeys, keysDiffer, type StoredKeys, storedCollection } from '../stored-collections';
import { isDuplicateKey, MongoConnection, type MongoConnectionOptions } from './connection';
import { indexesOf, type MongoDocument } from './documents';
import { Lanes, lanesName } from './lanes';
import { documentsName, MongoViewVersion } from './view-version';

/** How long `open` waits for a server, unless told, before it goes on without. */
const OPENING_MS = 2_500;
const RETRY_MS = 500;
const CLOCK_SLACK_MS = 60_000;
const LIST_TRIES_MAX = 20;

export interface MongoViewStoreOptions extends MongoConnectionOptions {
  /** Of a store that is made now; one that exists keeps its own. */
  readonly lane_count?: number;
  /**
   * Where documents are read from, `primary` by default. Anything else is for processes that only serve reads and
   * may answer from a little before: a secondary can be behind the checkpoint that a reader waited for.
   */
  readonly read_preference?: ReadPreferenceMode;
  /** How long `open` waits for a server that does not answer; 2.5 s by default. */
  readonly opening_ms?: number;
  /** Unix milliseconds; for leases and `created_at`. */
  readonly now?: () => number;
}

/** A realm's documents in a MongoDB database of its own, on the plain subset that compatible servers have too. */
export class MongoViewStore implements ViewStore {
  /** Resolves when the server has been reached for the first time; never rejects. */
  readonly ready: Promise<void>;
  private readonly connection: MongoConnection;
  private readonly list: VersionList;
  private readonly leases: Leases;
  private readonly now: () => number;
  private readonly read_preference: ReadPreferenceMode;
  private readonly opened = new Map<number, MongoViewVersion>();
  private readonly keys = new Map<number, StoredKeys>();
  private lanes: number | undefined;
  private readonly closing = new AbortController();

  private constructor(options: MongoViewStoreOptions) {
    this.connection = new MongoConnection(options);
    this.now = options.now ?? Date.now;
    this.read_preference = options.read_preference ?? 'primary';
    this.list = new VersionList(this.connection, options.lane_count ?? LANE_COUNT);
    this.leases = new Leases(this.connection, this.now);
    this.ready = this.untilDone(async () => {
      await this.read();
    });
    void this.ready.then(() => this.untilDone(() => this.tidy()));
  }

  /** Opens at once where the server answers, after `opening_ms` where it does not; it is then looked for further on. */
  static async open(options: MongoViewStoreOptions): Promise<MongoViewStore> {
    const store = new MongoViewStore(options);
    await withTimeout(store.ready, options.opening_ms ?? OPENING_MS, () => undefined);
    return store;
  }

  /** Throws `CatalogError('unavailable')` until the server has been reached for the first time. */
  get lane_count(): number {
    if (this.lanes === undefined)
      throw new CatalogError('unavailable', { message: 'MongoDB was not reached yet' });
    return this.lanes;
  }

  async versions(): Promise<VersionInfo[]> {
    const { versions } = await this.read();
    return Promise.all(
      versions.map(async ({ keys: _, ...info }) => ({
        ...info,
        keys_differ: keysDiffer(await this.keysOf(info.version, versions)),
      })),
    );
  }

  async createVersion(schema: number): Promise<VersionInfo> {
    for (;;) {
      const { next, lane_count } = await this.read();
      // What the version holds is made before it is listed, so that a listed one is whole.
      await this.make(next, lane_count);
      const info = { version: next, status: 'building', schema, created_at: timestamp(this.now()) } as const;
      let listed = false;
      await this.list.change((before) => {
        listed = before.next === next;
        return listed
          ? { next: next + 1, versions: [{ ...info, keys: declaredKeys }, ...before.versions] }
          : {};
      });
      if (listed) return { ...info, keys_differ: false };
    }
  }

  async setStatus(version: number, status: Exclude<VersionStatus, 'active'>): Promise<void> {
    await this.list.change((before) => {
      if (listedIn(before, version).status === 'active') throw isActive(version);
      return {
        versions: before.versions.map((info) => (info.version === version ? { ...info, status } : info)),
      };
    });
  }

  async activate(version: number): Promise<void> {
    await this.list.change((before) => {
      listedIn(before, version);
      const statusOf = (info: ListedVersion): VersionStatus => {
        if (info.version === version) return 'active';
        return info.status === 'active' ? 'retired' : info.status;
      };
      return { versions: before.versions.map((info) => ({ ...info, status: statusOf(info) })) };
    });
  }

  async drop(version: number): Promise<void> {
    await this.list.change((before) => {
      const dropped = listedIn(before, version);
      if (dropped.status === 'active') throw isActive(version);
      return { versions: before.versions.filter((info) => info !== dropped) };
    });
    this.opened.delete(version);
    await this.sweep();
  }

  async open(version: number): Promise<MongoViewVersion> {
    const { versions } = await this.read();
    listedIn({ versions }, version);
    const opened = this.opened.get(version);
    if (opened) return opened;
    const keys = await this.keysOf(version, versions);
    const fresh = new MongoViewVersion(this.connection, version, keys, this.read_preference);
    this.opened.set(version, fresh);
    return fresh;
  }

  lease(name: string, owner: string, ttl_ms: number): Promise<boolean> {
    return this.leases.take(name, owner, ttl_ms);
  }

  release(name: string, owner: string): Promise<void> {
    return this.leases.release(name, owner);
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.connection.close();
  }

  private async read(): Promise<VersionsDocument> {
    const found = await this.list.read();
    this.lanes = found.lane_count;
    return found;
  }

  private async keysOf(version: number, versions: readonly ListedVersion[]): Promise<StoredKeys> {
    const known = this.keys.get(version);
    if (known) return known;
    const listed = versions.find((info) => info.version === version);
    const keys = listed?.keys ?? (await this.sampleKeys(version));
    this.keys.set(version, keys);
    return keys;
  }

  /** Earlier releases did not list a version's keys. Its documents tell them; a collection without any has those declared. */
  private async sampleKeys(version: number): Promise<StoredKeys> {
    const sampled = COLLECTION_NAMES.map(async (name) => {
      const declared = declaredKeys[name]!;
      const found = await this.connection.run(() =>
        this.documents(name, version).findOne({ k: { $exists: true } }, { projection: { k: 1 } }),
      );
      const names = Object.keys(found?.k ?? declared.keys);
      const keys = Object.fromEntries(names.map((key) => [key, declared.keys[key] ?? 'text']));
      return [name, { ...declared, keys }] as const;
    });
    return Object.fromEntries(await Promise.all(sampled));
  }

  private documents(name: CollectionName, version: number): Collection<MongoDocument> {
    return this.connection.collection(documentsName(name, version));
  }

  private async make(version: number, lane_count: number): Promise<void> {
    await new Lanes(this.connection, version).create(lane_count);
    for (const name of COLLECTION_NAMES) {
      const indexes = indexesOf(storedCollection(name));
      if (indexes.length === 0) continue;
      await this.connection.run(() => this.documents(name, version).createIndexes(indexes));
    }
  }

  /** Makes indexes that an older release did not, which a server builds while it serves, and drops what was left over. */
  private async tidy(): Promise<void> {
    const { lane_count } = await this.read();
    for (const { version, keys_differ } of await this.versions())
      if (!keys_differ) await this.make(version, lane_count);
    await this.sweep();
  }

  /** Drops the collections of versions that are listed no more, also those that an earlier call left half done. */
  private async sweep(): Promise<void> {
    const names = await this.connection.collectionNames();
    const { versions, next } = await this.read();
    const listed = new Set(versions.map(({ version }) => version));
    // The number that comes next may be in the making.
    const gone = Array.from({ length: next - 1 }, (_, index) => index + 1).filter((v) => !listed.has(v));
    const orphans = new Set(
      gone.flatMap((v) => [lanesName(v), ...COLLECTION_NAMES.map((name) => documentsName(name, v))]),
    );
    for (const name of names.filter((name) => orphans.has(name))) await this.connection.dropCollection(name);
  }

  /** Goes on until `work` succeeds or the store is closed. */
  private async untilDone(work: () => Promise<void>): Promise<void> {
    while (!this.closing.signal.aborted) {
      try {
        return await work();
      } catch {
        // Every caller is told of the same failure by its own call.
        await pause(RETRY_MS, this.closing.signal, { ref: false });
      }
    }
  }
}

function listedIn({ versions }: Pick<VersionsDocument, 'versions'>, version: number): ListedVersion {
  const found = versions.find((info) => info.version === version);
  if (!found) throw new CatalogError('unavailable', { message: `there is no view version ${version}` });
  return found;
}

const isActive = (version: number): Error => new Error(`view version ${version} is the active one`);

const ID = 'versions';

/** Has no `keys` where an earlier release made it. */
type ListedVersion = Omit<VersionInfo, 'keys_differ'> & { readonly keys?: StoredKeys };

/** All that is said of a realm's versions, in one document: a change of any of it is one atomic step. */
interface VersionsDocument extends Document {
  readonly _id: typeof ID;
  /** Counts the changes: the compare of the compare-and-set. */
  readonly revision: number;
  readonly lane_count: number;
  /** The number of the version that comes next; no number is given twice. */
  readonly next: number;
  /** Newest first. */
  readonly versions: readonly ListedVersion[];
}

type VersionsChange = Partial<Pick<VersionsDocument, 'next' | 'versions'>>;

class VersionList {
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
    for (let tries = 0; tries < LIST_TRIES_MAX; tries++) {
      const before = await this.read();
      const after = { ...before, ...decide(before), revision: before.revision + 1 };
      const { _id, ...replacement } = after;
      const result = await this.connection.run(() =>
        this.collection.replaceOne({ _id, revision: before.revision }, replacement),
      );
      if (result.matchedCount === 1) return;
      await pause(withJitter(5 * (tries + 1)));
    }
    throw new CatalogError('lost_race', { message: 'the list of versions is changed too often' });
  }
}

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
class Leases {
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
