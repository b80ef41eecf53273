import { setMaxListeners } from 'node:events';
import type { EventStoreDBClient } from '@eventstore/db-client';
import { CatalogError } from '../../kernel/errors';
import type { AppendStream } from './append-stream';
import { type OpenedClient, openClient } from './client';
import { pause, withinDeadline } from './deadline';
import { type Failure, failureOf, toCatalogError } from './failures';

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

const PAUSE_FIRST_MS = 50;
const PAUSE_MAX_MS = 400;
/** While a server is away every call fails: this bounds how many connections are tried for it. */
const RENEW_EVERY_MS = 250;
/** The calls that a client had taken when it was given up may still end well. */
const RETIRE_AFTER_MS = 5_000;

/** A client that is current until it is renewed. */
export interface Lease {
  readonly client: EventStoreDBClient;
  readonly appends: AppendStream;
  /** Aborts when the client was closed, and all its calls with it. */
  readonly retired: AbortSignal;
}

interface Tenure extends Lease {
  readonly opened: OpenedClient;
  readonly retire: AbortController;
}

/** The way to one server or cluster. Connects with the first call, and anew after whatever broke. */
export class Connection {
  readonly limits: CallLimits;
  private readonly url: string;
  private readonly closing = new AbortController();
  private readonly retiring = new Map<Tenure, NodeJS.Timeout>();
  private generation = 0;
  private renewed_at_ms = 0;
  private current: Tenure;

  /** Throws where the address is malformed. */
  constructor(url: string, limits: Partial<CallLimits> = {}) {
    // Every call under way listens for the end.
    setMaxListeners(0, this.closing.signal);
    this.url = url;
    this.limits = { ...DEFAULT_LIMITS, ...limits };
    this.current = this.open();
  }

  get lease(): Lease {
    return this.current;
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
    operation: (lease: Lease, timeout_ms: number, tries: number) => Promise<Result>,
  ): Promise<Result> {
    const started_ms = performance.now();
    for (let tries = 0; ; tries++) {
      if (this.closed.aborted)
        throw new CatalogError('unavailable', { message: 'the event store is closed' });
      const { lease } = this;
      const spent_ms = performance.now() - started_ms;
      const timeout_ms = Math.min(this.limits.attempt_ms, this.limits.call_ms - spent_ms);
      try {
        return await withinDeadline(operation(lease, timeout_ms, tries), timeout_ms, this.closed);
      } catch (error) {
        const failure = failureOf(error);
        if (!failure) throw error;
        this.note(failure, lease);
        const pause_ms = Math.min(PAUSE_FIRST_MS * 2 ** tries, PAUSE_MAX_MS);
        const next_ms = performance.now() - started_ms + pause_ms;
        if (!failure.retry || next_ms >= this.budget_ms(failure)) throw toCatalogError(failure, error);
        await pause(pause_ms, this.closed);
      }
    }
  }

  /** Gives the client of `lease` up where the failure asks for that; later calls use a new one. */
  note(failure: Failure, lease: Lease): void {
    const now_ms = performance.now();
    const stale = lease !== this.current || this.closed.aborted;
    if (!failure.renew || stale || now_ms - this.renewed_at_ms < RENEW_EVERY_MS) return;
    this.renewed_at_ms = now_ms;
    const tenure = this.current;
    this.retiring.set(
      tenure,
      setTimeout(() => void this.retire(tenure), RETIRE_AFTER_MS),
    );
    this.current = this.open();
  }

  /** Ends every call. Nothing of this connection keeps the process alive after. */
  async close(): Promise<void> {
    this.closing.abort();
    await Promise.all([...this.retiring.keys(), this.current].map((tenure) => this.retire(tenure)));
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
