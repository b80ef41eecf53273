import { setMaxListeners } from 'node:events';
import type { Position } from '../../catalog/events/envelope';
import { backoff, pause, SharedRead, withJitter, withSilenceLimit } from '../../kernel/async';
import { CatalogError, isOutage } from '../../kernel/errors';
import { NO_REPORT, type OutageReport, outageMessage } from '../../kernel/outages';
import { CAUSES } from '../outage-cause';
import { ServerAddress } from './address';
import { OpenedClient } from './client';
import { type Failure, failureOf, NoResponseError, NotSentError } from './failures';

export interface CallLimits {
  /** Deadline of one attempt. An attempt that reads several events has this time for each of them. */
  readonly attempt_ms: number;
  /** Deadline for the start of the last attempt of a call, and for the whole call if the server sends nothing. */
  readonly call_ms: number;
}

/** A request ends at its first call without an answer, so it waits for `call_ms` once, and ends within 5 s. */
export const DEFAULT_LIMITS: CallLimits = { attempt_ms: 2_000, call_ms: 4_700 };

const pauseMs = backoff(50, 200);
/**
 * The shortest time between two replacements of the client, by the number of replacements since a call has succeeded. At
 * most 5 s with the jitter. Without it, every call would replace the client while a server is unavailable.
 */
const replacementMs = backoff(1_000, 3_300);
/** A replaced client is closed after this time, because calls that it is still executing may succeed. */
const CLOSE_AFTER_MS = 5_000;
/** At most so many replaced clients are kept. */
const REPLACED_MAX = 2;

/** The client in use until it is replaced. */
export type CurrentClient = Pick<OpenedClient, 'client' | 'retired'>;

/** `silence_ms` is the deadline of this attempt; `onProgress` restarts it. */
type Operation<Result> = (
  current: CurrentClient,
  silence_ms: number,
  onProgress: () => void,
) => Promise<Result>;

export interface CallOptions {
  /** The deadline of an attempt if it is longer than `CallLimits.attempt_ms`. The call may take as long. */
  readonly silence_ms?: number;
  /** Whether the user needs the right to read the log of all streams. */
  readonly needs_all?: boolean;
  /** Called before each attempt. If it rejects, nothing more is sent. */
  readonly beforeSend?: (() => Promise<void>) | undefined;
}

/**
 * The client of a server, which all stores of this process with the same address use, until it is replaced. The address is
 * connected to at the first call, and again with a new client after a connection failure.
 */
class SharedClient {
  private static readonly opened = new Map<string, SharedClient>();

  /** The head of the log. */
  readonly head = new SharedRead<Position>();
  readonly server: ServerAddress;
  private readonly key: string;
  private readonly closing = new AbortController();
  private readonly replaced = new Set<OpenedClient>();
  private users = 0;
  private generation = 0;
  /** Replacements since a call has succeeded. */
  private replacements = 0;
  private replaceable_at_ms = 0;
  private used: OpenedClient;

  private constructor(url: string, key: string) {
    this.server = new ServerAddress(url);
    this.key = key;
    this.used = this.open();
  }

  /** `call_ms`: stores whose calls wait equally long can share reads. */
  static acquire(url: string, call_ms: number): SharedClient {
    const key = `${call_ms} ${url}`;
    const shared = SharedClient.opened.get(key) ?? new SharedClient(url, key);
    SharedClient.opened.set(key, shared);
    shared.users++;
    return shared;
  }

  get current(): OpenedClient {
    return this.used;
  }

  succeeded(used: OpenedClient): void {
    this.replacements = 0;
    used.succeeded();
  }

  /** Replaces the client, unless it is replaced already, or has replaced another one just before. */
  replace(used: OpenedClient): void {
    const now_ms = performance.now();
    if (used !== this.used || this.closing.signal.aborted || now_ms < this.replaceable_at_ms) return;
    this.replaceable_at_ms = now_ms + withJitter(replacementMs(++this.replacements));
    used.retire();
    this.replaced.add(used);
    const [oldest] = this.replaced;
    if (this.replaced.size > REPLACED_MAX) void this.closeClient(oldest!);
    void pause(CLOSE_AFTER_MS, this.closing.signal).then(() => this.closeClient(used));
    this.used = this.open();
  }

  /** Ends the use by a store. The last one closes every client. */
  async release(): Promise<void> {
    if (--this.users > 0) return;
    SharedClient.opened.delete(this.key);
    this.closing.abort();
    await Promise.all([...this.replaced, this.used].map((client) => this.closeClient(client)));
  }

  private open(): OpenedClient {
    return new OpenedClient(this.server, this.generation++, (lost) => void this.replaceLost(lost));
  }

  /** Ends the subscriptions at once: they may keep a server from stopping. */
  private async replaceLost(lost: OpenedClient): Promise<void> {
    lost.retire();
    // A timer may end up to a millisecond early. `replace` would then do nothing.
    const wait_ms = Math.max(0, Math.ceil(this.replaceable_at_ms - performance.now()) + 1);
    await pause(wait_ms, this.closing.signal, { ref: false });
    this.replace(lost);
  }

  private async closeClient(client: OpenedClient): Promise<void> {
    this.replaced.delete(client);
    await client.close();
  }
}

/** The connection of a store to one server or cluster. */
export class EventStoreDbConnection {
  readonly limits: CallLimits;
  private readonly shared: SharedClient;
  private readonly report: OutageReport;
  private readonly closing = new AbortController();

  /** Throws `ConfigError` if the address is malformed, or if a file that it names cannot be used. */
  constructor(url: string, limits: Partial<CallLimits> = {}, report: OutageReport = NO_REPORT) {
    // Every running call adds a listener.
    setMaxListeners(0, this.closing.signal);
    this.report = report;
    this.limits = { ...DEFAULT_LIMITS, ...limits };
    this.shared = SharedClient.acquire(url, this.limits.call_ms);
  }

  get head(): SharedRead<Position> {
    return this.shared.head;
  }

  get current(): CurrentClient {
    return this.shared.current;
  }

  get closed(): AbortSignal {
    return this.closing.signal;
  }

  /**
   * Runs the operation, and retries it while the server or the connection fails. The operation must be safe to repeat.
   * An operation that receives its result in parts calls `onProgress` for each of them. When the limits are exceeded,
   * throws `CatalogError('database_timeout')` if an attempt got no answer, and `CatalogError('unavailable')` otherwise.
   * Rethrows any other error unchanged.
   */
  async call<Result>(operation: Operation<Result>, options: CallOptions = {}): Promise<Result> {
    const { beforeSend, needs_all = false, silence_ms = this.limits.attempt_ms } = options;
    const ends_at_ms = performance.now() + Math.max(this.limits.call_ms, silence_ms);
    let last_error: CatalogError | undefined;
    let known_cause: string | undefined;
    for (let failures = 0; ; failures++) {
      if (this.closed.aborted)
        throw new CatalogError('unavailable', { message: 'the event store is closed' });
      const used = this.shared.current;
      let timeout_ms = 0;
      try {
        await beforeSend?.();
        timeout_ms = Math.min(silence_ms, ends_at_ms - performance.now());
        if (timeout_ms <= 0) throw last_error ?? new CatalogError('unavailable', { retry_after_s: 1 });
        const result = await this.attempt(used, operation, timeout_ms);
        this.shared.succeeded(used);
        this.report.succeeded();
        return result;
      } catch (error) {
        const failure = failureOf(error, { needs_all, has_user: this.shared.server.has_user });
        // An outage that `beforeSend` met says nothing of an earlier attempt, which may have been executed.
        if (!failure && isOutage(error)) throw last_error ?? error;
        if (!failure) {
          this.report.succeeded();
          throw error;
        }
        if (failure.reconnect) this.shared.replace(used);
        // An attempt that had less time than others does not show that the server is silent.
        if (!known_cause || timeout_ms >= silence_ms) known_cause = failure.cause ?? CAUSES.closed;
        if (last_error?.condition !== 'database_timeout')
          last_error = this.toCatalogError(failure.condition, known_cause, error);
        const pause_ms = pauseMs(failures + 1);
        if (!failure.retry || performance.now() + pause_ms >= ends_at_ms) throw last_error;
        await pause(pause_ms, this.closed);
      }
    }
  }

  private attempt<Result>(
    used: OpenedClient,
    operation: Operation<Result>,
    timeout_ms: number,
  ): Promise<Result> {
    const onTimeout = (): never => {
      const message = `no response in ${Math.round(timeout_ms)} ms`;
      throw used.is_connected ? new NoResponseError(message) : new NotSentError(message);
    };
    return withSilenceLimit(
      (onProgress) => operation(used, timeout_ms, onProgress),
      timeout_ms,
      onTimeout,
      this.closed,
    );
  }

  private toCatalogError(condition: Failure['condition'], cause: string, error: unknown): CatalogError {
    if (this.closed.aborted)
      return new CatalogError('unavailable', { message: 'the event store is closed', cause: error });
    this.report.failed(cause);
    const message = outageMessage('event_store', cause);
    return new CatalogError(condition, { message, retry_after_s: 1, cause: error });
  }

  /** Ends every call. Afterwards this connection does not keep the process alive. */
  async close(): Promise<void> {
    if (this.closed.aborted) return;
    this.closing.abort();
    await this.shared.release();
  }
}
