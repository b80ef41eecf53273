/** Returns a number from 0 to 1, excluding 1. */
export type Random = () => number;

/** Returns a generator of pseudo-random numbers (mulberry32). The same seed gives the same numbers. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns a seed for item `index` of a run with this seed, so that each item can be made without those before it. */
export function seedOf(seed: number, index: number): number {
  return Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(index + 1, 0xc2b2ae35);
}

/** Returns an integer from `min` to `max`, both included. */
export const integer = (random: Random, min: number, max: number): number =>
  min + Math.floor(random() * (max - min + 1));

/** Returns one of the items, each with the same probability. */
export const oneOf = <T>(random: Random, items: readonly T[]): T =>
  items[integer(random, 0, items.length - 1)]!;

/**
 * Draws ranks 0 to `count - 1` with Zipf frequencies: rank r is drawn with a probability proportional to
 * 1 / (r + 1)^`exponent`. Keeps one number per rank in memory.
 */
export class Zipf {
  private readonly sums: Float64Array;

  constructor(count: number, exponent = 1) {
    this.sums = new Float64Array(count);
    let sum = 0;
    for (let rank = 0; rank < count; rank++) {
      sum += (rank + 1) ** -exponent;
      this.sums[rank] = sum;
    }
  }

  draw(random: Random): number {
    const target = random() * this.sums[this.sums.length - 1]!;
    let [low, high] = [0, this.sums.length - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.sums[middle]! > target) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
