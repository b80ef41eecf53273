import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, type ListenOptions, Server as NetServer } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { respondToMalformedRequest } from '../../shared/http/errors';
import { Connections } from './connections';

const GRACE_MS = 10_000;
const IDLE_MS = 250;
const TURNS_MAX = 1_000;
const SHORT_TURN_MS = 0.1;

export interface Listening {
  /** For example `http://127.0.0.1:8080`. If PORT is 0, it contains the port that the system has chosen. */
  readonly url: string;
  /**
   * Accepts no new connections and finishes the running requests. Keeps idle connections open for up to `idle_ms`
   * (default 0.25 s), because a gateway may be sending a request on one of them. A connection closes after its next
   * response. Cuts the connections that are still open after `grace_ms` (default 10 s).
   */
  close(times?: { readonly grace_ms?: number; readonly idle_ms?: number }): Promise<void>;
}

/** What a client may take time for, in milliseconds (docs/interface/requests.md#limits). */
const TIME_LIMITS = {
  headers_ms: 60_000,
  request_ms: 300_000,
  /** For the next part of an answer. */
  unread_ms: 30_000,
  /** How often requests that are arriving are checked. */
  check_ms: 1_000,
};

/** Whether this Node.js has `reusePort`: several processes listen on one port. */
export const HAS_REUSE_PORT = (() => {
  const [major, minor] = process.versions.node.split('.').map(Number) as [number, number];
  return major > 22 || (major === 22 && minor >= 12);
})();

/**
 * Starts an HTTP server. Rejects with the error of Node if the port cannot be opened. With `reuse_port`, other processes
 * may listen on the port too, and the system chooses one of them for each new connection.
 */
export async function listen(
  handler: RequestListener,
  host: string,
  port: number,
  { limits = TIME_LIMITS, reuse_port = false } = {},
): Promise<Listening> {
  const connections = new Connections(handler, limits.unread_ms);
  const server = createServer(
    {
      keepAliveTimeout: 65_000,
      headersTimeout: limits.headers_ms,
      requestTimeout: limits.request_ms,
      connectionsCheckingInterval: limits.check_ms,
      // The app itself rejects a request without Host, so that the response has the usual error body.
      requireHostHeader: false,
    },
    connections.serve,
  );
  server.on('clientError', (error, socket) => {
    if (!connections.endsAfterRunning(socket)) respondToMalformedRequest(error, socket);
  });
  // The app rejects an `Expect` header other than `100-continue`, too.
  server.on('checkExpectation', connections.serve);
  const listening = once(server, 'listening');
  // The types are those of the oldest Node.js, which has no `reusePort`.
  const options: ListenOptions & { readonly reusePort: boolean } = { port, host, reusePort: reuse_port };
  server.listen(options);
  await listening;
  const address = server.address() as AddressInfo;
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return {
    url: `http://${name}:${address.port}`,
    close: ({ grace_ms = GRACE_MS, idle_ms = IDLE_MS } = {}) => {
      connections.close();
      return closeServer(server, grace_ms, idle_ms);
    },
  };
}

async function closeServer(server: Server, grace_ms: number, idle_ms: number): Promise<void> {
  await acceptAll(server);
  const idle = setInterval(() => server.closeIdleConnections(), idle_ms);
  const cut = setTimeout(() => server.closeAllConnections(), grace_ms);
  // `http.Server.close` would cut idle connections at once. If a gateway is sending a POST on one of them, the request
  // fails, and gateways do not retry a POST. `net.Server.close` only stops accepting connections.
  await new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  clearInterval(idle);
  clearTimeout(cut);
}

/**
 * Accepts the connections that the operating system has established: closing the port would reset them. Node accepts one
 * connection in each turn of the event loop, so none is left after a turn that was short and accepted none.
 */
async function acceptAll(server: Server): Promise<void> {
  let accepted = 0;
  server.on('connection', () => accepted++);
  // This turn may have looked for connections before the call.
  await setImmediate();
  for (let turn = 1; turn <= TURNS_MAX; turn++) {
    const [before, began_ms] = [accepted, performance.now()];
    await setImmediate();
    if (accepted === before && performance.now() - began_ms < SHORT_TURN_MS) return;
  }
}
