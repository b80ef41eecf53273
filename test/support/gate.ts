import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { listenOn, listenOnOwnPort } from './own-port';

/** The way to a server, which a test can shut: to those behind it the server is gone then, and back when it opens. */
export class Gate {
  private readonly host: string;
  private readonly port: number;
  private readonly sockets = new Set<Socket>();
  private server: Server | undefined;
  /** Kept while it is shut. */
  private own_port = 0;
  private silent = false;

  /** To one address; shut at first. */
  constructor(url: string) {
    const [, host, port] = ADDRESS.exec(url)!;
    this.host = host!;
    this.port = Number(port);
  }

  /** `url` with the gate's address in the place of the server's. */
  through(url: string): string {
    return url.replace(`${this.host}:${this.port}`, `127.0.0.1:${this.own_port}`);
  }

  async open(): Promise<void> {
    if (this.server) return;
    const server = createServer((socket) => this.pass(socket));
    if (this.own_port === 0) this.own_port = await listenOnOwnPort(server);
    else await listenOn(server, this.own_port);
    // Only now: one that could not be opened is not to pass for open for ever.
    this.server = server;
  }

  /** Connections are cut and new ones refused. */
  async shut(): Promise<void> {
    const { server } = this;
    if (!server) return;
    this.server = undefined;
    const closed = once(server, 'close');
    server.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  /** Connections stay open, new ones are taken, and nothing passes until `speak`. */
  hush(): void {
    this.silent = true;
    for (const socket of this.sockets) socket.pause();
  }

  speak(): void {
    this.silent = false;
    for (const socket of this.sockets) socket.resume();
  }

  private pass(near: Socket): void {
    const far = connect(this.port, this.host);
    for (const [from, to] of [
      [near, far],
      [far, near],
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

/** Of an address without a cluster behind it: the first host and port after the scheme and who logs in. */
const ADDRESS = /^[^:]+:\/\/(?:[^@/]*@)?([^:/?,]+):(\d+)/;
