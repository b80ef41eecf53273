import {
  type Collection,
  type Db,
  type Document,
  MongoBulkWriteError,
  MongoClient,
  type MongoClientOptions,
  MongoError,
  MongoInvalidArgumentError,
  MongoServerError,
  type ReadPreferenceMode,
} from 'mongodb';
import type { Realm } from '../../catalog/realm';
import { withTimeout } from '../../kernel/async';
import { ConfigError } from '../../kernel/config';
import { CatalogError } from '../../kernel/errors';
import { NO_REPORT, type OutageReport, outageMessage } from '../../kernel/outages';
import { CAUSES } from '../outage-cause';
import { endWritesWithTheirConnections } from './driver';
import { ConnectError, outageCauseOf, SilentServerError } from './failures';

endWritesWithTheirConnections();

/** Deadline of a call if the server is unavailable or does not answer. The driver's own timeouts below are shorter. */
const DEADLINE_MS = 4_500;
const SELECTION_MS = 2_000;
const SOCKET_MS = 4_000;
const DUPLICATE_KEY = 11_000;
const NAMESPACE_NOT_FOUND = 26;
const CLIENT_OPTIONS: MongoClientOptions = {
  appName: 'catalog',
  serverSelectionTimeoutMS: SELECTION_MS,
  connectTimeoutMS: SELECTION_MS,
  waitQueueTimeoutMS: SELECTION_MS,
  socketTimeoutMS: SOCKET_MS,
  // Shorter than the default of 10 s, so that a server that is back is noticed within 2 s.
  heartbeatFrequencyMS: 1_000,
  useBigInt64: true,
  ignoreUndefined: true,
  writeConcern: { w: 'majority', journal: true, wtimeoutMS: SOCKET_MS },
  // A secondary may have outdated documents. If a worker read from it, it would fold new events into these.
  readPreference: 'primary',
};
const CLOSED = 'the connection to MongoDB is closed';
/** Used if the URL contains no database. */
const DEFAULT_DATABASE = 'catalog';

export interface MongoConnectionOptions {
  /** `mongodb://…` or `mongodb+srv://…`. Its database is the prefix of the realms' databases; `catalog` by default. */
  readonly url: string;
  readonly realm: Realm;
  /** Deadline of a call; 4.5 s by default. */
  readonly deadline_ms?: number;
  /** Receives the failures and successes of calls to the server. */
  readonly report?: OutageReport;
}

/**
 * Connects to one realm's database: `<database of the URL>_<realm>`. The constructor does not need the server; each
 * call connects if needed. Writes wait until a majority of the servers has them in its journal.
 */
export class MongoConnection {
  private readonly url: string;
  private readonly client: MongoClient;
  private readonly unlimited_clients = new Set<MongoClient>();
  private readonly database: Db;
  private readonly deadline_ms: number;
  private readonly outage: OutageReport;
  private connected = false;
  private closed = false;

  constructor(options: MongoConnectionOptions) {
    this.deadline_ms = options.deadline_ms ?? DEADLINE_MS;
    this.url = options.url;
    this.outage = options.report ?? NO_REPORT;
    this.client = newClient(options.url, CLIENT_OPTIONS);
    // Without a listener, an error of a background connection ends the process. Each call reports its own failure.
    this.client.on('error', () => {});
    this.database = this.client.db(`${databaseOf(options.url)}_${options.realm}`);
  }

  collection<Stored extends Document>(
    name: string,
    read_preference: ReadPreferenceMode = 'primary',
  ): Collection<Stored> {
    return this.database.collection<Stored>(name, { readPreference: read_preference });
  }

  /** Returns the names of the database's collections. */
  async collectionNames(): Promise<string[]> {
    const listed = await this.run(() => this.database.listCollections({}, { nameOnly: true }).toArray());
    return listed.map(({ name }) => name);
  }

  /** Drops the collection. Does nothing if it does not exist. */
  async dropCollection(name: string): Promise<void> {
    await this.run(async () => {
      try {
        await this.database.dropCollection(name);
      } catch (error) {
        if (!isCollectionMissing(error)) throw error;
      }
    });
  }

  /**
   * Runs `work` within the deadline. Throws `CatalogError('unavailable')` if the server cannot be reached or does not
   * answer, and `CatalogError('database_timeout')` if it reports that it took too long. A write may then be stored or
   * not.
   */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.closed) throw new CatalogError('unavailable', { message: CLOSED });
    const onTimeout = (): never => {
      throw new SilentServerError();
    };
    try {
      const result = await withTimeout(this.connect().then(work), this.deadline_ms, onTimeout);
      this.outage.succeeded();
      return result;
    } catch (error) {
      throw this.toCatalogError(error);
    }
  }

  /**
   * Runs `work`, which may take hours, on the realm's database with a client of its own that waits for answers without a
   * limit. Throws `CatalogError('unavailable')` if the connection is lost, and when this connection closes.
   */
  async runWithoutDeadline<Result>(work: (database: Db) => Promise<Result>): Promise<Result> {
    if (this.closed) throw new CatalogError('unavailable', { message: CLOSED });
    const client = newClient(this.url, {
      ...CLIENT_OPTIONS,
      socketTimeoutMS: 0,
      writeConcern: { w: 'majority', journal: true },
    });
    client.on('error', () => {});
    this.unlimited_clients.add(client);
    try {
      return await work(client.db(this.database.databaseName));
    } catch (error) {
      throw this.toCatalogError(error);
    } finally {
      this.unlimited_clients.delete(client);
      await client.close();
    }
  }

  /**
   * Connects unless an earlier call has connected. The driver could connect by itself at the first operation, but if
   * that attempt failed, all later operations of the client would fail, too.
   */
  private async connect(): Promise<void> {
    if (this.connected) return;
    try {
      await this.client.connect();
      this.connected = true;
    } catch (error) {
      // A host name that cannot be resolved, or a file that cannot be read, gives an error of Node instead of the driver.
      throw error instanceof MongoError ? error : new ConnectError(error);
    }
  }

  /**
   * Maps an error of the driver. Every error is an outage, also one that this release does not know, unless it says
   * something about the call itself: the server refuses a document, or the driver refuses the arguments. Returns such an
   * error, and any error that is not of the driver, unchanged.
   */
  private toCatalogError(error: unknown): unknown {
    if (!isFailureOfServer(error)) {
      if (error instanceof MongoServerError) this.outage.succeeded();
      return error;
    }
    if (this.closed) return new CatalogError('unavailable', { message: CLOSED, cause: error });
    const { cause = CAUSES.closed, is_slow = false } = outageCauseOf(error);
    this.outage.failed(cause);
    const message = outageMessage('view_store', cause);
    return new CatalogError(is_slow ? 'database_timeout' : 'unavailable', { message, cause: error });
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await Promise.all([this.client, ...this.unlimited_clients].map((client) => client.close()));
  }
}

/** Throws `ConfigError` if the address has an option that the driver does not know, or an invalid one. */
function newClient(url: string, options: MongoClientOptions): MongoClient {
  try {
    return new MongoClient(url, options);
  } catch (error) {
    throw new ConfigError(`Invalid MONGODB_URL: ${(error as Error).message}.`);
  }
}

/** Returns whether the server, its address or the network has failed, and not the call itself. */
function isFailureOfServer(error: unknown): boolean {
  if (error instanceof SilentServerError || error instanceof ConnectError) return true;
  if (!(error instanceof MongoError) || error instanceof MongoInvalidArgumentError) return false;
  return !isDuplicateKey(error);
}

function databaseOf(url: string): string {
  const path = /^mongodb(?:\+srv)?:\/\/[^/]+\/([^?]+)/.exec(url)?.[1];
  return path === undefined ? DEFAULT_DATABASE : decodeURIComponent(path);
}

/** Returns whether the server has refused a write, or writes of a batch, only because the documents exist already. */
export function isDuplicateKey(error: unknown): boolean {
  if (!(error instanceof MongoServerError)) return false;
  if (!(error instanceof MongoBulkWriteError)) return error.code === DUPLICATE_KEY;
  const failed = [error.writeErrors].flat();
  const only_duplicates = failed.length > 0 && failed.every(({ code }) => code === DUPLICATE_KEY);
  return only_duplicates && error.result?.getWriteConcernError() === undefined;
}

/** Returns true if the collection does not exist. Some servers say so in the message only, without a code. */
function isCollectionMissing(error: unknown): boolean {
  if (!(error instanceof MongoServerError)) return false;
  return error.code === NAMESPACE_NOT_FOUND || error.message === 'ns not found';
}
