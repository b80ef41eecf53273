import { pino } from 'pino';
import { verify } from '../../projections/maintenance/verify';
import { openRuntime } from '../../services/boot/runtime';
import { createAccount } from '../../services/command/account';
import { createApiKey } from '../../services/command/api-key';
import { createStore } from '../../services/command/store';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';

const log = pino({ level: 'silent' });
const context = { source: 'cli', request_id: 'kill-test' } as const;
afterEach(endAll);

const HIGH = '1000000/100000000/1000000';

interface Acknowledged {
  readonly id: string;
  readonly title: string;
}

async function secretKey(folder: string): Promise<string> {
  const config = parseConfig({ DATA_DIR: folder, DEMO: 'off' });
  const runtime = await openRuntime(config, log, realSystem);
  const deps = { system: realSystem, events: runtime.events };
  const account = await createAccount(deps, context, { name: 'Killed' });
  const target = { account_id: account.value.id };
  const store = await createStore(deps, context, target, { name: 'Shop', environment: 'live' });
  const grants = { ...target, name: 'writer', type: 'secret' as const, stores: [store.value.id] };
  const { key } = await createApiKey(deps, context, grants);
  await runtime.close();
  return key;
}

async function tokenFor(url: string, key: string): Promise<string> {
  const reply = await fetch(`${url}/auth/token`, { method: 'POST', headers: { 'x-api-key': key } });
  const body = (await reply.json()) as { data: { token: string } };
  return body.data.token;
}

/** Writes until the connection breaks; only what was answered 201 counts. */
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
    while (acknowledged.length < writes) await new Promise((resolve) => setImmediate(resolve));
    await running.end('SIGKILL');
  })();
  await Promise.all([...writers, killer]);
  return acknowledged;
}

test('given writers at work, when the service is killed -9 and started again, then nothing acknowledged is missing', async () => {
  await withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder, RATE_LIMIT_SECRET: HIGH };
    const key = await secretKey(folder);
    const acknowledged: Acknowledged[] = [];
    for (const writes of [40, 80]) {
      const running = await startProcess('services/boot/main.js', settings);
      acknowledged.push(...(await killInTheMiddle(running, await tokenFor(running.url, key), writes)));
    }

    const running = await startProcess('services/boot/main.js', settings);
    const headers = { authorization: `Bearer ${await tokenFor(running.url, key)}` };
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
    // A write whose answer was lost may be there too, at most one per writer and kill.
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
