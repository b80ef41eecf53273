import { hasInvalidUtf8, queryParameters } from '../../../shared/http/validation';

const invalidParameters = (search: string): string[] => {
  const query = queryParameters(`/api/store/search?${search}`);
  return Object.keys(query).filter((name) => hasInvalidUtf8(query, name));
};

test.each([
  ['q=caf%E9', ['q']],
  ['q=%ff', ['q']],
  ['q=%C3', ['q']],
  ['q=%ed%a0%80', ['q']],
  ['q=ok&q=%FF&page=1', ['q']],
  ['&&q=%80&listing_id=%e9=%e9', ['q', 'listing_id']],
])('%s has invalid UTF-8', (search, names) => {
  expect(invalidParameters(search)).toEqual(names);
  // The second call gets the cached query.
  expect(invalidParameters(search)).toEqual(names);
});

test.each([
  'q=caf%C3%A9',
  'q=%f0%9f%ab%96',
  'q=%EF%BF%BD',
  'q=100%',
  'q=%zz%8',
  'q=%258f',
  'q=+%2B',
  'page=1',
  '%C3%A9=1',
])('%s has valid UTF-8', (search) => {
  expect(invalidParameters(search)).toEqual([]);
});
