import { setTimeout as sleep } from 'node:timers/promises';
import { type ProxiedConnection, TcpProxy } from './tcp-proxy';

/** A TCP proxy that forwards at most `bytes_per_s` in each direction of a connection. */
export class SlowNetwork extends TcpProxy {
  bytes_per_s = Number.POSITIVE_INFINITY;

  constructor(target: string) {
    const { hostname: host, port } = new URL(target);
    super({ host, port: Number(port) });
  }

  protected override forward({ client, server }: ProxiedConnection): void {
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const)
      from.on('data', async (data) => {
        from.pause();
        to.write(data);
        await sleep((data.length / this.bytes_per_s) * 1_000);
        from.resume();
      });
  }
}
