import { createServer, type Server as NetServer, type Socket } from 'node:net';
import { listenOn, listenOnOwnPort } from '../own-port';

/** The sockets that clients came by, so that one can be cut as a failing network would. */
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

  /** The port listened on; one of its own for 0. */
  async listen(host: string, port: number): Promise<number> {
    if (port === 0) return listenOnOwnPort(this.listener, host);
    await listenOn(this.listener, port, host);
    return port;
  }

  /** `host:port` of the client's end. */
  cutPeer(peer: string): void {
    const port = Number(peer.slice(peer.lastIndexOf(':') + 1));
    for (const socket of this.sockets) if (socket.remotePort === port) socket.destroy();
  }

  cutAll(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.listener.close(resolve));
    this.cutAll();
    await closed;
  }
}
