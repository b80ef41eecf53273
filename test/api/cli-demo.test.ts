import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { startAllInOne } from '../../services/boot/all-in-one';
import { startDemo } from '../../services/demo/start';
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

const demoIn = (folder: string): { readonly public_key: string; readonly secret_key: string } =>
  JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8'));
const statusOf = async (url: string): Promise<number> => (await fetch(`${url}/health/ready`)).status;

async function bearer(url: string, key: string): Promise<{ authorization: string }> {
  const exchanged = await fetch(`${url}/auth/token`, { method: 'POST', headers: { 'x-api-key': key } });
  return { authorization: `Bearer ${((await exchanged.json()) as Body).data.token}` };
}

test('demo create makes the demo of an installation whose processes create none, once, and prints requests that work', () =>
  withTempDir(async (folder) => {
    const cli = new InProcessCli(folder, { DEMO: 'off', PORT: '8123' });
    const demo = await cli.json('demo', 'create');
    expect(demo).toMatchObject(demoIn(folder));
    expect((await cli.run('demo', 'create')).stdout).toContain('http://127.0.0.1:8123/auth/token');
    const behind_gateway = new InProcessCli(folder, { CATALOG_URL: 'http://127.0.0.1:8090', PORT: '8123' });
    expect((await behind_gateway.run('demo', 'create')).stdout).toContain('http://127.0.0.1:8090/auth/token');

    const config = parseConfig({ DATA_DIR: folder, PORT: '0', LOG_LEVEL: 'silent' });
    const service = await startAllInOne(config, pino({ level: 'silent' }));
    try {
      const again = await cli.run('demo', 'create', '--url', `${service.url}/`);
      expect(again).toMatchObject({ code: 0, stderr: '' });
      const text = again.stdout;
      for (const key of [demo.public_key, demo.secret_key])
        expect(text).toContain(`-X POST ${service.url}/auth/token -H 'X-API-Key: ${key}'`);
      const [listing, publication] = [...text.matchAll(/curl -s '([^']+)'/g)].map(([, url]) => url!);
      const headers = await bearer(service.url, demo.public_key);
      const page = (await (await fetch(listing!, { headers })).json()) as Body;
      expect(page.data.featured!.map((each) => each.featured_position)).toEqual([1, 3]);
      const one = (await (await fetch(publication!, { headers })).json()) as Body;
      expect(one.data).toMatchObject({ title: 'Taza Amancay', listing: { name: 'Cerámica' } });

      const [, url] = /-X PATCH (\S+)/.exec(text)!;
      const [, body] = /-d '([^']+)'/.exec(text)!;
      const patch = {
        method: 'PATCH',
        headers: { ...(await bearer(service.url, demo.secret_key)), 'content-type': 'application/json' },
      };
      const written = await fetch(url!, { ...patch, body: body! });
      expect(written.status).toBe(200);
      expect(((await written.json()) as Body).data).toMatchObject({ id: one.data.id, price_amount: 4500 });
    } finally {
      await service.close();
    }
  }));

test('a service that creates a demo is ready when the demo can be read, and prints no keys to a file', () =>
  withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder, DEMO: 'on' };
    const { url, end, output } = await startProcess('services/boot/main.js', settings, { keep_output: true });
    await waitFor(async () => (await statusOf(url)) === 200, { what: 'readiness' });
    const { public_key, secret_key } = demoIn(folder);
    const headers = await bearer(url, public_key);
    expect((await fetch(`${url}/api/store`, { headers })).status).toBe(200);
    await waitFor(() => output().includes('prints requests to try'), { what: 'the demo to be announced' });
    expect(output()).toContain(`Its API keys are in ${folder}/demo.json.`);
    expect(output()).toContain(`The interface is described at ${url}/docs`);
    expect(output()).not.toContain(secret_key);
    expect(await end('SIGTERM')).toBe(0);
  }));

describeWithProgram('script', 'to a terminal', () => {
  test('a service prints the keys of a new demo', () =>
    withTempDir(async (folder) => {
      const command = `exec ${process.execPath} dist/services/boot/main.js`;
      const env = { ...environmentWithoutServers(), DATA_DIR: folder, PORT: '0', LOG_LEVEL: 'silent' };
      const child = spawn('script', ['-qefc', command, '/dev/null'], {
        ...{ env, stdio: ['pipe', 'pipe', 'ignore'], detached: true },
      });
      try {
        let printed = '';
        child.stdout.on('data', (text) => {
          printed += text;
        });
        await waitFor(() => printed.includes('"quantity_available"'), { what: 'the demo to be announced' });
        expect(printed).toContain(demoIn(folder).secret_key);
      } finally {
        const closed = once(child, 'close');
        process.kill(-child.pid!, 'SIGTERM');
        await within(closed, 'the service to end');
      }
    }));
});

test('readiness names the demo that it waits for, and a demo that cannot be created is not waited for', () =>
  withTempDir(async (folder) => {
    writeFileSync(join(folder, 'demo.pending.json'), '{}');
    const config = parseConfig({ DATA_DIR: folder, PORT: '0', LOG_LEVEL: 'silent' });
    const starting = new Set<'demo' | 'catch_up'>(['demo']);
    const service = await startAllInOne(config, pino({ level: 'silent' }), realSystem, { starting });
    try {
      const waitsForDemo = async (): Promise<boolean> => {
        const waiting = await fetch(`${service.url}/health/ready`);
        const body = (await waiting.json()) as { error: { details: { waiting_for: string[] } } };
        expect(waiting.status).toBe(503);
        return body.error.details.waiting_for.join() === 'demo';
      };
      await waitFor(waitsForDemo, { what: 'the demo alone to be missing' });
      await startDemo(service, new AbortController().signal, () => void starting.delete('demo'));
      await waitFor(async () => (await statusOf(service.url)) === 200, { what: 'readiness' });
      expect(readFileSync(join(folder, 'demo.pending.json'), 'utf8')).toBe('{}');
    } finally {
      await service.close();
    }
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
