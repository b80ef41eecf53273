import fc from 'fast-check';
import { derivedAmount } from '../../../shared/catalog/amounts';

test.each<[amount: number, percent: number, ending: number | null, currency: string, expected: number]>([
  [3_400, 25.5, null, 'EUR', 867],
  [3_400, 25.5, 99, 'EUR', 899],
  [3_400, 25.5, 67, 'EUR', 867],
  [3_400, 25.5, 0, 'EUR', 900],
  // 0.5 is rounded up, and 1.005 is no problem of floating point.
  [1, 50, null, 'EUR', 1],
  [1, 49.999999, null, 'EUR', 1],
  [10_000, 1.005, null, 'EUR', 101],
  [10_000, 1.004999, null, 'EUR', 100],
  // Free stays free, and nothing becomes free.
  [0, 25.5, 99, 'EUR', 0],
  [1, 0.000001, null, 'EUR', 1],
  [1, 0.000001, 99, 'EUR', 99],
  // A currency without a minor unit: the ending is that of the major unit.
  [3_400, 4_100, null, 'JPY', 139_400],
  [3_400, 4_123.4567, null, 'JPY', 140_200],
  [3_400, 4_123.4567, 99, 'JPY', 149_900],
  [3_400, 4_123.4567, 0, 'JPY', 150_000],
  [1, 1, null, 'JPY', 100],
  // Thousandths are stored as hundredths, too.
  [3_400, 8.25, 99, 'KWD', 299],
  [99_999_999_999, 10_000_000, 99, 'EUR', 99_999_999_999],
  [99_999_999_999, 10_000_000, 99, 'JPY', 99_999_999_900],
])('%d with %d %% and the ending %p is in %s %d', (amount, percent, ending, currency, expected) => {
  expect(derivedAmount(amount, { percent, ending }, currency)).toBe(expected);
});

test('a higher price has no lower derived price', () => {
  const amount = fc.integer({ min: 0, max: 99_999_999_999 });
  const rule = fc.record({
    percent: fc.integer({ min: 1, max: 1_000_000_000 }).map((millionths) => millionths / 1_000_000),
    ending: fc.option(fc.integer({ min: 0, max: 99 })),
  });
  fc.assert(
    fc.property(amount, amount, rule, fc.constantFrom('EUR', 'JPY'), (one, other, rule, currency) => {
      const [low, high] = [Math.min(one, other), Math.max(one, other)];
      const [derived_low, derived_high] = [low, high].map((each) => derivedAmount(each, rule, currency));
      expect(derived_low).toBeLessThanOrEqual(derived_high!);
      if (low > 0 && rule.ending !== null) {
        const unit = currency === 'JPY' ? 100 : 1;
        if (derived_low! < 99_999_999_900) expect((derived_low! / unit) % 100).toBe(rule.ending);
      }
    }),
  );
});
