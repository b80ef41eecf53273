import type { Collection, Document, ReadPreferenceMode } from 'mongodb';
import { COLLECTION_NAMES, type CollectionName } from '../../catalog/documents';
import { PARTITION_COUNT } from '../../catalog/events/partitions';
import { backoff, pause, Semaphore, withJitter, withTimeout } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';
import { timestamp } from '../../kernel/system';
import type { IndexProgress, VersionInfo, VersionStatus, ViewStore } from '../../ports/view-store';
import { declaredKeys, keysDiffer, type StoredKeys } from '../stored-collections';
import { isDuplicateKey, MongoConnection, type MongoConnectionOptions } from './connection';
import { documentsName, type MongoDocument } from './documents';
import { completeIndexes } from './indexes';
import { journalsName } from './journal';
import { Partitions, partitionsName } from './partitions';
import { MongoViewVersion } from './view-version';

/** How long `open` waits for the server by default. */
const OPENING_MS = 2_500;
const RETRY_MS = 500;
const cleanUpRetryMs = backoff(RETRY_MS, 30_000);
const CLOCK_SLACK_MS = 60_000;
const LIST_ATTEMPTS_MAX = 20;

export interface MongoViewStoreOptions extends MongoConnectionOptions {
  /** Partition count of a new store. An existing store keeps its own. */
  readonly partition_count?: number;
  /**
   * Server to read documents from; `primary` by default. Use another value only in processes that only serve reads, and
   * only if slightly outdated answers are acceptable. The documents of a secondary may be older than the checkpoint that
   * a reader has waited for. Reads after a wait therefore use `upToDate`, which reads from the primary.
   */
  readonly read_preference?: ReadPreferenceMode;
  /** How long `open` waits for the server; 2.5 s by default. */
  readonly opening_ms?: number;
  /** Returns Unix milliseconds, for leases and `created_at`. */
  readonly now?: () => number;
  /** Called while indexes of full collections are created, which may take hours. */
  readonly onIndexing?: OnIndexing;
  /** Called when the creation of missing indexes, or the removal of dropped versions, has failed. It is repeated. */
  readonly onCleanUpFailure?: (error: unknown) => void;
}

export type OnIndexing = (version: number, progress: IndexProgress) => void;

/**
 * Stores a realm's documents in a MongoDB database of its own. Uses only commands that compatible servers support, too.
 */
export class MongoViewStore implements ViewStore {
  /** Resolves when the server has been reached for the first time; never rejects. */
  readonly ready: Promise<void>;
  private readonly connection: MongoConnection;
  private readonly list: VersionList;
  private readonly leases: Leases;
  private readonly now: () => number;
  private readonly read_preference: ReadPreferenceMode;
  private readonly onIndexing: OnIndexing | undefined;
  private readonly opened = new Map<number, MongoViewVersion>();
  private readonly stored_keys = new Map<number, StoredKeys>();
  private stored_partition_count: number | undefined;
  private readonly closing = new AbortController();
  /** Lets one drop run at a time: a server may refuse to drop a collection that another call is dropping. */
  private readonly cleaning = new Semaphore(1);

  private constructor(options: MongoViewStoreOptions) {
    this.connection = new MongoConnection(options);
    this.now = options.now ?? Date.now;
    this.onIndexing = options.onIndexing;
    this.read_preference = options.read_preference ?? 'primary';
    this.list = new VersionList(this.connection, options.partition_count ?? PARTITION_COUNT);
    this.leases = new Leases(this.connection, this.now);
    this.ready = this.retryUntilSuccess(async () => {
      await this.read();
    });
    void this.ready.then(() =>
      this.retryUntilSuccess(() => this.cleanUp(), cleanUpRetryMs, options.onCleanUpFailure),
    );
  }

  /**
   * Waits at most `opening_ms` for the server. If it does not answer, the store opens anyway and keeps trying to
   * connect.
   */
  static async open(options: MongoViewStoreOptions): Promise<MongoViewStore> {
    const store = new MongoViewStore(options);
    await withTimeout(store.ready, options.opening_ms ?? OPENING_MS, () => undefined);
    return store;
  }

  /** Throws `CatalogError('unavailable')` until the server has been reached for the first time. */
  get partition_count(): number {
    if (this.stored_partition_count === undefined)
      throw new CatalogError('unavailable', { message: 'MongoDB has not been reached yet' });
    return this.stored_partition_count;
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
      // Creates the collections before the version is listed, so that every listed version is complete.
      await this.createCollections(next, lane_count);
      const info = { version: next, status: 'building', schema, created_at: timestamp(this.now()) } as const;
      let is_listed = false;
      await this.list.change((before) => {
        // If another process has created version `next` in the meantime, this process tries the next number.
        is_listed = before.next === next;
        return is_listed
          ? { next: next + 1, versions: [{ ...info, keys: declaredKeys }, ...before.versions] }
          : {};
      });
      if (is_listed) return { ...info, keys_differ: false };
    }
  }

  async setStatus(version: number, status: Exclude<VersionStatus, 'active'>): Promise<void> {
    await this.list.change((before) => {
      if (findListed(before, version).status === 'active') throw activeVersionError(version);
      return {
        versions: before.versions.map((info) => (info.version === version ? { ...info, status } : info)),
      };
    });
  }

  async activate(version: number): Promise<void> {
    await this.list.change((before) => {
      findListed(before, version);
      const after = ({ retired_at, ...info }: ListedVersion): ListedVersion => {
        if (info.version === version) return { ...info, status: 'active' };
        if (info.status === 'active')
          return { ...info, status: 'retired', retired_at: timestamp(this.now()) };
        return retired_at === undefined ? info : { ...info, retired_at };
      };
      return { versions: before.versions.map(after) };
    });
  }

  async drop(version: number): Promise<void> {
    await this.list.change((before) => {
      const dropped = findListed(before, version);
      if (dropped.status === 'active') throw activeVersionError(version);
      return { versions: before.versions.filter((info) => info !== dropped) };
    });
    this.opened.get(version)?.close();
    this.opened.delete(version);
    await this.cleaning.run(() => this.dropOrphans());
  }

  async dropEarlierFormats(): Promise<readonly string[]> {
    return [];
  }

  async open(version: number): Promise<MongoViewVersion> {
    const { versions } = await this.read();
    findListed({ versions }, version);
    const opened = this.opened.get(version);
    if (opened) return opened;
    const keys = await this.keysOf(version, versions);
    const { connection, partition_count, read_preference } = this;
    const view_version = new MongoViewVersion(connection, version, keys, partition_count, read_preference);
    this.opened.set(version, view_version);
    return view_version;
  }

  async pausedSince(): Promise<string | undefined> {
    return (await this.read()).paused_at ?? undefined;
  }

  async setPaused(is_paused: boolean): Promise<void> {
    await this.list.change(({ paused_at }) => ({
      paused_at: is_paused ? (paused_at ?? timestamp(this.now())) : null,
    }));
  }

  lease(name: string, owner: string, ttl_ms: number): Promise<boolean> {
    return this.leases.take(name, owner, ttl_ms);
  }

  release(name: string, owner: string): Promise<void> {
    return this.leases.release(name, owner);
  }

  async close(): Promise<void> {
    this.closing.abort();
    for (const version of this.opened.values()) version.close();
    await this.connection.close();
  }

  private async read(): Promise<VersionsDocument> {
    const found = await this.list.read();
    this.stored_partition_count = found.lane_count;
    return found;
  }

  private async keysOf(version: number, versions: readonly ListedVersion[]): Promise<StoredKeys> {
    const cached = this.stored_keys.get(version);
    if (cached) return cached;
    const listed = versions.find((info) => info.version === version);
    const keys = listed?.keys ?? (await this.sampleKeys(version));
    this.stored_keys.set(version, keys);
    return keys;
  }

  /**
   * Reads the keys from sample documents, because earlier releases did not list the keys of a version. A collection
   * without documents gets the declared keys.
   */
  private async sampleKeys(version: number): Promise<StoredKeys> {
    const samples = COLLECTION_NAMES.map(async (name) => {
      const declared = declaredKeys[name]!;
      const sample = await this.connection.run(() =>
        this.documents(name, version).findOne({ k: { $exists: true } }, { projection: { k: 1 } }),
      );
      const names = Object.keys(sample?.k ?? declared.keys);
      const keys = Object.fromEntries(names.map((key) => [key, declared.keys[key] ?? 'text']));
      return [name, { ...declared, keys }] as const;
    });
    return Object.fromEntries(await Promise.all(samples));
  }

  private documents(name: CollectionName, version: number): Collection<MongoDocument> {
    return this.connection.collection(documentsName(name, version));
  }

  /** Creates the partitions and the collections of a version. */
  private async createCollections(version: number, partition_count: number): Promise<void> {
    await new Partitions(this.connection, version).create(partition_count);
    await completeIndexes(this.connection, version);
  }

  /** Creates the indexes that an earlier release did not declare, and drops the collections of dropped versions. */
  private async cleanUp(): Promise<void> {
    for (const { version, keys_differ } of await this.versions())
      if (!keys_differ)
        await completeIndexes(this.connection, version, (progress) => this.onIndexing?.(version, progress));
    await this.cleaning.run(() => this.dropOrphans());
  }

  /** Drops the collections of all versions that are no longer listed. Completes an earlier call that was interrupted. */
  private async dropOrphans(): Promise<void> {
    const names = await this.connection.collectionNames();
    const { versions, next } = await this.read();
    const listed = new Set(versions.map(({ version }) => version));
    // Does not include version `next`, because another process may be creating it.
    const dropped = Array.from({ length: next - 1 }, (_, index) => index + 1).filter((v) => !listed.has(v));
    const orphans = new Set(
      dropped.flatMap((v) => [
        partitionsName(v),
        journalsName(v),
        ...COLLECTION_NAMES.map((name) => documentsName(name, v)),
      ]),
    );
    for (const name of names.filter((name) => orphans.has(name))) await this.connection.dropCollection(name);
  }

  /** Retries `work` until it succeeds or the store is closed. */
  private async retryUntilSuccess(
    work: () => Promise<void>,
    retryMs: (attempt: number) => number = () => RETRY_MS,
    // By default, a failure is not reported: each call of the store reports it to its caller.
    onFailure: (error: unknown) => void = () => {},
  ): Promise<void> {
    for (let attempt = 1; !this.closing.signal.aborted; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (this.closing.signal.aborted) return;
        onFailure(error);
        await pause(retryMs(attempt), this.closing.signal, { ref: false });
      }
    }
  }
}

function findListed({ versions }: Pick<VersionsDocument, 'versions'>, version: number): ListedVersion {
  const found = versions.find((info) => info.version === version);
  if (!found) throw new CatalogError('unavailable', { message: `view version ${version} does not exist` });
  return found;
}

const activeVersionError = (version: number): Error => new Error(`view version ${version} is active`);

const LIST_ID = 'versions';

/** `keys` is missing if an earlier release created the version. */
type ListedVersion = Omit<VersionInfo, 'keys_differ'> & { readonly keys?: StoredKeys };

/** The list of a realm's versions in one document, so that each change is one atomic step. */
interface VersionsDocument extends Document {
  readonly _id: typeof LIST_ID;
  /** Number of changes so far. The compare-and-set compares it. */
  readonly revision: number;
  /** The partition count. "Lane" is the name of a partition in earlier releases. */
  readonly lane_count: number;
  /** The number of the next version. Numbers are never reused. */
  readonly next: number;
  /** Newest first. */
  readonly versions: readonly ListedVersion[];
  /** When the realm was paused. Absent or null if it is not. */
  readonly paused_at?: string | null;
}

type VersionsChange = Partial<Pick<VersionsDocument, 'next' | 'versions' | 'paused_at'>>;

class VersionList {
  private readonly connection: MongoConnection;
  private readonly partition_count: number;
  private readonly collection: Collection<VersionsDocument>;

  /** `partition_count` is used if the list does not exist yet. */
  constructor(connection: MongoConnection, partition_count: number) {
    this.connection = connection;
    this.partition_count = partition_count;
    this.collection = connection.collection('meta');
  }

  /** Reads the list. Creates it if it does not exist. */
  async read(): Promise<VersionsDocument> {
    return this.connection.run(
      async () => (await this.collection.findOne({ _id: LIST_ID })) ?? this.create(),
    );
  }

  /** Creates the list, or returns the one that another process created at the same time. */
  private async create(): Promise<VersionsDocument> {
    const initial: VersionsDocument = {
      _id: LIST_ID,
      revision: 0,
      lane_count: this.partition_count,
      next: 1,
      versions: [],
    };
    try {
      await this.collection.insertOne(initial);
      return initial;
    } catch (error) {
      const existing = isDuplicateKey(error) ? await this.collection.findOne({ _id: LIST_ID }) : null;
      if (existing) return existing;
      throw error;
    }
  }

  /**
   * Applies the change that `changeOf` returns to the current list, by compare-and-set. Retries if another writer won. If
   * `changeOf` throws, the list does not change.
   */
  async change(changeOf: (before: VersionsDocument) => VersionsChange): Promise<void> {
    for (let attempt = 1; attempt <= LIST_ATTEMPTS_MAX; attempt++) {
      const before = await this.read();
      const after = { ...before, ...changeOf(before), revision: before.revision + 1 };
      const { _id, ...replacement } = after;
      const result = await this.connection.run(() =>
        this.collection.replaceOne({ _id, revision: before.revision }, replacement),
      );
      if (result.matchedCount === 1) return;
      await pause(withJitter(5 * attempt));
    }
    throw new CatalogError('lost_race', {
      message: 'other processes keep changing the list of view versions',
    });
  }
}

interface LeaseDocument extends Document {
  readonly _id: string;
  readonly owner: string;
  /** Unix milliseconds. */
  readonly until_ms: number;
}

/**
 * Stores leases and changes them by compare-and-set. Uses the clocks of the callers, because some compatible servers
 * cannot compare with their own clock. If the clock of a caller is ahead, it takes over a lease too early. Two processes
 * may then work at the same time, which is harmless, because a batch is applied only at the revision that it was computed from. If clocks
 * differ by more than the time of a lease, two owners take the lease from each other again and again.
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
    // The second condition: a lease that ends later than any lease taken now could was taken before a clock was set back.
    // It counts as expired.
    const expired = [
      { until_ms: { $lte: now_ms } },
      { until_ms: { $gt: now_ms + 2 * ttl_ms + CLOCK_SLACK_MS } },
    ];
    return this.connection.run(async () => {
      const renewed = await this.collection.updateOne(
        { _id: name, $or: [{ owner }, ...expired] },
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
