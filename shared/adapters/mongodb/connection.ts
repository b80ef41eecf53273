import {
  type Collection,
  type Db,
  type Document,
  MongoBulkWriteError,
  MongoClient,
  MongoClientClosedError,
  MongoError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
  type ReadPreferenceMode,
} from 'mongodb';
import type { Realm } from '../../catalog/realm';
import { withTimeout } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';
import { endWritesWithTheirConnections } from './driver';

endWritesWithTheirConnections();

/** Within these a server that is gone, or silent, is told of; the driver's own deadlines lie below it. */
const DEADLINE_MS = 4_500;
const SELECTION_MS = 2_000;
const SOCKET_MS = 4_000;
const DUPLICATE_KEY = 11_000;
const NAMESPACE_NOT_FOUND = 26;
const MAX_TIME_EXPIRED = 50;
/**
 * A server that is stepping down, shutting down, starting, or cannot get its writes acknowledged: HostUnreachable,
 * HostNotFound, WriteConcernFailed, NetworkTimeout, ShutdownInProgress, UnsatisfiableWriteConcern,
 * PrimarySteppedDown, NotYetInitialized, ExceededTimeLimit, SocketException, NotWritablePrimary,
 * InterruptedAtShutdown, InterruptedDueToReplStateChange, NotPrimaryNoSecondaryOk, NotPrimaryOrSecondary.
 */
const AWAY = new Set([6, 7, 64, 89, 91, 94, 100, 189, 262, 9001, 10_107, 11_600, 11_602, 13_435, 13_436]);
/** Where the URL names no database. */
const DEFAULT_DATABASE = 'catalog';

export interface MongoConnectionOptions {
  /** `mongodb://…` or `mongodb+srv://…`; its database, if any, gives the prefix of the realms' databases. */
  readonly url: string;
  readonly realm: Realm;
  /** Of an answer, 4.5 s by default. */
  readonly deadline_ms?: number;
}

/**
 * One realm's database: `<database of the URL>_<realm>`. Needs no server to be there when it is made; each call
 * connects as needed. Writes are acknowledged by a majority, from its journals.
 */
export class MongoConnection {
  private readonly client: MongoClient;
  private readonly database: Db;
  private readonly deadline_ms: number;
  private connected = false;
  private closed = false;

  constructor(options: MongoConnectionOptions) {
    this.deadline_ms = options.deadline_ms ?? DEADLINE_MS;
    this.client = new MongoClient(options.url, {
      appName: 'catalog',
      serverSelectionTimeoutMS: SELECTION_MS,
      connectTimeoutMS: SELECTION_MS,
      waitQueueTimeoutMS: SELECTION_MS,
      socketTimeoutMS: SOCKET_MS,
      // Not the usual 10 s: a server that came back is to be noticed within 2.
      heartbeatFrequencyMS: 1_000,
      useBigInt64: true,
      ignoreUndefined: true,
      writeConcern: { w: 'majority', journal: true, wtimeoutMS: SOCKET_MS },
      // A worker that read from a secondary would fold new events into old documents.
      readPreference: 'primary',
    });
    // The listener keeps a failure of a background connection from ending the process; calls report their own.
    this.client.on('error', () => {});
    this.database = this.client.db(`${databaseOf(options.url)}_${options.realm}`);
  }

  collection<Stored extends Document>(
    name: string,
    read_preference: ReadPreferenceMode = 'primary',
  ): Collection<Stored> {
    return this.database.collection<Stored>(name, { readPreference: read_preference });
  }

  /** The database's collections, by name. */
  async collectionNames(): Promise<string[]> {
    const listed = await this.run(() => this.database.listCollections({}, { nameOnly: true }).toArray());
    return listed.map(({ name }) => name);
  }

  /** Does nothing where there is none. */
  async dropCollection(name: string): Promise<void> {
    await this.run(async () => {
      try {
        await this.database.dropCollection(name);
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
    });
  }

  /**
   * Runs `work` within the deadline. Throws `CatalogError('unavailable')` where the server cannot be reached or
   * stays silent, and `CatalogError('database_timeout')` where it says that it took too long; a write may then
   * have landed or not.
   */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.closed)
      throw new CatalogError('unavailable', { message: 'the connection to MongoDB is closed' });
    const late = (): never => {
      throw new CatalogError('unavailable', { message: 'MongoDB does not answer' });
    };
    try {
      return await withTimeout(this.connect().then(work), this.deadline_ms, late);
    } catch (error) {
      throw toCatalogError(error);
    }
  }

  /** Said aloud until it succeeds once: a client that connects as it goes stays broken when its first try fails. */
  private async connect(): Promise<void> {
    if (this.connected) return;
    try {
      await this.client.connect();
      this.connected = true;
    } catch (cause) {
      // A name that does not resolve is no error of the driver's.
      throw cause instanceof MongoError
        ? cause
        : new CatalogError('unavailable', { message: 'MongoDB is not found', cause });
    }
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await this.client.close();
  }
}

function databaseOf(url: string): string {
  const path = /^mongodb(?:\+srv)?:\/\/[^/]+\/([^?]+)/.exec(url)?.[1];
  return path === undefined ? DEFAULT_DATABASE : decodeURIComponent(path);
}

/** What a caller may be told of a failure; anything else (a broken index, a mistake in a query) stays what it is. */
function toCatalogError(error: unknown): unknown {
  if (!(error instanceof MongoError)) return error;
  if (isAway(error)) return new CatalogError('unavailable', { cause: error });
  if (error.code === MAX_TIME_EXPIRED) return new CatalogError('database_timeout', { cause: error });
  return error;
}

function isAway(error: MongoError): boolean {
  // A bulk write that could not be sent hides why under a name of its own.
  const hidden: unknown = error instanceof MongoBulkWriteError ? error.errorResponse : undefined;
  if (hidden instanceof MongoError) return isAway(hidden);
  if (
    error instanceof MongoNetworkError ||
    error instanceof MongoServerSelectionError ||
    error instanceof MongoNotConnectedError ||
    error instanceof MongoTopologyClosedError ||
    error instanceof MongoClientClosedError ||
    error.name === 'MongoWaitQueueTimeoutError' ||
    error.name === 'MongoWriteConcernError'
  ) {
    return true;
  }
  return typeof error.code === 'number' && AWAY.has(error.code);
}

export function isDuplicateKey(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === DUPLICATE_KEY;
}

/** The collection is not there. */
function isMissing(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === NAMESPACE_NOT_FOUND;
}

/** The places in the batch of the writes that met a duplicate key; undefined where anything else went wrong too. */
export function duplicatesIn(error: unknown): number[] | undefined {
  if (!(error instanceof MongoBulkWriteError)) return undefined;
  const failed = [error.writeErrors].flat();
  const only_duplicates = failed.length > 0 && failed.every(({ code }) => code === DUPLICATE_KEY);
  // Without this a write that a majority never acknowledged would pass for a lost race.
  const acknowledged = error.result?.getWriteConcernError() === undefined;
  return only_duplicates && acknowledged ? failed.map(({ index }) => index) : undefined;
}
