import type { ServerErrorResponse, ServiceError } from '@grpc/grpc-js';
import type { Faults } from './faults';
import { notLeader, notReady } from './rpc-errors';

/** What every kind of call has. */
interface AnyCall {
  getPeer(): string;
}

/** Every call passes here first: faults that concern all of them happen here. */
export class CallGate {
  /** Calls that appended: by one each, or shared, and how many of the shared ones have not ended. */
  readonly append_calls = { alone: 0, shared: 0, shared_open: 0 };
  readonly faults: Faults;
  private readonly connections: { cutPeer(peer: string): void };
  private readonly address: () => { host: string; port: number };

  constructor(
    faults: Faults,
    connections: { cutPeer(peer: string): void },
    address: () => { host: string; port: number },
  ) {
    this.faults = faults;
    this.connections = connections;
    this.address = address;
  }

  /** Runs `work` unless a fault answers, or leaves the call without an answer. */
  enter(refuse: (error: ServerErrorResponse) => void, work: () => void): void {
    if (this.faults.current.silent) return;
    if (this.faults.take('not_leader')) refuse(this.notLeader());
    else if (this.faults.take('not_ready')) refuse(notReady());
    else work();
  }

  /** Names this server as the leader: the client comes back. */
  notLeader(): ServiceError {
    const { host, port } = this.address();
    return notLeader(host, port);
  }

  /** Cuts the connection that the call came by, and with it all its other calls. */
  cut(call: AnyCall): void {
    this.connections.cutPeer(call.getPeer());
  }
}
