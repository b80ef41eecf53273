import { join } from 'node:path';
import Database from 'libsql';
import { MemoryRateLimiter } from '../../shared/adapters/in-process/rate-limiter';
import { SqliteRateLimiter } from '../../shared/adapters/sqlite/rate-limiter';
import type { Tier } from '../../shared/ports/rate-limiter';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';
import { inFolder } from './in-folder';
import { rateLimiterContract } from './rate-limiter.contract';

rateLimiterContract(
  'memory',
  async (now) => {
    const limiter = new MemoryRateLimiter({ now });
    return { limiter, dispose: () => limiter.close() };
  },
  { shared: false },
);

rateLimiterContract(
  'SQLite',
  async (now) => {
    const { openAnother, dispose } = inFolder((folder) =>
      SqliteRateLimiter.open({ file: join(folder, 'limits.sqlite'), now }),
    );
    return { limiter: await openAnother(), openAnother, dispose };
  },
  { shared: true },
);

describe('leases of the rate limiter on SQLite', () => {
  const BUSY: Tier = { burst: 800, refill_per_s: 10, limit: 600, per_day: 100_000 };
  const NOON_MS = Date.parse('2026-01-31T12:00:00.000Z');
  let now_ms: number;
  let path: string;
  let open: () => Promise<SqliteRateLimiter>;
  let dispose: () => Promise<void>;

  beforeEach(() => {
    now_ms = NOON_MS;
    const opening = (folder: string) =>
      SqliteRateLimiter.open({ file: join(folder, 'limits.sqlite'), now: () => now_ms });
    ({ path, openAnother: open, dispose } = inFolder(opening));
  });
  afterEach(() => dispose());

  const storedTokens = (): number => {
    const database = new Database(join(path, 'limits.sqlite'));
    const row = database.prepare('SELECT tokens FROM buckets').get() as { tokens: number };
    database.close();
    return row.tokens;
  };
  const allowedOf = async (limiter: SqliteRateLimiter, requests: number, tier = BUSY): Promise<number> => {
    let allowed = 0;
    for (let n = 0; n < requests; n++) if ((await limiter.take('key:a', tier)).allowed) allowed++;
    return allowed;
  };

  test('one process shows exactly the tokens that are left, and takes some of them in advance', async () => {
    const limiter = await open();
    for (let n = 1; n <= 300; n++) {
      const { allowed, remaining } = await limiter.take('key:a', BUSY);
      expect({ allowed, remaining }).toEqual({ allowed: true, remaining: Math.min(600, 800 - n) });
    }
    expect(storedTokens()).toBeLessThan(500);
    await limiter.close();
    expect(storedTokens()).toBe(500);
  });

  test('several processes together never allow more than the bucket has', async () => {
    const limiters = [await open(), await open(), await open()];
    let allowed = 0;
    for (let n = 0; n < 3_000; n++) allowed += await allowedOf(limiters[(n % 7) % 3]!, 1);
    expect(allowed).toBe(800);
    // Leases that their process may no longer use do not let the bucket grow above its burst either.
    now_ms += 60_000_000;
    for (const limiter of limiters) allowed += await allowedOf(limiter, 300);
    for (let n = 0; n < 900; n++) allowed += await allowedOf(limiters[n % 3]!, 1);
    expect(allowed).toBe(1_600);
  });

  test('a bucket does not fill up in place of what another process has leased', async () => {
    const [busy, other] = [await open(), await open()];
    const GROWING: Tier = { ...BUSY, refill_per_s: 1_000 };
    await allowedOf(busy, 100, GROWING);
    // Full again, apart from what the first process may still use.
    now_ms += 199;
    const allowed = await allowedOf(other, 900, GROWING);
    const leased = await allowedOf(busy, 300, GROWING);
    expect(leased).toBeGreaterThan(0);
    expect(allowed + leased).toBeGreaterThan(700);
    expect(allowed + leased).toBeLessThanOrEqual(800);
  });

  test('a lease that is put back late brings no more than the bucket has refilled without it', async () => {
    const [held, other] = [await open(), await open()];
    await allowedOf(held, 100);
    // The bucket is full again, and the other process empties it. Only then, the first process goes on.
    now_ms += 60_000_000;
    const allowed = await allowedOf(other, 900);
    await held.close();
    expect(allowed + (await allowedOf(other, 900))).toBe(800);
  });

  test('tokens of a subject that has stopped are put back within a second', async () => {
    const limiter = await open();
    await allowedOf(limiter, 100);
    expect(storedTokens()).toBeLessThan(700);
    now_ms += 200;
    await waitFor(() => storedTokens() >= 700);
  });

  test('a lease ends with the day, because each day counts its own requests', async () => {
    const limiter = await open();
    const tier: Tier = { ...BUSY, per_day: 100 };
    now_ms = Date.parse('2026-01-31T23:59:59.950Z');
    for (let n = 0; n < 40; n++) await limiter.take('key:a', tier);
    now_ms += 50;
    let allowed = 0;
    for (let n = 0; n < 150; n++) if ((await limiter.take('key:a', tier)).allowed) allowed++;
    expect(allowed).toBe(100);
  });
});

describe('the rate limiter in memory', () => {
  const TIER: Tier = { burst: 2, refill_per_s: 1, limit: 2, per_day: null };

  test('evicts the least recently used subject above the maximum', async () => {
    const limiter = new MemoryRateLimiter({ subjects_max: 2, now: () => 0 });
    const take = async (subject: string): Promise<number> => (await limiter.take(subject, TIER)).remaining;
    expect([await take('a'), await take('b'), await take('a')]).toEqual([1, 1, 0]);
    await take('c');
    expect(await take('a')).toBe(0);
    expect(await take('b')).toBe(1);
  });
});

describe('the rate limiter on SQLite', () => {
  const TIER: Tier = { burst: 2, refill_per_s: 1, limit: 2, per_day: null };
  const DAY_MS = 86_400_000;

  test('deletes buckets that are full again', async () => {
    await withTempDir(async (folder) => {
      const file = join(folder, 'limits.sqlite');
      let now_ms = 0;
      const limiter = await SqliteRateLimiter.open({ file, now: () => now_ms });
      for (let n = 0; n < 50; n++) await limiter.take(`ip:${n}`, TIER);
      now_ms = DAY_MS - 1;
      await limiter.take('key:a', TIER);
      now_ms = DAY_MS + 20_000;
      await limiter.take('key:b', TIER);
      const database = new Database(file);
      const rows = database.prepare('SELECT subject FROM buckets').all();
      expect(rows).toEqual([{ subject: 'key:b' }]);
      database.close();
      await limiter.close();
    });
  });
});
