import { LRUCache } from '../../kernel/cache';
import type { RateLimiter, Tier, Verdict } from '../../ports/rate-limiter';
import { type BucketState, takeToken } from '../token-bucket';

const SUBJECTS_MAX = 100_000;

/**
 * Counts the requests of this process only. If there are more than `subjects_max` subjects (100,000 by default), evicts
 * the least recently used one.
 */
export class MemoryRateLimiter implements RateLimiter {
  /** Undefined before the first request: creating it takes 30 ms, and most processes never need it. */
  private states: LRUCache<string, BucketState> | undefined;
  private readonly subjects_max: number;
  private readonly now: () => number;

  /** `now` returns Unix milliseconds; the machine's clock by default. */
  constructor({
    subjects_max = SUBJECTS_MAX,
    now = Date.now,
  }: { subjects_max?: number; now?: () => number } = {}) {
    this.subjects_max = subjects_max;
    this.now = now;
  }

  async take(subject: string, tier: Tier): Promise<Verdict> {
    this.states ??= new LRUCache({ max: this.subjects_max });
    const { state, verdict } = takeToken(this.states.get(subject), tier, this.now());
    this.states.set(subject, state);
    return verdict;
  }

  async close(): Promise<void> {
    this.states?.clear();
  }
}
