/** Faults on demand. A number of calls decreases each time that the fault happens. */
const NONE = {
  /**
   * Calls are accepted and never answered, and subscriptions deliver nothing. A call that was open at that time never
   * recovers.
   */
  silent: false,
  /** Subscriptions deliver nothing any more. Everything else is answered. */
  dumb_subscriptions: false,
  /** The address of this node in gossip, if it is not the one at which it listens. */
  advertised: undefined as { readonly host: string; readonly port: number } | undefined,
  /** Every call is refused as one with a wrong user or password. */
  wrong_password: false,
  /** Reads of the log and subscriptions to it are refused with "Access Denied". Streams can be read and written. */
  denied_log: false,
  /** Calls refused with the address of the leader. */
  not_leader: 0,
  /** Calls refused with "Server Is Not Ready". */
  not_ready: 0,
  /** Appends that are stored and whose connection is then cut instead of a response. */
  lost_acks: 0,
  /** Appends whose connection is cut after their first event. Nothing is stored. */
  cut_appends: 0,
  /** Appends that are stored but answered with "Operation timed out". */
  timed_out_appends: 0,
  /** Appends are neither stored nor answered, as by a leader whose followers hang. Reads are answered. */
  hung_appends: false,
  /** Appends are stored but not answered until this is false again. */
  held_answers: false,
  /** Appends answered without their position, as a server does that cannot read the event back. */
  unplaced_answers: 0,
  /** The server's limit for one append (`MaxAppendSize`). */
  append_bytes_max: 1_048_576,
  /** How long the server waits before it answers a read or subscription. A real one stalls for 1 to 4 s. */
  read_stall_ms: 0,
  /** How many events of other streams a search for those with a prefix examines per second. A real one: 100,000. */
  searched_per_s: Number.POSITIVE_INFINITY,
  /** How long a read of the head takes that runs at the same time as another one. */
  concurrent_head_read_ms: 0,
  /** Reads whose connection is cut after `cut_reads_after_events` events. */
  cut_reads: 0,
  cut_reads_after_events: 0,
  /** Time between two events of a read. */
  read_pause_ms: 0,
};

export type FaultPlan = typeof NONE;

export class Faults {
  private plan: FaultPlan = { ...NONE };

  get current(): Readonly<FaultPlan> {
    return this.plan;
  }

  /** Changes the named faults only. */
  set(change: Partial<FaultPlan>): void {
    this.plan = { ...this.plan, ...change };
  }

  clear(): void {
    this.set(NONE);
  }

  /** Returns whether the fault happens now, and counts it. */
  take(
    name:
      | 'not_leader'
      | 'not_ready'
      | 'lost_acks'
      | 'cut_appends'
      | 'timed_out_appends'
      | 'unplaced_answers'
      | 'cut_reads',
  ): boolean {
    if (this.plan[name] === 0) return false;
    this.plan[name]--;
    return true;
  }
}
