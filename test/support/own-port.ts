import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Below the ports that a system gives to clients, and beside those of `.ci/servers`. */
const FIRST = 10_000;
const COUNT = 10_000;

/**
 * Listens on a port that stays free while nobody listens there, for a server that goes and comes back: one that the
 * system chose could be given meanwhile to a client, and to the very one that tries to reach the server.
 */
export async function listenOnOwnPort(server: Server, host = '127.0.0.1'): Promise<number> {
  for (;;) {
    const port = FIRST + randomInt(COUNT);
    try {
      await listenOn(server, port, host);
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}

/** Throws where somebody else listens there. */
export async function listenOn(server: Server, port: number, host = '127.0.0.1'): Promise<void> {
  const listening = once(server, 'listening');
  server.listen(port, host);
  await listening;
}

/** Returns such a port for a server that is not ours to listen with. */
export async function freeOwnPort(): Promise<number> {
  const server = createServer();
  const port = await listenOnOwnPort(server);
  const closed = once(server, 'close');
  server.close();
  await closed;
  return port;
}
