import fc from 'fast-check';
import { RowError } from '../../../services/import/item';
import { parsePrice } from '../../../services/import/price';
import { PRICE_AMOUNT_MAX } from '../../../shared/catalog/amounts';
import { formatPrice } from '../../../shared/catalog/input-rules';
import { cases } from '../../support/long';

test.each([
  ['0', 0],
  ['50', 5000],
  ['9.99', 999],
  ['0.29', 29],
  ['1.1', 110],
  ['007.50', 750],
  ['.5', 50],
  ['12.', 1200],
  [' 12.50 ', 1250],
  ['19.9900', 1999],
  ['9,99', 999],
  ['9,5', 950],
  ['999999999.99', PRICE_AMOUNT_MAX],
])('parses "%s" as %i hundredths', (text, amount) => {
  expect(parsePrice(text)).toBe(amount);
});

test.each([
  ['', 'must be a decimal number'],
  ['.', 'must be a decimal number'],
  ['abc', 'must be a decimal number'],
  ['$9.99', 'must be a decimal number'],
  ['1,299.00', 'must be a decimal number'],
  ['1,299', 'must be a decimal number'],
  [',50', 'must be a decimal number'],
  ['1e3', 'must be a decimal number'],
  ['1.2.3', 'must be a decimal number'],
  ['-1.00', 'must not be negative'],
  ['9.9951', 'at most two decimals'],
  ['0.125', 'at most two decimals'],
  ['9.995', 'has two meanings'],
  ['1.250', 'has two meanings'],
  ['1000000000.00', 'must be at most'],
  ['9'.repeat(400), 'must be at most'],
])('refuses "%s": %s', (text, reason) => {
  expect(() => parsePrice(text)).toThrow(reason);
});

test('parses the formatted text of any amount to the same amount', () => {
  const amount = fc.integer({ min: 0, max: PRICE_AMOUNT_MAX });
  fc.assert(
    fc.property(amount, (value) => parsePrice(formatPrice(value)) === value),
    cases(),
  );
});

test('leading and trailing zeros do not change the amount', () => {
  const zeros = fc.integer({ min: 0, max: 5 }).map((count) => '0'.repeat(count));
  // With one more, `1.000` could mean a thousand.
  const zeros_after = zeros.filter((text) => text !== '0');
  const amount = fc.integer({ min: 0, max: PRICE_AMOUNT_MAX });
  fc.assert(
    fc.property(amount, zeros, zeros_after, (value, before, after) => {
      expect(parsePrice(before + formatPrice(value) + after)).toBe(value);
    }),
    cases(),
  );
});

test('any text gives a price in the allowed range or a short reason', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      try {
        const amount = parsePrice(text);
        expect(Number.isSafeInteger(amount) && amount >= 0 && amount <= PRICE_AMOUNT_MAX).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(RowError);
        expect((error as Error).message.length).toBeLessThan(120);
      }
    }),
    cases(),
  );
});
