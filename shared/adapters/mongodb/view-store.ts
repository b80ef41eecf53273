import { setTimeout as sleep } from 'node:timers/promises';
import type { ReadPreferenceMode } from 'mongodb';
import { COLLECTION_NAMES } from '../../catalog/documents';
import { LANE_COUNT } from '../../catalog/events/lanes';
import { CatalogError } from '../../kernel/errors';
import { timestamp } from '../../kernel/system';
import type { VersionInfo, VersionStatus, ViewStore } from '../../ports/view-store';
import { MongoConnection, type MongoConnectionOptions } from './connection';
import { indexesOf, type MongoDocument } from './documents';
import { Lanes, lanesName } from './lanes';
import { Leases } from './leases';
import { VersionList, type VersionsDocument } from './version-list';
import { documentsName, MongoViewVersion } from './view-version';

/** How long `open` waits for a server, unless told, before it goes on without. */
const OPENING_MS = 2_500;
const RETRY_MS = 500;

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
    const enough = new AbortController();
    const late = sleep(options.opening_ms ?? OPENING_MS, undefined, { signal: enough.signal }).catch(
      () => undefined,
    );
    await Promise.race([store.ready, late]);
    enough.abort();
    return store;
  }

  /** Throws `CatalogError('unavailable')` until the server has been reached for the first time. */
  get lane_count(): number {
    if (this.lanes === undefined)
      throw new CatalogError('unavailable', { message: 'MongoDB was not reached yet' });
    return this.lanes;
  }

  async versions(): Promise<VersionInfo[]> {
    return [...(await this.read()).versions];
  }

  async createVersion(schema: number): Promise<VersionInfo> {
    for (;;) {
      const { next, lane_count } = await this.read();
      // What the version holds is made before it is listed, so that a listed one is whole.
      await this.make(next, lane_count);
      const info: VersionInfo = {
        version: next,
        status: 'building',
        schema,
        created_at: timestamp(this.now()),
      };
      let listed = false;
      await this.list.change((before) => {
        listed = before.next === next;
        return listed ? { next: next + 1, versions: [info, ...before.versions] } : {};
      });
      if (listed) return info;
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
      const statusOf = (info: VersionInfo): VersionStatus => {
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
    listedIn(await this.read(), version);
    const opened = this.opened.get(version);
    if (opened) return opened;
    const fresh = new MongoViewVersion(this.connection, version, this.read_preference);
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

  private async make(version: number, lane_count: number): Promise<void> {
    await new Lanes(this.connection, version).create(lane_count);
    for (const name of COLLECTION_NAMES) {
      const indexes = indexesOf(name);
      if (indexes.length === 0) continue;
      const collection = this.connection.collection<MongoDocument>(documentsName(name, version));
      await this.connection.run(() => collection.createIndexes(indexes));
    }
  }

  /** Makes indexes that an older release did not, which a server builds while it serves, and drops what was left over. */
  private async tidy(): Promise<void> {
    const { versions, lane_count } = await this.read();
    for (const { version } of versions) await this.make(version, lane_count);
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
        await sleep(RETRY_MS, undefined, { signal: this.closing.signal, ref: false }).catch(() => undefined);
      }
    }
  }
}

function listedIn({ versions }: VersionsDocument, version: number): VersionInfo {
  const found = versions.find((info) => info.version === version);
  if (!found) throw new CatalogError('unavailable', { message: `there is no view version ${version}` });
  return found;
}

const isActive = (version: number): Error => new Error(`view version ${version} is the active one`);
