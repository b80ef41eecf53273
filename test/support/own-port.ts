import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Below the system's ephemeral ports, and apart from those of `.ci/servers`. */
const FIRST = 10_000;
const COUNT = 10_000;

/**
 * Listens on a port for a server that stops and starts again. The system could give an ephemeral port to a client
 * meanwhile, even to the one that tries to reach the server.
 */
export async function listenOnOwnPort(server: Server, host = '127.0.0.1'): Promise<number> {
  for (;;) {
    const port = FIRST + randomInt(COUNT);
    try {
      await listenOn(server, port, { host });
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}

/** Rejects if the port is in use. */
export async function listenOn(
  server: Server,
  port: number,
  options: { readonly host?: string; readonly reusePort?: boolean } = {},
): Promise<void> {
  const listening = once(server, 'listening');
  server.listen({ host: '127.0.0.1', ...options, port });
  await listening;
}

/** Returns a port for a server that runs in another process. */
export async function freeOwnPort(): Promise<number> {
  const server = createServer();
  const port = await listenOnOwnPort(server);
  const closed = once(server, 'close');
  server.close();
  await closed;
  return port;
}
