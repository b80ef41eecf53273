import { join } from 'node:path';
import { fetch } from '../support/fetch';
import { createSecretKey, fetchToken } from '../support/merchant';
import { endAll, startProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';

const preload = (...names: string[]): string =>
  names.map((name) => `--require ${join(__dirname, '..', 'support', `${name}.js`)}`).join(' ');
const HOUR_MS = 3_600_000;
/** Duration of a lock (docs/interface.md#idempotency). */
const LOCK_S = 10;

afterEach(endAll);

async function client(url: string, key: string) {
  const token = await fetchToken(url, key);
  const send = async (method: string, path: string, idempotency_key: string, body?: object) => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'idempotency-key': idempotency_key,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  return send;
}

test('a write repeated after a kill -9 between append and answer is found in the log and not repeated', async () => {
  await withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder };
    const key = await createSecretKey(settings);
    const tea = { title: 'Tea', price_currency: 'USD', price_amount: 5 };

    // The clock of this process is an hour ahead. The next process therefore finds the lock in place, however long its
    // start takes.
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
    // The stored answer has survived the kill.
    const replay = await after('POST', '/api/publication', 'harmless', tea);
    expect([replay.status, replay.text, replay.headers.get('idempotent-replayed')]).toEqual([
      201,
      first.text,
      'true',
    ]);
    // The dead process's lock blocks the repetition until it ends.
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
    const after_lock = await client(later.url, key);
    const answered = await after_lock('POST', '/api/publication', 'fatal', tea);
    expect([answered.status, answered.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    expect((await after_lock('POST', '/api/publication', 'fatal', tea)).text).toBe(answered.text);

    const list = await after_lock('GET', '/api/publications', 'unused');
    const { data } = JSON.parse(list.text) as { data: { id: string }[] };
    expect(data.map(({ id }) => id).sort()).toEqual(
      [JSON.parse(first.text).data.id, JSON.parse(answered.text).data.id].sort(),
    );
    expect(await later.end('SIGTERM')).toBe(0);
  });
});
