import { isIP, type Socket } from 'node:net';
import { Http2SubchannelConnector } from '@grpc/grpc-js/build/src/transport';
import { pause } from '../../kernel/async';

/*
 * How grpc-js connects. Its class is changed, because it has no option for any of this:
 * - An attempt to connect ends after a time, also if the server accepts the connection and answers nothing.
 * - A host that cannot be reached is tried by one connection at a time, and once a second.
 * - Connections are counted.
 */

/** Limit for connecting: TCP, TLS, and the first message of HTTP/2. Longer than an attempt of a call. */
const CONNECT_MS_MAX = 5_000;
/**
 * Time between the beginnings of two attempts to reach a host that has failed, multiplied by the number of such hosts: at
 * most one connection a second. Otherwise, the clients of a cluster take the CPU that its members need to elect a leader.
 */
const RETRY_MS = 1_000;
const RETRY_MS_MAX = 3_300;
/** A host counts if it has failed within this time. */
const FAILED_LATELY_MS = 10_000;
/** A host that can be reached gets a few connections at once, and more only at this interval: it may refuse every call. */
const CONNECT_EVERY_MS = 1_000;
const CONNECT_AT_ONCE = 3;

type Connect = typeof Http2SubchannelConnector.prototype.connect;
type Transport = Awaited<ReturnType<Connect>>;
type SecureConnector = Parameters<Connect>[1];

let connections = 0;

/** Returns the number of connections so far. It is increased before a new connection carries its first call. */
export const connectionsOfProcess = (): number => connections;

/** Called before a client uses another connection than before. It may have been made earlier, for another client. */
export function countConnection(): void {
  connections++;
}

/** The attempts of this process to connect to a host. */
class Host {
  private connecting: Promise<Transport> | undefined;
  private error: unknown;
  private failed_at_ms = Number.NEGATIVE_INFINITY;
  private retry_at_ms = 0;
  /** Each connection takes a slot. A slot becomes free every `CONNECT_EVERY_MS`. */
  private last_slot_ms = Number.NEGATIVE_INFINITY;

  hasFailedSince(ms: number): boolean {
    return this.failed_at_ms > ms;
  }

  /**
   * Connects. Waits for an attempt that is under way, and rejects with its error if it fails. Rejects with the error of the
   * last attempt if it is too early for another one, and if the connection is not wanted any more after the wait.
   */
  async connect(attempt: () => Promise<Transport>, isWanted: () => boolean): Promise<Transport> {
    for (;;) {
      while (this.connecting) await this.connecting;
      if (!isWanted()) throw new Error('a closed channel');
      if (performance.now() < this.retry_at_ms) throw this.error;
      const wait_ms = this.last_slot_ms + CONNECT_EVERY_MS - performance.now();
      if (wait_ms <= 0) break;
      await pause(wait_ms, undefined, { ref: false });
    }
    const began_ms = performance.now();
    const earliest_ms = began_ms - CONNECT_AT_ONCE * CONNECT_EVERY_MS;
    this.last_slot_ms = Math.max(this.last_slot_ms, earliest_ms) + CONNECT_EVERY_MS;
    this.connecting = attempt();
    try {
      const transport = await this.connecting;
      this.failed_at_ms = Number.NEGATIVE_INFINITY;
      countConnection();
      return transport;
    } catch (error) {
      this.error = error;
      this.failed_at_ms = performance.now();
      this.retry_at_ms = began_ms + retryMs();
      throw error;
    } finally {
      this.connecting = undefined;
    }
  }
}

/** The hosts by address and port. A process connects to few hosts. */
const hosts = new Map<string, Host>();

/** Includes up to half as much again, so that processes do not try at the same time. */
function retryMs(): number {
  const since_ms = performance.now() - FAILED_LATELY_MS;
  const failing = [...hosts.values()].filter((host) => host.hasFailedSince(since_ms)).length;
  return Math.min(RETRY_MS * failing, RETRY_MS_MAX) * (1 + Math.random() / 2);
}

/** For each connector, whether a channel still wants its connection. */
const wanted = new WeakMap<SecureConnector, { is_wanted: boolean }>();

function watch(connector: SecureConnector): { readonly is_wanted: boolean } {
  const known = wanted.get(connector);
  if (known) return known;
  const state = { is_wanted: true };
  wanted.set(connector, state);
  const { destroy } = connector;
  // grpc-js calls this when the last channel that uses the connection is closed.
  connector.destroy = () => {
    state.is_wanted = false;
    destroy.call(connector);
  };
  return state;
}

const connect = Http2SubchannelConnector.prototype.connect;

Http2SubchannelConnector.prototype.connect = function (address, connector, options) {
  const state = watch(connector);
  const key = JSON.stringify(address);
  const host = hosts.get(key) ?? new Host();
  hosts.set(key, host);
  const attempt = async (): Promise<Transport> => {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), CONNECT_MS_MAX).unref();
    // The address becomes the options of `net.connect`, which destroys the socket when the signal aborts.
    const bounded_address = { ...address, signal: limit.signal };
    try {
      return await connect.call(this, bounded_address, carefulConnector(connector), options);
    } catch (error) {
      throw limit.signal.aborted ? new Error('the server does not answer', { cause: error }) : error;
    } finally {
      clearTimeout(timer);
    }
  };
  return host.connect(attempt, () => state.is_wanted);
};

function carefulConnector(connector: SecureConnector): SecureConnector {
  const { connectionOptions } = connector as { connectionOptions?: { servername?: string } };
  // An IP address is not a server name (RFC 6066): Node prints a warning. The certificate is compared with `host` then.
  if (isIP(connectionOptions?.servername ?? '')) connectionOptions!.servername = '';
  return Object.assign(Object.create(connector) as SecureConnector, {
    connect: (socket: Socket) => connector.connect(socket.unref().on('error', () => {})),
  });
}
