/**
 * State of an `Idempotency-Key` when a write arrived. `first`: new. `resumed`: an earlier run did not finish.
 * `answered`: the response is stored. `locked`: an earlier request is running. `other_request`: used for a different
 * request. `quota_reached`: new, but its API key may have no further record.
 */
export const IDEMPOTENCY_OUTCOMES = [
  'first',
  'resumed',
  'answered',
  'locked',
  'other_request',
  'quota_reached',
] as const;
export type IdempotencyOutcome = (typeof IDEMPOTENCY_OUTCOMES)[number];

/** Receives measurements of the HTTP stages. Implementations are cheap and never throw. */
export interface HttpMetrics {
  /** Called when a request ends. `route` is a pattern such as `/api/listing/:id`, or `none` for an unknown path. */
  requestFinished(sample: { method: string; route: string; status: number; duration_ms: number }): void;
  /** Called when the shared limiter fails and this process limits by itself (docs/interface/access.md#rate-limits). */
  limiterFellBack(): void;
  /** Called for each 429. `area` is `api`, `auth` or `options`; `tier` is `public_key` or `secret_key`. */
  limiterRefused(labels: { area: string; tier: string }): void;
  /** Called for each write with an `Idempotency-Key`. */
  keyClaimed(outcome: IdempotencyOutcome): void;
  /** Called when a run of such a write finds out that its lock has ended. */
  lockLost(): void;
}

/**
 * Called for every look-up in a cache of this process. `cache` is the name of the cache, a label of low cardinality.
 */
export type CacheObserver = (cache: string, hit: boolean) => void;

/** Body of `/metrics`. */
export interface MetricsText {
  readonly content_type: string;
  readonly body: string;
}
