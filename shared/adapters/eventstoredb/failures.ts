import { convertToCommandError, ErrorType } from '@eventstore/db-client';
import { CatalogError } from '../../kernel/errors';

/** The server did not answer in time. It may have executed the call or not. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError';
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

export function toCatalogError(failure: Failure, cause: unknown): CatalogError {
  return new CatalogError(failure.condition, { retry_after_s: 1, cause });
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
