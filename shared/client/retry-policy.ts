import type { Clock } from './clock.js';
import type { Outcome } from './exchange.js';

/** How often and for how long the client repeats a request. */
export interface RetryPolicy {
  readonly clock: Clock;
  /** Returns a number from 0 to below 1. */
  readonly random: () => number;
  /** Maximum number of retries after a lost response or a 5xx. */
  readonly retries: number;
  /** Maximum sum of the waits of one call, in milliseconds. */
  readonly total_ms: number;
}

const BACKOFF_FIRST_MS = 250;
const BACKOFF_MAX_MS = 8_000;
/** Upper bound of the random delay that is added to `Retry-After`, so that clients do not all retry at the same time. */
const JITTER_MAX_MS = 250;

/**
 * Calls `attempt` until its outcome is final, the retries are used up, or the next wait would exceed `total_ms`.
 * Returns the last outcome. Repeating is safe for every operation: reads change nothing, and writes carry an
 * `Idempotency-Key`.
 */
export async function withRetries(
  attempt: () => Promise<Outcome>,
  policy: RetryPolicy,
  signal?: AbortSignal,
): Promise<Outcome> {
  let left_ms = policy.total_ms;
  for (let failures = 0; ; ) {
    const outcome = await attempt();
    const retry = classify(outcome);
    if (retry === 'final') return outcome;
    if (retry === 'failed' && failures++ >= policy.retries) return outcome;
    const wait_ms = waitBeforeRetry(outcome, retry, failures, policy);
    if (wait_ms > left_ms) return outcome;
    left_ms -= wait_ms;
    await policy.clock.wait(wait_ms, signal);
  }
}

/**
 * `final`: no retry. `postponed`: the service did nothing and asks the client to come back later. `failed`: the
 * service may or may not have carried out the request.
 */
type Classification = 'final' | 'postponed' | 'failed';

function classify(outcome: Outcome): Classification {
  if ('lost' in outcome) return outcome.is_final ? 'final' : 'failed';
  if (outcome.status >= 500) return 'failed';
  return outcome.status === 429 || isStillRunning(outcome.body) ? 'postponed' : 'final';
}

/** Whether an earlier request with this `Idempotency-Key`, whose response was lost, is still running. */
function isStillRunning(body: unknown): boolean {
  const { error } = (body ?? {}) as { error?: { code?: unknown } };
  return error?.code === 'RESOURCE_LOCKED';
}

function waitBeforeRetry(
  outcome: Outcome,
  retry: 'postponed' | 'failed',
  failures: number,
  { clock, random }: RetryPolicy,
): number {
  const requested_ms = 'lost' in outcome ? 0 : requestedWait(outcome.headers, clock.now());
  if (retry === 'postponed') return (requested_ms || BACKOFF_FIRST_MS) + random() * JITTER_MAX_MS;
  const backoff_ms = Math.min(BACKOFF_FIRST_MS * 2 ** (failures - 1), BACKOFF_MAX_MS);
  return Math.max(requested_ms, backoff_ms / 2) + (random() * backoff_ms) / 2;
}

/** Returns `Retry-After` in milliseconds, else the time until `X-RateLimit-Reset` if no requests are left, else 0. */
function requestedWait(headers: Headers, now_ms: number): number {
  const retry_after = headers.get('retry-after') ?? '';
  if (/^\d+$/.test(retry_after)) return Number(retry_after) * 1_000;
  const reset = headers.get('x-ratelimit-reset') ?? '';
  const is_used_up = headers.get('x-ratelimit-remaining') === '0';
  return is_used_up && /^\d+$/.test(reset) ? Math.max(0, Number(reset) * 1_000 - now_ms) : 0;
}
