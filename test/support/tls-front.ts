import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { listenOn, listenOnOwnPort } from './own-port';
import { run } from './programs';

/** Certificates of a CA for tests, made with the program `openssl`. */
export class TestCa {
  /** The certificate of the CA, in PEM. */
  readonly file: string;

  constructor(private readonly folder: string) {
    this.file = this.path('ca.crt');
    this.openssl(
      'req',
      '-x509',
      ...this.newKey('ca'),
      '-out',
      this.file,
      '-days',
      '2',
      '-subj',
      '/CN=Test CA',
    );
  }

  /** Makes a certificate for a host name. With `days` below 0, it has expired. */
  issue(host: string, days = 2): { key: Buffer; cert: Buffer } {
    const extensions = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`];
    this.openssl('req', ...this.newKey(host), '-out', this.path(`${host}.csr`), ...extensions);
    const ca = ['-CA', this.file, '-CAkey', this.path('ca.key'), '-CAcreateserial', '-days', String(days)];
    const files = ['-in', this.path(`${host}.csr`), '-out', this.path(`${host}.crt`)];
    this.openssl('x509', '-req', ...files, ...ca, '-copy_extensions', 'copy');
    return { key: readFileSync(this.path(`${host}.key`)), cert: readFileSync(this.path(`${host}.crt`)) };
  }

  private newKey(name: string): string[] {
    return [
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-keyout',
      this.path(`${name}.key`),
    ];
  }

  private path(name: string): string {
    return join(this.folder, name);
  }

  private openssl(...options: string[]): void {
    run('openssl', options);
  }
}

/** Accepts TLS and passes the bytes on to a server without TLS. */
export class TlsFront {
  private constructor(
    private readonly server: Server,
    private readonly sockets: ReadonlySet<Socket>,
    readonly port: number,
  ) {}

  /** Listens on `port`, or on a free one if it is 0. */
  static async open(
    certificate: { key: Buffer; cert: Buffer },
    target_port: number,
    port = 0,
  ): Promise<TlsFront> {
    const sockets = new Set<Socket>();
    const server = createServer({ ...certificate, ALPNProtocols: ['h2'] }, (client) => {
      const target = connect(target_port, '127.0.0.1');
      for (const socket of [client, target]) sockets.add(socket.on('error', () => {}));
      client.pipe(target).pipe(client);
    });
    server.on('tlsClientError', () => {});
    if (port === 0) return new TlsFront(server, sockets, await listenOnOwnPort(server));
    await listenOn(server, port);
    return new TlsFront(server, sockets, port);
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }
}
