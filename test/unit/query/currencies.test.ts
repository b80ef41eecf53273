import { withVariants } from '../../../services/query/list-reader';
import type { ActiveStore } from '../../../shared/catalog/store/document';
import type { StoreId } from '../../../shared/kernel/ids';
import type { DocumentReader } from '../../../shared/ports/document-reader';

const version = {} as DocumentReader;
const plain: ActiveStore = { id: 'a store' as StoreId };

// Cursors name the query of their list, so a field more would refuse the cursors that clients have.
test.each([
  ['of a store without currencies', plain, {}],
  ['of a store without currencies, in any currency', plain, { currency: 'PEN' }],
  ['in the base currency', { ...plain, currencies: ['PEN', 'USD'] }, { currency: 'PEN' }],
  ['of a store with currencies', { ...plain, currencies: ['PEN', 'USD'] }, {}],
])('a list %s has the query that it has without a currency', (_, store, asked: { currency?: string }) => {
  const as = { store, currency: asked.currency, shows_untranslated: false };
  const found = withVariants(as, version, { has_price: false, ...asked }, 'created_at_desc');
  expect(found.query).toStrictEqual({ has_price: false });
  expect(found.version).toBe(version);
});
