import { type ProxiedConnection, TcpProxy } from './tcp-proxy';

/** A connection that has sent this many bytes towards the server carries a large request. */
const LARGE_BYTES = 1_000_000;

/** A TCP proxy that can stall or break a connection in the middle of a large request. */
export class NarrowNetwork extends TcpProxy {
  large: 'passes' | 'stalls' | 'breaks' = 'passes';

  protected override forward({ client, server }: ProxiedConnection): void {
    server.on('data', (data) => client.write(data));
    let received_bytes = 0;
    client.on('data', (data) => {
      received_bytes += data.length;
      if (received_bytes < LARGE_BYTES || this.large === 'passes') server.write(data);
      else if (this.large === 'stalls') client.pause();
      else client.resetAndDestroy();
    });
  }
}
