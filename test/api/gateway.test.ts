import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { errorCatalogue } from '../../shared/api/error-catalogue';
import { reads } from '../../shared/api/operations/reads';
import { service } from '../../shared/api/operations/service';
import { tokens } from '../../shared/api/operations/tokens';
import { writes } from '../../shared/api/operations/writes';
import { CORS_EXPOSED } from '../../shared/http/request';
import { fetch } from '../support/fetch';
import { gatewayOfKubernetes } from '../support/gateway-configuration';
import { freeOwnPort, listenOn, listenOnOwnPort } from '../support/own-port';
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
  });
  const address = `127.0.0.1:${await listenOnOwnPort(server)}`;
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
    .replaceAll('/tmp/catalog-gateway', join(folder.path, 'gateway'));
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

/** Reads until the answer is complete. nginx may keep the connection open, to read the rest of a request. */
async function readAnswer(socket: Socket): Promise<{ head: string; body: string }> {
  let answer = '';
  for await (const bytes of socket) {
    answer += bytes;
    const [head, body] = answer.split('\r\n\r\n', 2) as [string, string?];
    const length = Number(/^Content-Length: (\d+)/im.exec(head)?.[1]);
    if (body !== undefined && body.length >= length) return { head, body };
  }
  throw new Error(`an incomplete answer: ${answer}`);
}

describeWithProgram('nginx', 'the gateway', () => {
  let upstreams: Upstream[];
  let nginx: Nginx | undefined;
  let url: string;

  beforeAll(async () => {
    upstreams = await Promise.all(NAMES.map(startUpstream));
    let configuration = readFileSync('docs/gateway/nginx.conf', 'utf8');
    for (const one of upstreams) configuration = configuration.replaceAll(`${one.name}:8080`, one.address);
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

  /** Sends these bytes. Returns the status, the headers and the parsed body of the answer. */
  async function exchange(bytes: string) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    // A connection that was cut before all bytes were sent may have an answer as well.
    socket.on('error', () => {});
    socket.write(bytes);
    const { head, body } = await within(readAnswer(socket), 'an answer of nginx');
    socket.destroy();
    const [status_line, ...lines] = head.split('\r\n') as [string, ...string[]];
    const headers = new Headers(lines.map((line) => line.split(': ', 2) as [string, string]));
    return { status: Number(status_line.split(' ')[1]), headers, body: JSON.parse(body) };
  }

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
    for (const path of ['/', '/openapi.json', '/docs', '/media/live/x', '/authors'])
      expect([path, await answering('GET', path)]).toEqual([path, 'query']);
    expect(await answering('OPTIONS', '/auth/token')).toBe('command');
    expect(await answering('OPTIONS', '/api/publication')).toBe('query');
  });

  test.each([service.getMetrics.path, service.getReadiness.path])('does not show %s', async (path) => {
    const before = upstreams.map(({ requests }) => requests);
    const reply = await fetch(`${url}${path}`);
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

  test('replaces a request id that the service would replace, and returns the same that it passes on', async () => {
    const malformed = 'a<script>b';
    const headers = { 'x-request-id': malformed };
    await fetch(`${url}/api/store`, { headers });
    expect(upstreams.map((one) => one.headers['x-request-id'])).not.toContain(malformed);
    const { status, headers: answered } = await fetch(`${url}/metrics`, { headers });
    expect([status, answered.get('x-request-id')]).toEqual([404, expect.stringMatching(/^[\w-]{32,36}$/)]);
    const given = await fetch(`${url}/metrics`, { headers: { 'x-request-id': 'given-1' } });
    expect(given.headers.get('x-request-id')).toBe('given-1');
  });

  const HOST = 'Host: shop.example\r\nConnection: close\r\n';
  const LONG = 'x'.repeat(70_000);

  test.each([
    ['malformed HTTP', 400, 'INVALID_REQUEST', 'nonsense\r\n\r\n'],
    ['no Host', 400, 'INVALID_REQUEST', 'GET /api/store HTTP/1.1\r\nConnection: close\r\n\r\n'],
    [
      'an unknown transfer coding',
      400,
      'INVALID_REQUEST',
      `POST /api/x HTTP/1.1\r\n${HOST}Transfer-Encoding: x\r\n\r\n`,
    ],
    ['a method that nginx refuses', 405, 'OPERATION_NOT_ALLOWED', `TRACE /api/store HTTP/1.1\r\n${HOST}\r\n`],
    [
      'a body that is too large',
      413,
      'LIMIT_EXCEEDED',
      `POST /api/media HTTP/1.1\r\n${HOST}Content-Length: 20000000\r\n\r\n`,
    ],
    ['an address that is too long', 414, 'LIMIT_EXCEEDED', `GET /api/${LONG} HTTP/1.1\r\n${HOST}\r\n`],
    [
      'headers that are too large',
      431,
      'INVALID_REQUEST',
      `GET /api/store HTTP/1.1\r\n${HOST}X-Long: ${LONG}\r\n\r\n`,
    ],
    ['a path that it hides', 404, 'NOT_FOUND', `GET /metrics HTTP/1.1\r\n${HOST}\r\n`],
  ])('answers %s in the shape of the interface', async (_name, status, code, bytes) => {
    const reply = await exchange(bytes);
    const message = expect.any(String);
    expect([reply.status, reply.body]).toEqual([
      status,
      { code: status, status: 'error', ...(status === 400 && { message }), error: { code, message } },
    ]);
    expect(reply.headers.get('content-type')).toMatch(/^application\/json/);
    expect(reply.headers.get('x-request-id')).toMatch(/^\w{32}$/);
    expect(reply.headers.get('access-control-expose-headers')).toBe(CORS_EXPOSED);
    expect(reply.headers.has('allow')).toBe(status === 405);
    expect(reply.headers.has('retry-after')).toBe(false);
  });

  test('answers below /auth with the plain body', async () => {
    const reply = await exchange(`POST /auth/token HTTP/1.1\r\n${HOST}Content-Length: 20000000\r\n\r\n`);
    const { status, message } = errorCatalogue.too_large;
    expect([reply.status, reply.body]).toEqual([status, { code: status, status: 'error', message }]);
  });

  test('serves while the processes of a kind restart one right after the other', async () => {
    for (const one of upstreams) {
      const closed = once(one.server, 'close');
      closeServer(one.server);
      await closed;
      // Enough for nginx to avoid the process for the next seconds.
      for (let n = 0; n < 6; n++)
        for (const [method, path] of [
          ['GET', '/api/store'],
          ['POST', '/api/publication'],
        ] as const)
          expect([one.name, method, (await fetch(url + path, { method })).status]).toEqual([
            one.name,
            method,
            200,
          ]);
      await listenOn(one.server, Number(one.address.split(':')[1]));
    }
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
    expect(reply.headers.get('access-control-expose-headers')).toBe(CORS_EXPOSED);
    const { status, code, message } = errorCatalogue.unavailable;
    expect(await reply.json()).toEqual({ code: status, status: 'error', error: { code, message } });
    expect(command_1.requests + command_2.requests - before).toBe(1);
    const plain = await fetch(`${url}/auth/token`, { method: 'POST' });
    expect([plain.status, await plain.json()]).toEqual([status, { code: status, status: 'error', message }]);
  });
});

describeWithProgram('nginx', 'the gateway on Kubernetes', () => {
  const PODS = 10;
  let service: Server;
  let nginx: Nginx | undefined;

  beforeAll(async () => {
    // A Service leads each connection to another pod. Each connection serves one request. One pod reads the request and
    // cuts the connection: before that, nginx may not have sent it, and would send a POST to another pod as well.
    let requests = 0;
    service = createServer((req, res) => {
      if (++requests % PODS === 0) req.socket.destroy();
      else res.setHeader('connection', 'close').end('a pod');
    }).listen(0, '127.0.0.1');
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
