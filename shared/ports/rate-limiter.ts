/** The limits of a subject: a token bucket and, for API keys, requests per UTC day (docs/interface.md#rate-limits). */
export interface Tier {
  /** Capacity of the bucket, in tokens. */
  readonly burst: number;
  /** Tokens that the bucket regains per second. */
  readonly refill_per_s: number;
  /**
   * The rate that `X-RateLimit-Limit` shows to clients: requests per minute, for `/auth` per second. `remaining` is
   * never above it, even if `burst` is.
   */
  readonly limit: number;
  /** Requests per UTC day. Null: no daily limit. */
  readonly per_day: number | null;
}

export interface Verdict {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Time at which `remaining` is at its maximum again, Unix seconds. Value of `X-RateLimit-Reset`. */
  readonly reset_s: number;
  /** Seconds until one more request is allowed. 0 if this one is allowed. */
  readonly retry_after_s: number;
}

/** Arguments of one `take`. `now_ms`: Unix milliseconds. */
export interface Take {
  /**
   * What is limited: `key:<API key id>`, `ip:<address>`, `auth:<endpoint>:<API key id or ip:address>` or
   * `options:ip:<address>`.
   */
  readonly subject: string;
  readonly tier: Tier;
  readonly now_ms: number;
}

/**
 * Limits the rate of requests per subject.
 *
 * `take`
 * - Takes one token from the subject's bucket, and counts the request for the UTC day if the tier has `per_day`.
 * - Exact over all processes that share the store.
 * - A refused request takes no token and is not counted.
 */
export interface RateLimiter {
  take(subject: string, tier: Tier, now_ms: number): Promise<Verdict>;
  close(): Promise<void>;
}
