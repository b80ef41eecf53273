import { setTimeout as sleep } from 'node:timers/promises';
import type { Membership } from './call-gate';
import { Database } from './database';
import { EventStoreStandIn } from './standin';

const NODES = 3;
/** How long the other nodes need to elect a leader. */
const ELECTION_MS = 1_000;

/** The nodes of a cluster, in this process. They share one log, so each of them has every event at once. */
export class StandInCluster implements Membership {
  private readonly database: Database;
  private readonly nodes: EventStoreStandIn[] = [];
  /** Index of the leader, undefined while there is none. */
  private leading: number | undefined = 0;

  private constructor(database: Database) {
    this.database = database;
  }

  static async start(folder: string): Promise<StandInCluster> {
    const cluster = new StandInCluster(new Database(folder));
    for (let node = 0; node < NODES; node++)
      cluster.nodes.push(await EventStoreStandIn.join(cluster, cluster.database));
    return cluster;
  }

  get url(): string {
    return `esdb://${this.members.map(({ host, port }) => `${host}:${port}`).join(',')}?tls=false`;
  }

  /** Number of connections to all nodes so far. */
  get connections(): number {
    return this.nodes.reduce((sum, { connections }) => sum + connections, 0);
  }

  get openConnections(): number {
    return this.nodes.reduce((sum, { openConnections }) => sum + openConnections, 0);
  }

  get members() {
    return this.nodes.map(({ address }, index) => ({ ...address, leads: index === this.leading }));
  }

  /** The node that leads, or led until the quorum was lost. */
  get leader(): EventStoreStandIn {
    return this.nodes[this.leading ?? 0]!;
  }

  /** Makes another node the leader, as `resign` does after `priority/-1`. */
  resign(): void {
    this.leading = ((this.leading ?? 0) + 1) % NODES;
  }

  /** Leaves the nodes without a leader until `resign`. They answer gossip, and refuse every call as not ready. */
  loseQuorum(): void {
    this.leading = undefined;
  }

  /**
   * Stops the leader as SIGTERM does: it closes its port at once, but keeps the leadership until it has finished its
   * calls. Resolves when another node leads.
   */
  async stopLeader(): Promise<void> {
    const { leader } = this;
    await leader.finishCalls();
    await leader.stop();
    await sleep(ELECTION_MS);
    this.resign();
  }

  /** Leaves the nodes without a leader for the time of an election. */
  async elect(): Promise<void> {
    this.loseQuorum();
    await sleep(ELECTION_MS);
    this.resign();
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) await node.stop();
  }
}
