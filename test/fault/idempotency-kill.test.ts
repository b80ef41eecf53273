import { pause } from '../../shared/kernel/async';
import { fetch } from '../support/fetch';
import { Fleet } from '../support/fleet';
import { createSecretKey, fetchToken } from '../support/merchant';
import { preload } from '../support/preload';
import { endAll, startProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

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

test('two processes on one folder of which one is killed, then the other, write each key once, and no write is stuck', async () => {
  await withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder, DEMO: 'off', RATE_LIMIT_SECRET: '100000/10000000/100000' };
    const key = await createSecretKey(settings);
    const fleet = new Fleet(settings);
    const commands = ['command-1', 'command-2'] as const;
    await fleet.start(...commands, 'worker-1', 'query-1');
    const urls = commands.map((name) => fleet.url(name));
    const token = await fetchToken(urls[0]!, key);
    const statuses = new Set<number>();
    const ids: string[] = [];
    let stopped = false;

    /** Repeats the write through the processes in turn until it is answered. A killed process's lock answers 409. */
    async function writeOnce(idempotency_key: string, first: number): Promise<void> {
      for (let attempt = first; ; attempt++) {
        const answer = await fetch(`${urls[attempt % 2]}/api/publication`, {
          method: 'POST',
          headers: {
            ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json' },
            'idempotency-key': idempotency_key,
          },
          body: JSON.stringify({ title: idempotency_key, price_currency: 'USD', price_amount: 5 }),
        }).catch(() => undefined);
        if (!answer) continue;
        statuses.add(answer.status);
        if (answer.status === 201)
          return void ids.push(((await answer.json()) as { data: { id: string } }).data.id);
        await answer.text();
        if (answer.status !== 409 && answer.status !== 503) return;
        await pause(100);
      }
    }
    async function writeMany(writer: string, first: number): Promise<void> {
      for (let n = 0; !stopped; n++) await writeOnce(`${writer}-${n}`, first + n);
    }
    const writers = ['a', 'b', 'c', 'd'].map(writeMany);
    for (const name of commands) {
      const written = ids.length;
      await waitFor(() => ids.length >= written + 40, { what: '40 writes' });
      await fleet.end(name, 'SIGKILL');
      await fleet.start(name);
      urls[commands.indexOf(name)] = fleet.url(name);
    }
    stopped = true;
    await Promise.all(writers);

    statuses.delete(409);
    statuses.delete(503);
    expect([...statuses]).toEqual([201]);
    expect(new Set(ids).size).toBe(ids.length);
    const countStored = async (): Promise<number> => {
      const list = await fetch(`${fleet.url('query-1')}/api/publications?limit=1`, {
        headers: { authorization: `Bearer ${token}` },
      });
      return ((await list.json()) as { meta: { item_count: number } }).meta.item_count;
    };
    await waitFor(async () => (await countStored()) === ids.length, { what: 'all publications' });
    expect(fleet.faults).toEqual([]);
    await fleet.stop();
  });
});
