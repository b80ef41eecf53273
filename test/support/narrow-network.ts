import { connect, createServer, type Socket } from 'node:net';
import { listenOnOwnPort } from './own-port';

/** A connection that has sent this many bytes towards the server carries a large request. */
const LARGE_BYTES = 1_000_000;

/** A TCP proxy that can stall or break a connection in the middle of a large request. */
export class NarrowNetwork {
  large: 'passes' | 'stalls' | 'breaks' = 'passes';
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((client_socket) => this.forward(client_socket));
  private readonly target: { readonly host: string; readonly port: number };

  constructor(target: { readonly host: string; readonly port: number }) {
    this.target = target;
  }

  /** Returns the port of the proxy. */
  listen(): Promise<number> {
    return listenOnOwnPort(this.server);
  }

  private forward(client_socket: Socket): void {
    const server_socket = connect(this.target.port, this.target.host);
    for (const [socket, other] of [
      [client_socket, server_socket],
      [server_socket, client_socket],
    ] as const) {
      this.sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.sockets.delete(socket);
        other.destroy();
      });
    }
    server_socket.on('data', (data) => client_socket.write(data));
    let received_bytes = 0;
    client_socket.on('data', (data) => {
      received_bytes += data.length;
      if (received_bytes < LARGE_BYTES || this.large === 'passes') server_socket.write(data);
      else if (this.large === 'stalls') client_socket.pause();
      else client_socket.resetAndDestroy();
    });
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }
}
