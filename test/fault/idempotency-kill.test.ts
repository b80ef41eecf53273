import { join } from 'node:path';
import { pino } from 'pino';
import { openRuntime } from '../../services/boot/runtime';
import { createAccount } from '../../services/command/account';
import { createApiKey } from '../../services/command/api-key';
import { createStore } from '../../services/command/store';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import { endAll, startProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';

const context = { source: 'cli', request_id: 'kill-test' } as const;
const preload = (...names: string[]): string =>
  names.map((name) => `--require ${join(__dirname, '..', 'support', `${name}.js`)}`).join(' ');
const HOUR_MS = 3_600_000;
/** How long a lock holds (docs/interface.md, "Writing once"). */
const LOCK_S = 10;

afterEach(endAll);

async function secretKey(folder: string): Promise<string> {
  const config = parseConfig({ DATA_DIR: folder, DEMO: 'off' });
  const runtime = await openRuntime(config, pino({ level: 'silent' }), realSystem);
  const deps = { system: realSystem, events: runtime.events };
  const { id: account_id } = (await createAccount(deps, context, { name: 'Killed' })).value;
  const store = await createStore(deps, context, { account_id }, { name: 'Shop', environment: 'live' });
  const grants = { account_id, name: 'writer', type: 'secret' as const, stores: [store.value.id] };
  const { key } = await createApiKey(deps, context, grants);
  await runtime.close();
  return key;
}

async function client(url: string, key: string) {
  const reply = await fetch(`${url}/auth/token`, { method: 'POST', headers: { 'x-api-key': key } });
  const { data } = (await reply.json()) as { data: { token: string } };
  const send = async (method: string, path: string, idempotency_key: string, body?: object) => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${data.token}`,
        'content-type': 'application/json',
        'idempotency-key': idempotency_key,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  return send;
}

test('given a service killed -9 between append and answer, when the write is sent again, then it is found and not repeated', async () => {
  await withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder };
    const key = await secretKey(folder);
    const tea = { title: 'Tea', price_currency: 'USD', price_amount: 5 };

    // Its clock is an hour ahead: to the next process its lock holds for an hour and 10 s, however long a start takes.
    const dying = await startProcess('services/boot/main.js', {
      ...settings,
      NODE_OPTIONS: preload('clock-ahead', 'die-after-append'),
      CLOCK_AHEAD_MS: String(HOUR_MS),
      DIE_AFTER_APPEND_OF: 'fatal',
    });
    const before = await client(dying.url, key);
    const first = await before('POST', '/api/publication', 'harmless', tea);
    expect(first.status).toBe(201);
    await expect(before('POST', '/api/publication', 'fatal', tea)).rejects.toThrow();

    const running = await startProcess('services/boot/main.js', settings);
    const after = await client(running.url, key);
    // The answer that was kept has survived.
    const replay = await after('POST', '/api/publication', 'harmless', tea);
    expect([replay.status, replay.text, replay.headers.get('idempotent-replayed')]).toEqual([
      201,
      first.text,
      'true',
    ]);
    // The dead process' lock holds for its lease, and no longer.
    const locked = await after('POST', '/api/publication', 'fatal', tea);
    expect([locked.status, JSON.parse(locked.text).error.code]).toEqual([409, 'RESOURCE_LOCKED']);
    const wait_s = Number(locked.headers.get('retry-after'));
    expect(wait_s).toBeGreaterThan(0);
    expect(wait_s).toBeLessThanOrEqual(HOUR_MS / 1000 + LOCK_S);
    expect(await running.end('SIGTERM')).toBe(0);

    const later = await startProcess('services/boot/main.js', {
      ...settings,
      NODE_OPTIONS: preload('clock-ahead'),
      CLOCK_AHEAD_MS: String(HOUR_MS + LOCK_S * 1000),
    });
    const again = await client(later.url, key);
    const answered = await again('POST', '/api/publication', 'fatal', tea);
    expect([answered.status, answered.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    expect((await again('POST', '/api/publication', 'fatal', tea)).text).toBe(answered.text);

    const list = await again('GET', '/api/publications', 'unused');
    const { data } = JSON.parse(list.text) as { data: { id: string }[] };
    expect(data.map(({ id }) => id).sort()).toEqual(
      [JSON.parse(first.text).data.id, JSON.parse(answered.text).data.id].sort(),
    );
    expect(await later.end('SIGTERM')).toBe(0);
  });
});
