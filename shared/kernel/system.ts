import { randomFillSync } from 'node:crypto';
import type { RandomBytes } from './ids';

const POOL_BYTES = 4_096;

/** Time and randomness arrive as data: a test passes its own. */
export interface System {
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly random: RandomBytes;
}

export const realSystem: System = { now: Date.now, random: pooledRandom() };

/** Random bytes, drawn from the system many at a time, for every request asks for a few. None is given twice or kept. */
function pooledRandom(): RandomBytes {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;
  return (size) => {
    if (size > POOL_BYTES) return randomFillSync(new Uint8Array(size));
    if (used + size > POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    const given = new Uint8Array(pool.subarray(used, used + size));
    pool.fill(0, used, used + size);
    used += size;
    return given;
  };
}

/** `2026-01-31T12:00:00.000Z` (decisions §1). */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}
