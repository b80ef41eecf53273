import type { Position } from './envelope';

/** Of at least one; `Math.min` knows no bigints. */
export function least(positions: readonly Position[]): Position {
  let found = positions[0]!;
  for (const position of positions) if (position < found) found = position;
  return found;
}

export function greatest(positions: readonly Position[]): Position {
  let found = positions[0]!;
  for (const position of positions) if (position > found) found = position;
  return found;
}
