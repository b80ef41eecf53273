import { setMaxListeners } from 'node:events';
import { EventStoreDBClient } from '@eventstore/db-client';
import { backoff, pause, withTimeout } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';
import { AppendStream, type StreamingClient } from './append-stream';
import { type Failure, failureOf, SilenceError, toCatalogError } from './failures';

export interface CallLimits {
  /** One try. */
  readonly attempt_ms: number;
  /** All tries of a call together, against a server that does not answer. */
  readonly call_ms: number;
  /** All tries of a call together, against a server that cannot be reached: it should fail fast, yet outlive an election. */
  readonly outage_ms: number;
}

/** A write reads, then appends: only one of the two meets the silence, so its answer is out within 5 s. */
export const DEFAULT_LIMITS: CallLimits = { attempt_ms: 2_000, call_ms: 4_500, outage_ms: 1_500 };

const pauseMs = backoff(50, 400);
/** While a server is away every call fails: this bounds how many connections are tried for it. */
const RENEW_EVERY_MS = 250;
/** The calls that a client had taken when it was given up may still end well. */
const RETIRE_AFTER_MS = 5_000;

/** Longer than this without an answer to a ping, and a connection counts as dead. */
const KEEP_ALIVE_TIMEOUT_MS = 5_000;
/** The client warns of anything shorter. */
const KEEP_ALIVE_INTERVAL_MS = 10_000;
/** It waits for every call to have ended. */
const DISPOSE_MS_MAX = 1_000;

/** A client that is current until it is renewed. */
export interface CurrentClient {
  readonly client: EventStoreDBClient;
  readonly appends: AppendStream;
  /** Aborts when the client was closed, and all its calls with it. */
  readonly retired: AbortSignal;
}

interface Tenure extends CurrentClient {
  readonly opened: OpenedClient;
  readonly retire: AbortController;
}

/** The way to one server or cluster. Connects with the first call, and anew after whatever broke. */
export class EventStoreDbConnection {
  readonly limits: CallLimits;
  private readonly url: string;
  private readonly closing = new AbortController();
  private readonly retiring = new Map<Tenure, NodeJS.Timeout>();
  private generation = 0;
  private renewed_at_ms = 0;
  private tenure: Tenure;

  /** Throws where the address is malformed. */
  constructor(url: string, limits: Partial<CallLimits> = {}) {
    // Every call under way listens for the end.
    setMaxListeners(0, this.closing.signal);
    this.url = url;
    this.limits = { ...DEFAULT_LIMITS, ...limits };
    this.tenure = this.open();
  }

  get current(): CurrentClient {
    return this.tenure;
  }

  get closed(): AbortSignal {
    return this.closing.signal;
  }

  /**
   * The operation's outcome, tried again while it fails for the server's sake: it must be one that may be repeated.
   * `tries` counts those before.
   * Throws `CatalogError('unavailable' | 'database_timeout')` when the limits are used up, any other error as it is.
   */
  async call<Result>(
    operation: (current: CurrentClient, timeout_ms: number, tries: number) => Promise<Result>,
  ): Promise<Result> {
    const started_ms = performance.now();
    for (let tries = 0; ; tries++) {
      if (this.closed.aborted)
        throw new CatalogError('unavailable', { message: 'the event store is closed' });
      const { current } = this;
      const spent_ms = performance.now() - started_ms;
      const timeout_ms = Math.min(this.limits.attempt_ms, this.limits.call_ms - spent_ms);
      try {
        const late = (): never => {
          throw new SilenceError(`no answer in ${Math.round(timeout_ms)} ms`);
        };
        return await withTimeout(operation(current, timeout_ms, tries), timeout_ms, late, this.closed);
      } catch (error) {
        const failure = failureOf(error);
        if (!failure) throw error;
        this.note(failure, current);
        const pause_ms = pauseMs(tries + 1);
        const next_ms = performance.now() - started_ms + pause_ms;
        if (!failure.retry || next_ms >= this.budget_ms(failure)) throw toCatalogError(failure, error);
        await pause(pause_ms, this.closed);
      }
    }
  }

  /** Gives the client up where the failure asks for that; later calls use a new one. */
  note(failure: Failure, used: CurrentClient): void {
    const now_ms = performance.now();
    const stale = used !== this.tenure || this.closed.aborted;
    if (!failure.renew || stale || now_ms - this.renewed_at_ms < RENEW_EVERY_MS) return;
    this.renewed_at_ms = now_ms;
    const { tenure } = this;
    this.retiring.set(
      tenure,
      setTimeout(() => void this.retire(tenure), RETIRE_AFTER_MS),
    );
    this.tenure = this.open();
  }

  /** Ends every call. Nothing of this connection keeps the process alive after. */
  async close(): Promise<void> {
    this.closing.abort();
    await Promise.all([...this.retiring.keys(), this.tenure].map((tenure) => this.retire(tenure)));
  }

  private budget_ms({ condition, shared }: Failure): number {
    return condition === 'unavailable' && !shared ? this.limits.outage_ms : this.limits.call_ms;
  }

  private open(): Tenure {
    const opened = openClient(this.url, this.generation++);
    const retire = new AbortController();
    const { client, appends } = opened;
    return { opened, retire, client, appends, retired: retire.signal };
  }

  private async retire(tenure: Tenure): Promise<void> {
    clearTimeout(this.retiring.get(tenure));
    this.retiring.delete(tenure);
    tenure.retire.abort();
    await tenure.opened.close();
  }
}

/** What the client keeps to itself and its subclasses; assigned in its constructor, so it can be wrapped. */
interface Internals extends StreamingClient {
  supports: () => Promise<boolean>;
  handleError: (grpc_client: unknown, error: Error) => Promise<void>;
  getChannel: () => Promise<{ close(): void }>;
}

export interface OpenedClient {
  readonly client: EventStoreDBClient;
  readonly appends: AppendStream;
  /** Ends every call and connection of this client. */
  close(): Promise<void>;
}

/**
 * A client for `url` (`esdb://…`, or `kurrentdb://…`, the newer name of the same), which connects with its first call.
 * Throws `CatalogError('unavailable')` where the address is malformed; its text repeats nothing of the address.
 *
 * A client of another `generation` shares no socket with the ones before it: grpc-js gives channels of equal options
 * the same connection, also where that is dead and nothing has said so yet. The generation goes into the ping interval,
 * which makes the options differ.
 */
export function openClient(url: string, generation: number): OpenedClient {
  const client = connect(connectionString(url, generation));
  const internals = client as unknown as Internals;
  usePlainAppend(internals);
  settleErrorHandling(internals);
  const channels = rememberChannels(internals);
  const appends = new AppendStream(internals);
  return {
    client,
    appends,
    close: async () => {
      appends.close();
      await withTimeout(client.dispose(), DISPOSE_MS_MAX, () => undefined);
      for (const channel of channels) channel.close();
    },
  };
}

/** The client's own error holds the whole address, and with it the password. */
function connect(connection_string: string): EventStoreDBClient {
  try {
    return EventStoreDBClient.connectionString(connection_string);
  } catch (error) {
    const { expected } = error as { expected?: unknown };
    throw new CatalogError('unavailable', {
      message: `the event store's address is malformed: ${String(expected ?? 'its parts')} expected`,
    });
  }
}

function connectionString(url: string, generation: number): string {
  const [address = '', query = ''] = url
    .trim()
    .replace(/^kurrentdb(?=:|\+)/, 'esdb')
    .split('?', 2);
  const given = new Map(
    query
      .split('&')
      .filter((pair) => pair !== '')
      .map((pair) => [pair.split('=', 1)[0]!.toLowerCase(), pair]),
  );
  // A lost race has to throw: told otherwise, the client gives wrong revisions.
  given.delete('throwonappendfailure');
  const interval_ms = Number(given.get('keepaliveinterval')?.split('=')[1] ?? KEEP_ALIVE_INTERVAL_MS);
  if (!given.has('keepalivetimeout'))
    given.set('keepalivetimeout', `keepAliveTimeout=${KEEP_ALIVE_TIMEOUT_MS}`);
  // -1 turns pings off: nothing to add to.
  if (interval_ms >= 0) given.set('keepaliveinterval', `keepAliveInterval=${interval_ms + generation}`);
  return `${address}?${[...given.values()].join('&')}`;
}

/**
 * The client's own appends go one by one; those that share a call do so in an `AppendStream`, never in the client's
 * batch stream. That one keeps its waiting appends in one table for all clients of the process: an error on one
 * connection fails those of every other, and the answer that then still comes for one of them is an uncaught exception.
 * It also asks the server for its features first, without a deadline, and remembers for ever where that failed.
 */
function usePlainAppend(internals: Internals): void {
  internals.supports = async () => false;
}

/** The client does not await this one: where it rejects (discovery failed meanwhile) that would be unhandled. */
function settleErrorHandling(internals: Internals): void {
  const handle = internals.handleError;
  internals.handleError = (grpc_client, error) => handle(grpc_client, error).catch(() => {});
}

/** `dispose()` ends calls and leaves the connection open. */
function rememberChannels(internals: Internals): Set<{ close(): void }> {
  const channels = new Set<{ close(): void }>();
  const get = internals.getChannel;
  internals.getChannel = async () => {
    const channel = await get();
    channels.add(channel);
    return channel;
  };
  return channels;
}
