import { cpSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { verify } from '../../projections/maintenance/verify';
import { LIST_FILE } from '../../shared/adapters/sqlite/view-store';
import { realSystem } from '../../shared/kernel/system';
import { childrenOf, isRunning } from '../support/children';
import { fetch } from '../support/fetch';
import { type LargeLog, writeLargeLog } from '../support/large-log';
import { fetchToken, project, withRuntime } from '../support/merchant';
import { endAll, type RunningProcess, type StartOptions, startProcess } from '../support/processes';
import { type Readiness, readinessOf } from '../support/readiness';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

/*
 * The all-in-one service on embedded stores projects in a process of its own. The service answers while that process
 * works, crashes and is started again, and nothing is lost.
 */

/** Enough for several jobs of the largest size, each of which takes hundreds of milliseconds of CPU. */
const PUBLICATIONS = 2_000;
/** A busy machine projects a hundred events per second. */
const CATCH_UP_MS_MAX = 120_000;

let folder: TempDir;
beforeEach(() => {
  folder = makeTempDir();
});
afterEach(() => {
  endAll();
  folder.remove();
});

const start = (options: StartOptions = {}): Promise<RunningProcess> =>
  startProcess('services/boot/main.js', { DATA_DIR: folder.path }, { catches_up: false, ...options });

const projectionsOf = (running: RunningProcess): Promise<number> =>
  waitFor(() => childrenOf(running.child.pid!, 'projections')[0], { what: 'a projection process' });

/** Returns how many events of the log are not projected, in a realm with one store. */
const behindOf = ({ live: { lag = [Number.POSITIVE_INFINITY] } }: Readiness): number => Math.max(...lag);

/** Waits until some events are projected. The others may be, too: a fast machine projects them between two looks. */
const untilSomeProjected = (running: RunningProcess): Promise<unknown> =>
  waitFor(async () => behindOf(await readinessOf(running)) < PUBLICATIONS, { what: 'a projected event' });

const untilReady = (running: RunningProcess): Promise<unknown> =>
  waitFor(async () => (await readinessOf(running)).status === 200, {
    timeout_ms: CATCH_UP_MS_MAX,
    what: 'the service to be ready',
  });

/** Expects that every publication is shown, and that the documents are those of a fresh fold of the log. */
async function expectComplete(running: RunningProcess, log: LargeLog): Promise<void> {
  const headers = { authorization: `Bearer ${await fetchToken(running.url, log.secret_key)}` };
  const list = await fetch(`${running.url}/api/publications?limit=1`, { headers });
  const { meta } = (await list.json()) as { meta: { item_count: number } };
  expect(meta.item_count).toBe(log.publications);
  expect(await running.end('SIGTERM')).toBe(0);
  const differences = await withRuntime({ DATA_DIR: folder.path }, async ({ events, viewStores, log }) => {
    const parts = { events: events.live, views: viewStores.live, system: realSystem, log };
    return (await verify({ realm: 'live', ...parts })).differences;
  });
  expect(differences).toEqual([]);
}

describe('a long log', () => {
  let log: LargeLog;
  let unprojected: TempDir;
  beforeAll(async () => {
    unprojected = makeTempDir();
    log = await writeLargeLog(unprojected.path, PUBLICATIONS);
  });
  afterAll(() => unprojected.remove());
  beforeEach(() => cpSync(unprojected.path, folder.path, { recursive: true }));

  test('does not delay the start, which shows how far behind the service is, also while its projections crash', async () => {
    const running = await start();
    const first = await readinessOf(running);
    expect([first.status, first.waiting_for]).toEqual([503, expect.arrayContaining(['catch_up'])]);
    for (let crash = 0; crash < 2; crash++) {
      await untilSomeProjected(running);
      const pid = await projectionsOf(running);
      process.kill(pid, 'SIGKILL');
      await waitFor(async () => {
        const { live } = await readinessOf(running);
        return live.pipeline === 'restarting' || (await projectionsOf(running)) !== pid;
      });
    }
    await untilReady(running);
    // The service is ready without its projections if every event is projected.
    await waitFor(async () => (await readinessOf(running)).live.pipeline === 'running');
    const crashes = running.warnings.filter((line) => line.includes('the projection process has crashed'));
    expect(crashes).toHaveLength(2);
    const metrics = await (await fetch(`${running.url}/metrics`)).text();
    expect(metrics).toContain('catalog_process_restarts_total{process="projections"} 2');
    await expectComplete(running, log);
  });

  test('is continued by the next start after a stop and after a kill, which leave no projection process', async () => {
    for (const [signal, code] of [
      ['SIGTERM', 0],
      ['SIGKILL', null],
    ] as const) {
      const running = await start();
      await untilSomeProjected(running);
      const pid = await projectionsOf(running);
      expect(await running.end(signal)).toBe(code);
      await waitFor(() => !isRunning(pid), { what: 'the projection process to end' });
    }
    await expectComplete(await start({ catches_up: true, starts_within_ms: CATCH_UP_MS_MAX }), log);
  });
});

test('documents of another schema are rebuilt in a process of their own, and a write during a crash of the projections is shown', async () => {
  const log = await writeLargeLog(folder.path, 20);
  await withRuntime({ DATA_DIR: folder.path }, project);
  const catalogue = new Database(join(folder.path, 'live', LIST_FILE));
  catalogue.exec('UPDATE versions SET schema = schema - 1');
  catalogue.close();
  const running = await start();
  const rebuilding = await projectionsOf(running);
  const pid = await waitFor(() => childrenOf(rebuilding, 'maintenance')[0], { what: 'a rebuild' });
  await untilReady(running);
  await waitFor(() => !isRunning(pid), { what: 'the end of the rebuild' });

  const token = await fetchToken(running.url, log.secret_key);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  process.kill(rebuilding, 'SIGKILL');
  const body = JSON.stringify({ title: 'Written meanwhile', price_currency: 'USD', price_amount: 1 });
  const written = await fetch(`${running.url}/api/publication`, { method: 'POST', headers, body });
  expect(written.status).toBe(201);
  const { data } = (await written.json()) as { data: { id: string } };
  await waitFor(async () => {
    const reply = await fetch(`${running.url}/api/publication/${data.id}`, { headers });
    return reply.status === 200;
  });
  await expectComplete(running, { ...log, publications: log.publications + 1 });
});

test('a signal to all processes of the service, as from a terminal, is a graceful stop', async () => {
  const running = await start({ catches_up: true });
  process.kill(await projectionsOf(running), 'SIGINT');
  expect(await running.end('SIGINT')).toBe(0);
  expect(running.warnings).toEqual([]);
});
