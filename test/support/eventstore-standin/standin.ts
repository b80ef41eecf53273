import { GossipService } from '@eventstore/db-client/generated/gossip_grpc_pb';
import { ServerFeaturesService } from '@eventstore/db-client/generated/serverfeatures_grpc_pb';
import { StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb';
import { type ConnectionInjector, Server, ServerCredentials } from '@grpc/grpc-js';
import { withTimeout } from '../../../shared/kernel/async';
import { appendHandler } from './append-handler';
import { batchAppendHandler } from './batch-append-handler';
import { CallGate, type Membership } from './call-gate';
import { Connections } from './connections';
import { Database } from './database';
import { deleteHandler, tombstoneHandler } from './delete-handler';
import { Faults } from './faults';
import { featuresHandler, gossipHandler } from './features';
import { readHandler } from './read-handler';
import type { AllSubscription } from './subscription';
import { systemEvent } from './system-events';

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
 * The part of EventStoreDB 23.10 that the client of the event store adapter uses, in this process, over real gRPC. It
 * is durable and strict. Faults that a real server cannot produce on demand are in `faults`.
 */
export class EventStoreStandIn {
  readonly faults = new Faults();
  readonly subscriptions = new Set<AllSubscription>();
  private readonly gate: CallGate;
  private readonly server: Server;
  private readonly database: Database;
  private readonly injector: ConnectionInjector;
  private readonly connections: Connections;
  private readonly host: string;
  private readonly cluster: Membership | undefined;
  private port = 0;

  private constructor(database: Database, host: string, message_bytes_max: number, cluster?: Membership) {
    this.database = database;
    this.host = host;
    this.cluster = cluster;
    this.server = new Server({ 'grpc.max_receive_message_length': message_bytes_max });
    this.injector = this.server.createConnectionInjector(ServerCredentials.createInsecure());
    this.connections = new Connections((socket) => this.injector.injectConnection(socket));
    this.gate = new CallGate(this.faults, this.connections, () => this.address, cluster);
    this.serve();
  }

  static async start({
    folder,
    host = '127.0.0.1',
    port = 0,
    message_bytes_max = MESSAGE_BYTES_MAX,
  }: StandInOptions): Promise<EventStoreStandIn> {
    const database = await Database.open(folder);
    const standIn = new EventStoreStandIn(database, host, message_bytes_max);
    await standIn.writeEventsOfStart();
    standIn.port = await standIn.connections.listen(host, port);
    return standIn;
  }

  /** Starts a node of a cluster, whose nodes share a log. */
  static async join(cluster: Membership, database: Database): Promise<EventStoreStandIn> {
    const node = new EventStoreStandIn(database, '127.0.0.1', MESSAGE_BYTES_MAX, cluster);
    node.port = await node.connections.listen(node.host, 0);
    return node;
  }

  get address(): { host: string; port: number } {
    return { host: this.host, port: this.port };
  }

  get url(): string {
    return `esdb://${this.host}:${this.port}?tls=false`;
  }

  /** Number of append calls, by kind. */
  get appendCalls(): Readonly<CallGate['append_calls']> {
    return this.gate.append_calls;
  }

  /** Number of reads of the log's head, and of those that ran at the same time as another one. */
  get headReads(): Readonly<CallGate['head_reads']> {
    return this.gate.head_reads;
  }

  /** Appends events that no test follows. */
  async writeNoise(stream: string, count: number): Promise<void> {
    for (let index = 0; index < count; index++)
      await this.database.append(stream, { kind: 'any' }, [systemEvent('$noise', `{"index":${index}}`)]);
  }

  /** Returns the events of streams that begin with `prefix`, in order, without the server's own. */
  events(prefix: string): { stream: string; id: string }[] {
    return this.database.all
      .filter(({ stream, type }) => stream.startsWith(prefix) && !type.startsWith('$'))
      .map(({ stream, id }) => ({ stream, id }));
  }

  /**
   * Removes a stream's events from the log, as a scavenge does after the stream was truncated. Lasts until a restart.
   */
  scavenge(stream: string): void {
    const kept = this.database.all.filter((event) => event.stream !== stream);
    this.database.all.splice(0, this.database.all.length, ...kept);
  }

  /** Ends all subscriptions without an error. */
  endSubscriptions(): void {
    for (const subscription of this.subscriptions) subscription.end();
  }

  /** Number of open connections. */
  get openConnections(): number {
    return this.connections.count;
  }

  cutConnections(): void {
    this.connections.cutAll();
  }

  /**
   * Begins to stop as after SIGTERM: closes the port, accepts no new call, and continues open calls for at most
   * `waits_ms`. Resolves when none is open, or at that time: a real server then writes "IS SHUTTING DOWN".
   */
  async finishCalls(waits_ms = FINISH_CALLS_MS): Promise<void> {
    const ended = this.connections.ended();
    this.injector.drain(waits_ms);
    await withTimeout(ended, waits_ms, () => undefined);
  }

  /** Cuts all connections and stops. Acknowledged events are on disk. */
  async stop(): Promise<void> {
    for (const subscription of this.subscriptions) subscription.stop();
    await this.connections.close();
    this.server.forceShutdown();
    if (!this.cluster) await this.database.close();
  }

  /** A real log is never empty: the server writes users into a new one, and an epoch at each start. */
  private async writeEventsOfStart(): Promise<void> {
    const users = this.database.all.length === 0 ? ['admin', 'ops'] : [];
    for (const user of users)
      await this.database.append(`$user-${user}`, { kind: 'any' }, [systemEvent('$UserCreated', '{}')]);
    const epoch = systemEvent('$epoch-information', '{}');
    await this.database.append('$epoch-information', { kind: 'any' }, [epoch]);
  }

  private serve(): void {
    const { database, gate, subscriptions } = this;
    this.server.addService(StreamsService, {
      read: readHandler(database, gate, subscriptions),
      append: appendHandler(database, gate),
      batchAppend: batchAppendHandler(database, gate),
      delete: deleteHandler(database, gate),
      tombstone: tombstoneHandler(database, gate),
    });
    this.server.addService(ServerFeaturesService, { getSupportedMethods: featuresHandler(gate) });
    this.server.addService(GossipService, { read: gossipHandler(gate) });
  }
}
