import { connect, createServer, type Socket } from 'node:net';
import { listenOnOwnPort } from './own-port';

/** So much of one connection, towards the server, is no large request yet. */
const LARGE_BYTES = 1_000_000;

/**
 * A way to a server that large requests do not pass unless told to: the connection of one stalls with the request half
 * taken, or breaks there.
 */
export class NarrowNetwork {
  large: 'passes' | 'stalls' | 'breaks' = 'passes';
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((near) => this.carry(near));
  private readonly target: { readonly host: string; readonly port: number };

  constructor(target: { readonly host: string; readonly port: number }) {
    this.target = target;
  }

  /** The port of this end. */
  listen(): Promise<number> {
    return listenOnOwnPort(this.server);
  }

  private carry(near: Socket): void {
    const far = connect(this.target.port, this.target.host);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.sockets.delete(socket);
        other.destroy();
      });
    }
    far.on('data', (data) => near.write(data));
    let carried = 0;
    near.on('data', (data) => {
      carried += data.length;
      if (carried < LARGE_BYTES || this.large === 'passes') far.write(data);
      else if (this.large === 'stalls') near.pause();
      else near.resetAndDestroy();
    });
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }
}
