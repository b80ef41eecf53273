/** What an `Idempotency-Key` stood for when a write came with it. */
export type IdempotencyOutcome = 'first' | 'resumed' | 'answered' | 'locked' | 'other_request';

/** What the HTTP edge tells whoever counts. Calls are cheap and never throw. */
export interface HttpMetrics {
  /** `route` is the pattern, such as `/api/listing/:id`, or `none` for an unknown path. */
  requestFinished(sample: { method: string; route: string; status: number; duration_ms: number }): void;
  /** The shared limiter could not be asked: this process limits on its own (decisions §8). */
  limiterFellBack(): void;
  /** `area`: `api`, `auth` or `options`; `tier`: `public_key` or `secret_key`. */
  limiterRefused(labels: { area: string; tier: string }): void;
  keyClaimed(outcome: IdempotencyOutcome): void;
}

/** Told of every look-up in a cache of this process; `cache` is its name, one of a few. */
export type CacheObserver = (cache: string, hit: boolean) => void;

/** The answer of `/metrics`. */
export interface MetricsText {
  readonly content_type: string;
  readonly body: string;
}
