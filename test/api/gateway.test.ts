import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { reads } from '../../shared/api/operations/reads';
import { service } from '../../shared/api/operations/service';
import { tokens } from '../../shared/api/operations/tokens';
import { writes } from '../../shared/api/operations/writes';
import { fetch } from '../support/fetch';
import { gatewayOfKubernetes } from '../support/gateway-configuration';
import { freeOwnPort } from '../support/own-port';
import { describeWithProgram } from '../support/programs';
import { makeTempDir } from '../support/temp-dir';
import { waitFor, within } from '../support/wait-for';

/** A process that answers each request with its own name, or cuts the connection. */
interface Upstream {
  readonly name: string;
  readonly address: string;
  readonly server: Server;
  /** Headers of the last request. */
  headers: NodeJS.Dict<string | string[]>;
  requests: number;
  cuts: boolean;
}

async function startUpstream(name: string): Promise<Upstream> {
  const server = createServer((req, res) => {
    upstream.headers = req.headers;
    upstream.requests += 1;
    if (upstream.cuts) req.socket.destroy();
    else res.end(name);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const upstream: Upstream = { name, address, server, headers: {}, requests: 0, cuts: false };
  return upstream;
}

const NAMES = ['command-1', 'command-2', 'query-1', 'query-2'];

interface Nginx {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts nginx on a free port, and waits until it answers. */
async function startNginx(configuration: string): Promise<Nginx> {
  const folder = makeTempDir();
  const address = `127.0.0.1:${await freeOwnPort()}`;
  const own = configuration
    .replace('listen 8000;', `listen ${address};`)
    .replace('/tmp/catalog-gateway.pid', join(folder.path, 'pid'));
  writeFileSync(join(folder.path, 'nginx.conf'), own);
  const options = ['-p', folder.path, '-c', 'nginx.conf', '-g', 'daemon off;'];
  // Files, because nginx opens /dev/stdout, and the pipes of Node.js cannot be opened.
  const log = openSync(join(folder.path, 'log'), 'a');
  const child = spawn('nginx', options, { stdio: ['ignore', log, log] });
  closeSync(log);
  const stop = async (): Promise<void> => {
    const ended = once(child, 'exit');
    if (child.exitCode === null && child.kill('SIGTERM')) await within(ended, 'nginx to stop');
    folder.remove();
  };
  const url = `http://${address}`;
  await waitFor(
    async () => {
      expect([child.exitCode, readFileSync(join(folder.path, 'log'), 'utf8')]).toEqual([
        null,
        expect.any(String),
      ]);
      return (await fetch(`${url}/health/live`)).ok;
    },
    { what: 'nginx to start' },
  );
  return { url, stop };
}

function closeServer(server: Server): void {
  server.closeAllConnections();
  server.close();
}

describeWithProgram('nginx', 'the gateway', () => {
  let upstreams: Upstream[];
  let nginx: Nginx | undefined;
  let url: string;

  beforeAll(async () => {
    upstreams = await Promise.all(NAMES.map(startUpstream));
    let configuration = readFileSync('docs/gateway/nginx.conf', 'utf8');
    for (const one of upstreams) configuration = configuration.replace(`${one.name}:8080`, one.address);
    nginx = await startNginx(configuration);
    url = nginx.url;
  });
  afterAll(async () => {
    await nginx?.stop();
    for (const { server } of upstreams ?? []) closeServer(server);
  });
  afterEach(() => {
    for (const one of upstreams) one.cuts = false;
  });

  /** Returns the kind of process that answers. */
  async function answering(method: string, path: string): Promise<string> {
    const reply = await fetch(url + path.replace(':id', 'x'), { method });
    expect([method, path, reply.status]).toEqual([method, path, 200]);
    const name = method === 'HEAD' ? 'query-1' : await reply.text();
    return name.replace(/-\d$/, '');
  }

  test('sends each operation to the process that serves it', async () => {
    for (const { path, method } of Object.values(reads))
      expect([path, await answering(method, path)]).toEqual([path, 'query']);
    for (const { path, method } of [...Object.values(writes), ...Object.values(tokens)])
      expect([path, await answering(method, path)]).toEqual([path, 'command']);
    for (const path of ['/openapi.json', '/docs', '/media/live/x', '/authors'])
      expect([path, await answering('GET', path)]).toEqual([path, 'query']);
    expect(await answering('OPTIONS', '/auth/token')).toBe('command');
    expect(await answering('OPTIONS', '/api/publication')).toBe('query');
  });

  test('does not show metrics', async () => {
    const before = upstreams.map(({ requests }) => requests);
    const reply = await fetch(`${url}${service.getMetrics.path}`);
    expect([reply.status, (await reply.json()) as object]).toEqual([
      404,
      expect.objectContaining({ error: expect.objectContaining({ code: 'NOT_FOUND' }) }),
    ]);
    expect(upstreams.map(({ requests }) => requests)).toEqual(before);
  });

  test('passes on the request id and the address of the client', async () => {
    await fetch(`${url}/api/store`, { headers: { 'x-request-id': 'given', 'x-forwarded-for': '192.0.2.1' } });
    const seen = upstreams
      .map(({ headers }) => headers)
      .find((headers) => headers['x-request-id'] === 'given');
    expect(seen).toMatchObject({ 'x-forwarded-for': '192.0.2.1, 127.0.0.1' });
  });

  test('tries a read again on another process, and never a POST', async () => {
    const [command_1, command_2, query_1] = upstreams as [Upstream, Upstream, Upstream, Upstream];
    query_1.cuts = true;
    for (let n = 0; n < 4; n++) expect((await fetch(`${url}/api/store`)).status).toBe(200);
    command_1.cuts = true;
    command_2.cuts = true;
    const before = command_1.requests + command_2.requests;
    const reply = await fetch(`${url}/api/publication`, { method: 'POST' });
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '2']);
    expect(await reply.json()).toMatchObject({ error: { code: 'SERVICE_UNAVAILABLE' } });
    expect(command_1.requests + command_2.requests - before).toBe(1);
  });
});

describeWithProgram('nginx', 'the gateway on Kubernetes', () => {
  const PODS = 10;
  let service: Server;
  let nginx: Nginx | undefined;

  beforeAll(async () => {
    // A Service leads each connection to another pod. One pod cuts all of its connections.
    let connections = 0;
    service = createServer((_req, res) => res.setHeader('connection', 'close').end('a pod'))
      .on('connection', (socket) => {
        if (++connections % PODS === 0) socket.destroy();
      })
      .listen(0, '127.0.0.1');
    await once(service, 'listening');
    const address = `127.0.0.1:${(service.address() as AddressInfo).port}`;
    nginx = await startNginx(gatewayOfKubernetes().replaceAll(/catalog-(command|query):80/g, address));
  });
  afterAll(async () => {
    await nginx?.stop();
    closeServer(service);
  });

  async function countUnavailable(method: string, path: string, count: number): Promise<number> {
    let unavailable = 0;
    for (let n = 0; n < count; n++) {
      const reply = await fetch(nginx!.url + path, { method });
      await reply.arrayBuffer();
      expect([200, 503]).toContain(reply.status);
      if (reply.status === 503) unavailable += 1;
    }
    return unavailable;
  }

  test('a pod that fails does not stop the requests to the others, and a read is tried on another pod', async () => {
    expect(await countUnavailable('POST', '/api/publication', 5 * PODS)).toBe(5);
    expect(await countUnavailable('GET', '/api/store', 5 * PODS)).toBe(0);
  });
});
