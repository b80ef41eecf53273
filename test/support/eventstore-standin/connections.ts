import { createServer, type Server as NetServer, type Socket } from 'node:net';
import { listenOn, listenOnOwnPort } from '../own-port';

/** The sockets of clients, so that a test can cut one as a network failure would. */
export class Connections {
  private readonly sockets = new Set<Socket>();
  private readonly listener: NetServer;

  constructor(accept: (socket: Socket) => void) {
    this.listener = createServer((socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
      socket.on('error', () => {});
      accept(socket);
    });
  }

  /** Number of open connections. */
  get count(): number {
    return this.sockets.size;
  }

  /** Listens on the port, or on a free one if it is 0. Returns the port. */
  async listen(host: string, port: number): Promise<number> {
    if (port === 0) return listenOnOwnPort(this.listener, host);
    await listenOn(this.listener, port, host);
    return port;
  }

  /** Cuts the connection of the client at `host:port`. */
  cutPeer(peer: string): void {
    const port = Number(peer.slice(peer.lastIndexOf(':') + 1));
    for (const socket of this.sockets) if (socket.remotePort === port) socket.destroy();
  }

  cutAll(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  /** Accepts no more connections. Resolves when all have ended. */
  async ended(): Promise<void> {
    await new Promise((resolve) => this.listener.close(resolve));
  }

  async close(): Promise<void> {
    const ended = this.ended();
    this.cutAll();
    await ended;
  }
}
