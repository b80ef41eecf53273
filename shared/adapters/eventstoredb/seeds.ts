import type { EndPoint, NodePreference } from '@eventstore/db-client';
import * as library from '@eventstore/db-client/dist/Client/discovery';
import { GossipClient } from '@eventstore/db-client/generated/gossip_grpc_pb';
import type { ClusterInfo } from '@eventstore/db-client/generated/gossip_pb';
import { Empty } from '@eventstore/db-client/generated/shared_pb';
import { type ChannelCredentials, Metadata, status } from '@grpc/grpc-js';
import { pause } from '../../kernel/async';
import { CAUSES, networkCause } from '../outage-cause';

const NO_LEADER = 'the cluster has no leader: too few of its members run, or they are electing one';

/** Defaults of the options of the address. */
const ROUNDS = 10;
const ROUND_EVERY_MS = 100;
/** An attempt of a call has time for a host that does not answer and for the others. */
const ANSWER_MS = 500;

/** The options of the address that concern the search for a node. */
export interface SearchOptions {
  readonly nodePreference?: NodePreference;
  readonly maxDiscoverAttempts?: number;
  readonly discoveryInterval?: number;
  /** In seconds. */
  readonly gossipTimeout?: number;
}

/** No host of the address has named a node to connect to. */
export class DiscoveryError extends Error {
  override readonly name = 'DiscoveryError';

  /** `causes`: why, for each host. */
  constructor(readonly causes: ReadonlySet<string>) {
    super(`Failed to discover a node of the cluster: ${[...causes].join('; ')}`);
  }
}

/**
 * The hosts of an address, which are asked for the members of their cluster. Keeps the connections to them until
 * `disconnect`, so that an election costs the members one connection of each process. Reason for not using the library's own
 * search: it makes ten connections a second, and drops the errors.
 */
export class Seeds {
  private readonly clients = new Map<EndPoint, GossipClient>();
  private is_closed = false;

  constructor(private readonly hosts: readonly EndPoint[]) {}

  /** Returns the preferred node. Throws `DiscoveryError`. `failed` is asked last. */
  async findNode(
    credentials: ChannelCredentials,
    options: SearchOptions,
    failed?: EndPoint,
  ): Promise<EndPoint> {
    const { nodePreference = 'leader', gossipTimeout } = options;
    const { maxDiscoverAttempts = ROUNDS, discoveryInterval = ROUND_EVERY_MS } = options;
    const timeout_ms = gossipTimeout === undefined ? ANSWER_MS : gossipTimeout * 1_000;
    const isFailed = ({ address, port }: EndPoint): boolean =>
      address === failed?.address && port === failed.port;
    const ordered = [...this.hosts].sort(() => Math.random() - 0.5);
    ordered.sort((a, b) => Number(isFailed(a)) - Number(isFailed(b)));
    for (let round = 1; ; round++) {
      const causes = new Map<EndPoint, string>();
      for (const host of ordered)
        try {
          const members = membersOf(await this.ask(host, credentials, timeout_ms));
          const node = library.determineBestNode(nodePreference, members);
          if (node) return node;
          causes.set(host, NO_LEADER);
        } catch (error) {
          causes.set(host, causeOf(error));
        }
      if (round >= maxDiscoverAttempts || this.is_closed)
        throw new DiscoveryError(new Set(this.hosts.map((host) => causes.get(host)!)));
      await pause(discoveryInterval);
    }
  }

  close(): void {
    this.is_closed = true;
    this.disconnect();
  }

  disconnect(): void {
    for (const client of this.clients.values()) client.close();
    this.clients.clear();
  }

  private ask(host: EndPoint, credentials: ChannelCredentials, timeout_ms: number): Promise<ClusterInfo> {
    if (this.is_closed) throw new Error('a closed channel');
    // grpc-js would try a host that comes back up to two minutes later. How often it connects is limited elsewhere.
    const backoff = { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 500 };
    const client =
      this.clients.get(host) ?? new GossipClient(`${host.address}:${host.port}`, credentials, backoff);
    this.clients.set(host, client);
    return new Promise((resolve, reject) => {
      const options = { deadline: Date.now() + timeout_ms };
      client.read(new Empty(), new Metadata(), options, (error, info) =>
        error ? reject(error) : resolve(info),
      );
    });
  }
}

function membersOf(info: ClusterInfo): Parameters<typeof library.determineBestNode>[1] {
  return info.getMembersList().map((member) => {
    const listening = member.getHttpEndPoint();
    return {
      timeStamp: Number(member.getTimeStamp()),
      state: member.getState() as number,
      isAlive: member.getIsAlive(),
      ...(listening && { httpEndpoint: { address: listening.getAddress(), port: listening.getPort() } }),
    };
  });
}

function causeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  if (code === status.DEADLINE_EXCEEDED) return CAUSES.silent;
  return networkCause(error) ?? CAUSES.closed;
}

type Discover = typeof library.discoverEndpoint;

/** The settings that `ServerAddress` passes to the client. The library passes them on. */
type Settings = Parameters<Discover>[0] & { readonly seeds?: Seeds };

const discoverEndpoint: Discover = (settings: Settings, credentials, failed) => {
  const hosts = 'endpoints' in settings ? settings.endpoints : [settings.discover];
  return (settings.seeds ?? new Seeds(hosts)).findNode(credentials, settings, failed);
};
Object.assign(library, { discoverEndpoint });
