import { type ProxiedConnection, TcpProxy } from '../tcp-proxy';

/**
 * A TCP proxy that can forget its connections: it forwards nothing more on them and tells neither end. New connections
 * work as usual.
 */
export class ForgetfulNetwork extends TcpProxy {
  private readonly connections: ProxiedConnection[] = [];

  /** Number of connections made so far, including those that have ended. */
  get carried(): number {
    return this.connections.length;
  }

  forget(): void {
    for (const { client, server } of this.connections) {
      client.unpipe(server).pause();
      server.unpipe(client).pause();
    }
  }

  protected override forward(connection: ProxiedConnection): void {
    this.connections.push(connection);
    connection.client.pipe(connection.server).pipe(connection.client);
  }
}
