import type { JsonObject, JsonValue } from '../../shared/catalog/events/envelope';
import { handleSpelling } from '../../shared/catalog/input-rules';
import type { ActiveStore } from '../../shared/catalog/store/document';
import type { Market } from '../../shared/catalog/store/markets';
import type { QueryParameters } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';

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
