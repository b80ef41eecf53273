import { connect, createServer, type Socket } from 'node:net';
import { listenOnOwnPort } from './own-port';

/** Both ends of a proxied connection. */
export interface ProxiedConnection {
  readonly client: Socket;
  readonly server: Socket;
}

/**
 * A TCP proxy in front of one server. A subclass decides what it forwards. If one end of a connection closes, the proxy
 * closes the other one.
 */
export abstract class TcpProxy {
  private readonly sockets = new Set<Socket>();
  private readonly listener = createServer((client) => this.accept(client));
  private target: { readonly host: string; readonly port: number };

  constructor(target: { readonly host: string; readonly port: number }) {
    this.target = target;
  }

  /** Returns the port of the proxy. */
  listen(): Promise<number> {
    return listenOnOwnPort(this.listener);
  }

  /** Ends all connections. New ones lead to `target`. */
  redirect(target: TcpProxy['target']): void {
    this.target = target;
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.listener.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  /** Forwards the data of a new connection, in both directions. */
  protected abstract forward(connection: ProxiedConnection): void;

  private accept(client: Socket): void {
    const server = connect(this.target.port, this.target.host);
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.sockets.delete(socket);
        other.destroy();
      });
    }
    this.forward({ client, server });
  }
}
