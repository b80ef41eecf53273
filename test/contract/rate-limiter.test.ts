import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { MemoryRateLimiter } from '../../shared/adapters/in-process/rate-limiter';
import { SqliteRateLimiter } from '../../shared/adapters/sqlite/rate-limiter';
import type { Tier } from '../../shared/ports/rate-limiter';
import { makeTempDir, withTempDir } from '../support/temp-dir';
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
    const folder = makeTempDir();
    const opened: SqliteRateLimiter[] = [];
    const openAnother = async (): Promise<SqliteRateLimiter> => {
      const limiter = await SqliteRateLimiter.open({ file: join(folder.path, 'limits.sqlite'), now });
      opened.push(limiter);
      return limiter;
    };
    const dispose = async (): Promise<void> => {
      for (const limiter of opened) await limiter.close();
      folder.remove();
    };
    return { limiter: await openAnother(), openAnother, dispose };
  },
  { shared: true },
);

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

  test('replaces a damaged file by an empty one', async () => {
    await withTempDir(async (folder) => {
      const file = join(folder, 'limits.sqlite');
      writeFileSync(file, 'no database '.repeat(500));
      const limiter = await SqliteRateLimiter.open({ file });
      expect((await limiter.take('key:a', TIER)).remaining).toBe(1);
      await limiter.close();
    });
  });
});
