import { cpSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { pino } from 'pino';
import { verify } from '../../projections/maintenance/verify';
import { openRuntime } from '../../services/boot/runtime';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import { childrenOf, isRunning } from '../support/children';
import { fetch } from '../support/fetch';
import { type LargeLog, writeLargeLog } from '../support/large-log';
import { fetchToken } from '../support/merchant';
import { endAll, type RunningProcess, type StartOptions, startProcess } from '../support/processes';
import { type Readiness, readinessOf } from '../support/readiness';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

/*
 * The all-in-one service on embedded stores projects in a process of its own. The service answers while that process
 * works, crashes and is started again, and nothing is lost.
 */

/** Enough for several jobs of the largest size, each of which takes hundreds of milliseconds of CPU. */
const PUBLICATIONS = 3_000;
/** A busy machine projects a hundred events per second. */
const CATCH_UP_MS_MAX = 120_000;

let log: LargeLog;
let unprojected: TempDir;
/** With documents of the whole log. */
let projected: TempDir;
let folder: TempDir;

beforeAll(async () => {
  [unprojected, projected] = [makeTempDir(), makeTempDir()];
  log = await writeLargeLog(unprojected.path, PUBLICATIONS);
  cpSync(unprojected.path, projected.path, { recursive: true });
  await (await startIn(projected)).end('SIGTERM');
});
afterAll(() => {
  for (const created of [unprojected, projected]) created.remove();
});

beforeEach(() => {
  folder = makeTempDir();
});
afterEach(() => {
  endAll();
  folder.remove();
});

const startIn = ({ path }: TempDir, options: StartOptions = {}): Promise<RunningProcess> =>
  startProcess(
    'services/boot/main.js',
    { DATA_DIR: path },
    { starts_within_ms: CATCH_UP_MS_MAX, ...options },
  );

/** Starts the service on a copy of the folder. */
function start(original: TempDir, options: StartOptions = {}): Promise<RunningProcess> {
  cpSync(original.path, folder.path, { recursive: true });
  return startIn(folder, options);
}

const projectionsOf = (running: RunningProcess): Promise<number> =>
  waitFor(() => childrenOf(running.child.pid!, 'projections')[0], { what: 'a projection process' });

/** Returns how many events of the log are not projected, in a realm with one store. */
const behindOf = ({ live: { lag = [Number.POSITIVE_INFINITY] } }: Readiness): number => Math.max(...lag);

/** Waits until the catch-up is in progress: some events are projected, and some are not. */
const untilCatchingUp = (running: RunningProcess, less_than = PUBLICATIONS): Promise<Readiness> =>
  waitFor(
    async () => {
      const readiness = await readinessOf(running);
      return behindOf(readiness) > 0 && behindOf(readiness) < less_than && readiness;
    },
    { what: 'a catch-up in progress' },
  );

const untilReady = (running: RunningProcess): Promise<unknown> =>
  waitFor(async () => (await readinessOf(running)).status === 200, {
    timeout_ms: CATCH_UP_MS_MAX,
    what: 'the service to be ready',
  });

/** Expects that every publication is shown, and that the documents are those of a fresh fold of the log. */
async function expectComplete(running: RunningProcess): Promise<void> {
  const headers = { authorization: `Bearer ${await fetchToken(running.url, log.secret_key)}` };
  const list = await fetch(`${running.url}/api/publications?limit=1`, { headers });
  const { meta } = (await list.json()) as { meta: { item_count: number } };
  expect(meta.item_count).toBe(PUBLICATIONS);
  expect(await running.end('SIGTERM')).toBe(0);
  const silent = pino({ level: 'silent' });
  const runtime = await openRuntime(parseConfig({ DATA_DIR: folder.path }), silent, realSystem);
  const { events, viewStores } = runtime;
  const parts = { events: events.live, views: viewStores.live, system: realSystem, log: silent };
  const { differences } = await verify({ realm: 'live', ...parts });
  await runtime.close();
  expect(differences).toEqual([]);
}

test('a service with a long log listens at once, and shows how far behind it is', async () => {
  const running = await start(unprojected, { catches_up: false });
  const first = await readinessOf(running);
  expect([first.status, first.waiting_for]).toEqual([503, expect.arrayContaining(['catch_up'])]);

  const progress = new Set<number>();
  for (let readiness = first; readiness.status === 503; readiness = await readinessOf(running))
    progress.add(behindOf(readiness));
  expect(progress.size).toBeGreaterThan(2);
  const token = await fetchToken(running.url, log.secret_key);
  const reply = await fetch(`${running.url}/api/store`, { headers: { authorization: `Bearer ${token}` } });
  expect(reply.status).toBe(200);
  await expectComplete(running);
});

test('after crashes of the projection process, the service starts it again, answers meanwhile, and shows every event', async () => {
  const running = await start(unprojected, { catches_up: false });
  for (let crash = 0, behind = PUBLICATIONS; crash < 2; crash++) {
    behind = behindOf(await untilCatchingUp(running, behind));
    const pid = await projectionsOf(running);
    process.kill(pid, 'SIGKILL');
    await waitFor(async () => {
      const { live } = await readinessOf(running);
      return live.pipeline === 'restarting' || (await projectionsOf(running)) !== pid;
    });
  }
  await untilReady(running);
  expect((await readinessOf(running)).live.pipeline).toBe('running');
  const crashes = running.warnings.filter((line) => line.includes('the projection process has crashed'));
  expect(crashes).toHaveLength(2);
  await expectComplete(running);
});

test('documents of another schema are rebuilt in a process of their own', async () => {
  cpSync(projected.path, folder.path, { recursive: true });
  const catalogue = new Database(join(folder.path, 'live', 'views.sqlite'));
  catalogue.exec('UPDATE versions SET schema = schema - 1');
  catalogue.close();
  const running = await startIn(folder, { catches_up: false });
  const projections = await projectionsOf(running);
  const pid = await waitFor(() => childrenOf(projections, 'maintenance')[0], { what: 'a rebuild' });
  await untilReady(running);
  await waitFor(() => !isRunning(pid), { what: 'the end of the rebuild' });
  await expectComplete(running);
});

test('a write during a crash of the projection process is acknowledged, and shown when the process runs again', async () => {
  const running = await start(projected);
  const token = await fetchToken(running.url, log.secret_key);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  process.kill(await projectionsOf(running), 'SIGKILL');
  const body = JSON.stringify({ title: 'Written meanwhile', price_currency: 'USD', price_amount: 1 });
  const written = await fetch(`${running.url}/api/publication`, { method: 'POST', headers, body });
  expect(written.status).toBe(201);
  const { data } = (await written.json()) as { data: { id: string } };
  await waitFor(async () => {
    const reply = await fetch(`${running.url}/api/publication/${data.id}`, { headers });
    return reply.status === 200;
  });
  expect(await running.end('SIGTERM')).toBe(0);
});

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'after %s during a catch-up, no projection process remains, and the next start continues',
  async (signal) => {
    const running = await start(unprojected, { catches_up: false });
    await untilCatchingUp(running);
    const pid = await projectionsOf(running);
    expect(await running.end(signal)).toBe(signal === 'SIGTERM' ? 0 : null);
    await waitFor(() => !isRunning(pid), { what: 'the projection process to end' });
    await expectComplete(await startIn(folder));
  },
);

test('a signal to all processes of the service, as from a terminal, is a graceful stop', async () => {
  const running = await start(projected);
  process.kill(await projectionsOf(running), 'SIGINT');
  expect(await running.end('SIGINT')).toBe(0);
  expect(running.warnings).toEqual([]);
});
