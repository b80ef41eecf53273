import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { refuseUnreadable } from '../shared/http/unreadable-request';

export interface Listening {
  /** Such as `http://127.0.0.1:8080`, with the port that was really taken. */
  readonly url: string;
  /** Takes no new request and finishes those running; connections still open after `grace_ms` are cut. */
  close(grace_ms?: number): Promise<void>;
}

export async function listen(handler: RequestListener, host: string, port: number): Promise<Listening> {
  let closing = false;
  const serve: RequestListener = (request, response) => {
    // A client that keeps its connection busy is told to take another one, or it would never be idle.
    if (closing) response.shouldKeepAlive = false;
    handler(request, response);
  };
  const server = createServer({ keepAliveTimeout: 65_000, headersTimeout: 66_000 }, serve);
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
    close: (grace_ms = 10_000) => {
      closing = true;
      return closeServer(server, grace_ms);
    },
  };
}

async function closeServer(server: Server, grace_ms: number): Promise<void> {
  const cut = setTimeout(() => server.closeAllConnections(), grace_ms);
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
  clearTimeout(cut);
}
