/**
 * The limits of a subject: a token bucket and, for API keys, requests per UTC day
 * (docs/interface/access.md#rate-limits).
 */
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
  /** Seconds until one more request is allowed. 0 if this request is allowed. */
  readonly retry_after_s: number;
}

/** Arguments of one `take`. */
export interface Take {
  /**
   * What is limited: `key:<API key id>`, `key:<API key id>:limits-unknown`, `ip:<address>`,
   * `auth:<endpoint>:<API key id or ip:address>` or `options:ip:<address>`.
   */
  readonly subject: string;
  readonly tier: Tier;
}

/** Limits the rate of requests per subject. */
export interface RateLimiter {
  /**
   * Takes one token from the subject's bucket, and counts the request for the UTC day if the tier has `per_day`.
   *
   * - Exact over all processes that share the buckets.
   * - A refused request takes no token and is not counted.
   * - Time is the clock of the database, not of the calling process. So a process whose clock is wrong neither
   *   refills a bucket early nor starts a day early. Memory and a SQLite file belong to one machine and use its
   *   clock.
   */
  take(subject: string, tier: Tier): Promise<Verdict>;

  close(): Promise<void>;
}
