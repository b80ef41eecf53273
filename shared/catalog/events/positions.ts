import type { Position } from './envelope';

/** Returns the smallest position. The list must not be empty. (`Math.min` does not support bigint.) */
export function least(positions: readonly Position[]): Position {
  let found = positions[0]!;
  for (const position of positions) if (position < found) found = position;
  return found;
}

/** Returns the greatest position. The list must not be empty. */
export function greatest(positions: readonly Position[]): Position {
  let found = positions[0]!;
  for (const position of positions) if (position > found) found = position;
  return found;
}
