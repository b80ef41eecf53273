import { parseOptions } from '../../bench/options';
import { quantile, ratios } from '../../bench/statistics';
import { figure, judge, tableLine } from '../../bench/table';

const row = { name: 'by id', unit: 'per second', value: 3_000, express: 2_000, bare: 9_000, ratio: 1.5 };

describe('statistics of the benchmark', () => {
  test('quantiles are values of the sample', () => {
    expect(quantile([5, 1, 3], 0.5)).toBe(3);
    expect(quantile([5, 1, 3], 0.99)).toBe(5);
    expect(quantile([], 0.5)).toBeNaN();
  });

  test('ratios compare values of the same round', () => {
    expect(ratios([10, 30], [5, 10])).toEqual([2, 3]);
  });
});

describe('the table of the benchmark', () => {
  test('says whether a row reaches its target', () => {
    expect(judge(row, 1_000)).toMatchObject({ met: true });
    expect(judge({ ...row, ratio: 1.49 }, 1_000)).toMatchObject({ met: false });
    expect(judge({ name: 'rebuild, peak memory', unit: 'MB', value: 401 }, 1_000)).toMatchObject({
      met: false,
    });
    expect(judge({ name: 'search, prefix', unit: 'per second', value: 1 }, 1_000)).not.toHaveProperty('met');
  });

  test('an unknown figure does not reach a target', () => {
    expect(judge({ name: 'related', unit: 'per second', value: 1 }, 1_000)).toMatchObject({ met: false });
  });

  test('judges some targets only at a million publications', () => {
    const start = { name: 'start, this size', unit: 'ms', value: 3_000 };
    expect(judge(start, 100_000)).not.toHaveProperty('met');
    expect(judge(start, 1_000_000)).toMatchObject({ met: false });
  });

  test('compares a read with the one at 1,000 publications', () => {
    expect(judge({ ...row, ratio: 0.5 }, 100_000, [row])).toMatchObject({ slowdown: 3 });
    expect(judge({ ...row, ratio: 0.5 }, 1_000, [row])).not.toHaveProperty('slowdown');
    expect(tableLine(judge({ ...row, ratio: 0.5 }, 100_000, [row]))).toContain('3.00!');
  });

  test('shows three digits, and none for an unknown figure', () => {
    expect([0.01234, 12.345, 1234.5, undefined].map(figure)).toEqual(['0.0123', '12.3', '1235', '']);
    expect(tableLine(judge(row, 1_000))).toMatch(
      /^by id \(per second\) +3000 +2000 +9000 +1\.5 +≥ 1\.5 +yes$/,
    );
  });
});

describe('the options of the benchmark', () => {
  test('are the embedded stores with 1,000 publications by default', () => {
    expect(parseOptions([])).toMatchObject({ mode: 'embedded', size: 1_000, quick: false, only: undefined });
    expect(parseOptions(['--size', '100000', '--only', 'Typo', '--servers'])).toMatchObject({
      ...{ mode: 'servers', size: 100_000, only: 'typo' },
    });
  });

  test.each([
    ['--size'],
    ['--size', 'many'],
    ['--size', '10'],
    ['--fast'],
    ['more'],
    ['--servers', '--traces'],
  ])('refuses %s %s', (...args) => {
    expect(parseOptions(args)).toBeUndefined();
  });
});
