import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { parseState, RedisRateLimiter } from '../../shared/adapters/redis/rate-limiter';
import { type BucketState, takeToken } from '../../shared/adapters/token-bucket';
import type { RateLimiter, Tier, Verdict } from '../../shared/ports/rate-limiter';
import { cases } from '../support/long';
import { aName, describeOn } from '../support/real-servers';
import { type OwnServer, startOwnServer } from '../support/servers/own-server';
import { FAILS_WITHIN_MS, RECOVERS_WITHIN_MS, waitFor, within } from '../support/wait-for';
import { rateLimiterContract } from './rate-limiter.contract';

const NOON_MS = Date.parse('2026-01-31T12:00:00.000Z');
const DAY_MS = 86_400_000;
/** Blocks the event loop of this process. */
const block = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
/** No token comes back while a test runs. */
const SLOW: Tier = { burst: 15, refill_per_s: 1 / 3600, limit: 10, per_day: null };
const PUBLIC: Tier = { burst: 15, refill_per_s: 10 / 60, limit: 10, per_day: 100 };
/** For tests that are not about deadlines: on a busy machine Redis may take longer than the default deadline. */
const LONG_DEADLINE = { command_ms: 60_000 };

describeOn('REDIS_URL', 'on a real server', (url) => {
  rateLimiterContract(
    'Redis',
    async (now) => {
      const prefix = aName();
      const opened: RateLimiter[] = [];
      const openAnother = async (): Promise<RateLimiter> => {
        const limiter = await RedisRateLimiter.open({ url, prefix, now, ...LONG_DEADLINE });
        opened.push(limiter);
        return limiter;
      };
      const dispose = async (): Promise<void> => {
        for (const limiter of opened) await limiter.close();
      };
      return { limiter: await openAnother(), openAnother, dispose };
    },
    { shared: true },
  );

  describe('the script in Redis and takeToken', () => {
    const tier: fc.Arbitrary<Tier> = fc.record({
      burst: fc.integer({ min: 1, max: 40 }),
      refill_per_s: fc.integer({ min: 1, max: 600 }).map((per_minute) => per_minute / 60),
      limit: fc.integer({ min: 1, max: 40 }),
      per_day: fc.option(fc.integer({ min: 1, max: 60 })),
    });
    /** Milliseconds since the request before: mostly few, sometimes hours, sometimes negative. */
    const gap = fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: 0, max: 400 }) },
      { weight: 2, arbitrary: fc.integer({ min: 0, max: 30_000 }) },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: DAY_MS }) },
      { weight: 1, arbitrary: fc.integer({ min: -60_000, max: 0 }) },
      { weight: 1, arbitrary: fc.double({ min: 0, max: 500, noNaN: true }) },
    );
    const tiers = fc.tuple(tier, tier);
    /** The gap before the requests, and the number of concurrent requests. */
    const step = fc.tuple(
      gap,
      fc.oneof(
        { weight: 3, arbitrary: fc.constant(1) },
        { arbitrary: fc.integer({ min: 2, max: 30 }), weight: 1 },
      ),
    );

    test('compute the same verdicts and exactly the same state', async () => {
      const prefix = aName();
      let now_ms = NOON_MS;
      const limiter = await RedisRateLimiter.open({ url, prefix, now: () => now_ms, ...LONG_DEADLINE });
      const redis = new Redis(url);
      let run = 0;
      await fc.assert(
        fc.asyncProperty(tiers, fc.array(step, { minLength: 1, maxLength: 60 }), async (tiers, steps) => {
          const subject = `key:${++run}`;
          let state: BucketState | undefined;
          now_ms = NOON_MS;
          for (const [index, [gap_ms, count]] of steps.entries()) {
            now_ms += gap_ms;
            // The tier changes after 30 steps.
            const tier = tiers[index > 30 ? 1 : 0];
            const at_once = Array.from({ length: count }, () => limiter.take(subject, tier));
            const expected = at_once.map(() => {
              const taken = takeToken(state, tier, now_ms);
              state = taken.state;
              return taken.verdict;
            });
            expect(await Promise.all(at_once)).toEqual(expected);
            expect(parseState((await redis.get(`${prefix}:limit:${subject}`)) ?? '')).toEqual(state);
          }
        }),
        cases(60),
      );
      redis.disconnect();
      await limiter.close();
    });
  });

  test('a process whose clock is ahead gets no tokens and no day early: time is that of Redis', async () => {
    const prefix = aName();
    const redis = new Redis(url);
    const limiters: RateLimiter[] = [];
    for (let n = 0; n < 2; n++) limiters.push(await RedisRateLimiter.open({ url, prefix, ...LONG_DEADLINE }));
    const [right, ahead] = limiters as [RateLimiter, RateLimiter];
    const takeAhead = async (subject: string, tier: Tier): Promise<Verdict> => {
      const machine = Date.now;
      const clock = jest.spyOn(Date, 'now').mockImplementation(() => machine() + 2 * DAY_MS);
      try {
        return await ahead.take(subject, tier);
      } finally {
        clock.mockRestore();
      }
    };

    for (let n = 0; n < 15; n++) expect(await right.take('key:a', SLOW)).toMatchObject({ allowed: true });
    expect(await takeAhead('key:a', SLOW)).toMatchObject({ allowed: false });
    const redis_s = Number((await redis.time())[0]);
    const { reset_s, retry_after_s } = await takeAhead('key:a', SLOW);
    expect(Math.abs(reset_s - retry_after_s - (redis_s + 9 * 3600))).toBeLessThan(60);
    expect(await right.take('key:a', SLOW)).toMatchObject({ allowed: false });

    const daily: Tier = { ...SLOW, burst: 1_000, per_day: 3 };
    for (let n = 0; n < 3; n++) await right.take('key:b', daily);
    expect(await takeAhead('key:b', daily)).toMatchObject({ allowed: false });
    redis.disconnect();
    for (const limiter of limiters) await limiter.close();
  });

  test('a stall of the event loop is no outage of Redis: the bucket stays the shared one', async () => {
    const limiter = await RedisRateLimiter.open({ url, prefix: aName(), command_ms: 250 });
    await waitFor(() => limiter.take('key:a', { ...SLOW, burst: 1 }));
    for (let stall = 0; stall < 3; stall++) {
      const taking = limiter.take('key:a', { ...SLOW, burst: 1 });
      // The limiter sends what it has collected in the next turn.
      await nextTurn();
      block(1_000);
      expect(await taking).toMatchObject({ allowed: false });
    }
    await limiter.close();
  });

  test('Redis expires a bucket some time after it is full again', async () => {
    const prefix = aName();
    const now = () => DAY_MS - 1_000;
    const limiter = await RedisRateLimiter.open({ url, prefix, now, ...LONG_DEADLINE });
    await limiter.take('key:a', { ...PUBLIC, per_day: null });
    const redis = new Redis(url);
    const kept_ms = await redis.pttl(`${prefix}:limit:key:a`);
    expect(kept_ms).toBeGreaterThan(6_000);
    expect(kept_ms).toBeLessThan(120_000);
    redis.disconnect();
    await limiter.close();
  });
});

describeOn('REDIS_URL', 'the rate limiter while Redis stops and restarts', () => {
  let server: OwnServer;
  let limiter: RedisRateLimiter;

  const take = () => limiter.take('key:a', SLOW);
  async function expectRefusal(): Promise<void> {
    const taking = within(take(), 'the call to fail', FAILS_WITHIN_MS);
    await expect(taking).rejects.toMatchObject({ condition: 'unavailable' });
  }

  beforeEach(async () => {
    server = await startOwnServer('redis');
  });
  afterEach(async () => {
    await limiter.close();
    await server.dispose();
  });

  test('fails at once while Redis is stopped, and continues with the same counts when it is back', async () => {
    limiter = await RedisRateLimiter.open({ url: server.url, ...LONG_DEADLINE });
    await take();
    await server.stop();
    for (let n = 0; n < 3; n++) await expectRefusal();
    await server.start();
    const verdict = await waitFor(() => take(), { timeout_ms: RECOVERS_WITHIN_MS });
    expect(verdict).toMatchObject({ allowed: true });
    for (let n = 0; n < 13; n++) await take();
    expect(await take()).toMatchObject({ allowed: false });
  });

  test('fails within the deadline while Redis does not answer', async () => {
    limiter = await RedisRateLimiter.open({ url: server.url });
    await waitFor(() => take());
    await server.freeze();
    await Promise.all([expectRefusal(), expectRefusal()]);
    await server.thaw();
    await waitFor(() => take(), { timeout_ms: RECOVERS_WITHIN_MS });
  });

  test('opens before Redis starts', async () => {
    await server.stop();
    limiter = await RedisRateLimiter.open({ url: server.url });
    await expectRefusal();
    await server.start();
    await waitFor(() => take(), { timeout_ms: RECOVERS_WITHIN_MS });
  });
});
