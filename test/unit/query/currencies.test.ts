import { withCurrency } from '../../../services/query/currencies';
import type { DocumentReader } from '../../../shared/ports/document-reader';

const version = {} as DocumentReader;
const plain = { id: 'a store', locales: undefined, currencies: undefined, markets: undefined };

// Cursors name the query of their list, so a field more would refuse the cursors that clients have.
test.each([
  ['of a store without currencies', plain, {}],
  ['of a store without currencies, in any currency', plain, { currency: 'PEN' }],
  ['in the base currency', { ...plain, currencies: ['PEN', 'USD'] }, { currency: 'PEN' }],
  ['in a country without a market', { ...plain, currencies: ['PEN', 'USD'], markets: [] }, {}],
])('a list %s has the query that it has without a currency', (_story, store, asked) => {
  const query = { has_price: false, ...asked };
  const found = withCurrency(store, version, query);
  expect(found.query).toStrictEqual({ has_price: false });
  expect(found.version).toBe(version);
});
