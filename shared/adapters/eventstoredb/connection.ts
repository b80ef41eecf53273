import { setMaxListeners } from 'node:events';
import type { Position } from '../../catalog/events/envelope';
import { backoff, pause, SharedRead, withSilenceLimit } from '../../kernel/async';
import { CatalogError, isOutage } from '../../kernel/errors';
import { NO_REPORT, type OutageReport, outageMessage } from '../../kernel/outages';
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
 * The shortest time between two replacements of the client. Without it, every call would replace the client while a
 * server is unavailable.
 */
const RECONNECT_EVERY_MS = 250;
/** A replaced client is closed after this time, because calls that it is still executing may succeed. */
const CLOSE_AFTER_MS = 5_000;

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
 * Connects to one server or cluster. Connects at the first call, and again with a new client after a connection
 * failure.
 */
export class EventStoreDbConnection {
  /** The heads of logs, by server and `call_ms`: calls that share a read wait equally long. A process uses one server. */
  private static readonly heads = new Map<string, SharedRead<Position>>();

  readonly limits: CallLimits;
  readonly head: SharedRead<Position>;
  private readonly server: ServerAddress;
  private readonly report: OutageReport;
  private readonly closing = new AbortController();
  private readonly replaced = new Set<OpenedClient>();
  private generation = 0;
  private replaced_at_ms = 0;
  private used: OpenedClient;

  /** Throws `ConfigError` if the address is malformed, or if a file that it names cannot be used. */
  constructor(url: string, limits: Partial<CallLimits> = {}, report: OutageReport = NO_REPORT) {
    // Every running call adds a listener.
    setMaxListeners(0, this.closing.signal);
    this.server = new ServerAddress(url);
    this.report = report;
    this.limits = { ...DEFAULT_LIMITS, ...limits };
    const key = `${this.limits.call_ms} ${url}`;
    this.head = EventStoreDbConnection.heads.get(key) ?? new SharedRead();
    EventStoreDbConnection.heads.set(key, this.head);
    this.used = this.open();
  }

  get current(): CurrentClient {
    return this.used;
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
    for (let failures = 0; ; failures++) {
      if (this.closed.aborted)
        throw new CatalogError('unavailable', { message: 'the event store is closed' });
      const { used } = this;
      try {
        await beforeSend?.();
        const timeout_ms = Math.min(silence_ms, ends_at_ms - performance.now());
        const result = await this.attempt(used, operation, timeout_ms);
        this.report.succeeded();
        return result;
      } catch (error) {
        const failure = failureOf(error, { needs_all, has_user: this.server.has_user });
        // An outage that `beforeSend` met says nothing of an earlier attempt, which may have been executed.
        if (!failure && isOutage(error)) throw last_error ?? error;
        if (!failure) {
          this.report.succeeded();
          throw error;
        }
        const is_due = performance.now() - this.replaced_at_ms >= RECONNECT_EVERY_MS;
        if (failure.reconnect && is_due) this.replace(used);
        if (last_error?.condition !== 'database_timeout') last_error = this.toCatalogError(failure, error);
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

  private toCatalogError({ condition, cause }: Failure, error: unknown): CatalogError {
    if (this.closed.aborted)
      return new CatalogError('unavailable', { message: 'the event store is closed', cause: error });
    const shown = cause ?? this.server.unknown_cause;
    this.report.failed(shown);
    const message = outageMessage('event_store', shown);
    return new CatalogError(condition, { message, retry_after_s: 1, cause: error });
  }

  /** Replaces the client, unless it is replaced already. */
  private replace(used: OpenedClient): void {
    if (used !== this.used || this.closed.aborted) return;
    this.replaced_at_ms = performance.now();
    used.retire();
    this.replaced.add(used);
    void pause(CLOSE_AFTER_MS, this.closed).then(() => this.closeClient(used));
    this.used = this.open();
  }

  /** Ends every call. Afterwards this connection does not keep the process alive. */
  async close(): Promise<void> {
    this.closing.abort();
    await Promise.all([...this.replaced, this.used].map((client) => this.closeClient(client)));
  }

  private open(): OpenedClient {
    return new OpenedClient(this.server, this.generation++, (lost) => this.replace(lost));
  }

  private async closeClient(client: OpenedClient): Promise<void> {
    this.replaced.delete(client);
    await client.close();
  }
}
