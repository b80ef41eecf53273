import fc from 'fast-check';
import { patched, sameValue } from '../../../shared/kernel/same-value';

test('values are the same as JSON is, whatever the order of fields', () => {
  expect(sameValue({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 })).toBe(true);
  expect(sameValue({ a: undefined }, {})).toBe(false);
  expect(sameValue({ a: undefined }, { b: undefined })).toBe(false);
  expect(sameValue([], {})).toBe(false);
  expect(sameValue([1, 2], [2, 1])).toBe(false);
  expect(sameValue(null, {})).toBe(false);
  expect(sameValue(0, -0)).toBe(true);
});

test('a value is the same as its copy, and no other', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 }), (a, b) => {
      expect(sameValue(a, structuredClone(a))).toBe(true);
      expect(sameValue(a, b)).toBe(sameValue(b, a));
    }),
  );
});

test('a patch leaves what it does not give', () => {
  expect(patched<{ a: number; b: number | null }>({ a: 1, b: 2 }, { a: undefined, b: null })).toEqual({
    a: 1,
    b: null,
  });
});
