import type { Socket } from 'node:net';
import { Redis, type RedisOptions } from 'ioredis';
import { backoff, withTimeout } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';

const CONNECT_MS = 2_000;
/** How long `disconnect` waits until the server has closed the connection, too. It delays the end of the process. */
const DISCONNECT_MS = 500;
/** Shorter than the default (up to 2 s), so that the client reconnects soon after the server is back. */
const reconnectMs = backoff(50, 500);

const COMMON_OPTIONS = {
  connectTimeout: CONNECT_MS,
  disconnectTimeout: DISCONNECT_MS,
  retryStrategy: reconnectMs,
  // READONLY: the server has just become a replica. A new connection resolves to the new primary.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
} satisfies RedisOptions;

/**
 * Opens a connection that fails fast: a command fails at once if the server is unavailable, and after `command_ms` if
 * it does not answer. By default, ioredis queues commands while it reconnects, and sends unanswered commands again. A
 * request would then wait for the server without a limit.
 */
export function connectFailFast(url: string, command_ms: number): Redis {
  const connection = ignoreErrorEvents(
    new Redis(url, {
      ...COMMON_OPTIONS,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
    }),
  );
  limitSilence(connection, command_ms);
  return connection;
}

/** In how many ticks of a timer the time of a command is counted. */
const TICKS = 5;

/**
 * Rejects each command that is not answered within `command_ms`. Replaces the connection if nothing at all arrives for
 * twice that time: it may have died without a TCP close (a cut network, a stopped machine).
 *
 * Time in which the event loop of this process was blocked does not count, because a timer ticks only once however long
 * it was. The time-outs of ioredis end during the stall, before the replies that have arrived meanwhile are read. So
 * they would take a stall of this process for an outage of Redis.
 */
function limitSilence(connection: Redis, command_ms: number): void {
  const send = connection.sendCommand.bind(connection);
  connection.sendCommand = (command, stream) => {
    const socket: Socket | undefined = connection.stream;
    const bytes_read = socket?.bytesRead;
    let ticks = 0;
    const timer = setInterval(() => {
      ticks++;
      if (ticks === TICKS) command.reject(new Error(TIMED_OUT));
      if (ticks < 2 * TICKS) return;
      clearInterval(timer);
      if (socket?.bytesRead === bytes_read) socket?.destroy(new Error('Redis does not answer'));
    }, command_ms / TICKS);
    const stop = (): void => {
      if (ticks < TICKS) clearInterval(timer);
    };
    command.promise.then(stop, stop);
    return send(command, stream);
  };
}

/** The message of the error of a command that was not answered in time. */
export const TIMED_OUT = 'Command timed out';

/** A connection whose commands wait until the server is available, and the duplicates that BullMQ makes of it. */
export interface BlockingConnection {
  readonly connection: Redis;
  /**
   * Closes the connection and its duplicates. Pending commands fail. A connection that is reconnecting makes one more
   * attempt before it closes.
   */
  end(): void;
}

/**
 * Opens a blocking connection. If the reply to a command does not arrive within `silence_ms`, the connection is replaced.
 * So `silence_ms` must be longer than the longest blocking command. The limit also applies to the handshake, for which
 * ioredis has no other timeout.
 */
export function connectBlocking(url: string, silence_ms: number): BlockingConnection {
  let ending = false;
  const retryStrategy = (attempts: number) => (ending ? null : reconnectMs(attempts));
  const options = { ...COMMON_OPTIONS, retryStrategy, maxRetriesPerRequest: null, socketTimeout: silence_ms };
  const connection = ignoreErrorEvents(new Redis(url, options));
  const connections = [connection];
  // BullMQ duplicates the connection for the blocking commands of each worker. The duplicates are recorded here so that
  // `end` can close them in any state.
  connection.duplicate = (override) => {
    const duplicate = Redis.prototype.duplicate.call(connection, override);
    connections.push(ignoreErrorEvents(duplicate));
    return duplicate as never;
  };
  const end = (): void => {
    ending = true;
    for (const connection of connections) endConnection(connection);
  };
  return { connection, end };
}

/**
 * Closes the connection. If `disconnect()` is called between two reconnection attempts, an ioredis connection remains in
 * the state `reconnecting`: it never emits `end`, and pending commands never settle. So this function reconnects once
 * and then disconnects.
 */
function endConnection(connection: Redis): void {
  if (connection.status === 'reconnecting') {
    connection.once('ready', () => connection.disconnect());
    connection.connect().catch(() => {});
  } else if (connection.status !== 'end') {
    connection.disconnect();
  }
}

/**
 * Adds an `error` listener, because without one ioredis prints each lost connection to stderr. No failure is hidden:
 * each command reports its own. Also removes the limit of listeners, because the queue of each partition adds some to
 * the same connection.
 */
function ignoreErrorEvents(connection: Redis): Redis {
  return connection.setMaxListeners(0).on('error', () => {});
}

/** Resolves when the connection is ready. Throws `CatalogError('unavailable')` if that takes longer than `wait_ms`. */
export async function waitUntilReady(connection: Redis, wait_ms: number): Promise<void> {
  if (connection.status === 'ready') return;
  let onReady = (): void => {};
  const ready = new Promise<void>((resolve) => {
    onReady = resolve;
    connection.on('ready', onReady);
  });
  await withTimeout(ready, wait_ms, throwUnavailable).finally(() => connection.off('ready', onReady));
}

/** Throws `CatalogError('unavailable')`. Used as the `onTimeout` of `withTimeout`. */
export function throwUnavailable(): never {
  throw toUnavailable();
}

/** Returns `cause` itself if it is a `CatalogError`, otherwise `unavailable` caused by it. */
export function toUnavailable(cause?: unknown): CatalogError {
  if (cause instanceof CatalogError) return cause;
  return new CatalogError('unavailable', { message: 'Redis does not answer', cause });
}
