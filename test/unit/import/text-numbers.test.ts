import fc from 'fast-check';
import { TextNumbers } from '../../../services/import/text-numbers';

test('a map in a few bytes per text answers like a Map', () => {
  const text = fc.oneof(fc.string({ maxLength: 2 }), fc.integer({ max: 5_000 }).map(String));
  const operation = fc.record({ text, number: fc.integer({ min: 1, max: 2 ** 32 - 1 }), adds: fc.boolean() });
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 3_000 }), (operations) => {
      const numbers = new TextNumbers();
      const expected = new Map<string, number>();
      for (const { text, number, adds } of operations) {
        const before = expected.get(text) ?? 0;
        if (adds) expect(numbers.add(text, number)).toBe(before);
        else numbers.set(text, number);
        if (!adds || before === 0) expected.set(text, number);
      }
      for (const [text, number] of expected) expect(numbers.get(text)).toBe(number);
      expect(numbers.get('never added')).toBe(0);
    }),
    { numRuns: 30 },
  );
});
