import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'libsql';
import { SqliteIdempotencyStore } from '../../shared/adapters/sqlite/idempotency-store';
import { withTempDir } from '../support/temp-dir';
import { idempotencyStoreContract } from './idempotency-store.contract';
import { inFolder } from './in-folder';

idempotencyStoreContract('SQLite', async () => {
  const { openAnother, dispose } = inFolder((folder) =>
    SqliteIdempotencyStore.open({ file: join(folder, 'idempotency.sqlite') }),
  );
  return { store: await openAnother(), openAnother, dispose };
});

const A_CLAIM = {
  ...{ fingerprint: 'f', holder: 'h', now_ms: 1_000, locked_until_ms: 1_010 },
  ...{ expires_at_ms: 200_000, records_max: 100 },
};

test('the idempotency store on SQLite keeps no lock and no old view of the file after it has waited for another process', () =>
  withTempDir(async (folder) => {
    const file = join(folder, 'idempotency.sqlite');
    const store = await SqliteIdempotencyStore.open({ file });
    const other = new Database(file, { timeout: 0 });
    other.exec('CREATE TABLE written (round INTEGER)');
    const answered = { status: 200, headers: {}, body: '{}' };
    const keyOf = (round: number) => ({ api_key_id: 'a', idempotency_key: String(round) });
    await store.claim(keyOf(0), A_CLAIM);
    for (let round = 1; round <= 20; round++) {
      // A claim and an answer of concurrent requests wait for the lock.
      other.exec('BEGIN IMMEDIATE');
      other.exec(`INSERT INTO written VALUES (${round})`);
      const claim = store.claim(keyOf(round), A_CLAIM);
      const answer = store.storeAnswer(keyOf(round - 1), 'h', answered, 200_000);
      await nextTurn();
      other.exec('COMMIT');
      expect(await answer).toBe(true);
      // What was acknowledged is stored, and a checkpoint can empty the write-ahead log.
      const stored = other.prepare('SELECT count(*) FROM operations WHERE answer IS NOT NULL').raw();
      expect(stored.all([])).toEqual([[round]]);
      expect(await claim).toMatchObject({ outcome: 'claimed' });
      const [[busy]] = other.prepare('PRAGMA wal_checkpoint(TRUNCATE)').raw().all([]) as [[number]];
      expect(busy).toBe(0);
    }
    other.close();
    await store.close();
  }));

test('the idempotency store on SQLite uses the pages of expired operations again', async () => {
  await withTempDir(async (folder) => {
    const file = join(folder, 'idempotency.sqlite');
    const store = await SqliteIdempotencyStore.open({ file });
    const sizes: unknown[] = [];
    for (let day = 0; day < 5; day++) {
      // Faster than once per interval of the sweep, as with several busy API keys.
      for (let n = 0; n < 500; n++) {
        const now_ms = day * 86_400_000 + n;
        const times = { now_ms, locked_until_ms: now_ms + 10, expires_at_ms: now_ms + 80_000_000 };
        const key = { api_key_id: 'a', idempotency_key: `${day}-${n}` };
        await store.claim(key, { fingerprint: 'f', holder: 'h', ...times, records_max: 1_000 });
      }
      const database = new Database(file);
      sizes.push(database.prepare('SELECT count(*) FROM operations').raw().get());
      database.close();
    }
    expect(sizes).toEqual([[500], [500], [500], [500], [500]]);
    const database = new Database(file);
    const [pages] = database.prepare('PRAGMA page_count').raw().get() as [number];
    expect(pages).toBeLessThan(60);
    database.close();
    await store.close();
  });
});
