import { Redis, type RedisOptions } from 'ioredis';
import { backoff, withTimeout } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';

const CONNECT_MS = 2_000;
/** How long a server may take to close its end; a process that ends waits for it. */
const DISCONNECT_MS = 500;
/** Not the usual 2 s and more: a server that came back is to be noticed at once. */
const reconnectMs = backoff(50, 500);

const shared = {
  connectTimeout: CONNECT_MS,
  disconnectTimeout: DISCONNECT_MS,
  retryStrategy: reconnectMs,
  // A replica that was a primary a moment ago: the next connection finds the new one.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
} satisfies RedisOptions;

/** A connection whose commands fail at once, or after `command_ms`, where the server is away or silent. */
export function connectImpatient(url: string, command_ms: number): Redis {
  return quiet(
    new Redis(url, {
      ...shared,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      commandTimeout: command_ms,
      // A connection that died without a word is made anew.
      socketTimeout: command_ms * 2,
    }),
  );
}

/** A connection, and the copies that a library makes of it, whose commands wait for the server for as long as it takes. */
export interface PatientConnection {
  readonly connection: Redis;
  /** Ends them all, at once or with one last try to reach the server; what still waits fails. */
  end(): void;
}

/**
 * A connection that is silent for `silence_ms` while something is awaited of it is made anew; that has to be longer than
 * a copy may be told to block. It counts from the first word on, for which nobody else sets a limit.
 */
export function connectPatient(url: string, silence_ms: number): PatientConnection {
  let ending = false;
  const retryStrategy = (tries: number) => (ending ? null : reconnectMs(tries));
  const options = { ...shared, retryStrategy, maxRetriesPerRequest: null, socketTimeout: silence_ms };
  const connection = quiet(new Redis(url, options));
  const all = [connection];
  connection.duplicate = (override) => {
    const copy = Redis.prototype.duplicate.call(connection, override);
    all.push(quiet(copy));
    return copy as never;
  };
  const end = (): void => {
    ending = true;
    for (const one of all) endOne(one);
  };
  return { connection, end };
}

/** A connection that is told to end between two tries stays there for ever, and those who wait for it do too. */
function endOne(connection: Redis): void {
  if (connection.status === 'reconnecting') {
    connection.once('ready', () => connection.disconnect());
    connection.connect().catch(() => {});
  } else if (connection.status !== 'end') {
    connection.disconnect();
  }
}

/**
 * Every command tells of its own failure; without a listener each lost connection would be printed besides. Many
 * lanes listen to one connection, which is no leak.
 */
function quiet(connection: Redis): Redis {
  return connection.setMaxListeners(0).on('error', () => {});
}

/** Resolves when the connection can be used; throws `CatalogError('unavailable')` where that takes more than `wait_ms`. */
export async function untilReady(connection: Redis, wait_ms: number): Promise<void> {
  if (connection.status === 'ready') return;
  let done = (): void => {};
  const ready = new Promise<void>((resolve) => {
    done = resolve;
    connection.on('ready', done);
  });
  await withTimeout(ready, wait_ms, giveUp).finally(() => connection.off('ready', done));
}

/** For `withTimeout`: throws `CatalogError('unavailable')`. */
export function giveUp(): never {
  throw unavailable();
}

export function unavailable(cause?: unknown): CatalogError {
  if (cause instanceof CatalogError) return cause;
  return new CatalogError('unavailable', { message: 'Redis does not answer', cause });
}
