import { LRUCache } from '../../kernel/cache';
import type { RateLimiter, Tier, Verdict } from '../../ports/rate-limiter';
import { type BucketState, takeToken } from '../token-bucket';

const SUBJECTS_MAX = 100_000;

/**
 * Counts the requests of this process only. If there are more than `subjects_max` subjects (100,000 by default), evicts
 * the least recently used one.
 */
export class MemoryRateLimiter implements RateLimiter {
  private readonly states: LRUCache<string, BucketState>;
  private readonly now: () => number;

  /** `now` returns Unix milliseconds; the machine's clock by default. */
  constructor({
    subjects_max = SUBJECTS_MAX,
    now = Date.now,
  }: { subjects_max?: number; now?: () => number } = {}) {
    this.states = new LRUCache({ max: subjects_max });
    this.now = now;
  }

  async take(subject: string, tier: Tier): Promise<Verdict> {
    const { state, verdict } = takeToken(this.states.get(subject), tier, this.now());
    this.states.set(subject, state);
    return verdict;
  }

  async close(): Promise<void> {
    this.states.clear();
  }
}
