import fc from 'fast-check';
import { formatPrice, parsePrice } from '../../../services/import/price';
import { PRICE_AMOUNT_MAX } from '../../../shared/catalog/input-rules';

const amountOf = (text: string): number | undefined => {
  const parsed = parsePrice(text);
  return parsed.ok ? parsed.amount : undefined;
};

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
  ['999999999.99', PRICE_AMOUNT_MAX],
])('"%s" is %i hundredths', (text, amount) => {
  expect(amountOf(text)).toBe(amount);
});

test.each([
  ['', 'no decimal number'],
  ['.', 'no decimal number'],
  ['abc', 'no decimal number'],
  ['$9.99', 'no decimal number'],
  ['1,299.00', 'no decimal number'],
  ['9,99', 'no decimal number'],
  ['1e3', 'no decimal number'],
  ['1.2.3', 'no decimal number'],
  ['-1.00', 'negative'],
  ['9.995', 'more than two decimals'],
  ['1000000000.00', 'above'],
  ['9'.repeat(400), 'above'],
])('"%s" is refused: %s', (text, why) => {
  const parsed = parsePrice(text);
  expect(parsed).toMatchObject({ ok: false, reason: expect.stringContaining(why) });
});

test('every amount comes back from its own text, to the hundredth', () => {
  const amount = fc.integer({ min: 0, max: PRICE_AMOUNT_MAX });
  fc.assert(fc.property(amount, (given) => amountOf(formatPrice(given)) === given));
});

test('leading and trailing zeros change nothing', () => {
  const zeros = fc.integer({ min: 0, max: 5 }).map((count) => '0'.repeat(count));
  const amount = fc.integer({ min: 0, max: PRICE_AMOUNT_MAX });
  fc.assert(
    fc.property(amount, zeros, zeros, (given, before, after) => {
      expect(amountOf(before + formatPrice(given) + after)).toBe(given);
    }),
  );
});

test('any text is a price in the allowed range, or a reason of one short line', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const parsed = parsePrice(text);
      if (parsed.ok) {
        expect(Number.isSafeInteger(parsed.amount)).toBe(true);
        expect(parsed.amount).toBeGreaterThanOrEqual(0);
        expect(parsed.amount).toBeLessThanOrEqual(PRICE_AMOUNT_MAX);
      } else expect(parsed.reason.length).toBeLessThan(120);
    }),
  );
});
