import { createServer, type Socket } from 'node:net';
import { listenOnOwnPort } from '../own-port';

/**
 * A server that accepts connections and answers nothing on them, as a frozen one does. With `closes`, it closes them at once,
 * as a proxy does whose server is down.
 */
export class UnusableServer {
  /** Number of connections so far, and of those that are open. */
  connections = 0;
  private readonly sockets = new Set<Socket>();
  private readonly listener = createServer((socket) => this.accept(socket));
  private port = 0;

  private constructor(private readonly closes: boolean) {}

  static async start({ closes = false } = {}): Promise<UnusableServer> {
    const server = new UnusableServer(closes);
    server.port = await listenOnOwnPort(server.listener);
    return server;
  }

  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  get open(): number {
    return this.sockets.size;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.listener.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private accept(socket: Socket): void {
    this.connections++;
    this.sockets.add(socket.resume().on('error', () => {}));
    socket.on('close', () => this.sockets.delete(socket));
    if (this.closes) socket.destroy();
  }
}
