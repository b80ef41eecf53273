import fc from 'fast-check';
import { type BucketState, idleFromMs, takeToken } from '../../shared/adapters/token-bucket';
import type { Tier } from '../../shared/ports/rate-limiter';
import { cases } from '../support/long';

const NOON_MS = Date.parse('2026-01-31T12:00:00.000Z');
const NOON_S = NOON_MS / 1000;
const MIDNIGHT_S = NOON_S + 43_200;
const DAY_MS = 86_400_000;

const PUBLIC: Tier = { burst: 150, refill_per_s: 100 / 60, limit: 100, per_day: 10_000 };
const AUTH: Tier = { burst: 20, refill_per_s: 10, limit: 10, per_day: null };

/** Takes `count` tokens at one moment. Returns the last verdict and the state after it. */
function take(count: number, tier: Tier, now_ms: number, from?: BucketState) {
  let taken = takeToken(from, tier, now_ms);
  for (let n = 1; n < count; n++) taken = takeToken(taken.state, tier, now_ms);
  return taken;
}

describe('takeToken', () => {
  test('a full bucket reports the limit, although its burst is larger', () => {
    const { verdict } = takeToken(undefined, PUBLIC, NOON_MS);
    expect(verdict).toEqual({
      allowed: true,
      limit: 100,
      remaining: 100,
      reset_s: NOON_S,
      retry_after_s: 0,
    });
    expect(take(50, PUBLIC, NOON_MS).verdict).toMatchObject({ remaining: 100, reset_s: NOON_S });
  });

  test('below the limit it reports the remaining tokens and when the limit is reached again', () => {
    expect(take(51, PUBLIC, NOON_MS).verdict).toMatchObject({ remaining: 99, reset_s: NOON_S + 1 });
    expect(take(110, PUBLIC, NOON_MS).verdict).toMatchObject({ remaining: 40, reset_s: NOON_S + 36 });
  });

  test('allows the whole burst at once, and not one more', () => {
    expect(take(150, PUBLIC, NOON_MS).verdict).toMatchObject({ allowed: true, remaining: 0 });
    expect(take(151, PUBLIC, NOON_MS).verdict).toEqual({
      allowed: false,
      limit: 100,
      remaining: 0,
      reset_s: NOON_S + 60,
      retry_after_s: 1,
    });
  });

  describe('the day', () => {
    const SMALL: Tier = { ...PUBLIC, per_day: 120 };

    test('limits Remaining, and Reset is then the end of the day', () => {
      expect(take(19, SMALL, NOON_MS).verdict).toMatchObject({ remaining: 100, reset_s: NOON_S });
      expect(take(21, SMALL, NOON_MS).verdict).toMatchObject({ remaining: 99, reset_s: MIDNIGHT_S });
      const { state, verdict } = take(121, SMALL, NOON_MS);
      expect(verdict).toEqual({
        allowed: false,
        limit: 100,
        remaining: 0,
        reset_s: MIDNIGHT_S,
        retry_after_s: 43_200,
      });
      expect(takeToken(state, SMALL, MIDNIGHT_S * 1000 - 1).verdict).toMatchObject({
        allowed: false,
        retry_after_s: 1,
      });
      expect(takeToken(state, SMALL, MIDNIGHT_S * 1000).verdict).toMatchObject({
        allowed: true,
        remaining: 100,
      });
    });

    test('does not determine Reset if the bucket refills after midnight', () => {
      const just_before_ms = MIDNIGHT_S * 1000 - 1_000;
      const { verdict } = take(120, SMALL, just_before_ms);
      expect(verdict).toMatchObject({ remaining: 0, reset_s: MIDNIGHT_S - 1 + 42 });
    });

    test('may be smaller than burst and limit', () => {
      const tiny: Tier = { ...PUBLIC, per_day: 3 };
      const remaining = [1, 2, 3, 4].map((count) => take(count, tiny, NOON_MS).verdict.remaining);
      expect(remaining).toEqual([2, 1, 0, 0]);
      expect(take(4, tiny, NOON_MS).verdict.allowed).toBe(false);
    });
  });

  describe('a clock that goes backwards', () => {
    test('by milliseconds refills no token twice', () => {
      let { state } = take(20, AUTH, NOON_MS);
      let allowed = 0;
      for (let n = 0; n < 100; n++) {
        const taken = takeToken(state, AUTH, NOON_MS + (n % 2 ? 90 : 0));
        state = taken.state;
        allowed += +taken.verdict.allowed;
      }
      expect(allowed).toBe(0);
    });

    test('by an hour neither blocks nor gives extra tokens', () => {
      const { state } = take(20, AUTH, NOON_MS);
      const earlier_ms = NOON_MS - 3_600_000;
      const first = takeToken(state, AUTH, earlier_ms);
      expect(first.verdict).toMatchObject({ allowed: false, retry_after_s: 1 });
      expect(takeToken(first.state, AUTH, earlier_ms + 100).verdict.allowed).toBe(true);
    });

    test('over midnight does not reset the daily count', () => {
      const tier: Tier = { ...PUBLIC, per_day: 10 };
      const { state } = take(10, tier, MIDNIGHT_S * 1000 + 1);
      const first = takeToken(state, tier, MIDNIGHT_S * 1000 - 3_600_000);
      expect(first.verdict.allowed).toBe(false);
      expect(takeToken(first.state, tier, MIDNIGHT_S * 1000 - 1).verdict.allowed).toBe(false);
    });
  });

  test('a refused request returns the same state', () => {
    const { state } = take(150, PUBLIC, NOON_MS);
    expect(takeToken(state, PUBLIC, NOON_MS + 300).state).toBe(state);
  });
});

describe('for any tier and any requests', () => {
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
    { weight: 1, arbitrary: fc.integer({ min: -300, max: 0 }) },
  );
  const story = fc.tuple(tier, fc.integer({ min: 0, max: DAY_MS }), fc.array(gap, { maxLength: 150 }));

  /** Runs the requests. Returns each verdict with the newest time so far. */
  function play(tier: Tier, begin_ms: number, gaps: readonly number[]) {
    let state: BucketState | undefined;
    let now_ms = NOON_MS + begin_ms;
    let newest_ms = Number.NEGATIVE_INFINITY;
    return gaps.map((gap_ms) => {
      now_ms += gap_ms;
      newest_ms = Math.max(newest_ms, now_ms);
      const before = state;
      const taken = takeToken(state, tier, now_ms);
      state = taken.state;
      return { before, state, at_ms: newest_ms, verdict: taken.verdict };
    });
  }

  test('in any time window, at most the burst plus the tokens refilled in it are allowed', () => {
    fc.assert(
      fc.property(story, ([tier, begin_ms, gaps]) => {
        const allowed = play(tier, begin_ms, gaps).filter(({ verdict }) => verdict.allowed);
        for (const [first, from] of allowed.entries()) {
          for (const [last, to] of allowed.entries()) {
            if (last < first) continue;
            const refilled = ((to.at_ms - from.at_ms) / 1000) * tier.refill_per_s;
            expect(last - first + 1).toBeLessThanOrEqual(tier.burst + refilled + 1e-6);
          }
        }
      }),
      cases(),
    );
  });

  test('on any UTC day, at most the daily limit is allowed', () => {
    fc.assert(
      fc.property(story, ([tier, begin_ms, gaps]) => {
        const days = new Map<number, number>();
        for (const { verdict, at_ms } of play(tier, begin_ms, gaps)) {
          const day = Math.floor(at_ms / DAY_MS);
          days.set(day, (days.get(day) ?? 0) + +verdict.allowed);
        }
        for (const count of days.values()) expect(count).toBeLessThanOrEqual(tier.per_day ?? Infinity);
      }),
      cases(),
    );
  });

  test('verdicts are consistent: integers within bounds, allowed after Retry-After, at the limit at Reset', () => {
    fc.assert(
      fc.property(story, ([tier, begin_ms, gaps]) => {
        for (const { state, at_ms, verdict } of play(tier, begin_ms, gaps)) {
          expect(Number.isInteger(verdict.remaining) && Number.isInteger(verdict.reset_s)).toBe(true);
          expect(verdict.remaining).toBeGreaterThanOrEqual(0);
          expect(verdict.remaining).toBeLessThanOrEqual(Math.min(tier.limit, tier.burst));
          expect(verdict.reset_s * 1000).toBeGreaterThanOrEqual(at_ms);
          if (verdict.allowed) expect(verdict.retry_after_s).toBe(0);
          else {
            expect(Number.isInteger(verdict.retry_after_s) && verdict.retry_after_s >= 1).toBe(true);
            const later_ms = at_ms + verdict.retry_after_s * 1000;
            expect(takeToken(state, tier, later_ms).verdict.allowed).toBe(true);
          }
          // The request itself takes one token.
          const then = takeToken(state, tier, Math.max(verdict.reset_s * 1000, at_ms)).verdict;
          const most = Math.min(tier.limit, tier.burst, tier.per_day ?? Infinity);
          expect(then.remaining).toBeGreaterThanOrEqual(most - 1);
        }
      }),
      cases(),
    );
  });

  test('from idleFromMs on, a state gives the same verdict as no state', () => {
    fc.assert(
      fc.property(story, ([tier, begin_ms, gaps]) => {
        for (const { state } of play(tier, begin_ms, gaps)) {
          const then_ms = Math.ceil(idleFromMs(state, tier)) + 1;
          expect(takeToken(state, tier, then_ms).verdict).toEqual(
            takeToken(undefined, tier, then_ms).verdict,
          );
        }
      }),
      cases(),
    );
  });
});
