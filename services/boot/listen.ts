import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer } from 'node:net';
import { refuseUnreadable } from '../../shared/http/errors';

const GRACE_MS = 10_000;
const IDLE_MS = 250;

export interface Listening {
  /** Such as `http://127.0.0.1:8080`, with the port that was really taken. */
  readonly url: string;
  /**
   * Takes no new connection, and finishes what runs. Kept connections are served `idle_ms` longer (0.25 s), for a gateway
   * may be sending on one, and each answer is the last of its connection; what is open after `grace_ms` (10 s) is cut.
   */
  close(times?: { readonly grace_ms?: number; readonly idle_ms?: number }): Promise<void>;
}

export async function listen(handler: RequestListener, host: string, port: number): Promise<Listening> {
  let closing = false;
  const running = new Set<ServerResponse>();
  const serve: RequestListener = (request, response) => {
    // A client that keeps its connection busy is told to take another one, or it would never be idle.
    if (closing) response.shouldKeepAlive = false;
    running.add(response);
    response.once('close', () => running.delete(response));
    handler(request, response);
  };
  // The app refuses what has no Host, in the shape of all its errors.
  const server = createServer(
    { keepAliveTimeout: 65_000, headersTimeout: 66_000, requireHostHeader: false },
    serve,
  );
  server.on('clientError', refuseUnreadable);
  // An expectation that nobody knows is no reason to refuse (RFC 9110 §10.1.1 leaves the choice).
  server.on('checkExpectation', serve);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return {
    url: `http://${name}:${address.port}`,
    close: ({ grace_ms = GRACE_MS, idle_ms = IDLE_MS } = {}) => {
      closing = true;
      for (const response of running) response.shouldKeepAlive = false;
      return closeServer(server, grace_ms, idle_ms);
    },
  };
}

async function closeServer(server: Server, grace_ms: number, idle_ms: number): Promise<void> {
  // Connections that the system has made already are taken in first: a closed port would cut them.
  await new Promise((resolve) => setImmediate(resolve));
  const idle = setInterval(() => server.closeIdleConnections(), idle_ms);
  const cut = setTimeout(() => server.closeAllConnections(), grace_ms);
  // Not the HTTP server's own, which cuts the idle connections at once: a gateway does not send a POST again.
  await new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  clearInterval(idle);
  clearTimeout(cut);
}
