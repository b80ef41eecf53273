import { randomBytes } from 'node:crypto';
import type { RandomBytes } from './ids';

/** Time and randomness arrive as data: a test passes its own. */
export interface System {
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly random: RandomBytes;
}

export const realSystem: System = { now: Date.now, random: randomBytes };

/** `2026-01-31T12:00:00.000Z` (decisions §1). */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}
