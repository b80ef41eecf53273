/** What the HTTP edge tells whoever counts. Calls are cheap and never throw. */
export interface HttpMetrics {
  /** `route` is the pattern, such as `/api/listing/:id`, or `none` for an unknown path. */
  requestFinished(sample: { method: string; route: string; status: number; duration_ms: number }): void;
  /** The shared limiter could not be asked: this process limits on its own (decisions §8). */
  limiterFellBack(): void;
}
