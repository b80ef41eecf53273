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
  /** Appends answered without their position, as where the server cannot read back what it knows to be there. */
  unplaced_answers: number;
  /** Appends answered by "Access Denied". */
  denied_appends: number;
  /** Appends over a shared call at which the server ends that call, without an error and without storing them. */
  ended_batch_calls: number;
  /** An append with an event of this type ends its call with an error, shared or not. */
  poison_type: string;
  /** Shared calls for appends are not known, as by a server before 21.10. */
  no_batch_appends: boolean;
  /** Appends over a shared call are stored, and answered when this is over. */
  held_batch_answers: boolean;
  /** Reads and subscriptions whose connection is cut after some of their events. */
  cut_reads: number;
  cut_reads_after_events: number;
}

export type FaultCounter =
  | ('not_leader' | 'not_ready' | 'lost_acks' | 'cut_appends' | 'timed_out_appends' | 'denied_appends')
  | ('unplaced_answers' | 'ended_batch_calls' | 'cut_reads');

const NONE: FaultPlan = {
  silent: false,
  dumb_subscriptions: false,
  not_leader: 0,
  not_ready: 0,
  lost_acks: 0,
  cut_appends: 0,
  timed_out_appends: 0,
  unplaced_answers: 0,
  denied_appends: 0,
  ended_batch_calls: 0,
  poison_type: '',
  no_batch_appends: false,
  held_batch_answers: false,
  cut_reads: 0,
  cut_reads_after_events: 0,
};

export class Faults {
  private plan: FaultPlan = { ...NONE };
  private held: (() => void)[] = [];

  get current(): Readonly<FaultPlan> {
    return this.plan;
  }

  /** What is not named stays as it is. */
  set(change: Partial<FaultPlan>): void {
    for (const name of Object.keys(change)) if (!(name in NONE)) throw new Error(`no fault called ${name}`);
    this.plan = { ...this.plan, ...change };
    if (!this.plan.held_batch_answers) for (const release of this.held.splice(0)) release();
  }

  clear(): void {
    this.set(NONE);
  }

  /** Resolves when answers over a shared call are not held back. */
  async batchAnswersAllowed(): Promise<void> {
    if (this.plan.held_batch_answers) await new Promise<void>((resolve) => this.held.push(resolve));
  }

  /** Whether it happens this time. */
  take(name: FaultCounter): boolean {
    if (this.plan[name] === 0) return false;
    this.plan[name]--;
    return true;
  }
}
