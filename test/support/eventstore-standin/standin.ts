import { randomUUID } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { GossipService } from '@eventstore/db-client/generated/gossip_grpc_pb';
import { ClusterInfo, EndPoint, MemberInfo } from '@eventstore/db-client/generated/gossip_pb';
import { type Empty, UUID } from '@eventstore/db-client/generated/shared_pb';
import { StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import { withTimeout } from '../../../shared/kernel/async';
import { listenOn, listenOnOwnPort } from '../own-port';
import { appendHandler, deleteHandler, tombstoneHandler } from './appends';
import { CallGate, type Membership } from './call-gate';
import { Database, systemEvent } from './database';
import { Faults } from './faults';
import { type ReadCall, readHandler } from './reads';

export interface StandInOptions {
  /** Folder of the log. */
  readonly folder: string;
  readonly host?: string;
  /** The largest message of a call. The server refuses a larger one with code 8, RESOURCE_EXHAUSTED. */
  readonly message_bytes_max?: number;
  /** 0, the default, chooses a free port, which the stand-in keeps while it is stopped. */
  readonly port?: number;
}

const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;
/** How long a server that is shutting down waits for open calls. A leader stays the leader meanwhile. */
const FINISH_CALLS_MS = 5_000;

/**
 * The part of EventStoreDB 23.10 that the event store adapter uses, in this process, over real gRPC. It is strict, and
 * keeps what it has stored if its process dies. Faults that a real server cannot produce on demand are in `faults`.
 */
export class EventStoreStandIn {
  readonly faults = new Faults();
  /** The open subscriptions. */
  readonly subscriptions = new Set<ReadCall>();
  /** Number of connections so far. */
  connections = 0;
  private readonly gate: CallGate;
  private readonly server: Server;
  private readonly injector: ReturnType<Server['createConnectionInjector']>;
  private readonly sockets = new Set<Socket>();
  private readonly listener = createServer((socket) => this.accept(socket));
  private port = 0;

  private constructor(
    private readonly database: Database,
    private readonly host = '127.0.0.1',
    message_bytes_max = MESSAGE_BYTES_MAX,
    private readonly cluster?: Membership,
  ) {
    this.server = new Server({ 'grpc.max_receive_message_length': message_bytes_max });
    this.injector = this.server.createConnectionInjector(ServerCredentials.createInsecure());
    this.gate = new CallGate(this.faults, (peer) => this.cutPeer(peer), this);
    const { gate } = this;
    this.server.addService(StreamsService, {
      read: readHandler(database, gate, this.subscriptions),
      append: appendHandler(database, gate),
      delete: deleteHandler(database, gate),
      tombstone: tombstoneHandler(database, gate),
    });
    this.server.addService(GossipService, {
      read: (_call: ServerUnaryCall<Empty, ClusterInfo>, answer: sendUnaryData<ClusterInfo>) => {
        if (!this.faults.current.silent) answer(null, this.gossip());
      },
    });
  }

  static async start({
    folder,
    host,
    port = 0,
    message_bytes_max,
  }: StandInOptions): Promise<EventStoreStandIn> {
    const standIn = new EventStoreStandIn(new Database(folder), host, message_bytes_max);
    standIn.writeEventsOfStart();
    await standIn.listen(port);
    return standIn;
  }

  /** Starts a node of a cluster, whose nodes share a log. */
  static async join(cluster: Membership, database: Database): Promise<EventStoreStandIn> {
    const node = new EventStoreStandIn(database, undefined, undefined, cluster);
    await node.listen(0);
    return node;
  }

  /** Uses the log in another folder from now on, without the end of any connection. */
  exchangeLog(folder: string): void {
    this.database.open(folder);
    this.writeEventsOfStart();
  }

  get address(): { host: string; port: number } {
    return { host: this.host, port: this.port };
  }

  get url(): string {
    return `esdb://${this.host}:${this.port}?tls=false`;
  }

  /** The nodes of the cluster. A single node is its own leader. */
  get members(): Membership['members'] {
    return this.cluster?.members ?? [{ ...this.address, leads: true }];
  }

  /** Number of reads of the log's head, and of those that ran at the same time as another one. */
  get headReads(): Readonly<CallGate['head_reads']> {
    return this.gate.head_reads;
  }

  /** Appends events that no test follows. */
  writeNoise(stream: string, count: number): void {
    const noise = Array.from({ length: count }, (_, index) => systemEvent('$noise', `{"index":${index}}`));
    this.database.append(stream, 'any', noise);
  }

  /** Appends events of another application at once. */
  writeForeign(count: number): void {
    const content = { content_type: 'application/json', data: '', metadata: '' };
    const proposals = Array.from({ length: count }, () => ({
      ...content,
      id: randomUUID(),
      type: 'Foreign',
    }));
    this.database.append('another-application', 'any', proposals);
  }

  /** Number of events that reads of the log with a filter have examined. */
  get examinedEvents(): number {
    return this.gate.examined_events;
  }

  /** Returns the events of streams that begin with `prefix`, in order, without the server's own. */
  events(prefix: string): { stream: string; id: string }[] {
    return this.database.all
      .filter(({ stream, type }) => stream.startsWith(prefix) && !type.startsWith('$'))
      .map(({ stream, id }) => ({ stream, id }));
  }

  /** Ends all subscriptions without an error. */
  endSubscriptions(): void {
    for (const call of this.subscriptions) call.end();
  }

  /** Number of open connections. */
  get openConnections(): number {
    return this.sockets.size;
  }

  cutConnections(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  /**
   * Begins to stop as after SIGTERM: closes the port, accepts no new call, and continues open calls for at most
   * `waits_ms`. Resolves when none is open, or at that time.
   */
  async finishCalls(waits_ms = FINISH_CALLS_MS): Promise<void> {
    const ended = this.ended();
    this.injector.drain(waits_ms);
    await withTimeout(ended, waits_ms, () => undefined);
  }

  /** Cuts all connections and stops. */
  async stop(): Promise<void> {
    const ended = this.ended();
    this.cutConnections();
    await ended;
    this.server.forceShutdown();
  }

  /** Accepts no more connections. Resolves when all have ended. */
  private async ended(): Promise<void> {
    await new Promise((resolve) => this.listener.close(resolve));
  }

  private async listen(port: number): Promise<void> {
    if (port === 0) this.port = await listenOnOwnPort(this.listener, this.host);
    else await listenOn(this.listener, port, { host: this.host });
    this.port ||= port;
  }

  private accept(socket: Socket): void {
    this.connections++;
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('error', () => {});
    this.injector.injectConnection(socket);
  }

  /** Cuts the connection of the client at `host:port`. */
  private cutPeer(peer: string): void {
    const port = Number(peer.slice(peer.lastIndexOf(':') + 1));
    for (const socket of this.sockets) if (socket.remotePort === port) socket.destroy();
  }

  /** A real log is never empty: the server writes users into a new one, and an epoch at each start. */
  private writeEventsOfStart(): void {
    const users = this.database.all.length === 0 ? ['admin', 'ops'] : [];
    for (const user of users)
      this.database.append(`$user-${user}`, 'any', [systemEvent('$UserCreated', '{}')]);
    this.database.append('$epoch-information', 'any', [systemEvent('$epoch-information', '{}')]);
  }

  private gossip(): ClusterInfo {
    const { LEADER, FOLLOWER, UNKNOWN } = MemberInfo.VNodeState;
    const state_of_others = this.members.some(({ leads }) => leads) ? FOLLOWER : UNKNOWN;
    const members = this.members.map(({ leads, ...listening }) => {
      const { host, port } = this.faults.current.advertised ?? listening;
      return new MemberInfo()
        .setInstanceId(new UUID().setString(randomUUID()))
        .setState(leads ? LEADER : state_of_others)
        .setIsAlive(true)
        .setHttpEndPoint(new EndPoint().setAddress(host).setPort(port));
    });
    return new ClusterInfo().setMembersList(members);
  }
}
