import type { RateLimiter, Tier } from '../../shared/ports/rate-limiter';
import { bounded } from '../support/bounded';
import { within } from '../support/wait-for';

/** A limiter without counters yet. */
export interface RateLimiterUnderTest {
  readonly limiter: RateLimiter;
  /** Opens the same counters as another process would. Missing if the counters belong to one process. */
  readonly openAnother?: () => Promise<RateLimiter>;
  /** Closes every handle and removes what was stored. */
  dispose(): Promise<void>;
}

const NOON_MS = Date.parse('2026-01-31T12:00:00.000Z');
const MIDNIGHT_MS = NOON_MS + 43_200_000;
const PUBLIC: Tier = { burst: 15, refill_per_s: 10 / 60, limit: 10, per_day: 100 };

/**
 * Tests what every rate limiter guarantees (shared/ports/rate-limiter.ts). The tests of `takeToken` cover the
 * arithmetic. `open` opens a limiter whose clock is `now` (Unix milliseconds), which the tests move.
 */
export function rateLimiterContract(
  name: string,
  open: (now: () => number) => Promise<RateLimiterUnderTest>,
  { shared }: { readonly shared: boolean },
): void {
  describe(`rate limiter on ${name}`, () => {
    let under_test: RateLimiterUnderTest;
    let limiter: RateLimiter;
    let now_ms: number;

    beforeEach(async () => {
      now_ms = NOON_MS;
      under_test = await open(() => now_ms);
      limiter = bounded(under_test.limiter, 'rate limiter');
    });
    afterEach(() => within(under_test.dispose(), 'everything under test to close'));

    test('allows a burst, then refuses, then allows the tokens refilled since', async () => {
      for (let n = 0; n < 15; n++) {
        const verdict = await limiter.take('key:a', PUBLIC);
        expect(verdict).toMatchObject({ allowed: true, limit: 10, remaining: Math.min(10, 14 - n) });
      }
      const refused = await limiter.take('key:a', PUBLIC);
      expect(refused).toMatchObject({ allowed: false, remaining: 0, retry_after_s: 6 });
      expect(refused.reset_s).toBe(NOON_MS / 1000 + 60);
      now_ms += 6_000;
      expect(await limiter.take('key:a', PUBLIC)).toMatchObject({ allowed: true });
      expect(await limiter.take('key:a', PUBLIC)).toMatchObject({ allowed: false });
    });

    test('a refused request costs no token', async () => {
      for (let n = 0; n < 15; n++) await limiter.take('key:a', PUBLIC);
      for (; now_ms < NOON_MS + 50; now_ms++) await limiter.take('key:a', PUBLIC);
      now_ms = NOON_MS + 6_000;
      expect(await limiter.take('key:a', PUBLIC)).toMatchObject({ allowed: true });
    });

    test('each subject has its own bucket, whatever characters its name has', async () => {
      const subjects = ['key:a', 'key:A', 'ip:::1', 'ip:::', "auth:token:'x", 'ключ'];
      for (const subject of subjects)
        for (let n = 0; n < 15; n++)
          expect(await limiter.take(subject, PUBLIC)).toMatchObject({ allowed: true });
      for (const subject of subjects)
        expect(await limiter.take(subject, PUBLIC)).toMatchObject({ allowed: false });
    });

    test('the daily limit applies until the end of the UTC day, then resets', async () => {
      const tier: Tier = { ...PUBLIC, per_day: 12 };
      for (let n = 0; n < 12; n++) await limiter.take('key:a', tier);
      now_ms += 60_000;
      const refused = await limiter.take('key:a', tier);
      expect(refused).toMatchObject({ allowed: false, remaining: 0, reset_s: MIDNIGHT_MS / 1000 });
      expect(refused.retry_after_s).toBe(43_200 - 60);
      now_ms = MIDNIGHT_MS;
      expect(await limiter.take('key:a', tier)).toMatchObject({ allowed: true });
    });

    test('of many concurrent requests, exactly as many are allowed as there are tokens', async () => {
      const verdicts = await Promise.all(Array.from({ length: 100 }, () => limiter.take('key:a', PUBLIC)));
      expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(15);
    });

    test('concurrent requests of several subjects take from their own buckets', async () => {
      const subjects = ['key:a', 'key:b', 'key:c'];
      const tier = (subject: string): Tier => (subject === 'key:c' ? { ...PUBLIC, burst: 5 } : PUBLIC);
      const asked = Array.from({ length: 60 }, (_, n) => subjects[n % 3]!);
      const verdicts = await Promise.all(asked.map((subject) => limiter.take(subject, tier(subject))));
      const allowed = subjects.map(
        (subject) => verdicts.filter((verdict, n) => asked[n] === subject && verdict.allowed).length,
      );
      expect(allowed).toEqual([15, 15, 5]);
      now_ms += 6_000;
      const left = await limiter.take('key:a', PUBLIC);
      expect(left).toMatchObject({ allowed: true, remaining: 0 });
    });

    test('a subject whose limits change has the new ones from the next request on', async () => {
      const HIGHER: Tier = { burst: 30, refill_per_s: 1, limit: 60, per_day: 500 };
      for (let n = 0; n < 16; n++) await limiter.take('key:a', PUBLIC);
      now_ms += 5_000;
      for (let left = 4; left >= 0; left--)
        expect(await limiter.take('key:a', HIGHER)).toMatchObject({
          allowed: true,
          limit: 60,
          remaining: left,
        });
      expect(await limiter.take('key:a', HIGHER)).toMatchObject({ allowed: false, retry_after_s: 1 });
      now_ms += 30_000;
      expect(await limiter.take('key:a', HIGHER)).toMatchObject({ allowed: true, remaining: 29 });
      // Back to the lower limits: no more tokens than their burst.
      for (let n = 0; n < 15; n++)
        expect(await limiter.take('key:a', PUBLIC)).toMatchObject({ allowed: true, limit: 10 });
      expect(await limiter.take('key:a', PUBLIC)).toMatchObject({ allowed: false, retry_after_s: 6 });
    });

    if (shared)
      test('processes that share the counters share the limit', async () => {
        const limiters = [limiter, await under_test.openAnother!(), await under_test.openAnother!()];
        const verdicts = await Promise.all(
          Array.from({ length: 99 }, (_, n) => limiters[n % 3]!.take('key:a', PUBLIC)),
        );
        expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(15);
      });
  });
}
