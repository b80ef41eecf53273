import fc from 'fast-check';
import { isSameValue } from '../../../shared/kernel/same-value';
import { cases } from '../../support/long';

test('values are the same if their JSON is, in any order of fields', () => {
  expect(isSameValue({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 })).toBe(true);
  expect(isSameValue({ a: undefined }, {})).toBe(false);
  expect(isSameValue({ a: undefined }, { b: undefined })).toBe(false);
  expect(isSameValue([], {})).toBe(false);
  expect(isSameValue([1, 2], [2, 1])).toBe(false);
  expect(isSameValue(null, {})).toBe(false);
  expect(isSameValue(0, -0)).toBe(true);
});

test('a value is the same as its copy, and sameness is symmetric', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 }), (a, b) => {
      expect(isSameValue(a, structuredClone(a))).toBe(true);
      expect(isSameValue(a, b)).toBe(isSameValue(b, a));
    }),
    cases(),
  );
});
