import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'libsql';
import { SqliteConnection } from '../../shared/adapters/sqlite/connection';
import { SqliteIdempotencyStore } from '../../shared/adapters/sqlite/idempotency-store';
import { CatalogError } from '../../shared/kernel/errors';
import { makeTempDir, withTempDir } from '../support/temp-dir';
import { idempotencyStoreContract } from './idempotency-store.contract';

idempotencyStoreContract('SQLite', async () => {
  const folder = makeTempDir();
  const opened: SqliteIdempotencyStore[] = [];
  const openAnother = async (): Promise<SqliteIdempotencyStore> => {
    const store = await SqliteIdempotencyStore.open({ file: join(folder.path, 'idempotency.sqlite') });
    opened.push(store);
    return store;
  };
  const dispose = async (): Promise<void> => {
    for (const store of opened) await store.close();
    folder.remove();
  };
  return { store: await openAnother(), openAnother, dispose };
});

/** Creates a file without the counts of records. */
function createFileOfReleaseBefore(folder: string): { file: string; database: Database.Database } {
  const file = join(folder, 'idempotency.sqlite');
  const database = new Database(file);
  database.exec(`CREATE TABLE operations (api_key_id TEXT NOT NULL, idempotency_key TEXT NOT NULL,
      fingerprint TEXT NOT NULL, started_at_ms INTEGER NOT NULL, holder TEXT, locked_until_ms INTEGER NOT NULL,
      expires_at_ms INTEGER NOT NULL, answer TEXT, PRIMARY KEY (api_key_id, idempotency_key)) STRICT;
    CREATE INDEX operations_expiry ON operations (expires_at_ms);
    PRAGMA user_version = 1`);
  return { file, database };
}

test('the idempotency store on SQLite counts the records of a file of the release before', async () => {
  await withTempDir(async (folder) => {
    const { file, database } = createFileOfReleaseBefore(folder);
    const insert = database.prepare(
      "INSERT OR REPLACE INTO operations VALUES ('a', ?, 'f', 1, NULL, 1, ?, '{}')",
    );
    for (const name of ['one', 'two']) insert.run([name, 100_000]);
    const store = await SqliteIdempotencyStore.open({ file });
    const claim = (idempotency_key: string, now_ms = 1_000) =>
      store.claim(
        { api_key_id: 'a', idempotency_key },
        {
          ...{ fingerprint: 'f', holder: 'h', now_ms, locked_until_ms: now_ms + 10 },
          ...{ expires_at_ms: now_ms + 200_000, records_max: 3 },
        },
      );
    expect(await claim('three')).toMatchObject({ outcome: 'claimed' });
    // A process of that release replaces a row. It is counted once.
    insert.run(['two', 300_000]);
    expect(await claim('four')).toEqual({ outcome: 'quota_reached', free_at_ms: 100_000 });
    expect(await claim('four', 100_000)).toMatchObject({ outcome: 'claimed' });
    expect(await claim('five', 100_000)).toEqual({ outcome: 'quota_reached', free_at_ms: 201_000 });
    database.close();
    await store.close();
  });
});

test('the idempotency store on SQLite recovers from a failed commit of its first claim in a file of the release before', async () => {
  await withTempDir(async (folder) => {
    const { file, database } = createFileOfReleaseBefore(folder);
    database.close();
    const store = await SqliteIdempotencyStore.open({ file });
    const claim = () => store.claim({ api_key_id: 'a', idempotency_key: 'one' }, A_CLAIM);
    const { transaction } = SqliteConnection.prototype;
    const failing = jest.spyOn(SqliteConnection.prototype, 'transaction');
    failing.mockImplementationOnce(function (this: SqliteConnection, work) {
      return transaction.call(this, () => {
        work();
        throw new CatalogError('unavailable', { message: 'the disk is full' });
      }) as ReturnType<typeof work>;
    });
    await expect(claim()).rejects.toMatchObject({ condition: 'unavailable' });
    expect(await claim()).toMatchObject({ outcome: 'claimed', resumed: false });
    failing.mockRestore();
    await store.close();
  });
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

test('the idempotency store on SQLite deletes expired operations', async () => {
  await withTempDir(async (folder) => {
    const file = join(folder, 'idempotency.sqlite');
    const store = await SqliteIdempotencyStore.open({ file });
    const claim = (idempotency_key: string, now_ms: number) =>
      store.claim(
        { api_key_id: 'a', idempotency_key },
        {
          fingerprint: 'f',
          holder: 'h',
          now_ms,
          locked_until_ms: now_ms + 10,
          expires_at_ms: now_ms + 60_000,
          records_max: 1_000,
        },
      );
    for (let n = 0; n < 50; n++) await claim(`old-${n}`, n);
    await claim('new', 100_000);
    const database = new Database(file);
    expect(database.prepare('SELECT idempotency_key FROM operations').all()).toEqual([
      { idempotency_key: 'new' },
    ]);
    database.close();
    await store.close();
  });
});
