import type { Clock } from './clock';
import type { Outcome } from './exchange';

export interface Patience {
  readonly clock: Clock;
  readonly random: () => number;
  /** After no answer or a 5xx. */
  readonly retries: number;
  /** Of all waits of one call together. */
  readonly total_ms: number;
}

const BACKOFF_FIRST_MS = 250;
const BACKOFF_MAX_MS = 8_000;
/** Added to what the service asks for, so that those who were refused together do not come back together. */
const SPREAD_MS = 250;

/**
 * Repeats until the outcome stands, the retries are used up, or the next wait would be beyond the patience; then the
 * last outcome is given. Every operation may be repeated: reads change nothing, and writes carry an Idempotency-Key.
 */
export async function patiently(
  attempt: () => Promise<Outcome>,
  patience: Patience,
  signal?: AbortSignal,
): Promise<Outcome> {
  let left_ms = patience.total_ms;
  for (let failures = 0; ; ) {
    const outcome = await attempt();
    const refusal = refusalOf(outcome);
    if (refusal === 'none') return outcome;
    if (refusal === 'failure' && failures++ >= patience.retries) return outcome;
    const wait_ms = waitFor(outcome, refusal, failures, patience);
    if (wait_ms > left_ms) return outcome;
    left_ms -= wait_ms;
    await patience.clock.wait(wait_ms, signal);
  }
}

/** `later`: nothing was done, and the service says when to come back. `failure`: nobody knows what was done. */
function refusalOf(outcome: Outcome): 'none' | 'later' | 'failure' {
  if ('lost' in outcome || outcome.status >= 500) return 'failure';
  return outcome.status === 429 || isRunning(outcome.body) ? 'later' : 'none';
}

/** The first request with this Idempotency-Key, whose answer was lost, still runs. */
function isRunning(body: unknown): boolean {
  const { error } = (body ?? {}) as { error?: { code?: unknown } };
  return error?.code === 'RESOURCE_LOCKED';
}

function waitFor(
  outcome: Outcome,
  refusal: 'later' | 'failure',
  failures: number,
  { clock, random }: Patience,
): number {
  const asked_ms = 'lost' in outcome ? 0 : askedFor(outcome.headers, clock.now());
  if (refusal === 'later') return (asked_ms || BACKOFF_FIRST_MS) + random() * SPREAD_MS;
  const backoff_ms = Math.min(BACKOFF_FIRST_MS * 2 ** (failures - 1), BACKOFF_MAX_MS);
  return Math.max(asked_ms, backoff_ms / 2) + (random() * backoff_ms) / 2;
}

/** `Retry-After` in seconds, or else the time until `X-RateLimit-Reset` of a refusal; 0 where neither is said. */
function askedFor(headers: Headers, now_ms: number): number {
  const after = headers.get('retry-after') ?? '';
  if (/^\d+$/.test(after)) return Number(after) * 1_000;
  const reset = headers.get('x-ratelimit-reset') ?? '';
  const is_spent = headers.get('x-ratelimit-remaining') === '0';
  return is_spent && /^\d+$/.test(reset) ? Math.max(0, Number(reset) * 1_000 - now_ms) : 0;
}
