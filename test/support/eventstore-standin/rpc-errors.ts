import { Metadata, type ServiceError, status } from '@grpc/grpc-js';

/** Errors in the server's form: a code, a text, and trailers that the client reads. */
function rpcError(code: status, details: string, trailers: Record<string, string> = {}): ServiceError {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(trailers)) metadata.set(name, value);
  return Object.assign(new Error(details), { code, details, metadata });
}

export const invalidArgument = (what: string): ServiceError => rpcError(status.INVALID_ARGUMENT, what);

/** An event id that is not a UUID. The server does not expect it, and answers as it does if its own code fails. */
export const invalidEventId = (): ServiceError =>
  rpcError(status.UNKNOWN, 'Exception was thrown by handler.');

export const timedOut = (): ServiceError =>
  rpcError(status.ABORTED, 'Operation timed out: Commit phase timeout.');

/** A read of the log from a position at which no record begins. */
export const unreadablePosition = (): ServiceError =>
  rpcError(status.UNKNOWN, 'Unexpected ReadAllResult: Error');

export const notReady = (): ServiceError => rpcError(status.UNAVAILABLE, 'Server Is Not Ready');

export const accessDenied = (): ServiceError =>
  rpcError(status.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' });

export const unauthenticated = (): ServiceError => rpcError(status.UNAUTHENTICATED, 'Unauthenticated');

export const missingProperty = (name: string): ServiceError =>
  rpcError(status.INVALID_ARGUMENT, `Required Metadata Property '${name}' is missing`, {
    exception: 'missing-required-metadata-property',
    'required-metadata-properties': 'type,content-type',
  });

export const tooLarge = (max_bytes: number): ServiceError =>
  rpcError(status.INVALID_ARGUMENT, `Maximum Append Size of ${max_bytes} Exceeded.`, {
    exception: 'maximum-append-size-exceeded',
    'maximum-append-size': String(max_bytes),
  });

export const streamDeleted = (stream: string): ServiceError =>
  rpcError(status.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, {
    exception: 'stream-deleted',
    'stream-name': stream,
  });

export const notLeader = (host: string, port: number): ServiceError =>
  rpcError(status.NOT_FOUND, 'Leader info available', {
    exception: 'not-leader',
    'leader-endpoint-host': host,
    'leader-endpoint-port': String(port),
  });

export const wrongRevision = (stream: string, actual: number): ServiceError =>
  rpcError(status.FAILED_PRECONDITION, `WrongExpectedVersion. Stream: ${stream}`, {
    exception: 'wrong-expected-version',
    'stream-name': stream,
    'expected-version': '0',
    'actual-version': String(actual),
  });
