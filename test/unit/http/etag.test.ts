import { assertIfMatch, etagOf, matchesNone } from '../../../shared/http/respond';
import { CatalogError } from '../../../shared/kernel/errors';

describe('ETags', () => {
  test('equal bodies have equal ETags, and different bodies have different ones', () => {
    expect(etagOf(3, 'a')).toBe(etagOf(3, 'a'));
    expect(etagOf(3, 'a')).not.toBe(etagOf(3, 'b'));
    expect(etagOf(undefined, 'a')).toBe(etagOf(3, 'a').replace('3-', ''));
  });

  test.each([[undefined], ['*'], ['"3-abc"'], ['W/"3-abc"'], ['"1-x", "3-y"'], ['"3-with-more-dashes"']])(
    'If-Match %s accepts version 3',
    (header) => {
      expect(() => assertIfMatch(header, 3)).not.toThrow();
    },
  );

  test.each([['"4-abc"'], ['"33-abc"'], ['"abc"'], ['3'], ['3-abc'], ['""'], [''], ['"-3"']])(
    'If-Match %s rejects version 3',
    (header) => {
      expect(() => assertIfMatch(header, 3)).toThrow(new CatalogError('precondition_failed'));
    },
  );

  test.each([
    [undefined, false],
    ['*', true],
    ['"3-abc"', true],
    ['W/"3-abc"', true],
    ['"2-abc" , "3-abc"', true],
    ['"3-abd"', false],
    ['3-abc', false],
  ])('If-None-Match %s matches "3-abc": %p', (header, matches) => {
    expect(matchesNone(header, '"3-abc"')).toBe(matches);
  });
});
