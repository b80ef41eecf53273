import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerErrorResponse } from '@grpc/grpc-js';
import type { Faults } from './faults';
import { notLeader, notReady, unauthenticated } from './rpc-errors';

interface Member {
  readonly host: string;
  readonly port: number;
  readonly leads: boolean;
}

/** The nodes of a cluster, as its nodes know them. They do not know at once that a node has stopped. */
export interface Membership {
  readonly members: readonly Member[];
}

/** Every call passes this gate first, which applies the faults that concern all kinds of call. */
export class CallGate {
  /** Number of reads of the log's head, and of those that ran at the same time as another one. */
  readonly head_reads = { total: 0, concurrent: 0, running: 0 };

  /** Number of events that reads of the log with a filter have examined. */
  examined_events = 0;

  constructor(
    readonly faults: Faults,
    private readonly cutPeer: (peer: string) => void,
    private readonly node: Membership & { readonly address: { readonly port: number } },
  ) {}

  /** Runs `work` unless a fault refuses the call or leaves it unanswered. Refuses the call with the error of `work`. */
  enter(
    refuse: (error: ServerErrorResponse) => void,
    work: () => Promise<void> | void,
    requires_leader = true,
  ): void {
    const { faults } = this;
    if (faults.current.silent) return;
    const leader = this.node.members.find(({ leads }) => leads);
    const is_follower = requires_leader && leader && leader.port !== this.node.address.port;
    if (faults.current.wrong_password) refuse(unauthenticated());
    else if (leader && (is_follower || faults.take('not_leader')))
      refuse(notLeader(leader.host, leader.port));
    else if (!leader || faults.take('not_ready')) refuse(notReady());
    else (async () => work())().catch(refuse);
  }

  /** Runs a read of the log's head. The server stalls if several run at once. */
  async readHead(work: () => Promise<void>): Promise<void> {
    const { head_reads } = this;
    head_reads.total++;
    const is_concurrent = head_reads.running++ > 0;
    if (is_concurrent) head_reads.concurrent++;
    try {
      if (is_concurrent) await sleep(this.faults.current.concurrent_head_read_ms);
      await work();
    } finally {
      head_reads.running--;
    }
  }

  /** Cuts the connection of the call, and with it all other calls on that connection. */
  cut(call: { getPeer(): string }): void {
    this.cutPeer(call.getPeer());
  }
}
