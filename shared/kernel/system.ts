import { randomFillSync } from 'node:crypto';
import type { RandomBytes } from './ids';

const POOL_BYTES = 4_096;

/** Sources of time and randomness. Passed as an argument, so that tests can replace them. */
export interface System {
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly random: RandomBytes;
}

export const realSystem: System = { now: Date.now, random: pooledRandom() };

/**
 * Draws random bytes from the operating system in blocks, because every request needs a few and a system call is
 * slow. Returns each byte once, and erases it from the block.
 */
function pooledRandom(): RandomBytes {
  const pool = new Uint8Array(POOL_BYTES);
  let used = POOL_BYTES;
  return (size) => {
    if (size > POOL_BYTES) return randomFillSync(new Uint8Array(size));
    if (used + size > POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    const bytes = pool.slice(used, used + size);
    pool.fill(0, used, used + size);
    used += size;
    return bytes;
  };
}

/** `2026-01-31T12:00:00.000Z` (docs/interface/requests.md#ids-and-timestamps). */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}
