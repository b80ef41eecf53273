/** A token bucket and, for API tiers, one count per UTC day (decisions §8). */
export interface Tier {
  /** The bucket's capacity. */
  readonly burst: number;
  readonly refill_per_s: number;
  /** What `X-RateLimit-Limit` says, and the most that `remaining` says. */
  readonly limit: number;
  readonly per_day: number | null;
}

export interface Verdict {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Unix seconds. */
  readonly reset_s: number;
  /** Seconds until one more request would be allowed; 0 when allowed. */
  readonly retry_after_s: number;
}

/** What a limiter is asked for by one request; `now_ms` in Unix milliseconds. */
export interface Take {
  readonly subject: string;
  readonly tier: Tier;
  readonly now_ms: number;
}

/**
 * Takes one token of `subject`'s bucket (`key:<id>`, `ip:<address>`, `auth:token:<id>`); exact across every process
 * that shares the store. A refused request costs nothing.
 */
export interface RateLimiter {
  take(subject: string, tier: Tier, now_ms: number): Promise<Verdict>;
  close(): Promise<void>;
}
