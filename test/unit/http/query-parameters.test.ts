import { isGarbled, queryParameters } from '../../../shared/http/validation';

const garbled = (search: string): string[] => {
  const query = queryParameters(`/api/store/search?${search}`);
  return Object.keys(query).filter((name) => isGarbled(query, name));
};

test.each([
  ['q=caf%E9', ['q']],
  ['q=%ff', ['q']],
  ['q=%C3', ['q']],
  ['q=%ed%a0%80', ['q']],
  ['q=ok&q=%FF&page=1', ['q']],
  ['&&q=%80&listing_id=%e9=%e9', ['q', 'listing_id']],
])('%s has bytes that are no UTF-8', (search, names) => {
  expect(garbled(search)).toEqual(names);
  // Remembered by now.
  expect(garbled(search)).toEqual(names);
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
])('%s is text', (search) => {
  expect(garbled(search)).toEqual([]);
});
