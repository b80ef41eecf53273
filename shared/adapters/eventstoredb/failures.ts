import { convertToCommandError, ErrorType } from '@eventstore/db-client';
import { CatalogError } from '../../kernel/errors';
import { outageMessage } from '../../kernel/outages';
import { CAUSES, networkCause } from '../outage-cause';

/** The server did not answer in time. It may have executed the call or not. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError';
}

/** There was no connection to the leader in time, or it took no message. The call was not sent. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError';
}

/**
 * The shared call of several appends has ended. The events of this append may be stored or not, and another append may
 * have caused the failure. Repeating this append in a call of its own gives its own result.
 */
export class SharedCallError extends Error {
  override readonly name = 'SharedCallError';
}

/** A failure of the server or of the connection. A response that rejects the call is not a `Failure`. */
export interface Failure {
  readonly condition: 'unavailable' | 'database_timeout';
  /** True if the same call may succeed later. */
  readonly retry: boolean;
  /** True if later calls need a new connection. */
  readonly reconnect: boolean;
  /** True if another append of the same shared call may have caused it. */
  readonly shared?: boolean;
}

/** gRPC codes for which the client has no error type. They mean that the call is wrong, not that the server failed. */
const INVALID_ARGUMENT = 3;
/** The message of the call is larger than the server takes (16 MB). */
export const RESOURCE_EXHAUSTED = 8;
const FAILED_PRECONDITION = 9;
export const UNIMPLEMENTED = 12;
const WRONG_CALL_CODES = new Set<unknown>([
  ...[INVALID_ARGUMENT, RESOURCE_EXHAUSTED],
  ...[FAILED_PRECONDITION, UNIMPLEMENTED],
]);

/** Messages of plain `Error`s of the client, grpc-js and Node streams that mean that the connection is lost. */
const LOST_CONNECTION = /^Failed to discover|Channel has been shut down|closed channel/;

/** Used if a shared call ended without an error. */
const ENDED_WITHOUT_ERROR: Failure = { condition: 'unavailable', retry: true, reconnect: false };

/** Classifies an error. Returns undefined for a response (such as a wrong revision) and for a programming error. */
export function failureOf(error: unknown): Failure | undefined {
  if (error instanceof NoResponseError)
    return { condition: 'database_timeout', retry: true, reconnect: true };
  if (error instanceof NotSentError) return { condition: 'unavailable', retry: true, reconnect: true };
  if (error instanceof SharedCallError)
    return { ...ENDED_WITHOUT_ERROR, ...failureOf(error.cause), retry: true, shared: true };
  if (!(error instanceof Error)) return undefined;
  const typed = toTypedError(error);
  switch ('type' in typed ? typed.type : undefined) {
    // The error contains the leader's address, and the client uses it for its next call. A new client would not know it.
    case ErrorType.NOT_LEADER:
      return { condition: 'unavailable', retry: true, reconnect: false };
    case ErrorType.TIMEOUT:
      return { condition: 'database_timeout', retry: true, reconnect: false };
    case ErrorType.DEADLINE_EXCEEDED:
      return { condition: 'database_timeout', retry: true, reconnect: true };
    case ErrorType.UNAVAILABLE:
    case ErrorType.CANCELLED:
      return { condition: 'unavailable', retry: true, reconnect: true };
    case ErrorType.ACCESS_DENIED:
      return { condition: 'unavailable', retry: false, reconnect: false };
    case ErrorType.UNKNOWN:
      return WRONG_CALL_CODES.has(codeOf(typed))
        ? undefined
        : { condition: 'unavailable', retry: true, reconnect: true };
    case undefined:
      return isConnectionLost(typed) ? { condition: 'unavailable', retry: true, reconnect: true } : undefined;
    default:
      return undefined;
  }
}

/** Returns the error for the caller. `outage_cause` says in plain words why the server cannot be used. */
export function toCatalogError(failure: Failure, cause: unknown, outage_cause: string): CatalogError {
  const message = outageMessage('event_store', outage_cause);
  return new CatalogError(failure.condition, { message, retry_after_s: 1, cause });
}

/** What a call needs rights for: the log of all streams, or single streams. */
export type CallScope = '$all' | 'streams';

const UNAUTHENTICATED = 16;

/** Why the server cannot be used. */
export interface OutageCause {
  /** In plain words; undefined if the error does not say it. */
  readonly cause: string | undefined;
  /** The calls that fail, if others may succeed. */
  readonly scope?: CallScope;
}

/** Returns the cause of a failure. `has_user` is whether the address contains a user. */
export function outageCauseOf(error: unknown, scope: CallScope, has_user: boolean): OutageCause {
  if (error instanceof SharedCallError) return outageCauseOf(error.cause, scope, has_user);
  if (error instanceof NoResponseError || error instanceof NotSentError) return { cause: CAUSES.silent };
  if (!(error instanceof Error)) return { cause: undefined };
  const typed = toTypedError(error);
  switch ('type' in typed ? typed.type : undefined) {
    case ErrorType.ACCESS_DENIED:
      if (!has_user) return { cause: CAUSES.no_user, scope };
      if (codeOf(typed) === UNAUTHENTICATED) return { cause: CAUSES.wrong_password };
      return { cause: NO_RIGHT[scope], scope };
    case ErrorType.NOT_LEADER:
      return { cause: 'the server is not the leader of its cluster' };
    case ErrorType.TIMEOUT:
      return { cause: 'too few members of the cluster acknowledge writes' };
    default:
      return { cause: causeInMessage(error) };
  }
}

const NO_RIGHT: Readonly<Record<CallScope, string>> = {
  $all: 'the user has no right to read $all',
  streams: 'the user has no right to read or write streams',
};

function causeInMessage(error: Error): string | undefined {
  if (/Server Is Not Ready|No leader info/i.test(error.message))
    return 'the server is not ready: it is starting, or its cluster has no leader';
  return networkCause(error) ?? (/Deadline exceeded/i.test(error.message) ? CAUSES.silent : undefined);
}

/** Converts a plain gRPC error, which some calls of the client throw, to the client's typed error. */
function toTypedError(error: Error): Error {
  return typeof codeOf(error) === 'number' && !('type' in error) ? convertToCommandError(error) : error;
}

function isConnectionLost(error: Error): boolean {
  const code = codeOf(error);
  return (
    LOST_CONNECTION.test(error.message) || (typeof code === 'string' && /^(ERR_STREAM|E[A-Z]+$)/.test(code))
  );
}

/**
 * Returns whether the server failed to read the log at a position. EventStoreDB has no error of its own for a position at
 * which no record begins.
 */
export function isReadAllError(error: unknown): boolean {
  return error instanceof Error && /Unexpected ReadAllResult/.test(error.message);
}

/** Returns the error's `code`: a number if gRPC set it, a text if Node set it. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
