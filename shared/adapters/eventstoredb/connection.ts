import { setMaxListeners } from 'node:events';
import type { EventStoreDBClient } from '@eventstore/db-client';
import { backoff, pause, withSilenceLimit, withTimeout } from '../../kernel/async';
import { CatalogError, isOutage } from '../../kernel/errors';
import { NO_REPORT, type OutageReport } from '../../kernel/outages';
import { ConnectionOutage } from '../outage-cause';
import { ServerAddress } from './address';
import {
  type CallScope,
  type Failure,
  failureOf,
  NoResponseError,
  NotSentError,
  outageCauseOf,
  toCatalogError,
} from './failures';
import { SharedAppends, type StreamingClient } from './shared-appends';
import { SharedHead } from './shared-head';

export interface CallLimits {
  /** Deadline of one attempt. An attempt that reads several events has this time for each of them. */
  readonly attempt_ms: number;
  /** Deadline for the start of the last attempt of a call, and for the whole call if the server sends nothing. */
  readonly call_ms: number;
  /**
   * If the server cannot be reached for less than this time, counted from the first call that could not reach it, calls
   * wait for it, up to `call_ms`. As long as most clusters have no leader: one that is stopped closes its port, keeps the
   * leadership until its clients have ended their calls, at most for 5 s, and only then there is an election. On a busy
   * machine, that takes longer (docs/operations/eventstoredb.md#rolling-restarts). After this time without a failure, the
   * next failure begins another outage.
   */
  readonly short_outage_ms: number;
  /** Deadline of all attempts of a call together in a longer outage. */
  readonly outage_ms: number;
}

/** A request ends at its first call without an answer, so it waits for `call_ms` once, and ends within 5 s. */
export const DEFAULT_LIMITS: CallLimits = {
  attempt_ms: 2_000,
  call_ms: 4_700,
  short_outage_ms: 10_000,
  outage_ms: 1_500,
};

const pauseMs = backoff(50, 200);
/**
 * The shortest time between two replacements of the client. Without it, every call would replace the client while a
 * server is unavailable.
 */
const RECONNECT_EVERY_MS = 250;
/** A replaced client is closed after this time, because calls that it is still executing may succeed. */
const CLOSE_AFTER_MS = 5_000;

/** Limit for `dispose()`, which waits until every call has ended. */
const DISPOSE_MS_MAX = 1_000;

/**
 * `timeout_ms` is the deadline of this attempt; `onProgress` restarts it. `suspect` is true if the operation itself may
 * be why the previous attempt failed, and false if that attempt could not reach the server.
 */
type Operation<Result> = (
  current: CurrentClient,
  timeout_ms: number,
  suspect: boolean,
  onProgress: () => void,
) => Promise<Result>;

/** The client in use until it is replaced. */
export interface CurrentClient {
  readonly client: EventStoreDBClient;
  readonly appends: SharedAppends;
  /**
   * Finds the leader and connects to it. Resolves when calls no longer wait for a connection. Also resolves if the
   * connection fails: a call then fails at once, with the cause.
   */
  connect(): Promise<void>;
  /** Aborts when the client is replaced or closed. Its subscriptions end then. */
  readonly retired: AbortSignal;
}

interface ManagedClient extends CurrentClient {
  readonly opened: OpenedClient;
  readonly retiring: AbortController;
}

/**
 * Connects to one server or cluster. Connects at the first call, and again with a new client after a connection
 * failure.
 */
export class EventStoreDbConnection {
  readonly limits: CallLimits;
  /** Shared with the connections of the other realms. */
  readonly head: SharedHead;
  private readonly server: ServerAddress;
  private readonly outage: ConnectionOutage;
  private readonly closing = new AbortController();
  private readonly replaced = new Map<ManagedClient, NodeJS.Timeout>();
  private generation = 0;
  /** How many connections were made. */
  private connections = 0;
  private replaced_at_ms = 0;
  /** Start of the first call that could not reach the server, and the last failure. Undefined once a call reached it. */
  private unreachable: { readonly since_ms: number; readonly failed_at_ms: number } | undefined;
  private managed: ManagedClient;

  /** Throws `ConfigError` if the address is malformed, or if a file that it names cannot be used. */
  constructor(url: string, limits: Partial<CallLimits> = {}, report: OutageReport = NO_REPORT) {
    // Every running call adds a listener.
    setMaxListeners(0, this.closing.signal);
    this.server = new ServerAddress(url);
    this.outage = new ConnectionOutage(report, this.server.probed);
    this.limits = { ...DEFAULT_LIMITS, ...limits };
    this.head = SharedHead.of(url, this.limits.call_ms);
    this.managed = this.open();
  }

  get current(): CurrentClient {
    return this.managed;
  }

  get connection_number(): number {
    return this.connections;
  }

  get closed(): AbortSignal {
    return this.closing.signal;
  }

  /**
   * Runs the operation, and retries it while the server or the connection fails. The operation must be safe to repeat.
   * An operation that receives its result in parts calls `onProgress` for each of them. Throws
   * `CatalogError('unavailable' | 'database_timeout')` when the limits are exceeded: `database_timeout` only if an attempt
   * was sent. Rethrows any other error unchanged. `beforeSend` is called in each attempt, once there is a connection.
   */
  async call<Result>(
    operation: Operation<Result>,
    scope: CallScope = 'streams',
    beforeSend?: () => Promise<void>,
  ): Promise<Result> {
    const started_ms = performance.now();
    let suspect = false;
    /** The error of the last attempt that had the whole time of an attempt. */
    let last_error: CatalogError | undefined;
    for (let failures = 0; ; failures++) {
      if (this.closed.aborted)
        throw new CatalogError('unavailable', { message: 'the event store is closed' });
      const { current } = this;
      const leftMs = (): number => this.limits.call_ms - (performance.now() - started_ms);
      const left_ms = leftMs();
      try {
        await this.connect(current, left_ms);
        await beforeSend?.();
        const result = await this.attempt(operation, current, leftMs(), suspect);
        this.outage.succeeded(scope);
        return result;
      } catch (error) {
        const failure = failureOf(error);
        if (!failure) {
          if (!isOutage(error)) this.outage.succeeded(scope);
          // An outage that `beforeSend` met says nothing of an earlier attempt, which may have been executed.
          throw isOutage(error) && last_error ? last_error : error;
        }
        const outage_cause = this.reportFailure(error, scope);
        suspect = failure.condition !== 'unavailable' || failure.shared === true;
        this.reconnectAfter(failure, current);
        const pause_ms = pauseMs(failures + 1);
        const next_ms = performance.now() - started_ms + pause_ms;
        // No answer within the rest of the call's time says less than the attempt before it. So does an attempt that was
        // not sent.
        const is_cut_short = error instanceof NoResponseError && left_ms < this.limits.attempt_ms;
        if (!(is_cut_short || error instanceof NotSentError) || !last_error)
          last_error = toCatalogError(failure, error, outage_cause);
        if (!failure.retry || next_ms >= this.limitMs(failure, started_ms)) throw last_error;
        await pause(pause_ms, this.closed);
      }
    }
  }

  private connect(current: CurrentClient, left_ms: number): Promise<void> {
    const timeout_ms = Math.min(this.limits.attempt_ms, left_ms);
    const onTimeout = (): never => {
      throw new NotSentError(`no connection in ${Math.round(timeout_ms)} ms`);
    };
    return withTimeout(current.connect(), timeout_ms, onTimeout, this.closed);
  }

  /** Runs the operation once, and notes whether it has reached the server. */
  private async attempt<Result>(
    operation: Operation<Result>,
    current: CurrentClient,
    left_ms: number,
    suspect: boolean,
  ): Promise<Result> {
    if (left_ms <= 0) throw new NotSentError('no time left');
    const timeout_ms = Math.min(this.limits.attempt_ms, left_ms);
    const onTimeout = (): never => {
      throw new NoResponseError(`no response in ${Math.round(timeout_ms)} ms`);
    };
    try {
      const result = await withSilenceLimit(
        (onProgress) => operation(current, timeout_ms, suspect, onProgress),
        timeout_ms,
        onTimeout,
        this.closed,
      );
      this.unreachable = undefined;
      return result;
    } catch (error) {
      if (!failureOf(error)) this.unreachable = undefined;
      throw error;
    }
  }

  /** Reports a failure for which `failureOf` returns one. Returns its cause in plain words. */
  reportFailure(error: unknown, scope: CallScope): string {
    if (this.closed.aborted) return 'it is closed';
    const { has_user, hosts_are_seeds } = this.server;
    const { cause, scope: failing_scope } = outageCauseOf(error, scope, has_user);
    return this.outage.failed(cause, {
      ...(failing_scope && { scope: failing_scope }),
      ...(hosts_are_seeds && { otherwise: 'no host of the address names a leader of the cluster' }),
    });
  }

  /** Replaces the client if the failure requires a new connection. Later calls use the new client. */
  reconnectAfter(failure: Failure, used: CurrentClient): void {
    if (failure.reconnect && performance.now() - this.replaced_at_ms >= RECONNECT_EVERY_MS)
      this.replace(used);
  }

  /**
   * Replaces the client, unless it is replaced already. Ends its subscriptions at once, and its shared call of appends as
   * soon as they are answered: a leader that is shutting down stays the leader while a call is open.
   */
  private replace(used: CurrentClient): void {
    const old = this.managed;
    if (used !== old || this.closed.aborted) return;
    this.replaced_at_ms = performance.now();
    old.retiring.abort();
    old.appends.retire();
    this.replaced.set(
      old,
      setTimeout(() => void this.closeClient(old), CLOSE_AFTER_MS),
    );
    this.managed = this.open();
  }

  /** Ends every call. Afterwards this connection does not keep the process alive. */
  async close(): Promise<void> {
    this.closing.abort();
    await Promise.all([...this.replaced.keys(), this.managed].map((client) => this.closeClient(client)));
  }

  /** The failure of a shared call may come from another append, so it does not show that the server is unavailable. */
  private limitMs({ condition, shared }: Failure, started_ms: number): number {
    const { call_ms, short_outage_ms, outage_ms } = this.limits;
    if (condition !== 'unavailable' || shared) return call_ms;
    const failed_at_ms = performance.now();
    // Without a call in between, nothing shows whether an earlier outage has ended.
    const before = this.unreachable;
    const since_ms =
      before && started_ms - before.failed_at_ms < short_outage_ms ? before.since_ms : started_ms;
    this.unreachable = { since_ms, failed_at_ms };
    return failed_at_ms - since_ms < short_outage_ms ? call_ms : outage_ms;
  }

  private open(): ManagedClient {
    const opened = openClient(this.server, this.generation++, {
      onConnected: () => this.connections++,
      onLost: () => this.replace(managed),
    });
    const retiring = new AbortController();
    const { client, appends, connect } = opened;
    const managed: ManagedClient = { opened, retiring, client, appends, connect, retired: retiring.signal };
    return managed;
  }

  private async closeClient(managed: ManagedClient): Promise<void> {
    clearTimeout(this.replaced.get(managed));
    this.replaced.delete(managed);
    managed.retiring.abort();
    await managed.opened.close();
  }
}

/** Non-public members of the client. The constructor assigns them to the instance, so they can be replaced on it. */
interface Internals extends StreamingClient {
  supports: () => Promise<boolean>;
  handleError: (grpc_client: unknown, error: Error) => Promise<void>;
  getChannel: () => Promise<Channel>;
}

export interface OpenedClient {
  readonly client: EventStoreDBClient;
  readonly appends: SharedAppends;
  readonly connect: CurrentClient['connect'];
  /** Closes every call and connection of this client. */
  close(): Promise<void>;
}

interface ConnectionEvents {
  /** Called for each connection before it is used. */
  readonly onConnected: () => void;
  /** Called when the connection has ended, or accepts no new calls because the server is about to stop. */
  readonly onLost: () => void;
}

/**
 * Opens a client for the server. It connects at its first call.
 *
 * grpc-js shares one socket between all channels with equal address and options, even while that socket is dead and the
 * failure is not detected yet. A new client would then get the dead socket of the old one. So each `generation` gets a
 * slightly different ping interval: its options differ, and grpc-js opens a new socket.
 */
export function openClient(
  server: ServerAddress,
  generation: number,
  events: ConnectionEvents = { onConnected: () => {}, onLost: () => {} },
): OpenedClient {
  const client = server.connect(generation);
  const internals = client as unknown as Internals;
  usePlainAppend(internals);
  catchErrorHandling(internals);
  const channels = recordChannels(internals, events);
  const appends = new SharedAppends(internals);
  return {
    client,
    appends,
    connect: channels.connect,
    close: async () => {
      appends.close();
      await withTimeout(client.dispose(), DISPOSE_MS_MAX, () => undefined);
      channels.close();
    },
  };
}

/**
 * Makes `appendToStream` use one call per append. By default the client uses its own batch stream if the server
 * supports it. That batch stream has three problems:
 * - It keeps the pending appends of all clients of the process in one table. An error on one connection fails the pending
 *   appends of every connection, and a response that still arrives for one of them is an uncaught exception.
 * - It first asks the server for its features, without a deadline.
 * - If that request fails, it caches the failure for the client's lifetime.
 * `SharedAppends` batches appends without these problems.
 */
function usePlainAppend(internals: Internals): void {
  internals.supports = async () => false;
}

/**
 * Catches rejections of the client's `handleError`. The client does not await it, so a rejection (for example because
 * discovery fails at that moment) would be an unhandled rejection and end the process.
 */
function catchErrorHandling(internals: Internals): void {
  const handle = internals.handleError;
  internals.handleError = (grpc_client, error) => handle(grpc_client, error).catch(() => {});
}

/** A channel of grpc-js. It connects again by itself when its connection is lost. */
interface Channel {
  close(): void;
  getConnectivityState(connect: boolean): number;
  watchConnectivityState(current: number, deadline: number, onChange: () => void): void;
}

/** States of a channel of grpc-js. */
const IDLE = 0;
const CONNECTING = 1;
const READY = 2;
const SHUTDOWN = 4;

interface Channels {
  readonly connect: CurrentClient['connect'];
  /** Closes all channels, also one that the client is opening or opens later. */
  close(): void;
}

/**
 * Records the channels that the client opens. `dispose()` ends the calls but leaves the channels open. A call that waits
 * for discovery during an outage opens its channel only afterwards, when its client may have been replaced and closed.
 */
function recordChannels(internals: Internals, { onConnected, onLost }: ConnectionEvents): Channels {
  const open = new Set<Channel>();
  let closed = false;
  /** The channel that is connected, as far as is known. */
  let connected: Channel | undefined;
  const getChannel = internals.getChannel;
  internals.getChannel = async () => {
    const channel = await getChannel();
    if (closed) {
      channel.close();
      throw new Error('a closed channel');
    }
    if (!open.has(channel)) watchConnection(channel, onLost);
    open.add(channel);
    return channel;
  };
  const changed = (channel: Channel, state: number): Promise<void> =>
    new Promise((resolve) => channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, resolve));
  return {
    connect: async () => {
      const channel = await internals.getChannel();
      for (;;) {
        if (channel === connected) return;
        const state = channel.getConnectivityState(true);
        if (state === READY) break;
        if (state > CONNECTING) return;
        await changed(channel, state);
      }
      connected = channel;
      onConnected();
      void changed(channel, READY).then(() => {
        if (connected === channel) connected = undefined;
      });
    },
    close: () => {
      closed = true;
      for (const channel of open) channel.close();
    },
  };
}

/** Calls `onLost` each time that the channel's connection has ended, or accepts no new calls (GOAWAY). */
function watchConnection(channel: Channel, onLost: () => void): void {
  const state = channel.getConnectivityState(false);
  if (state === SHUTDOWN) return;
  channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, () => {
    if (state === READY && channel.getConnectivityState(false) === IDLE) onLost();
    watchConnection(channel, onLost);
  });
}
