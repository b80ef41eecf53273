import { Redis, type RedisOptions } from 'ioredis';
import { backoff, withTimeout } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';
import { NO_REPORT, type OutageReport, outageMessage } from '../../kernel/outages';
import { socketHost, splitUrl } from '../../kernel/server-url';
import { CAUSES, networkCause } from '../outage-cause';

const DEFAULT_PORT = 6_379;
const SENTINEL_PORT = 26_379;
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

/** How long a connection may be silent while a command waits. It may have died without a TCP close (a cut network). */
const SILENCE_MS = 2_000;

/**
 * Opens a connection that fails fast: a command fails at once if the server is unavailable, and after `command_ms` if
 * it does not answer. By default, ioredis queues commands while it reconnects, and sends unanswered commands again. A
 * request would then wait for the server without a limit.
 */
export function connectFailFast(url: string, command_ms: number, report?: OutageReport): Redis {
  const options = {
    ...COMMON_OPTIONS,
    ...addressOptions(url),
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    socketTimeout: Math.max(SILENCE_MS, 2 * command_ms),
  };
  return watch(new Redis(options), report, command_ms);
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
 * Opens a blocking connection. If the reply to a command does not arrive within `silence_ms`, the connection is
 * replaced. So `silence_ms` must be longer than the longest blocking command. The limit also applies to the
 * handshake, for which ioredis has no other timeout.
 */
export function connectBlocking(url: string, silence_ms: number, report?: OutageReport): BlockingConnection {
  let ending = false;
  const retryStrategy = (attempts: number) => (ending ? null : reconnectMs(attempts));
  const options = {
    ...COMMON_OPTIONS,
    ...addressOptions(url),
    retryStrategy,
    maxRetriesPerRequest: null,
    socketTimeout: silence_ms,
  };
  const connection = watch(new Redis(options), report);
  const connections = [connection];
  // BullMQ duplicates the connection for the blocking commands of each worker. The duplicates are recorded here so that
  // `end` can close them in any state.
  connection.duplicate = (override) => {
    const duplicate = Redis.prototype.duplicate.call(connection, override);
    connections.push(watch(duplicate, report));
    return duplicate as never;
  };
  const end = (): void => {
    ending = true;
    for (const connection of connections) endConnection(connection);
  };
  return { connection, end };
}

/**
 * Closes the connection. If `disconnect()` is called between two reconnection attempts, an ioredis connection remains
 * in the state `reconnecting`: it never emits `end`, and pending commands never settle. So this function reconnects
 * once and then disconnects.
 */
function endConnection(connection: Redis): void {
  if (connection.status === 'reconnecting') {
    connection.once('ready', () => connection.disconnect());
    connection.connect().catch(() => {});
  } else if (connection.status !== 'end') {
    connection.disconnect();
  }
}

/** The options of an address. They do not change the type of the client. */
type AddressOptions = Omit<RedisOptions, 'protocol' | 'replyMapping'>;

/**
 * Returns the options of an address: `redis://…`, `rediss://…` (TLS), or `redis+sentinel://host,host/NAME` of the
 * Sentinels that know the primary NAME (docs/operations/README.md#server-settings).
 */
function addressOptions(url: string): AddressOptions {
  const { scheme, user, hosts, path, options } = splitUrl(url);
  const tls = scheme.startsWith('rediss');
  const is_sentinel = scheme.endsWith('+sentinel');
  const [name = '', database = ''] = is_sentinel ? path.split('/') : ['', path];
  const given = Object.fromEntries(options);
  const common: AddressOptions = {
    ...given,
    ...(user && { password: user.password, ...(user.username !== '' && { username: user.username }) }),
    ...(database !== '' && { db: Number(database) }),
    ...(given.family && { family: Number(given.family) }),
    ...(tls && { tls: {} }),
  };
  const default_port = is_sentinel ? SENTINEL_PORT : DEFAULT_PORT;
  const addresses = hosts.map(({ address, port = default_port }) => ({ host: socketHost(address), port }));
  if (!is_sentinel) return { ...common, ...addresses[0]! };
  return { ...common, sentinels: addresses, name, enableTLSForSentinelMode: tls };
}

/** Why the connection, or the newest command on it, has failed. In plain words. */
const last_causes = new WeakMap<Redis, string>();

/** Not 0 for no limit: BullMQ adds to the limit and so makes 0 a limit of 3. */
const LISTENERS_MAX = 1_000;

/**
 * Reports when the connection fails and when it is ready again, and the replies that say that the server, and not the
 * command, is at fault. Rejects commands that are not answered within `command_ms`. Raises the limit of listeners,
 * because the queue of each partition adds some to the same connection.
 */
function watch(connection: Redis, report: OutageReport = NO_REPORT, command_ms?: number): Redis {
  const fail = (cause: string): void => {
    last_causes.set(connection, cause);
    report.failed(cause);
  };
  const succeed = (): void => {
    last_causes.delete(connection);
    report.succeeded();
  };
  connection.sendCommand = (command, stream) => {
    // ioredis has an option for this time. After a stall of the event loop, it ends before replies are read that have
    // arrived meanwhile; `setImmediate` waits for them.
    const onTimeout = () => setImmediate(() => command.reject(new Error(TIMED_OUT)));
    const timer = command_ms === undefined ? undefined : setTimeout(onTimeout, command_ms);
    const onReply = (reply: unknown): void => {
      clearTimeout(timer);
      // Inside a transaction, a command is only queued.
      if (connection.status === 'ready' && String(reply) !== 'QUEUED') succeed();
    };
    const onError = (error: unknown): void => {
      clearTimeout(timer);
      hideCommand(error);
      const cause = replyCause(error, connection);
      if (cause !== undefined && connection.status === 'ready') fail(cause);
    };
    command.promise.then(onReply, onError);
    return Redis.prototype.sendCommand.call(connection, command, stream);
  };
  let had_error = false;
  return connection
    .setMaxListeners(LISTENERS_MAX)
    .on('error', (error) => {
      // Without a listener, ioredis prints each lost connection to stderr.
      had_error = true;
      hideCommand(error);
      fail(replyCause(error, connection) ?? networkCause(error) ?? CAUSES.closed);
    })
    .on('close', () => {
      // A server that expects TLS closes a connection without TLS, which is no error for ioredis.
      if (!had_error && connection.status === 'reconnecting') fail(CAUSES.closed);
      had_error = false;
    })
    .on('ready', succeed);
}

/** Removes the command that the library adds to an error reply: the command of the login contains the password. */
function hideCommand(error: unknown): void {
  if (error instanceof Error && 'command' in error) delete error.command;
}

/** The beginning of an error reply, and its meaning in plain words. */
const REPLY_CAUSES: readonly (readonly [RegExp, string])[] = [
  [/^WRONGPASS|^ERR invalid (username|password)/, CAUSES.wrong_password],
  [/^NOPERM/, 'the user has no right to run a command, or to use a key or channel'],
  [/^LOADING/, 'the server is loading its data'],
  [/^READONLY/, 'the server is a replica'],
  [/^MASTERDOWN/, 'the server is a replica that has lost its primary'],
  [/^MISCONF/, 'the server cannot save its data'],
  [/^OOM/, 'the server has no memory left'],
  [
    /^(MOVED|CROSSSLOT|CLUSTERDOWN)/,
    'it is a Redis Cluster, which is not supported: use one primary, with replicas and Sentinel',
  ],
];

/** Returns why the server refuses a command. Undefined if the error is no reply, or one about the command itself. */
function replyCause(error: unknown, connection: Redis): string | undefined {
  if (!(error instanceof Error)) return undefined;
  // The reply to any command after a failed login, and to each one without a login.
  if (/^NOAUTH/.test(error.message))
    return connection.options.password ? CAUSES.wrong_password : CAUSES.no_user;
  return REPLY_CAUSES.find(([pattern]) => pattern.test(error.message))?.[1];
}

/** Resolves when the connection is ready. Throws `CatalogError('unavailable')` if that takes longer than `wait_ms`. */
export async function waitUntilReady(connection: Redis, wait_ms: number): Promise<void> {
  if (connection.status === 'ready') return;
  let onReady = (): void => {};
  const ready = new Promise<void>((resolve) => {
    onReady = resolve;
    connection.on('ready', onReady);
  });
  await withTimeout(ready, wait_ms, throwUnavailable(connection)).finally(() =>
    connection.off('ready', onReady),
  );
}

/** How long opening a store waits for the server. */
const OPENING_MS = 1_000;

/** The options of a store in Redis. */
export interface RedisStoreOptions {
  /** `redis://…` or `rediss://…` */
  readonly url: string;
  /** Prefix of the keys in Redis; `catalog` by default. */
  readonly prefix?: string;
  /** Receives the failures and successes of calls to the server. */
  readonly report?: OutageReport;
}

/**
 * Opens a connection that fails fast, and gives it a command for each script. Waits at most one second for the server. If the
 * server is unavailable, returns the connection anyway, and its commands fail.
 */
export async function openWithScripts<Commands>(
  { url, report }: RedisStoreOptions,
  command_ms: number,
  scripts: { readonly [Name in keyof Commands]: { readonly numberOfKeys: number; readonly lua: string } },
): Promise<Redis & Commands> {
  const connection = connectFailFast(url, command_ms, report);
  for (const name in scripts) connection.defineCommand(name, scripts[name]);
  await waitUntilReady(connection, OPENING_MS).catch(() => undefined);
  return connection as Redis & Commands;
}

/** Makes `withTimeout` reject with `CatalogError('unavailable')`: the result is its `onTimeout`. */
export function throwUnavailable(connection?: Redis): () => never {
  return () => {
    throw toUnavailable(connection);
  };
}

/** Returns `cause` itself if it is a `CatalogError`, otherwise `unavailable` caused by it. */
export function toUnavailable(connection: Redis | undefined, cause?: unknown): CatalogError {
  if (cause instanceof CatalogError) return cause;
  hideCommand(cause);
  const last_cause = connection && last_causes.get(connection);
  const shown = (connection && replyCause(cause, connection)) ?? last_cause ?? CAUSES.silent;
  return new CatalogError('unavailable', { message: outageMessage('redis', shown), cause });
}
