import { convertToCommandError, ErrorType } from '@eventstore/db-client';
import { CAUSES, networkCause } from '../outage-cause';
import { DiscoveryError } from './seeds';

/** The server did not answer in time. It may have executed the call or not. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError';
}

/** There was no connection to the leader in time. The call was not sent. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError';
}

/** A failure of the server or of the connection. A response that rejects the call is not a `Failure`. */
export interface Failure {
  readonly condition: 'unavailable' | 'database_timeout';
  /** True if the same call may succeed later. */
  readonly retry: boolean;
  /** True if later calls need a new connection. */
  readonly reconnect: boolean;
  /** Why the server cannot be used, in plain words. Undefined if the error does not say it. */
  readonly cause: string | undefined;
}

/** The facts about a call that decide why it has no rights. */
interface Caller {
  /** Whether the call reads the log of all streams. */
  readonly needs_all: boolean;
  /** Whether the address contains a user. */
  readonly has_user: boolean;
}

/** gRPC codes for which the client has no error type. They mean that the call is wrong, not that the server failed. */
const INVALID_ARGUMENT = 3;
/** The message of the call is larger than the server takes (16 MB). */
export const RESOURCE_EXHAUSTED = 8;
const FAILED_PRECONDITION = 9;
const UNIMPLEMENTED = 12;
const WRONG_CALL_CODES = new Set<unknown>([
  ...[INVALID_ARGUMENT, RESOURCE_EXHAUSTED],
  ...[FAILED_PRECONDITION, UNIMPLEMENTED],
]);
const UNAUTHENTICATED = 16;

/** Messages of plain `Error`s of the client, grpc-js and Node streams that mean that the connection is lost. */
const LOST_CONNECTION = /^Failed to discover|Channel has been shut down|closed channel/;

/** Classifies an error. Returns undefined for a response (such as a wrong revision) and for a programming error. */
export function failureOf(error: unknown, caller: Caller): Failure | undefined {
  if (error instanceof NoResponseError)
    return { condition: 'database_timeout', retry: true, reconnect: true, cause: CAUSES.silent };
  if (error instanceof NotSentError)
    return { condition: 'unavailable', retry: true, reconnect: true, cause: CAUSES.silent };
  if (!(error instanceof Error) || isReadAllError(error)) return undefined;
  const typed = toTypedError(error);
  const lost = { condition: 'unavailable', retry: true, reconnect: true, cause: causeOf(error) } as const;
  switch ('type' in typed ? typed.type : undefined) {
    // The error contains the leader's address, and the client uses it for its next call. A new client would not know it.
    case ErrorType.NOT_LEADER:
      return { ...lost, reconnect: false, cause: 'the server is not the leader of its cluster' };
    case ErrorType.TIMEOUT: {
      const cause = 'too few members of the cluster acknowledge writes';
      return { condition: 'database_timeout', retry: true, reconnect: false, cause };
    }
    case ErrorType.DEADLINE_EXCEEDED:
      return { ...lost, condition: 'database_timeout', cause: CAUSES.silent };
    case ErrorType.UNAVAILABLE:
    case ErrorType.CANCELLED:
      return lost;
    case ErrorType.ACCESS_DENIED:
      return { ...lost, retry: false, reconnect: false, cause: causeOfDenial(typed, caller) };
    case ErrorType.UNKNOWN:
      return WRONG_CALL_CODES.has(codeOf(typed)) ? undefined : lost;
    case undefined:
      return isConnectionLost(typed) ? lost : undefined;
    default:
      return undefined;
  }
}

function causeOf(error: Error): string | undefined {
  if (error instanceof DiscoveryError) return [...error.causes].join('; ');
  if (/Server Is Not Ready|No leader info/i.test(error.message))
    return 'the server is not ready: it is starting, or its cluster has no leader';
  return networkCause(error);
}

function causeOfDenial(error: Error, { needs_all, has_user }: Caller): string {
  if (!has_user) return CAUSES.no_user;
  if (codeOf(error) === UNAUTHENTICATED) return CAUSES.wrong_password;
  return `the user has no right to read ${needs_all ? '$all' : 'or write streams'}`;
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
  return error instanceof Error && /Unexpected (Filtered)?ReadAllResult/.test(error.message);
}

/** Returns the error's `code`: a number if gRPC set it, a text if Node set it. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
