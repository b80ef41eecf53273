import { convertToCommandError, ErrorType } from '@eventstore/db-client';
import { CatalogError } from '../../kernel/errors';

/** No answer within the time given; what was asked may have been done or not. */
export class SilenceError extends Error {
  override readonly name = 'SilenceError';
}

/**
 * A call that carried several appends has failed this one, which may have landed or not. The fault may have been
 * another's: what comes of this one, a call of its own will tell.
 */
export class SharedCallError extends Error {
  override readonly name = 'SharedCallError';
}

/** What the server or the way to it did wrong, as against an answer to the question asked. */
export interface Failure {
  readonly condition: 'unavailable' | 'database_timeout';
  /** The same call may succeed a moment later. */
  readonly retry: boolean;
  /** The connection is not to be used again. */
  readonly renew: boolean;
  /** It may have been the fault of another call that went the same way. */
  readonly shared?: boolean;
}

/** gRPC codes that the client has no type for, which speak of the call and not of the server. */
const INVALID_ARGUMENT = 3;
const FAILED_PRECONDITION = 9;
export const UNIMPLEMENTED = 12;
const CALLERS_FAULT = new Set<unknown>([INVALID_ARGUMENT, FAILED_PRECONDITION, UNIMPLEMENTED]);

/** Plain errors of the client's, of grpc-js' and of Node's streams: all of them mean a connection that is gone. */
const CONNECTION_GONE = /^Failed to discover|Channel has been shut down|closed channel/;

const UNTOLD: Failure = { condition: 'unavailable', retry: true, renew: false };

/** Undefined where the error is an answer (such as a wrong revision) or a mistake of ours. */
export function failureOf(error: unknown): Failure | undefined {
  if (error instanceof SilenceError) return { condition: 'database_timeout', retry: true, renew: true };
  if (error instanceof SharedCallError)
    return { ...UNTOLD, ...failureOf(error.cause), retry: true, shared: true };
  if (!(error instanceof Error)) return undefined;
  const known = normalise(error);
  switch ('type' in known ? known.type : undefined) {
    // The client has noted the leader's address and goes there next: a new one would not know it.
    case ErrorType.NOT_LEADER:
      return { condition: 'unavailable', retry: true, renew: false };
    case ErrorType.TIMEOUT:
      return { condition: 'database_timeout', retry: true, renew: false };
    case ErrorType.DEADLINE_EXCEEDED:
      return { condition: 'database_timeout', retry: true, renew: true };
    case ErrorType.UNAVAILABLE:
    case ErrorType.CANCELLED:
      return { condition: 'unavailable', retry: true, renew: true };
    case ErrorType.ACCESS_DENIED:
      return { condition: 'unavailable', retry: false, renew: false };
    case ErrorType.UNKNOWN:
      return CALLERS_FAULT.has(codeOf(known))
        ? undefined
        : { condition: 'unavailable', retry: true, renew: true };
    case undefined:
      return isConnectionGone(known) ? { condition: 'unavailable', retry: true, renew: true } : undefined;
    default:
      return undefined;
  }
}

export function toCatalogError(failure: Failure, cause: unknown): CatalogError {
  return new CatalogError(failure.condition, { retry_after_s: 1, cause });
}

/** Some of the client's paths give gRPC's own errors. */
function normalise(error: Error): Error {
  return typeof codeOf(error) === 'number' && !('type' in error) ? convertToCommandError(error) : error;
}

function isConnectionGone(error: Error): boolean {
  const code = codeOf(error);
  return (
    CONNECTION_GONE.test(error.message) || (typeof code === 'string' && /^(ERR_STREAM|E[A-Z]+$)/.test(code))
  );
}

/** gRPC's number, or Node's text. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
