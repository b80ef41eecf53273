import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerErrorResponse, ServiceError } from '@grpc/grpc-js';
import type { Faults } from './faults';
import { notLeader, notReady, unauthenticated } from './rpc-errors';

/** The part that all kinds of call have in common. */
interface AnyCall {
  getPeer(): string;
}

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
  /** Number of append calls: with one append each, shared by many appends, and shared ones that are still open. */
  readonly append_calls = { alone: 0, shared: 0, shared_open: 0 };
  /** Number of reads of the log's head, and of those that ran at the same time as another one. */
  readonly head_reads = { total: 0, concurrent: 0, running: 0 };
  readonly faults: Faults;
  private readonly connections: { cutPeer(peer: string): void };
  private readonly address: () => { host: string; port: number };
  private readonly cluster: Membership | undefined;

  constructor(
    faults: Faults,
    connections: { cutPeer(peer: string): void },
    address: () => { host: string; port: number },
    cluster?: Membership,
  ) {
    this.faults = faults;
    this.connections = connections;
    this.address = address;
    this.cluster = cluster;
  }

  /** The nodes of the cluster. A single node is its own leader. */
  get members(): readonly Member[] {
    return this.cluster?.members ?? [{ ...this.address(), leads: true }];
  }

  /** Returns whether the call must be refused because this node is not the leader. */
  refusesAsFollower(): boolean {
    const { port } = this.address();
    return this.members.some((member) => member.leads && member.port !== port);
  }

  /** Runs `work` unless a fault refuses the call or leaves it unanswered. */
  enter(refuse: (error: ServerErrorResponse) => void, work: () => void, requires_leader = true): void {
    if (this.faults.current.silent) return;
    const is_follower = requires_leader && this.refusesAsFollower();
    if (this.faults.current.wrong_password) refuse(unauthenticated());
    else if (is_follower || this.faults.take('not_leader')) refuse(this.notLeader());
    else if (this.faults.take('not_ready')) refuse(notReady());
    else work();
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

  /** Returns an error that names the leader, which the client connects to then. */
  notLeader(): ServiceError {
    const { host, port } = this.members.find(({ leads }) => leads)!;
    return notLeader(host, port);
  }

  /** Cuts the connection of the call, and with it all other calls on that connection. */
  cut(call: AnyCall): void {
    this.connections.cutPeer(call.getPeer());
  }
}
