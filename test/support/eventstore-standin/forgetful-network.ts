import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * A TCP proxy that can forget its connections: it forwards nothing more on them and tells neither end. New
 * connections work as usual.
 */
export class ForgetfulNetwork {
  private readonly pairs = new Set<readonly [Socket, Socket]>();
  private readonly server: Server;
  port = 0;
  /** Number of connections made so far, including those that have ended. */
  carried = 0;

  constructor(target: { host: string; port: number }) {
    this.server = createServer((near) => {
      this.carried++;
      const pair = [near, connect(target.port, target.host)] as const;
      this.pairs.add(pair);
      const drop = (): void => {
        for (const socket of pair) socket.destroy();
        this.pairs.delete(pair);
      };
      for (const socket of pair) socket.on('error', drop).on('close', drop);
      pair[0].pipe(pair[1]).pipe(pair[0]);
    });
  }

  listen(): Promise<void> {
    return new Promise((resolve) => {
      this.server.listen(0, '127.0.0.1', () => {
        this.port = (this.server.address() as { port: number }).port;
        resolve();
      });
    });
  }

  forget(): void {
    for (const [near, far] of this.pairs) {
      near.unpipe(far).pause();
      far.unpipe(near).pause();
    }
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const pair of this.pairs) for (const socket of pair) socket.destroy();
    await closed;
  }
}
