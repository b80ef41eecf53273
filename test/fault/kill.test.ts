import { pino } from 'pino';
import { verify } from '../../projections/maintenance/verify';
import { openRuntime } from '../../services/boot/runtime';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import { fetch } from '../support/fetch';
import { createSecretKey, fetchToken } from '../support/merchant';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

const log = pino({ level: 'silent' });
afterEach(endAll);

/** Requests per minute, per day, and burst: more than this test sends. */
const NO_RATE_LIMIT = '1000000/100000000/1000000';

interface Acknowledged {
  readonly id: string;
  readonly title: string;
}

/** Writes until the connection breaks. Records the writes that were answered with 201. */
async function writeUntilDead(
  url: string,
  token: string,
  name: string,
  acknowledged: Acknowledged[],
): Promise<void> {
  for (let i = 0; ; i++) {
    const title = `${name} ${i}`;
    const body = JSON.stringify({ title, price_currency: 'USD', price_amount: i });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    try {
      const reply = await fetch(`${url}/api/publication`, { method: 'POST', headers, body });
      const answer = (await reply.json()) as { data: { id: string } };
      if (reply.status === 201) acknowledged.push({ id: answer.data.id, title });
    } catch {
      return;
    }
  }
}

async function killInTheMiddle(
  running: RunningProcess,
  token: string,
  writes: number,
): Promise<Acknowledged[]> {
  const acknowledged: Acknowledged[] = [];
  const writers = ['a', 'b', 'c', 'd'].map((name) => writeUntilDead(running.url, token, name, acknowledged));
  const killer = (async () => {
    await waitFor(() => acknowledged.length >= writes, { what: `${writes} acknowledged writes` });
    await running.end('SIGKILL');
  })();
  await Promise.all([...writers, killer]);
  return acknowledged;
}

test('no acknowledged write is missing after the service was killed -9 during writes and started again', async () => {
  await withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder, RATE_LIMIT_SECRET: NO_RATE_LIMIT };
    const key = await createSecretKey(settings);
    const acknowledged: Acknowledged[] = [];
    for (const writes of [40, 80]) {
      const running = await startProcess('services/boot/main.js', settings);
      acknowledged.push(...(await killInTheMiddle(running, await fetchToken(running.url, key), writes)));
    }

    const running = await startProcess('services/boot/main.js', settings);
    const headers = { authorization: `Bearer ${await fetchToken(running.url, key)}` };
    const missing: Acknowledged[] = [];
    for (const written of acknowledged) {
      const reply = await fetch(`${running.url}/api/publication/${written.id}`, { headers });
      const body = (await reply.json()) as { data?: { title: string } };
      if (reply.status !== 200 || body.data?.title !== written.title) missing.push(written);
    }
    const list = await fetch(`${running.url}/api/publications?limit=1`, { headers });
    const { meta } = (await list.json()) as { meta: { item_count: number } };
    const exit_code = await running.end('SIGTERM');

    expect(acknowledged.length).toBeGreaterThanOrEqual(120);
    expect(missing).toEqual([]);
    // A write whose answer was lost may be stored as well: at most one per writer and kill.
    expect(meta.item_count).toBeGreaterThanOrEqual(acknowledged.length);
    expect(meta.item_count).toBeLessThanOrEqual(acknowledged.length + 8);
    expect(exit_code).toBe(0);

    const runtime = await openRuntime(parseConfig({ DATA_DIR: folder }), log, realSystem);
    const parts = { events: runtime.events.live, views: runtime.viewStores.live, system: realSystem, log };
    const report = await verify({ realm: 'live', ...parts });
    await runtime.close();
    expect(report.differences).toEqual([]);
    expect(report.clean).toBe(true);
  });
});
