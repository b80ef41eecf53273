import type { RateLimiter, Tier } from '../../shared/ports/rate-limiter';

/** A limiter that has seen nobody; `again` shares its counters as another process would, where they can be shared. */
export interface RateLimiterUnderTest {
  readonly limiter: RateLimiter;
  readonly again?: () => Promise<RateLimiter>;
  /** Closes every handle and removes what was stored. */
  dispose(): Promise<void>;
}

const NOON_MS = Date.parse('2026-01-31T12:00:00.000Z');
const PUBLIC: Tier = { burst: 15, refill_per_s: 10 / 60, limit: 10, per_day: 100 };

/** What every rate limiter promises (shared/ports/rate-limiter.ts); the numbers are tested with `takeToken`. */
export function rateLimiterContract(name: string, open: () => Promise<RateLimiterUnderTest>): void {
  describe(`rate limiter on ${name}`, () => {
    let given: RateLimiterUnderTest;
    let limiter: RateLimiter;

    beforeEach(async () => {
      given = await open();
      limiter = given.limiter;
    });
    afterEach(() => given.dispose());

    test('allows a burst, then refuses, then allows what has come in since', async () => {
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

    test('what is refused costs nothing', async () => {
      for (let n = 0; n < 15; n++) await limiter.take('key:a', PUBLIC, NOON_MS);
      for (let n = 0; n < 50; n++) await limiter.take('key:a', PUBLIC, NOON_MS + n);
      expect(await limiter.take('key:a', PUBLIC, NOON_MS + 6_000)).toMatchObject({ allowed: true });
    });

    test('subjects do not count against each other, however they are spelt', async () => {
      const subjects = ['key:a', 'key:A', 'ip:::1', 'ip:::', "auth:token:'x", 'ключ'];
      for (const subject of subjects)
        for (let n = 0; n < 15; n++)
          expect(await limiter.take(subject, PUBLIC, NOON_MS)).toMatchObject({ allowed: true });
      for (const subject of subjects)
        expect(await limiter.take(subject, PUBLIC, NOON_MS)).toMatchObject({ allowed: false });
    });

    test('the day’s count holds to the end of the UTC day, then begins anew', async () => {
      const tier: Tier = { ...PUBLIC, per_day: 12 };
      for (let n = 0; n < 12; n++) await limiter.take('key:a', tier, NOON_MS);
      const refused = await limiter.take('key:a', tier, NOON_MS + 60_000);
      const midnight_s = NOON_MS / 1000 + 43_200;
      expect(refused).toMatchObject({ allowed: false, remaining: 0, reset_s: midnight_s });
      expect(refused.retry_after_s).toBe(43_200 - 60);
      expect(await limiter.take('key:a', tier, midnight_s * 1000)).toMatchObject({ allowed: true });
    });

    test('of many that ask at once exactly as many are allowed as there are tokens', async () => {
      const verdicts = await Promise.all(
        Array.from({ length: 100 }, () => limiter.take('key:a', PUBLIC, NOON_MS)),
      );
      expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(15);
    });

    test('of several that ask at once each pays from its own bucket', async () => {
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

    test('processes that share the counters share the limit', async () => {
      if (!given.again) return;
      const limiters = [limiter, await given.again(), await given.again()];
      const verdicts = await Promise.all(
        Array.from({ length: 99 }, (_, n) => limiters[n % 3]!.take('key:a', PUBLIC, NOON_MS)),
      );
      expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(15);
    });
  });
}
