import { appendFileSync } from 'node:fs';

/** Long runs are chosen by TEST_LONG=1 (`npm run test:long`). */
export const IS_LONG = process.env.TEST_LONG === '1';

/** Every random test follows from this seed, so that a run can be repeated. `npm run test:long` takes a new one each round. */
export const SEED = Number(process.env.TEST_SEED ?? 1);

/** Returns how many random cases to run. `npm run test:long` adds up the long numbers and prints their sum. */
export const runs = (short: number, long: number): number => {
  const count = IS_LONG ? long : short;
  if (process.env.TEST_RUNS_FILE) appendFileSync(process.env.TEST_RUNS_FILE, `${count}\n`);
  return count;
};

/** Options of `fc.assert`. */
export const cases = (short = 100, long = 20 * short) => ({ seed: SEED, numRuns: runs(short, long) });
