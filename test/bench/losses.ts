import { median, ratios } from './statistics';

/** A figure that costs more than this many times what it cost before is a loss. */
export const GROWTH_MAX = 1.1;
/** One in twenty values of a normal distribution lies further than this many standard deviations above the mean. */
const Z = 1.64;

export interface Growth {
  /** How many times what the other build costs this build costs: the median of the rounds. */
  readonly times: number;
  readonly is_loss: boolean;
}

/**
 * Compares what both builds cost, such as CPU time, in rounds that alternated, so that what disturbs a round disturbs the
 * other build's round of the same number, too. Lower is better.
 */
export function growthOf(now: readonly number[], before: readonly number[]): Growth {
  const times_by_round = ratios(now, before);
  const dearer = times_by_round.filter((times) => times > GROWTH_MAX);
  const is_clear = dearer.length >= now.length * shareMin(now.length);
  return { times: median(times_by_round), is_loss: dearer.length > 0 && is_clear };
}

/**
 * Returns in which share of the rounds a loss must show. The more rounds, the lower: a busy machine disturbs single rounds
 * (one-sided sign test at 5 %, https://en.wikipedia.org/wiki/Sign_test).
 */
const shareMin = (rounds: number): number => Math.min(1, 0.5 + (0.5 * Z) / Math.sqrt(rounds));
