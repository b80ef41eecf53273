/** A call that takes longer halves the batch. It is much less than the deadline of a call. */
const SLOW_MS = 1_000;
/** A full batch that takes less doubles the next one. */
const QUICK_MS = 300;

/**
 * How many documents one call reads or writes. Adapts to the server: with a fixed number under a fixed deadline, a slow
 * server would never complete a call, and each repetition would be as large.
 */
export class BatchSize {
  private readonly max: number;
  private size: number;

  constructor(max: number) {
    this.max = max;
    this.size = max;
  }

  get documents(): number {
    return this.size;
  }

  /** Runs a call with `count` documents. Its time decides about the size of the next calls, also if it fails. */
  async measure<Result>(count: number, call: () => Promise<Result>): Promise<Result> {
    const started_ms = performance.now();
    try {
      return await call();
    } finally {
      this.report(count, performance.now() - started_ms);
    }
  }

  /** Reports that a call with `count` documents has ended, or failed, after `elapsed_ms`. */
  report(count: number, elapsed_ms: number): void {
    if (elapsed_ms > SLOW_MS) this.size = Math.max(1, Math.floor(Math.min(count, this.size) / 2));
    else if (elapsed_ms < QUICK_MS && count >= this.size) this.size = Math.min(this.max, this.size * 2);
  }
}
