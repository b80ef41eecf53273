import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { listenOnOwnPort } from './own-port';

/** A TCP proxy that passes on a limited number of bytes per second in each direction of a connection. */
export class SlowNetwork {
  bytes_per_s = Number.POSITIVE_INFINITY;
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((client_socket) => this.forward(client_socket));
  private readonly target: URL;

  constructor(target: string) {
    this.target = new URL(target);
  }

  /** Returns the port of the proxy. */
  listen(): Promise<number> {
    return listenOnOwnPort(this.server);
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private forward(client_socket: Socket): void {
    const server_socket = connect(Number(this.target.port), this.target.hostname);
    for (const [from, to] of [
      [client_socket, server_socket],
      [server_socket, client_socket],
    ] as const) {
      this.sockets.add(from);
      from.on('error', () => {});
      from.on('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
      from.on('data', async (data) => {
        from.pause();
        to.write(data);
        await sleep((data.length / this.bytes_per_s) * 1_000);
        from.resume();
      });
    }
  }
}
