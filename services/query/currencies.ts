import type { JsonObject, JsonValue } from '../../shared/catalog/events/envelope';
import { handleSpelling } from '../../shared/catalog/input-rules';
import type { ActiveStore } from '../../shared/catalog/store/document';
import type { Market } from '../../shared/catalog/store/markets';
import type { Presentation } from '../../shared/http/route';
import type { QueryParameters } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import type { DocumentReader } from '../../shared/ports/document-reader';
import { pricedReader } from './variant-reader';

/** The fields of a publication or a variant that have amounts, besides `price_amount`, or belong to one. */
const OF_PRICE = new Set([
  ...['prices', 'compare_at_amount', 'sale_price_amount', 'sale_from', 'sale_to'],
  ...['price_range', 'lowest_price_30d'],
]);

/**
 * Returns a publication or a variant with its price in the currency, and any other value as it is. Without a price in the
 * currency, its price is inactive. `owner`: the publication of a variant, which has its currency.
 */
export function inCurrency(
  currency: string,
  resource: JsonObject,
  owner: JsonObject | undefined,
): JsonObject {
  const { prices, ...fields } = resource;
  const { object, price_currency = owner?.price_currency } = fields;
  if (object !== 'publication' && object !== 'variant') return resource;
  if (price_currency === currency) return fields;
  return withPrice(currency, fields, (prices as JsonObject | undefined)?.[currency]);
}

/** Returns a publication or a variant with this price in the currency. Without a price, its price is inactive. */
export function withPrice(currency: string, resource: JsonObject, price: JsonValue | undefined): JsonObject {
  const others = Object.entries(resource).filter(([name]) => !OF_PRICE.has(name));
  const shown: JsonObject = Object.fromEntries(others);
  if (price === undefined) return { ...shown, price_active: false };
  const { derived: _, ...amounts } = price as JsonObject;
  const of_publication = resource.object === 'publication' && { price_currency: currency };
  return { ...shown, ...of_publication, ...amounts };
}

/**
 * Returns the market that a query names, otherwise the market of its country. Undefined if no market has the country. Throws
 * `invalid_query` for a name that no market of the store has.
 */
export function marketOf({ markets = [] }: ActiveStore, query: QueryParameters): Market | undefined {
  const { market: [market] = [], country: [country = ''] = [] } = query;
  if (market === undefined) return markets.find(({ countries }) => countries.includes(country));
  const handle = handleSpelling(market);
  const found = markets.find((one) => one.handle === handle);
  if (found) return found;
  const constraint = markets.length === 0 ? 'a store with markets' : 'the handle of a market of the store';
  throw CatalogError.ofFaults([{ condition: 'invalid_query', field: 'market', constraint }]);
}

export interface PriceQuery {
  readonly currency?: string | undefined;
  readonly priced?: true | undefined;
  readonly has_price?: boolean | undefined;
}

/**
 * Returns the query of a list as its filters understand it, with the currency of the answer, and the reader for it. `priced`
 * means `has_price`. The documents have their keys in the base currency of the store, so in another currency a reader of its
 * own finds them by price (`pricedReader`). A store without currencies has those of its publications.
 */
export function withCurrency<Query extends PriceQuery>(
  { store, currency }: Presentation,
  version: DocumentReader,
  { priced, currency: _, ...others }: Query,
): { query: Query; version: DocumentReader } {
  const query = { ...others, ...(priced && { has_price: true }) } as Query;
  const [base = currency] = store.currencies ?? [];
  // Without the name of the currency, a cursor of the list is that of a store without currencies.
  if (currency === undefined || currency === base) return { query, version };
  return { query: { ...query, currency }, version: pricedReader(version, store.id, currency) };
}
