/** What goes wrong on demand. Counters count down with each time it happened. */
export interface FaultPlan {
  /** Calls are taken and never answered, subscriptions fall dumb; a call met by it never recovers. */
  silent: boolean;
  /** Only subscriptions fall dumb, for good; all else is answered. */
  dumb_subscriptions: boolean;
  /** Calls answered by the address of another leader (this server's own). */
  not_leader: number;
  /** Calls answered by "Server Is Not Ready". */
  not_ready: number;
  /** Appends that are stored, and whose connection is cut instead of an answer. */
  lost_acks: number;
  /** Appends whose connection is cut when the first event came in: nothing is stored. */
  cut_appends: number;
  /** Appends answered by "Operation timed out", stored all the same. */
  timed_out_appends: number;
  /** Reads and subscriptions whose connection is cut after some of their events. */
  cut_reads: number;
  cut_reads_after_events: number;
}

export type FaultCounter = Exclude<
  keyof FaultPlan,
  'silent' | 'dumb_subscriptions' | 'cut_reads_after_events'
>;

const NONE: FaultPlan = {
  silent: false,
  dumb_subscriptions: false,
  not_leader: 0,
  not_ready: 0,
  lost_acks: 0,
  cut_appends: 0,
  timed_out_appends: 0,
  cut_reads: 0,
  cut_reads_after_events: 0,
};

export class Faults {
  private plan: FaultPlan = { ...NONE };

  get current(): Readonly<FaultPlan> {
    return this.plan;
  }

  /** What is not named stays as it is. */
  set(change: Partial<FaultPlan>): void {
    for (const name of Object.keys(change)) if (!(name in NONE)) throw new Error(`no fault called ${name}`);
    this.plan = { ...this.plan, ...change };
  }

  clear(): void {
    this.plan = { ...NONE };
  }

  /** Whether it happens this time. */
  take(name: FaultCounter): boolean {
    if (this.plan[name] === 0) return false;
    this.plan[name]--;
    return true;
  }
}
