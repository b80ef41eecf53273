import { convertToCommandError, type EventStoreDBClient, NotLeaderError } from '@eventstore/db-client';
import type { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb';
import { ReadReq } from '@eventstore/db-client/generated/streams_pb';
import { withTimeout } from '../../kernel/async';
import type { ServerAddress } from './address';
import type { Seeds } from './seeds';
import { countConnection } from './transport';

/** Limit for `dispose()`, which waits until every call has ended. */
const DISPOSE_MS_MAX = 1_000;

/** Non-public members of the client. The constructor assigns them to the instance, so they can be replaced on it. */
interface Internals {
  supports: () => Promise<boolean>;
  handleError: (grpc_client: unknown, error: Error) => Promise<void>;
  getChannel: () => Promise<Channel>;
}

/** A channel of grpc-js. It connects again by itself when its connection is lost. */
interface Channel {
  close(): void;
  getConnectivityState(connect: boolean): number;
  watchConnectivityState(current: number, deadline: number, onChange: () => void): void;
}

/** States of a channel of grpc-js. */
const IDLE = 0;
const READY = 2;
const SHUTDOWN = 4;

/**
 * A client of the server, from its opening to its end. It connects at its first call.
 *
 * grpc-js shares one socket between all channels with equal address and options, even while that socket is dead and the
 * failure is not detected yet. A new client would then get the dead socket of the old one. So each `generation` gets a
 * slightly different ping interval: its options differ, and grpc-js opens a new socket.
 */
export class OpenedClient {
  readonly client: EventStoreDBClient;
  private readonly seeds: Seeds | undefined;
  private readonly retiring = new AbortController();
  /** `dispose()` of the library ends the calls but leaves the channels open. */
  private readonly channels = new Set<Channel>();
  private closed = false;

  /** `onLost` is called when a connection has ended, or accepts no new calls because the server is about to stop. */
  constructor(server: ServerAddress, generation: number, onLost: (client: OpenedClient) => void) {
    const { client, seeds } = server.connect(generation);
    this.client = client;
    this.seeds = seeds;
    const internals = this.client as unknown as Internals;
    // One call per append. By default the client uses a batch stream, which keeps the pending appends of all clients of
    // the process in one table: an error on one connection fails the appends of every connection.
    internals.supports = async () => false;
    const { handleError, getChannel } = internals;
    internals.handleError = async (grpc_client, error) => {
      // The client would connect again at its next call. Without seeds, there is no other node to connect to, and the
      // channel connects again by itself.
      if (!seeds && !(convertToCommandError(error) instanceof NotLeaderError)) return;
      // The client does not await it. A rejection would end the process.
      await handleError(grpc_client, error).catch(() => {});
    };
    internals.getChannel = async () => {
      const channel = await getChannel();
      // A call that waited for discovery opens its channel only afterwards, when this client may have been closed.
      if (this.closed) {
        channel.close();
        throw new Error('a closed channel');
      }
      if (!this.channels.has(channel)) {
        countConnection();
        watchConnection(channel, () => onLost(this));
      }
      this.channels.add(channel);
      return channel;
    };
  }

  /** Aborts when the client is replaced or closed. Its subscriptions end then. */
  get retired(): AbortSignal {
    return this.retiring.signal;
  }

  /** Whether a call that is made now is sent at once. */
  get is_connected(): boolean {
    return [...this.channels].some((channel) => channel.getConnectivityState(false) === READY);
  }

  /** A call has succeeded, so the seeds need not be asked for another node soon. */
  succeeded(): void {
    this.seeds?.disconnect();
  }

  /** Ends the subscriptions: a leader that is shutting down stays the leader while a call is open. */
  retire(): void {
    this.retiring.abort();
  }

  /** Closes every call and connection. */
  async close(): Promise<void> {
    this.retire();
    await withTimeout(this.client.dispose(), DISPOSE_MS_MAX, () => undefined);
    this.closed = true;
    this.seeds?.close();
    for (const channel of this.channels) channel.close();
  }
}

/** Calls `onLost` each time that the channel's connection has ended, or accepts no new calls (GOAWAY). */
function watchConnection(channel: Channel, onLost: () => void): void {
  const state = channel.getConnectivityState(false);
  if (state === SHUTDOWN) return;
  channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, () => {
    if (state === READY && channel.getConnectivityState(false) === IDLE) onLost();
    watchConnection(channel, onLost);
  });
}

/** How many events of other streams the server examines at a time. */
export const SEARCH_WINDOW = 512;

/**
 * Returns the client with a `readAll` that reads only streams whose names begin with `prefix`. The server has this filter
 * for reads as well as for subscriptions, but `readAll` of the library has no option for it.
 */
export function filterByPrefix(client: EventStoreDBClient, prefix: string): EventStoreDBClient {
  const expression = new ReadReq.Options.FilterOptions.Expression().setPrefixList([prefix]);
  const filter = new ReadReq.Options.FilterOptions()
    .setStreamIdentifier(expression)
    .setMax(SEARCH_WINDOW)
    .setCheckpointintervalmultiplier(1);
  type CreateStream = (streams: Pick<StreamsClient, 'read'>) => unknown;
  type Creator = (service: unknown, name: string, create: CreateStream) => unknown;
  const { GRPCStreamCreator: createStream } = client as unknown as { GRPCStreamCreator: Creator };
  const GRPCStreamCreator: Creator = (service, name, create) =>
    createStream(service, name, (streams) => {
      const read = (request: ReadReq, ...rest: unknown[]) => {
        request.getOptions()?.setFilter(filter);
        return (streams.read as (...parameters: unknown[]) => unknown).call(streams, request, ...rest);
      };
      return create({ read: read as StreamsClient['read'] });
    });
  return Object.create(client, { GRPCStreamCreator: { value: GRPCStreamCreator } }) as EventStoreDBClient;
}
