import { setTimeout as sleep } from 'node:timers/promises';

/** Faults on demand. A counter decreases each time its fault happens. */
export interface FaultPlan {
  /**
   * Calls are accepted and never answered, and subscriptions deliver nothing. A call that was open at that time never
   * recovers.
   */
  silent: boolean;
  /** Subscriptions deliver nothing any more. Everything else is answered. */
  dumb_subscriptions: boolean;
  /** The address of this node in gossip, if it is not the one at which it listens. */
  advertised: { readonly host: string; readonly port: number } | undefined;
  /** Every call is refused as one with a wrong user or password. */
  wrong_password: boolean;
  /** Reads of the log and subscriptions to it are refused with "Access Denied". Streams can be read and written. */
  denied_log: boolean;
  /** Calls refused with the address of another leader, which is this server's own. */
  not_leader: number;
  /** Calls refused with "Server Is Not Ready". */
  not_ready: number;
  /** Appends that are stored and whose connection is then cut instead of a response. */
  lost_acks: number;
  /** Appends whose connection is cut after their first event. Nothing is stored. */
  cut_appends: number;
  /** Appends that are stored but answered with "Operation timed out". */
  timed_out_appends: number;
  /** Appends are neither stored nor answered, as by a leader whose followers hang. Reads are answered. */
  hung_appends: boolean;
  /** Appends answered without their position, as a server does that cannot read the event back. */
  unplaced_answers: number;
  /** Appends refused with "Access Denied". */
  denied_appends: number;
  /** Appends at which the server ends their shared call, without an error and without storing them. */
  ended_batch_calls: number;
  /** Event type whose append ends its call with an error, shared or not. */
  poison_type: string;
  /** Whether shared append calls are unknown, as on a server before 21.10. */
  no_batch_appends: boolean;
  /** Whether appends over a shared call are stored but not answered until this is false again. */
  held_batch_answers: boolean;
  /** The server's limit for one append (`MaxAppendSize`). */
  append_bytes_max: number;
  /** How long the server waits before it answers a read or subscription. A real one stalls for 1 to 4 s. */
  read_stall_ms: number;
  /** How long a read of the head takes that runs at the same time as another one. */
  concurrent_head_read_ms: number;
  /** Reads and subscriptions whose connection is cut after `cut_reads_after_events` events. */
  cut_reads: number;
  cut_reads_after_events: number;
  /** Time between two events of a read. */
  read_pause_ms: number;
}

export type FaultCounter =
  | ('not_leader' | 'not_ready' | 'lost_acks' | 'cut_appends' | 'timed_out_appends' | 'denied_appends')
  | ('unplaced_answers' | 'ended_batch_calls' | 'cut_reads');

const NONE: FaultPlan = {
  silent: false,
  dumb_subscriptions: false,
  advertised: undefined,
  wrong_password: false,
  denied_log: false,
  not_leader: 0,
  not_ready: 0,
  lost_acks: 0,
  cut_appends: 0,
  timed_out_appends: 0,
  hung_appends: false,
  unplaced_answers: 0,
  denied_appends: 0,
  ended_batch_calls: 0,
  poison_type: '',
  no_batch_appends: false,
  held_batch_answers: false,
  append_bytes_max: 1_048_576,
  read_stall_ms: 0,
  concurrent_head_read_ms: 0,
  cut_reads: 0,
  cut_reads_after_events: 0,
  read_pause_ms: 0,
};

export class Faults {
  private plan: FaultPlan = { ...NONE };
  private held: (() => void)[] = [];

  get current(): Readonly<FaultPlan> {
    return this.plan;
  }

  /** Changes the named faults only. */
  set(change: Partial<FaultPlan>): void {
    for (const name of Object.keys(change)) if (!(name in NONE)) throw new Error(`no fault called ${name}`);
    this.plan = { ...this.plan, ...change };
    if (!this.plan.held_batch_answers) for (const release of this.held.splice(0)) release();
  }

  clear(): void {
    this.set(NONE);
  }

  /** Resolves when responses over a shared call are not held back. */
  async batchAnswersAllowed(): Promise<void> {
    if (this.plan.held_batch_answers) await new Promise<void>((resolve) => this.held.push(resolve));
  }

  /** Resolves when a read that arrives now is served. */
  async readStall(): Promise<void> {
    if (this.plan.read_stall_ms > 0) await sleep(this.plan.read_stall_ms);
  }

  /** Returns whether the fault happens now, and counts it. */
  take(name: FaultCounter): boolean {
    if (this.plan[name] === 0) return false;
    this.plan[name]--;
    return true;
  }
}
