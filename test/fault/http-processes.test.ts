import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { get, request } from 'node:http';
import { join } from 'node:path';
import Database from 'libsql';
import { HAS_REUSE_PORT } from '../../services/boot/listen';
import { InProcessCli } from '../api/cli-run';
import { childrenOf, isRunning } from '../support/children';
import { Connection } from '../support/connection';
import { freezeProcess } from '../support/freeze-process';
import { createKeys, fetchToken } from '../support/merchant';
import { noisePicture } from '../support/pictures';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { waitFor, within } from '../support/wait-for';

/*
 * The all-in-one service with WORKERS=2: two processes answer on one port, and together they behave as one does. With an older
 * Node.js, `test/api/old-node.test.ts` expects an error.
 */

const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 1_250 };
const HIGH = '100000/10000000/100000';
const PRODUCT = '/api/publication/:id';

(HAS_REUSE_PORT ? describe : describe.skip)('WORKERS=2 (needs Node.js 22.12)', () => {
  /** One service for all tests, in their order. Each begins when both processes answer. */
  let running: RunningProcess;
  let folder: TempDir;
  let keys: Awaited<ReturnType<typeof createKeys>>;
  const connections: Connection[] = [];

  beforeAll(async () => {
    folder = makeTempDir();
    keys = await createKeys({ DATA_DIR: folder.path });
    running = await start();
  });
  afterEach(() => {
    for (const connection of connections.splice(0)) connection.close();
  });
  afterAll(() => {
    endAll();
    folder.remove();
  });

  const start = (): Promise<RunningProcess> =>
    startProcess(
      'services/boot/main.js',
      { DATA_DIR: folder.path, WORKERS: '2', RATE_LIMIT_AUTH: '1000/1000', RATE_LIMIT_SECRET: HIGH },
      { keep_output: true },
    );

  function connect(): Connection {
    const connection = new Connection(running.url);
    connections.push(connection);
    return connection;
  }

  const httpProcesses = (): number[] => childrenOf(running.child.pid!, 'http');

  /** Returns the process that has answered a request, as the log says. */
  function answeredBy(request_id: string): Promise<string> {
    return waitFor(() => {
      const line = running
        .output()
        .split('\n')
        .find((found) => found.includes(request_id));
      return line && /"process":"([^"]+)"/.exec(line)?.[1];
    });
  }

  /** Returns two connections, the first to the process `http-1`, the second to `http-2`. */
  async function connectToBoth(): Promise<[Connection, Connection]> {
    await waitFor(async () => {
      const { body } = await connect().send('/health/ready');
      return body.data?.http_processes.answering === 2;
    });
    const found = new Map<string, Connection>();
    await waitFor(async () => {
      const connection = connect();
      const id = randomUUID();
      await connection.send('/api/store', { headers: { 'x-request-id': id } });
      found.set(await answeredBy(id), connection);
      return found.size === 2;
    });
    expect([...found.keys()].sort()).toEqual(['http-1', 'http-2']);
    return [found.get('http-1')!, found.get('http-2')!];
  }

  async function create(connection: Connection, token: string, headers = {}): Promise<string> {
    const { status, body } = await connection.send('/api/publication', {
      ...{ method: 'POST', token, headers, body: TEA },
    });
    expect(status).toBe(201);
    return body.data.id;
  }

  async function countOf(connection: Connection, sample: string): Promise<number> {
    const { body } = await connection.send('/metrics');
    const line = (body as string).split('\n').find((found) => found.startsWith(`${sample} `));
    return Number(line?.split(' ')[1] ?? 0);
  }

  const answered = (method: string, route: string, status: number): string =>
    `catalog_http_requests_total{method="${method}",route="${route}",status="${status}"}`;

  test('what is written through one process can be read through the other at once, also a picture', async () => {
    const [first, second] = await connectToBoth();
    const token = await fetchToken(running.url, keys.secret);
    for (let n = 0; n < 6; n++) {
      const [writer, reader] = n % 2 === 0 ? [first, second] : [second, first];
      const id = await create(writer, token);
      const path = `/api/publication/${id}`;
      expect(await reader.send(path, { token })).toMatchObject({
        status: 200,
        body: { data: { title: 'Tea' } },
      });
      const patch = { method: 'PATCH', token, body: { title: 'Green tea' } };
      expect((await reader.send(path, patch)).status).toBe(200);
      expect((await writer.send(path, { token })).body.data.title).toBe('Green tea');
    }

    // Only the main process renders.
    const form = new FormData();
    form.set(
      'file',
      new Blob([new Uint8Array(await noisePicture('jpeg', { width: 40, height: 30 }))], {
        type: 'image/jpeg',
      }),
      'tea.jpg',
    );
    const upload = await fetch(`${running.url}/api/media`, {
      ...{ method: 'POST', headers: { authorization: `Bearer ${token}` }, body: form },
    });
    const { data } = (await upload.json()) as { data: { id: string } };
    const isReady = async (): Promise<boolean> =>
      (await first.send(`/api/media/${data.id}`, { token })).body.data.status === 'ready';
    await waitFor(isReady, { what: 'a rendered picture' });
    expect(running.faults).toEqual([]);
  });

  test('writes with an Idempotency-Key through both processes at once all succeed', async () => {
    const both = await connectToBoth();
    const writers = [...both, connect(), connect(), connect(), connect()];
    const token = await fetchToken(running.url, keys.secret);
    const writeMany = async (connection: Connection): Promise<void> => {
      for (let n = 0; n < 8; n++) await create(connection, token, { 'idempotency-key': randomUUID() });
    };
    await Promise.all(writers.map(writeMany));
  });

  test('both processes show the metrics and the readiness of the whole service', async () => {
    const both = await connectToBoth();
    const token = await fetchToken(running.url, keys.secret);
    const appended = 'catalog_events_appended_total{realm="live"}';
    const before = await Promise.all(
      [answered('GET', PRODUCT, 200), appended].map((sample) => countOf(both[0], sample)),
    );
    const id = await create(both[0], token);
    for (const connection of both)
      for (let n = 0; n < 5; n++)
        expect((await connection.send(`/api/publication/${id}`, { token })).status).toBe(200);
    for (const connection of both) {
      await waitFor(
        async () => (await countOf(connection, answered('GET', PRODUCT, 200))) === before[0]! + 10,
      );
      // The reservation of its handle, and the publication.
      expect(await countOf(connection, appended)).toBe(before[1]! + 2);
      expect(await countOf(connection, 'catalog_ready')).toBe(1);
      expect(await countOf(connection, 'catalog_data_dir_free_bytes')).toBeGreaterThan(1);
      expect(await countOf(connection, 'process_start_time_seconds')).toBeGreaterThan(1);
      const lag = 'catalog_partition_lag_events{realm="live",partition="7"}';
      expect((await connection.send('/metrics')).body).toContain(lag);
    }

    const lagOf = async () => Math.max(...(await both[0].send('/health/ready')).body.data.live.lag);
    await waitFor(async () => (await lagOf()) === 0);
    const projections = childrenOf(running.child.pid!, 'projections')[0]!;
    process.kill(projections, 'SIGSTOP');
    try {
      const patch = { method: 'PATCH', token, body: { title: 'Green tea' } };
      expect((await both[0].send(`/api/publication/${id}`, patch)).status).toBe(200);
      for (const connection of both) {
        const { body } = await connection.send('/health/ready');
        const { live, http_processes } = body.data ?? body.error.details;
        expect(http_processes).toEqual({ expected: 2, answering: 2 });
        expect([live.pipeline, Math.max(...live.lag)]).toEqual(['running', 1]);
      }
    } finally {
      process.kill(projections, 'SIGCONT');
    }

    process.kill(projections, 'SIGKILL');
    for (const connection of both)
      await waitFor(async () => {
        const { body } = await connection.send('/health/ready');
        return body.data?.live.pipeline === 'running' && Math.max(...body.data.live.lag) === 0;
      });
  });

  test('a frozen process is left out of readiness and metrics', async () => {
    const both = await connectToBoth();
    // One of the two connections is to the frozen process.
    const ask = (path: string) => Promise.race(both.map((connection) => connection.send(path)));
    const [frozen] = httpProcesses() as [number];
    await freezeProcess(frozen);
    for (const path of ['/health/ready', '/metrics']) {
      const { status, body } = await within(ask(path), path);
      expect([path, status]).toEqual([path, 200]);
      if (path === '/health/ready') expect(body.data.http_processes).toEqual({ expected: 2, answering: 1 });
    }
    process.kill(frozen, 'SIGCONT');
    await waitFor(async () => (await ask('/health/ready')).body.data?.http_processes.answering === 2);
  });

  test('a process that is killed is started again, requests on the other go on, and no counter falls', async () => {
    const [first, second] = await connectToBoth();
    const token = await fetchToken(running.url, keys.secret);
    const id = await create(first, token);
    const before = await waitFor(async () => {
      const count = await countOf(second, answered('POST', '/api/publication', 201));
      return count > 0 && count;
    });
    const pids = httpProcesses();
    expect(pids).toHaveLength(2);
    const crashes = () => running.warnings.filter((line) => line.includes('an HTTP process has crashed'));
    const crashes_before = crashes().length;

    process.kill(pids[0]!, 'SIGKILL');
    const path = `/api/publication/${id}`;
    await waitFor(async () => {
      // The killed process cannot be told from the other by its id, so one of the connections breaks.
      const replies = await Promise.allSettled([first, second].map((one) => one.send(path, { token })));
      const statuses = replies.map((reply) => (reply.status === 'fulfilled' ? reply.value.status : 'broken'));
      expect(statuses).toContain(200);
      // A killed process is still counted until its parent has noticed the end.
      return crashes().length > crashes_before && httpProcesses().length === 2;
    });
    expect(crashes()).toHaveLength(crashes_before + 1);
    expect(crashes().at(-1)).toContain('"failure":"SIGKILL"');
    for (const connection of await connectToBoth()) {
      expect(await countOf(connection, answered('POST', '/api/publication', 201))).toBeGreaterThanOrEqual(
        before,
      );
      expect((await connection.send(path, { token })).status).toBe(200);
    }
  });

  test('if all processes are killed, they listen on the same port again', async () => {
    await connectToBoth();
    for (const pid of httpProcesses()) process.kill(pid, 'SIGKILL');
    const isAnswered = async (): Promise<boolean> =>
      (
        await connect()
          .send('/health/live')
          .catch(() => undefined)
      )?.status === 200;
    await waitFor(isAnswered, { what: 'an answer' });
    await connectToBoth();
  });

  test('a stop ends streams, finishes running requests, and keeps every view and every token of the limits', async () => {
    const both = await connectToBoth();
    const secret = await fetchToken(running.url, keys.secret);
    const token = await fetchToken(running.url, keys.public);
    const id = await create(both[0], secret);
    await Promise.all(
      both.map(async (connection) => {
        for (let n = 0; n < 30; n++)
          expect((await connection.send(`/api/publication/${id}`, { token })).status).toBe(200);
      }),
    );

    const slow = request(`${running.url}/api/publication`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        expect: '100-continue',
      },
    });
    slow.flushHeaders();
    await within(once(slow, 'continue'), 'the request to be read');
    slow.write(JSON.stringify(TEA).slice(0, 5));
    const headers = { authorization: `Bearer ${secret}` };
    const following = get(`${running.url}/api/changes?offset=now&live=sse`, { headers });
    const [stream] = await within(once(following, 'response'), 'a stream of changes');
    await within(once(stream, 'data'), 'the first event');
    // As from a terminal or systemd, which signal all processes.
    for (const pid of httpProcesses()) process.kill(pid, 'SIGTERM');
    const ended = running.end('SIGTERM');
    // A connection that is cut emits an error.
    await within(once(stream, 'end'), 'the end of the stream');
    slow.end(JSON.stringify(TEA).slice(5));
    const [reply] = await within(once(slow, 'response'), 'the answer');
    reply.resume();
    expect(reply.statusCode).toBe(201);
    expect(await ended).toBe(0);

    const limits = new Database(join(folder.path, 'limits.sqlite'));
    const counts = limits.prepare('SELECT day_count FROM buckets').pluck().all();
    limits.close();
    expect(counts).toEqual(expect.arrayContaining([60]));

    // For the tests that follow.
    running = await start();
    const { body } = await connect().send(`/api/publication/${id}`, { token: secret });
    expect(body.data.stats.view_count).toBe(60);
  });

  test('a key that the command line revokes is refused by both processes', async () => {
    const both = await connectToBoth();
    const token = await fetchToken(running.url, keys.secret);
    const cli = new InProcessCli(folder.path);
    for (const connection of both) expect((await connection.send('/api/store', { token })).status).toBe(200);
    expect(await cli.run('key', 'revoke', keys.secret_id)).toMatchObject({ code: 0, stderr: '' });
    for (const connection of both) {
      const isRefused = async () =>
        (await connection.send('/api/store', { token })).body.error?.code === 'REVOKED_API_KEY';
      await waitFor(isRefused, { what: 'a refusal' });
    }
  });

  test('if the service is killed, none of its processes is left', async () => {
    // A test has killed some, which are started again.
    const children = await waitFor(
      () => {
        const found = childrenOf(running.child.pid!);
        return found.length >= 3 && found;
      },
      { what: 'all processes of the service' },
    );
    await running.end('SIGKILL');
    await waitFor(() => !children.some(isRunning), { what: 'all processes to end' });
  });
});
