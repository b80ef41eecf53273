import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { fetch } from '../support/fetch';
import { createSecretKey, fetchToken } from '../support/merchant';
import { flatPicture } from '../support/pictures';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { readinessOf } from '../support/readiness';
import { withTempDir } from '../support/temp-dir';
import { waitFor, within } from '../support/wait-for';

/* A fault of the service is answered by 5xx, logged, shown in readiness and retried. No client is blamed for it. */

afterEach(endAll);

const preload = join(__dirname, '..', 'support', 'break-sharp.js');

const upload = async ({ url }: RunningProcess, token: string) =>
  fetch(`${url}/api/media`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'image/png' },
    body: new Uint8Array(await flatPicture('png', { width: 30, height: 20 })),
  });

async function statusOf({ url }: RunningProcess, token: string, id: string): Promise<string> {
  const reply = await fetch(`${url}/api/media/${id}`, { headers: { authorization: `Bearer ${token}` } });
  return ((await reply.json()) as { data: { status: string } }).data.status;
}

function logOf({ child }: RunningProcess): { text: string } {
  const log = { text: '' };
  child.stderr!.on('data', (chunk: Buffer) => {
    log.text += chunk.toString('utf8');
  });
  return log;
}

test('an upload while the image library cannot be loaded is 503, logged and shown in readiness, until it can', () =>
  withTempDir(async (folder) => {
    const broken = join(folder, 'sharp-broken');
    writeFileSync(broken, '');
    const settings = { DATA_DIR: folder, SHARP_BROKEN_FILE: broken };
    const key = await createSecretKey(settings);
    const running = await startProcess('services/boot/main.js', {
      ...settings,
      NODE_OPTIONS: `--require ${preload}`,
    });
    const log = logOf(running);
    const token = await fetchToken(running.url, key);
    const refused = await upload(running, token);
    expect([refused.status, ((await refused.json()) as { error: { code: string } }).error.code]).toEqual([
      503,
      'SERVICE_UNAVAILABLE',
    ]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await readinessOf(running)).toMatchObject({ status: 503, waiting_for: ['image_library'] });
    await waitFor(() => log.text.includes('Could not load the \\"sharp\\" module'));

    rmSync(broken);
    expect((await readinessOf(running)).status).toBe(200);
    expect((await upload(running, token)).status).toBe(201);
    expect(await running.end('SIGTERM')).toBe(0);
  }));

test('an upload that a worker cannot render for lack of the image library stays processing, and becomes ready later', () =>
  withTempDir(async (folder) => {
    const broken = join(folder, 'sharp-broken');
    const settings = { DATA_DIR: folder, SHARP_BROKEN_FILE: broken };
    const key = await createSecretKey(settings);
    const command = await startProcess('services/boot/main.js command', settings);
    const worker = await startProcess('services/boot/main.js worker', settings);
    const reply = await upload(command, await fetchToken(command.url, key));
    expect(reply.status).toBe(201);
    const { id } = ((await reply.json()) as { data: { id: string } }).data;
    await Promise.all([command.end('SIGTERM'), worker.end('SIGTERM')]);

    writeFileSync(broken, '');
    const running = await startProcess('services/boot/main.js', {
      ...settings,
      NODE_OPTIONS: `--require ${preload}`,
    });
    const log = logOf(running);
    const token = await fetchToken(running.url, key);
    await waitFor(() => log.text.includes('media task failed'));
    expect(log.text).toContain('Could not load the \\"sharp\\" module');
    expect(await statusOf(running, token, id)).toBe('processing');
    expect(await readinessOf(running)).toMatchObject({ status: 503, waiting_for: ['image_library'] });

    rmSync(broken);
    await waitFor(async () => (await statusOf(running, token, id)) === 'ready');
    expect((await readinessOf(running)).status).toBe(200);
  }));

test('a process without free file descriptors accepts the first JSON body that it receives', () =>
  withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder };
    const key = await createSecretKey(settings);
    const running = await startProcess('services/boot/main.js', settings);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const call = (method: string, path: string, headers: Record<string, string>, body = '') =>
      within(
        new Promise<number>((resolve, reject) => {
          const sent = request(`${running.url}${path}`, { agent, method, headers }, (response) => {
            response.resume().on('end', () => resolve(response.statusCode!));
          });
          sent.on('error', reject).end(body);
        }),
        'the answer',
      );
    try {
      const headers = {
        authorization: `Bearer ${await fetchToken(running.url, key)}`,
        'content-type': 'application/json',
      };
      expect(await call('GET', '/health/live', {})).toBe(200);
      // Open descriptors stay open; the process gets no new ones.
      execFileSync('prlimit', ['--pid', String(running.child.pid), '--nofile=3']);
      expect(await call('POST', '/api/listing', headers, JSON.stringify({ name: 'Tea' }))).toBe(201);
    } finally {
      agent.destroy();
    }
  }));
