import {
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
} from 'mongodb';
import { CatalogError } from '../../kernel/errors';

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

/** What a caller may be told of a failure; anything else (a broken index, a mistake in a query) stays what it is. */
export function toCatalogError(error: unknown): unknown {
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
export function isMissing(error: unknown): boolean {
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
