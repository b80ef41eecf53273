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

/** Failures of an outage that is no older are not logged: connections are replaced, and leaders elected, in that time. */
const LOG_AFTER_MS = 1_000;
/** An outage has ended if this time after a success brings no further failure: some calls may succeed during an outage. */
const ENDS_AFTER_MS = 1_000;

/** Receives what an adapter learns about its server. */
export interface OutageReport {
  /**
   * Reports a failure. `cause` says in plain words why the server cannot be used, without addresses and other changing
   * parts.
   */
  failed(cause: string): void;
  /** Reports an answer of the server. Ends the outage, unless another failure follows within a second. */
  succeeded(): void;
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
  /** The newest cause. Undefined if there is no outage. */
  private cause: string | undefined;
  private readonly logged = new Set<string>();
  private since_ms = 0;
  private end_timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly server: Server,
    private readonly log: Logger,
    private readonly now: () => number,
  ) {}

  get shown(): ShownOutage | undefined {
    return this.cause === undefined ? undefined : { cause: this.cause, since: timestamp(this.since_ms) };
  }

  failed(cause: string): void {
    if (this.cause === undefined) this.since_ms = this.now();
    this.cause = cause;
    clearTimeout(this.end_timer);
    this.end_timer = undefined;
    if (this.now() - this.since_ms < LOG_AFTER_MS || this.logged.has(cause)) return;
    this.logged.add(cause);
    this.log.warn({ server: this.server, cause }, 'a server cannot be used; retrying');
  }

  succeeded(): void {
    if (this.cause !== undefined) this.end_timer ??= setTimeout(() => this.end(), ENDS_AFTER_MS).unref();
  }

  private end(): void {
    if (this.logged.size > 0)
      this.log.info(
        { server: this.server, outage_ms: this.now() - this.since_ms },
        'a server can be used again',
      );
    this.cause = undefined;
    this.end_timer = undefined;
    this.logged.clear();
  }
}
