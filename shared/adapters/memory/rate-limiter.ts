import type { RateLimiter, Tier, Verdict } from '../../ports/rate-limiter';
import { type BucketState, takeToken } from '../../ports/token-bucket';

const SUBJECTS_MAX = 100_000;

/** The limits of one process on its own. The subject unseen for longest is forgotten when there are too many. */
export class MemoryRateLimiter implements RateLimiter {
  private readonly subjects_max: number;
  private readonly states = new Map<string, BucketState>();

  constructor(options: { subjects_max?: number } = {}) {
    this.subjects_max = options.subjects_max ?? SUBJECTS_MAX;
  }

  async take(subject: string, tier: Tier, now_ms: number): Promise<Verdict> {
    const { state, verdict } = takeToken(this.states.get(subject), tier, now_ms);
    // Put in anew, so that the map is in the order of last use.
    this.states.delete(subject);
    this.states.set(subject, state);
    if (this.states.size > this.subjects_max) this.forgetOldest();
    return verdict;
  }

  private forgetOldest(): void {
    const oldest = this.states.keys().next().value;
    if (oldest !== undefined) this.states.delete(oldest);
  }

  async close(): Promise<void> {
    this.states.clear();
  }
}
