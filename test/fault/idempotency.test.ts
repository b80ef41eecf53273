import { join } from 'node:path';
import Database from 'libsql';
import { IDEMPOTENCY_FILE } from '../../shared/adapters/sqlite/idempotency-store';
import { pause } from '../../shared/kernel/async';
import { realSystem } from '../../shared/kernel/system';
import { fetch } from '../support/fetch';
import { type Harness, startHarness } from '../support/harness';
import { runs } from '../support/long';
import { lostRecordsStories } from '../support/lost-records';
import { preload } from '../support/preload';
import { endAll, startProcess } from '../support/processes';
import { waitFor } from '../support/wait-for';

lostRecordsStories('SQLite', async () => ({
  lose: async ({ data_dir }) => {
    const file = new Database(join(data_dir, IDEMPOTENCY_FILE));
    file.exec('DELETE FROM operations');
    file.close();
  },
}));

const KILLS = runs(1, 5);
const RETRY_MS = 20;
/** More than the duration of a lock (docs/interface/writes.md#idempotency). */
const AFTER_LOCKS_MS = 11_000;

describe('two processes on one folder', () => {
  let harness: Harness;
  let ahead_ms = 0;
  beforeAll(async () => {
    harness = await startHarness({ system: { ...realSystem, now: () => Date.now() + ahead_ms } });
  });
  afterAll(async () => {
    endAll();
    await harness?.close();
  });

  test('write each key once if one of them is killed, and no write is stuck', async () => {
    const { store_id, secret } = await harness.newShop();
    const { token } = secret;
    const startOther = () =>
      startProcess('services/boot/main.js command', {
        ...harness.settings,
        LOG_LEVEL: 'info',
        NODE_OPTIONS: preload('clock-ahead'),
        CLOCK_AHEAD_MS: String(ahead_ms),
      });
    let other = await startOther();
    const statuses = new Set<number>();
    const ids: string[] = [];
    let stopped = false;

    /** Repeats the write through the processes in turn until it is answered. A killed process's lock answers 409. */
    async function writeOnce(idempotency_key: string, first: number): Promise<void> {
      for (let attempt = first; ; attempt++) {
        const answer = await fetch(`${attempt % 2 ? harness.url : other.url}/api/publication`, {
          method: 'POST',
          headers: {
            ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json' },
            'idempotency-key': idempotency_key,
          },
          body: JSON.stringify({ title: idempotency_key, price_currency: 'USD', price_amount: 5, store_id }),
        }).catch(() => undefined);
        if (!answer) {
          await pause(RETRY_MS);
          continue;
        }
        statuses.add(answer.status);
        if (answer.status === 201)
          return void ids.push(((await answer.json()) as { data: { id: string } }).data.id);
        await answer.text();
        if (answer.status !== 409 && answer.status !== 503) return;
        await pause(RETRY_MS);
      }
    }
    async function writeMany(writer: string, first: number): Promise<void> {
      for (let n = 0; !stopped; n++) await writeOnce(`${writer}-${n}`, first + n);
    }
    const writers = ['a', 'b', 'c', 'd'].map(writeMany);
    const wait = (): Promise<unknown> => {
      const written = ids.length;
      return waitFor(() => ids.length >= written + 40, { what: '40 writes' });
    };
    for (let kill = 0; kill < KILLS; kill++) {
      await wait();
      await other.end('SIGKILL');
      // The locks of the killed process have ended now.
      ahead_ms += AFTER_LOCKS_MS;
      other = await startOther();
    }
    await wait();
    stopped = true;
    await Promise.all(writers);

    statuses.delete(409);
    statuses.delete(503);
    expect([...statuses]).toEqual([201]);
    expect(new Set(ids).size).toBe(ids.length);
    await harness.settled();
    const stored = await harness.request('GET', '/api/publications?limit=1', { token });
    expect(stored.body.meta.item_count).toBe(ids.length);
    expect(other.faults).toEqual([]);
    expect(await other.end('SIGTERM')).toBe(0);
  });
});
