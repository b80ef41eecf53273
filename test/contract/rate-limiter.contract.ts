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
const PUBLIC: Tier = { burst: 15, refill_per_s: 10 / 60, limit: 10, per_day: 100 };

/**
 * Tests what every rate limiter guarantees (shared/ports/rate-limiter.ts). The tests of `takeToken` cover the
 * arithmetic.
 */
export function rateLimiterContract(
  name: string,
  open: () => Promise<RateLimiterUnderTest>,
  { shared }: { readonly shared: boolean },
): void {
  describe(`rate limiter on ${name}`, () => {
    let under_test: RateLimiterUnderTest;
    let limiter: RateLimiter;

    beforeEach(async () => {
      under_test = await open();
      limiter = bounded(under_test.limiter, 'rate limiter');
    });
    afterEach(() => within(under_test.dispose(), 'everything under test to close'));

    test('allows a burst, then refuses, then allows the tokens refilled since', async () => {
      for (let n = 0; n < 15; n++) {
        const verdict = await limiter.take('key:a', PUBLIC, NOON_MS);
        expect(verdict).toMatchObject({ allowed: true, limit: 10, remaining: Math.min(10, 14 - n) });
      }
      const refused = await limiter.take('key:a', PUBLIC, NOON_MS);
      expect(refused).toMatchObject({ allowed: false, remaining: 0, retry_after_s: 6 });
      expect(refused.reset_s).toBe(NOON_MS / 1000 + 60);
      expect(await limiter.take('key:a', PUBLIC, NOON_MS + 6_000)).toMatchObject({ allowed: true });
      expect(await limiter.take('key:a', PUBLIC, NOON_MS + 6_000)).toMatchObject({ allowed: false });
    });

    test('a refused request costs no token', async () => {
      for (let n = 0; n < 15; n++) await limiter.take('key:a', PUBLIC, NOON_MS);
      for (let n = 0; n < 50; n++) await limiter.take('key:a', PUBLIC, NOON_MS + n);
      expect(await limiter.take('key:a', PUBLIC, NOON_MS + 6_000)).toMatchObject({ allowed: true });
    });

    test('each subject has its own bucket, whatever characters its name has', async () => {
      const subjects = ['key:a', 'key:A', 'ip:::1', 'ip:::', "auth:token:'x", 'ключ'];
      for (const subject of subjects)
        for (let n = 0; n < 15; n++)
          expect(await limiter.take(subject, PUBLIC, NOON_MS)).toMatchObject({ allowed: true });
      for (const subject of subjects)
        expect(await limiter.take(subject, PUBLIC, NOON_MS)).toMatchObject({ allowed: false });
    });

    test('the daily limit applies until the end of the UTC day, then resets', async () => {
      const tier: Tier = { ...PUBLIC, per_day: 12 };
      for (let n = 0; n < 12; n++) await limiter.take('key:a', tier, NOON_MS);
      const refused = await limiter.take('key:a', tier, NOON_MS + 60_000);
      const midnight_s = NOON_MS / 1000 + 43_200;
      expect(refused).toMatchObject({ allowed: false, remaining: 0, reset_s: midnight_s });
      expect(refused.retry_after_s).toBe(43_200 - 60);
      expect(await limiter.take('key:a', tier, midnight_s * 1000)).toMatchObject({ allowed: true });
    });

    test('of many concurrent requests, exactly as many are allowed as there are tokens', async () => {
      const verdicts = await Promise.all(
        Array.from({ length: 100 }, () => limiter.take('key:a', PUBLIC, NOON_MS)),
      );
      expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(15);
    });

    test('concurrent requests of several subjects take from their own buckets', async () => {
      const subjects = ['key:a', 'key:b', 'key:c'];
      const tier = (subject: string): Tier => (subject === 'key:c' ? { ...PUBLIC, burst: 5 } : PUBLIC);
      const asked = Array.from({ length: 60 }, (_, n) => subjects[n % 3]!);
      const verdicts = await Promise.all(
        asked.map((subject) => limiter.take(subject, tier(subject), NOON_MS)),
      );
      const allowed = subjects.map(
        (subject) => verdicts.filter((verdict, n) => asked[n] === subject && verdict.allowed).length,
      );
      expect(allowed).toEqual([15, 15, 5]);
      const left = await limiter.take('key:a', PUBLIC, NOON_MS + 6_000);
      expect(left).toMatchObject({ allowed: true, remaining: 0 });
    });

    if (shared)
      test('processes that share the counters share the limit', async () => {
        const limiters = [limiter, await under_test.openAnother!(), await under_test.openAnother!()];
        const verdicts = await Promise.all(
          Array.from({ length: 99 }, (_, n) => limiters[n % 3]!.take('key:a', PUBLIC, NOON_MS)),
        );
        expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(15);
      });
  });
}
