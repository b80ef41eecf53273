import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { listenOn, listenOnOwnPort } from './own-port';

/** A TCP proxy that a test can close. For its clients the server is then unreachable, until the gate opens again. */
export class Gate {
  private readonly host: string;
  private readonly port: number;
  private readonly sockets = new Set<Socket>();
  private server: Server | undefined;
  /** Stays the same while the gate is shut. */
  private own_port = 0;
  private silent = false;

  /** Leads to the host and port of `url`. Shut at first. */
  constructor(url: string) {
    const [, host, port] = ADDRESS.exec(url)!;
    this.host = host!;
    this.port = Number(port);
  }

  /** Returns `url` with the gate's address instead of the server's. */
  through(url: string): string {
    return url.replace(`${this.host}:${this.port}`, `127.0.0.1:${this.own_port}`);
  }

  async open(): Promise<void> {
    if (this.server) return;
    const server = createServer((socket) => this.forward(socket));
    if (this.own_port === 0) this.own_port = await listenOnOwnPort(server);
    else await listenOn(server, this.own_port);
    // Set after listening has succeeded, so that a gate that could not open does not count as open.
    this.server = server;
  }

  /** Cuts all connections and refuses new ones. */
  async shut(): Promise<void> {
    const { server } = this;
    if (!server) return;
    this.server = undefined;
    const closed = once(server, 'close');
    server.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  /** Keeps connections open and accepts new ones, but forwards nothing until `speak`. */
  hush(): void {
    this.silent = true;
    for (const socket of this.sockets) socket.pause();
  }

  speak(): void {
    this.silent = false;
    for (const socket of this.sockets) socket.resume();
  }

  private forward(client_socket: Socket): void {
    const server_socket = connect(this.port, this.host);
    for (const [from, to] of [
      [client_socket, server_socket],
      [server_socket, client_socket],
    ] as const) {
      this.sockets.add(from);
      from.setNoDelay(true);
      from.on('data', (data) => to.write(data));
      from.on('error', () => {});
      from.on('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
      if (this.silent) from.pause();
    }
  }
}

/** Matches the first host and port of an address, after its scheme and credentials. Clusters are not supported. */
const ADDRESS = /^[^:]+:\/\/(?:[^@/]*@)?([^:/?,]+):(\d+)/;
