import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { startAllInOne } from '../../services/boot/all-in-one';
import { ensureDemo } from '../../services/demo/ensure';
import { demoRequests } from '../../services/demo/start';
import { parseConfig } from '../../shared/kernel/config';
import { localUrl } from '../../shared/kernel/server-url';
import { realSystem } from '../../shared/kernel/system';
import { fetch } from '../support/fetch';
import { environmentWithoutServers } from '../support/own-servers';
import { endAll, startProcess } from '../support/processes';
import { describeWithProgram } from '../support/programs';
import { withTempDir } from '../support/temp-dir';
import { waitFor, within } from '../support/wait-for';
import { expectFailure, InProcessCli } from './cli-run';

afterEach(endAll);

interface Body {
  readonly data: Record<string, unknown> & { readonly featured?: { featured_position: number }[] };
}

test('the requests that a new demo prints work', () =>
  withTempDir(async (folder) => {
    const config = parseConfig({ DATA_DIR: folder, PORT: '0', LOG_LEVEL: 'silent' });
    const service = await startAllInOne(config, pino({ level: 'silent' }));
    try {
      const ready = (await ensureDemo(service.runtime, config))!;
      expect(await service.pipelines.caughtUp(10_000)).toBe(true);
      const text = demoRequests(ready, service.url);

      const key = async (name: 'public_key' | 'secret_key') => {
        expect(text).toContain(`'X-API-Key: ${ready.demo[name]}'`);
        const headers = { 'x-api-key': ready.demo[name] };
        const reply = await fetch(`${service.url}/auth/token`, { method: 'POST', headers });
        return { authorization: `Bearer ${((await reply.json()) as Body).data.token}` };
      };
      const [listing, publication] = [...text.matchAll(/curl -s '([^']+)'/g)].map(([, url]) => url!);
      const headers = await key('public_key');
      const page = (await (await fetch(listing!, { headers })).json()) as Body;
      expect(page.data.featured!.map((each) => each.featured_position)).toEqual([1, 3]);
      const one = (await (await fetch(publication!, { headers })).json()) as Body;
      expect(one.data).toMatchObject({ title: 'Taza Amancay', listing: { name: 'Cerámica' } });

      const [, url] = /-X PATCH (\S+)/.exec(text)!;
      const [, body] = /-d '([^']+)'/.exec(text)!;
      const patch = {
        method: 'PATCH',
        headers: { ...(await key('secret_key')), 'content-type': 'application/json' },
      };
      const written = await fetch(url!, { ...patch, body: body! });
      expect(written.status).toBe(200);
      expect(((await written.json()) as Body).data).toMatchObject({ id: one.data.id, price_amount: 4500 });
    } finally {
      await service.close();
    }
  }));

describeWithProgram('script', 'the keys of a new demo', () => {
  test.each([
    ['are not printed', 'to a file', (command: string) => ['sh', '-c', `${command} | cat`]],
    ['are printed', 'to a terminal', (command: string) => ['script', '-qefc', command, '/dev/null']],
  ])('%s %s', (_verb, output, commandOf) =>
    withTempDir(async (folder) => {
      const [program, ...options] = commandOf(`exec ${process.execPath} dist/services/boot/main.js`);
      const env = { ...environmentWithoutServers(), DATA_DIR: folder, PORT: '0', LOG_LEVEL: 'silent' };
      const child = spawn(program!, options, { env, stdio: ['pipe', 'pipe', 'ignore'], detached: true });
      try {
        let printed = '';
        child.stdout.on('data', (text) => {
          printed += text;
        });
        await waitFor(() => /prints requests to try|"quantity_available"/.test(printed), {
          what: 'the demo to be announced',
        });
        expect(printed).toContain(`Its API keys are in ${folder}/demo.json.`);
        const { secret_key } = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8'));
        expect(printed.includes(secret_key)).toBe(output === 'to a terminal');
      } finally {
        const closed = once(child, 'close');
        process.kill(-child.pid!, 'SIGTERM');
        await within(closed, 'the service to end');
      }
    }),
  );
});

interface Keys {
  readonly public_key: string;
}

const demoIn = (folder: string): Keys => JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8'));
const isReady = async (url: string): Promise<boolean> => (await fetch(`${url}/health/ready`)).status === 200;

async function readStore(url: string, key: string): Promise<Response> {
  const exchanged = await fetch(`${url}/auth/token`, { method: 'POST', headers: { 'x-api-key': key } });
  const { token } = ((await exchanged.json()) as Body).data;
  return fetch(`${url}/api/store`, { headers: { authorization: `Bearer ${token}` } });
}

test('a service that creates a demo is ready when the demo can be read', () =>
  withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder, DEMO: 'on' };
    const { url, end, output } = await startProcess('services/boot/main.js', settings, { keep_output: true });
    await waitFor(() => isReady(url), { what: 'readiness' });
    await waitFor(() => output().includes(`The interface is described at ${url}/docs`), {
      what: 'the address',
    });
    const { public_key } = demoIn(folder);
    expect((await readStore(url, public_key)).status).toBe(200);
    expect(await end('SIGTERM')).toBe(0);
  }));

test('a service whose demo cannot be created becomes ready without it', () =>
  withTempDir(async (folder) => {
    writeFileSync(join(folder, 'demo.pending.json'), '{}');
    const { url } = await startProcess('services/boot/main.js', { DATA_DIR: folder, DEMO: 'on' });
    await waitFor(() => isReady(url), { what: 'readiness' });
    expect(readFileSync(join(folder, 'demo.pending.json'), 'utf8')).toBe('{}');
  }));

test('readiness names the demo that it waits for', () =>
  withTempDir(async (folder) => {
    const config = parseConfig({ DATA_DIR: folder, PORT: '0', LOG_LEVEL: 'silent' });
    const needs = { starting: new Set(['demo'] as const) };
    const service = await startAllInOne(config, pino({ level: 'silent' }), realSystem, needs);
    try {
      const waitsForDemo = async (): Promise<boolean> => {
        const waiting = await fetch(`${service.url}/health/ready`);
        const body = (await waiting.json()) as { error: { details: { waiting_for: string[] } } };
        expect(waiting.status).toBe(503);
        return body.error.details.waiting_for.join() === 'demo';
      };
      await waitFor(waitsForDemo, { what: 'the demo alone to be missing' });
    } finally {
      await service.close();
    }
  }));

test('demo create makes the demo of an installation whose processes create none, once', () =>
  withTempDir(async (folder) => {
    const cli = new InProcessCli(folder, { DEMO: 'off', PORT: '8123' });
    const created = await cli.json('demo', 'create');
    expect(created).toMatchObject(demoIn(folder));
    expect((await cli.run('demo', 'create')).stdout).toContain('http://127.0.0.1:8123/auth/token');
    const behind_gateway = new InProcessCli(folder, { CATALOG_URL: 'http://127.0.0.1:8090', PORT: '8123' });
    expect((await behind_gateway.run('demo', 'create')).stdout).toContain('http://127.0.0.1:8090/auth/token');
    const again = await cli.run('demo', 'create', '--url', 'http://shop.example/');
    expect(again).toMatchObject({ code: 0, stderr: '' });
    expect(again.stdout).toContain(
      `-X POST http://shop.example/auth/token -H 'X-API-Key: ${created.public_key}'`,
    );
    const { url } = await startProcess('services/boot/main.js', { DATA_DIR: folder });
    expect((await readStore(url, created.public_key)).status).toBe(200);
  }));

test('demo create refuses a catalog that is not empty', () =>
  withTempDir(async (folder) => {
    const cli = new InProcessCli(folder);
    await cli.account();
    expectFailure(await cli.run('demo', 'create'), 1, /not empty/);
  }));

test.each([
  ['http://0.0.0.0:8080', 'http://127.0.0.1:8080'],
  ['http://[::]:8080', 'http://127.0.0.1:8080'],
  ['http://10.0.0.1:8080', 'http://10.0.0.1:8080'],
])('the printed requests of a service on %s use %s', (url, printed) => {
  expect(localUrl(url)).toBe(printed);
});
