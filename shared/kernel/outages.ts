import type { Logger } from './log';
import { timestamp } from './system';

/** The servers that a process may depend on. Each has an adapter folder, and a setting with its address. */
export const SERVERS = ['event_store', 'view_store', 'redis'] as const;
export type Server = (typeof SERVERS)[number];

const TITLES: Readonly<Record<Server, string>> = {
  event_store: 'The event store',
  view_store: 'MongoDB',
  redis: 'Redis',
};

/**
 * An outage that lasts no longer than this is not logged: connections are replaced, and leaders elected, in that time.
 */
const LOG_AFTER_MS = 1_000;
/** The scope of a failure that concerns the whole server, so that any success ends it. */
const ANY = '';
/** A failure of another scope than the successes counts as ended if it was not reported for this long. */
const SCOPE_ENDS_AFTER_MS = 30_000;

/** Receives what an adapter learns about its server. */
export interface OutageReport {
  /**
   * Reports a failure. `cause` says in plain words why the server cannot be used, without addresses and other changing
   * parts. If only some calls fail, such as those for which a right is missing, `scope` names them.
   */
  failed(cause: string, scope?: string): void;
  /**
   * Reports an answer of the server. Ends the outage, except for failures of another scope that were reported within the
   * last 30 s.
   */
  succeeded(scope?: string): void;
}

/** Discards the reports. */
export const NO_REPORT: OutageReport = { failed: () => {}, succeeded: () => {} };

/** Returns the message for an operator, such as "Redis cannot be used: wrong user or password". */
export function outageMessage(server: Server, cause: string): string {
  return `${TITLES[server]} cannot be used: ${cause}`;
}

/** An outage as `/health/ready` shows it. */
type ShownOutage = { readonly cause: string; readonly since: string };

/**
 * The outages of all servers, as this process notices them. Logs each outage once when it begins and once when it ends,
 * however many calls fail. If the cause of an outage changes, logs each cause once.
 */
export class Outages {
  private readonly servers: Readonly<Record<Server, ServerOutage>>;

  constructor(log: Logger, now: () => number) {
    const entries = SERVERS.map((server) => [server, new ServerOutage(server, log, now)]);
    this.servers = Object.fromEntries(entries) as Record<Server, ServerOutage>;
  }

  of(server: Server): OutageReport {
    return this.servers[server];
  }

  /** Returns the outages that have not ended, by server. */
  current(): Record<string, ShownOutage> {
    const outages: Record<string, ShownOutage> = {};
    for (const server of SERVERS) {
      const { shown } = this.servers[server];
      if (shown) outages[server] = shown;
    }
    return outages;
  }
}

class ServerOutage implements OutageReport {
  /** The cause of each scope, oldest first. Empty if there is no outage. */
  private readonly causes = new Map<string, { readonly cause: string; readonly at_ms: number }>();
  private readonly logged = new Set<string>();
  private since_ms = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly server: Server,
    private readonly log: Logger,
    private readonly now: () => number,
  ) {}

  get shown(): ShownOutage | undefined {
    return this.cause === undefined ? undefined : { cause: this.cause, since: timestamp(this.since_ms) };
  }

  failed(cause: string, scope = ANY): void {
    if (this.causes.size === 0) {
      this.since_ms = this.now();
      this.timer = setTimeout(() => this.logCause(), LOG_AFTER_MS).unref();
    }
    this.causes.delete(scope);
    this.causes.set(scope, { cause, at_ms: performance.now() });
    if (this.logged.size > 0) this.logCause();
  }

  succeeded(scope = ANY): void {
    if (this.causes.size === 0) return;
    this.causes.delete(ANY);
    this.causes.delete(scope);
    const ended_before_ms = performance.now() - SCOPE_ENDS_AFTER_MS;
    for (const [name, { at_ms }] of this.causes) if (at_ms < ended_before_ms) this.causes.delete(name);
    if (this.causes.size > 0) return;
    clearTimeout(this.timer);
    if (this.logged.size > 0)
      this.log.info(
        { server: this.server, outage_ms: this.now() - this.since_ms },
        'a server can be used again',
      );
    this.logged.clear();
  }

  /** The newest cause. */
  private get cause(): string | undefined {
    return [...this.causes.values()].at(-1)?.cause;
  }

  private logCause(): void {
    const { cause } = this;
    if (cause === undefined || this.logged.has(cause)) return;
    this.logged.add(cause);
    this.log.warn({ server: this.server, cause }, 'a server cannot be used; retrying');
  }
}
