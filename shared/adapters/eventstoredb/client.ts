import { setTimeout as sleep } from 'node:timers/promises';
import { EventStoreDBClient } from '@eventstore/db-client';
import { CatalogError } from '../../kernel/errors';
import { AppendStream, type StreamingClient } from './append-stream';

/** Longer than this without an answer to a ping, and a connection counts as dead. */
const KEEP_ALIVE_TIMEOUT_MS = 5_000;
/** The client warns of anything shorter. */
const KEEP_ALIVE_INTERVAL_MS = 10_000;
/** It waits for every call to have ended. */
const DISPOSE_MS_MAX = 1_000;

/** What the client keeps to itself and its subclasses; assigned in its constructor, so it can be wrapped. */
interface Internals extends StreamingClient {
  supports: () => Promise<boolean>;
  handleError: (grpc_client: unknown, error: Error) => Promise<void>;
  getChannel: () => Promise<{ close(): void }>;
}

export interface OpenedClient {
  readonly client: EventStoreDBClient;
  readonly appends: AppendStream;
  /** Ends every call and connection of this client. */
  close(): Promise<void>;
}

/**
 * A client for `url` (`esdb://…`, or `kurrentdb://…`, the newer name of the same), which connects with its first call.
 * Throws `CatalogError('unavailable')` where the address is malformed; its text repeats nothing of the address.
 *
 * A client of another `generation` shares no socket with the ones before it: grpc-js gives channels of equal options
 * the same connection, also where that is dead and nothing has said so yet. The generation goes into the ping interval,
 * which makes the options differ.
 */
export function openClient(url: string, generation: number): OpenedClient {
  const client = connect(connectionString(url, generation));
  const internals = client as unknown as Internals;
  usePlainAppend(internals);
  settleErrorHandling(internals);
  const channels = rememberChannels(internals);
  const appends = new AppendStream(internals);
  return {
    client,
    appends,
    close: async () => {
      appends.close();
      await Promise.race([client.dispose(), sleep(DISPOSE_MS_MAX, undefined, { ref: false })]);
      for (const channel of channels) channel.close();
    },
  };
}

/** The client's own error holds the whole address, and with it the password. */
function connect(connection_string: string): EventStoreDBClient {
  try {
    return EventStoreDBClient.connectionString(connection_string);
  } catch (error) {
    const { expected } = error as { expected?: unknown };
    throw new CatalogError('unavailable', {
      message: `the event store's address is malformed: ${String(expected ?? 'its parts')} expected`,
    });
  }
}

function connectionString(url: string, generation: number): string {
  const [address = '', query = ''] = url
    .trim()
    .replace(/^kurrentdb(?=:|\+)/, 'esdb')
    .split('?', 2);
  const given = new Map(
    query
      .split('&')
      .filter((pair) => pair !== '')
      .map((pair) => [pair.split('=', 1)[0]!.toLowerCase(), pair]),
  );
  // A lost race has to throw: told otherwise, the client gives wrong revisions.
  given.delete('throwonappendfailure');
  const interval_ms = Number(given.get('keepaliveinterval')?.split('=')[1] ?? KEEP_ALIVE_INTERVAL_MS);
  if (!given.has('keepalivetimeout'))
    given.set('keepalivetimeout', `keepAliveTimeout=${KEEP_ALIVE_TIMEOUT_MS}`);
  // -1 turns pings off: nothing to add to.
  if (interval_ms >= 0) given.set('keepaliveinterval', `keepAliveInterval=${interval_ms + generation}`);
  return `${address}?${[...given.values()].join('&')}`;
}

/**
 * The client's own appends go one by one; those that share a call do so in an `AppendStream`, never in the client's
 * batch stream. That one keeps its waiting appends in one table for all clients of the process: an error on one
 * connection fails those of every other, and the answer that then still comes for one of them is an uncaught exception.
 * It also asks the server for its features first, without a deadline, and remembers for ever where that failed.
 */
function usePlainAppend(internals: Internals): void {
  internals.supports = async () => false;
}

/** The client does not await this one: where it rejects (discovery failed meanwhile) that would be unhandled. */
function settleErrorHandling(internals: Internals): void {
  const handle = internals.handleError;
  internals.handleError = (grpc_client, error) => handle(grpc_client, error).catch(() => {});
}

/** `dispose()` ends calls and leaves the connection open. */
function rememberChannels(internals: Internals): Set<{ close(): void }> {
  const channels = new Set<{ close(): void }>();
  const get = internals.getChannel;
  internals.getChannel = async () => {
    const channel = await get();
    channels.add(channel);
    return channel;
  };
  return channels;
}
