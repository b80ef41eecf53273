import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '../support/connection';
import { fetch } from '../support/fetch';
import { uploadWithoutTask } from '../support/media';
import { createKeys, fetchToken, project, withRuntime } from '../support/merchant';
import { flatPicture } from '../support/pictures';
import { preload } from '../support/preload';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { readinessOf } from '../support/readiness';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

/* A fault of the service is answered by 5xx, logged, shown in readiness and retried. No client is blamed for it. */

/** One service for all tests, which starts while the image library cannot be loaded. */
let running: RunningProcess;
let folder: TempDir;
let token: string;
/** While it exists, the image library cannot be loaded. */
let broken: string;
/** An upload from before the start, whose task was lost. */
let waiting: string;

const picture = () => flatPicture('png', { width: 30, height: 20 });

beforeAll(async () => {
  folder = makeTempDir();
  broken = join(folder.path, 'sharp-broken');
  const settings = { DATA_DIR: folder.path, SHARP_BROKEN_FILE: broken };
  const { secret, store_id } = await createKeys(settings);
  const bytes = await picture();
  await withRuntime(settings, async (runtime) => {
    waiting = await uploadWithoutTask(runtime, store_id, bytes);
    // The service looks for lost tasks in the documents when it starts.
    await project(runtime);
  });
  writeFileSync(broken, '');
  running = await startProcess(
    'services/boot/main.js',
    { ...settings, NODE_OPTIONS: preload('break-sharp') },
    { keep_output: true },
  );
  token = await fetchToken(running.url, secret);
});
afterAll(() => {
  endAll();
  folder.remove();
});

test('a process without free file descriptors accepts the first JSON body that it receives', async () => {
  const connection = new Connection(running.url);
  const limitDescriptors = (limit: string): unknown =>
    execFileSync('prlimit', ['--pid', String(running.child.pid), `--nofile=${limit}:`]);
  try {
    expect((await connection.send('/health/live')).status).toBe(200);
    // Open descriptors stay open; the process gets no new ones.
    limitDescriptors('3');
    const created = await connection.send('/api/listing', { method: 'POST', token, body: { name: 'Tea' } });
    expect(created.status).toBe(201);
  } finally {
    limitDescriptors('1024');
    connection.close();
  }
});

test('while the image library cannot be loaded, uploads are 503 or stay processing, and readiness and the log say why', async () => {
  const authorization = `Bearer ${token}`;
  const upload = async () => {
    const headers = { authorization, 'content-type': 'image/png' };
    const body = new Uint8Array(await picture());
    return fetch(`${running.url}/api/media`, { method: 'POST', headers, body });
  };
  const statusOfWaiting = async (): Promise<string> => {
    const reply = await fetch(`${running.url}/api/media/${waiting}`, { headers: { authorization } });
    return ((await reply.json()) as { data: { status: string } }).data.status;
  };
  await waitFor(() => running.output().includes('media task failed'), { what: 'a failed rendering' });
  expect(await statusOfWaiting()).toBe('processing');
  const refused = await upload();
  const { error } = (await refused.json()) as { error: { code: string } };
  expect([refused.status, error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await readinessOf(running)).toMatchObject({ status: 503, waiting_for: ['image_library'] });
  await waitFor(() => running.output().includes('Could not load the \\"sharp\\" module'), {
    what: 'the reason in the log',
  });

  rmSync(broken);
  expect((await readinessOf(running)).status).toBe(200);
  expect((await upload()).status).toBe(201);
  await waitFor(async () => (await statusOfWaiting()) === 'ready', { what: 'the picture' });
  expect(await running.end('SIGTERM')).toBe(0);
});
