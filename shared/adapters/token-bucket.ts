import type { Tier, Verdict } from '../ports/rate-limiter';

/** The stored state of one subject. Only allowed requests change `tokens` and `day_count`. */
export interface BucketState {
  /** Tokens in the bucket at `at_ms`. The fraction is the part of the next token that is already refilled. */
  readonly tokens: number;
  /** Unix milliseconds. */
  readonly at_ms: number;
  /** The UTC day, as the number of days since 1970-01-01. */
  readonly day: number;
  /** Requests allowed on that day. */
  readonly day_count: number;
}

const DAY_MS = 86_400_000;
/**
 * Requests of several processes arrive slightly out of order. If `now_ms` is earlier than the stored time by up to this
 * limit, `takeToken` uses the stored time. If `now_ms` is earlier by more, the clock was set back, and `takeToken`
 * stores the earlier time.
 */
const CLOCK_JITTER_MS = 10_000;
/** Larger than the rounding error of a sum of token fractions. */
const ROUNDING = 1e-9;

/**
 * Takes one token if the bucket and the daily limit allow it (docs/interface/access.md#rate-limits). An undefined `state` is a
 * subject without stored state: its bucket is full. Returns the same `state` object if nothing has to be stored, which
 * is the case for most rejected requests.
 */
export function takeToken(
  state: BucketState | undefined,
  tier: Tier,
  now_ms: number,
): { readonly state: BucketState; readonly verdict: Verdict } {
  const before = refill(state, tier, now_ms);
  const allowed = before.tokens + ROUNDING >= 1 && requestsLeftToday(before, tier) > 0;
  const after = allowed
    ? { ...before, tokens: Math.max(0, before.tokens - 1), day_count: before.day_count + 1 }
    : before;
  const clock_was_set_back = state !== undefined && before.at_ms < state.at_ms;
  return {
    state: allowed || clock_was_set_back || !state ? after : state,
    verdict: {
      allowed,
      limit: tier.limit,
      remaining: Math.min(wholeTokens(after), tier.limit, requestsLeftToday(after, tier)),
      reset_s: Math.ceil(resetAtMs(after, tier) / 1000),
      retry_after_s: allowed
        ? 0
        : Math.max(1, Math.ceil((nextAllowedAtMs(after, tier) - after.at_ms) / 1000)),
    },
  };
}

/**
 * Returns from when on (Unix milliseconds) the state has the same effect as no state, so that a store can delete it.
 */
export function idleFromMs(state: BucketState, tier: Tier): number {
  return Math.max(refilledAtMs(state, tier, tier.burst), endOfDayMs(state));
}

/** Tokens that were taken from a bucket for requests that then did not come. */
export interface UnusedTokens {
  readonly count: number;
  /** Tokens that were taken with them, but for no request. */
  readonly reserve: number;
  /** When they were taken, Unix milliseconds. */
  readonly taken_ms: number;
  /** How many tokens the bucket lacked then. */
  readonly room: number;
}

/**
 * Puts unused tokens back into the bucket and takes their requests off the count of the day. What the bucket has regained
 * since then beyond its room is not put back: with the tokens in it, it would have been full.
 */
export function putBack(
  state: BucketState,
  tier: Tier,
  now_ms: number,
  { count, reserve, taken_ms, room }: UnusedTokens,
): BucketState {
  const before = refill(state, tier, now_ms);
  const regained = (Math.max(0, now_ms - taken_ms) / 1000) * tier.refill_per_s;
  const returned = Math.max(0, count + reserve - Math.max(0, regained - room));
  const counted_today = before.day === dayOf(taken_ms) ? count : 0;
  return {
    ...before,
    tokens: Math.min(tier.burst, before.tokens + returned),
    day_count: Math.max(0, before.day_count - counted_today),
  };
}

/** Returns the state after `count` further requests. The bucket must have tokens for them and for the reserve. */
export function takeAhead(state: BucketState, count: number, reserve: number): BucketState {
  return { ...state, tokens: state.tokens - count - reserve, day_count: state.day_count + count };
}

/** Returns the end of the UTC day of this time, Unix milliseconds. */
export function endOfDayOf(now_ms: number): number {
  return (dayOf(now_ms) + 1) * DAY_MS;
}

/** Returns the bucket refilled up to now, before a token is taken. */
function refill(state: BucketState | undefined, tier: Tier, now_ms: number): BucketState {
  if (!state) return { tokens: tier.burst, at_ms: now_ms, day: dayOf(now_ms), day_count: 0 };
  const is_out_of_order = now_ms < state.at_ms && state.at_ms - now_ms <= CLOCK_JITTER_MS;
  const at_ms = is_out_of_order ? state.at_ms : now_ms;
  const elapsed_s = Math.max(0, at_ms - state.at_ms) / 1000;
  const day = dayOf(at_ms);
  return {
    tokens: Math.min(tier.burst, state.tokens + elapsed_s * tier.refill_per_s),
    at_ms,
    day,
    // If the clock is set back over midnight, the count of the later day stays in force.
    day_count: day > state.day ? 0 : state.day_count,
  };
}

const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);
const endOfDayMs = (state: BucketState): number => (state.day + 1) * DAY_MS;
const wholeTokens = (state: BucketState): number => Math.floor(state.tokens + ROUNDING);

function requestsLeftToday(state: BucketState, tier: Tier): number {
  return tier.per_day === null ? Number.POSITIVE_INFINITY : Math.max(0, tier.per_day - state.day_count);
}

/** Returns when the bucket contains `tokens` again (Unix milliseconds). */
function refilledAtMs(state: BucketState, tier: Tier, tokens: number): number {
  const missing = tokens - state.tokens;
  return missing <= ROUNDING ? state.at_ms : state.at_ms + (missing / tier.refill_per_s) * 1000;
}

/**
 * Returns when `remaining` is at its maximum again. If the daily limit is the lower one, that is the end of the day.
 */
function resetAtMs(state: BucketState, tier: Tier): number {
  const remaining_max = Math.min(tier.limit, tier.burst);
  const full_ms = refilledAtMs(state, tier, remaining_max);
  return requestsLeftToday(state, tier) < remaining_max ? Math.max(full_ms, endOfDayMs(state)) : full_ms;
}

/** Returns when the next request would be allowed (Unix milliseconds). */
function nextAllowedAtMs(state: BucketState, tier: Tier): number {
  const token_ms = refilledAtMs(state, tier, 1);
  return requestsLeftToday(state, tier) === 0 ? Math.max(token_ms, endOfDayMs(state)) : token_ms;
}
