import type { Tier, Verdict } from '../ports/rate-limiter';

/** What is kept per subject. Both numbers only ever count what was allowed. */
export interface BucketState {
  /** Tokens in the bucket at `at_ms`; a fraction is on its way to the next one. */
  readonly tokens: number;
  readonly at_ms: number;
  /** The UTC day, counted from 1970-01-01, and the requests allowed on it. */
  readonly day: number;
  readonly day_count: number;
}

const DAY_MS = 86_400_000;
/**
 * Processes and requests overtake each other by moments: a `now_ms` that lies back by less than this is taken for
 * the newest one seen. By more, the clock was set back, and time goes on from there.
 */
const CLOCK_JITTER_MS = 10_000;
/** Sums of fractions fall short of whole tokens by less than this. */
const ROUNDING = 1e-9;

/**
 * Takes one token (decisions §8). Undefined stands for a subject that was not seen yet: a full bucket. The given
 * state comes back, the very object, where the request is refused and nothing has to be kept.
 */
export function takeToken(
  state: BucketState | undefined,
  tier: Tier,
  now_ms: number,
): { readonly state: BucketState; readonly verdict: Verdict } {
  const before = refill(state, tier, now_ms);
  const allowed = before.tokens + ROUNDING >= 1 && dayLeft(before, tier) > 0;
  const after = allowed
    ? { ...before, tokens: Math.max(0, before.tokens - 1), day_count: before.day_count + 1 }
    : before;
  const clock_was_set_back = state !== undefined && before.at_ms < state.at_ms;
  return {
    state: allowed || clock_was_set_back || !state ? after : state,
    verdict: {
      allowed,
      limit: tier.limit,
      remaining: Math.min(wholeTokens(after), tier.limit, dayLeft(after, tier)),
      reset_s: Math.ceil(resetMs(after, tier) / 1000),
      retry_after_s: allowed ? 0 : Math.max(1, Math.ceil((nextTokenMs(after, tier) - after.at_ms) / 1000)),
    },
  };
}

/** Unix milliseconds from when on a state says no more than no state at all: until then it has to be kept. */
export function idleFromMs(state: BucketState, tier: Tier): number {
  return Math.max(fullMs(state, tier, tier.burst), endOfDayMs(state));
}

/** The bucket as it stands now, before anything is taken. */
function refill(state: BucketState | undefined, tier: Tier, now_ms: number): BucketState {
  if (!state) return { tokens: tier.burst, at_ms: now_ms, day: dayOf(now_ms), day_count: 0 };
  const overtaken = now_ms < state.at_ms && state.at_ms - now_ms <= CLOCK_JITTER_MS;
  const at_ms = overtaken ? state.at_ms : now_ms;
  const elapsed_s = Math.max(0, at_ms - state.at_ms) / 1000;
  const day = dayOf(at_ms);
  return {
    tokens: Math.min(tier.burst, state.tokens + elapsed_s * tier.refill_per_s),
    at_ms,
    day,
    // A clock set back over midnight does not open the day anew.
    day_count: day > state.day ? 0 : state.day_count,
  };
}

const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);
const endOfDayMs = (state: BucketState): number => (state.day + 1) * DAY_MS;
const wholeTokens = (state: BucketState): number => Math.floor(state.tokens + ROUNDING);

function dayLeft(state: BucketState, tier: Tier): number {
  return tier.per_day === null ? Number.POSITIVE_INFINITY : Math.max(0, tier.per_day - state.day_count);
}

/** When the bucket holds `tokens` again. */
function fullMs(state: BucketState, tier: Tier, tokens: number): number {
  const missing = tokens - state.tokens;
  return missing <= ROUNDING ? state.at_ms : state.at_ms + (missing / tier.refill_per_s) * 1000;
}

/** When `remaining` is back at the most that it can be; not before the day ends where the day is what holds. */
function resetMs(state: BucketState, tier: Tier): number {
  const most = Math.min(tier.limit, tier.burst);
  const full_ms = fullMs(state, tier, most);
  return dayLeft(state, tier) < most ? Math.max(full_ms, endOfDayMs(state)) : full_ms;
}

function nextTokenMs(state: BucketState, tier: Tier): number {
  const token_ms = fullMs(state, tier, 1);
  return dayLeft(state, tier) === 0 ? Math.max(token_ms, endOfDayMs(state)) : token_ms;
}
