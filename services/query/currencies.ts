import type { PriceBounds } from '../../shared/api/requests/reads';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import type { ActiveStore } from '../../shared/catalog/store/document';
import { CatalogError } from '../../shared/kernel/errors';
import { inMarket } from './markets';

/** The fields of a publication or a variant that have amounts, besides `price_amount`, or belong to one. */
const OF_PRICE = new Set([
  ...['compare_at_amount', 'sale_price_amount', 'sale_from', 'sale_to'],
  ...['price_range', 'lowest_price_30d'],
]);

/**
 * Returns a publication or a variant with its price in the currency, and any other value as it is. Without a price in the
 * currency, its price is inactive. `owner`: the publication of a variant, which has its currency.
 */
export function priceIn(currency: string, resource: JsonObject, owner: JsonObject | undefined): JsonObject {
  const { prices, ...fields } = resource;
  const { object, price_currency = owner?.price_currency } = fields;
  if (object !== 'publication' && object !== 'variant') return resource;
  if (price_currency === currency) return fields;
  const price = (prices as JsonObject | undefined)?.[currency];
  const others = Object.entries(fields).filter(([name]) => !OF_PRICE.has(name));
  const shown: JsonObject = Object.fromEntries(others);
  if (price === undefined) return { ...shown, price_active: false };
  const { derived: _, ...amounts } = price as JsonObject;
  const of_publication = object === 'publication' && { price_currency: currency };
  return { ...shown, ...of_publication, ...amounts };
}

interface PriceQuery extends PriceBounds {
  readonly currency?: string | undefined;
  readonly market?: string | undefined;
  readonly country?: string | undefined;
  readonly priced?: true | undefined;
  readonly sort?: string | undefined;
  readonly has_price?: boolean | undefined;
  readonly has_discount?: boolean | undefined;
  readonly facets?: readonly string[] | undefined;
}

/** The filters that look at prices. */
const BY_PRICE = ['min_price', 'max_price', 'has_price', 'has_discount'] as const;

/**
 * Returns the query of a list as its filters understand it, with the currency of its market. In the base currency of the store, `priced` means `has_price`. In
 * another currency, throws `invalid_query` if the query sorts, filters or counts by price: the indexes have the prices in the
 * base currency only (docs/decisions/0038-prices-by-currency.md).
 */
export function withCurrency<Query extends PriceQuery>(store: ActiveStore, asked: Query): Query {
  const query = inMarket(store, asked);
  const { currency, priced, sort, facets = [] } = query;
  const names = [
    ...(sort === 'price' ? ['sort'] : []),
    ...BY_PRICE.filter((name) => query[name] !== undefined),
    ...(facets.some((facet) => ['price', 'has_price', 'has_discount'].includes(facet)) ? ['facets'] : []),
  ];
  if (names.length === 0 && !priced) return query;
  const is_base = currency === undefined || currency === store.currencies?.[0];
  if (is_base) return priced ? { ...query, priced: undefined, has_price: true } : query;
  const constraint = `nothing by price together with currency=${currency}: only the first currency of the store can be used for it`;
  if (names.length > 0)
    throw CatalogError.ofFaults(
      names.map((field) => ({ condition: 'invalid_query', field, constraint }) as const),
    );
  return query;
}
