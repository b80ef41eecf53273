import { readFileSync } from 'node:fs';
import { type BucketState, takeToken } from '../../../shared/adapters/token-bucket';

/** Computes the numbers of docs/operations/limits.md again. */
const page = readFileSync('docs/operations/limits.md', 'utf8');

/** Returns the cells of the table whose first title is `title`, without its titles. */
function rowsOf(title: string): string[][] {
  const table = page.slice(page.indexOf(`| ${title}`)).split('\n\n')[0]!;
  const rows = table.split('\n').map((row) => row.split('|').map((cell) => cell.trim()));
  return rows.slice(2).map((cells) => cells.slice(1, -1));
}

const numberOf = (cell: string): number => Number(cell.replace(/[,%]/g, ''));

test('the example shops have the limits that the rules of the page give', () => {
  const rows = rowsOf('page views per minute at the peak');
  expect(rows.length).toBeGreaterThan(3);
  for (const [peak, day, requests, limits] of rows) {
    const per_minute = Math.ceil((numberOf(peak!) * numberOf(requests!)) / 0.8);
    const per_day = numberOf(day!) * numberOf(requests!) * 2;
    expect(limits!.split(' ')[0]).toBe([per_minute, per_day, Math.ceil(per_minute * 1.5)].join('/'));
  }
});

const PER_MINUTE = 100;
const REQUESTS = 3;
/** The page shows 50 hours. Fewer are enough to notice wrong numbers. */
const HOURS = 4;
const DIFFERENCE_MAX_PERCENT = 2;

/** Returns numbers between 0 and 1, always the same (a linear congruential generator). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
}

/** Returns the percentage of page views of which at least one request is refused. */
function percentRefused(load_percent: number, burst: number): number {
  const tier = { burst, refill_per_s: PER_MINUTE / 60, limit: PER_MINUTE, per_day: null };
  const random = numbers(42);
  const views_per_minute = (PER_MINUTE * load_percent) / 100 / REQUESTS;
  const views = Math.round(HOURS * 60 * views_per_minute);
  let state: BucketState | undefined;
  let now_ms = 0;
  let refused = 0;
  for (let view = 0; view < views; view++) {
    now_ms -= (Math.log(random()) * 60_000) / views_per_minute;
    let is_refused = false;
    for (let n = 0; n < REQUESTS; n++) {
      const taken = takeToken(state, tier, now_ms);
      state = taken.state;
      is_refused ||= !taken.verdict.allowed;
    }
    if (is_refused) refused++;
  }
  return (refused / views) * 100;
}

test('a simulation of the bucket refuses about as many page views as the page says', () => {
  const rows = rowsOf('load in percent');
  expect(rows.length).toBeGreaterThan(3);
  for (const [load, ...cells] of rows)
    for (const [index, burst] of [25, 50, 150].entries()) {
      const computed = percentRefused(numberOf(load!), burst);
      const difference = Math.abs(numberOf(cells[index]!) - computed);
      expect({ load, burst, computed, is_near: difference <= DIFFERENCE_MAX_PERCENT }).toMatchObject({
        is_near: true,
      });
    }
});
