import type { PriceBounds } from '../../shared/api/requests/reads';
import type { JsonObject, JsonValue } from '../../shared/catalog/events/envelope';
import { JsonText, type Presentable } from '../../shared/catalog/json-text';
import { CatalogError } from '../../shared/kernel/errors';
import type { DocumentReader } from '../../shared/ports/document-reader';
import type { ReadHandler } from './read';

/*
 * The currency of an answer (docs/interface/currencies.md#reads). A read makes its answer from documents, whose bodies have the
 * prices in all currencies. `inCurrency` then shows each price in the currency that the request asks for, wherever the
 * publication or the variant is in the answer.
 */

/** The fields of an answer in which publications and variants are. */
const CONTAINERS: readonly string[] = ['data', 'featured', 'others', 'publications', 'variants'];
/** The fields of a publication or a variant that have amounts, besides `price_amount`, or belong to one. */
const OF_PRICE = new Set([
  ...['prices', 'compare_at_amount', 'sale_price_amount', 'sale_from', 'sale_to'],
  ...['price_range', 'lowest_price_30d'],
]);

/** Returns the read with its prices in the currency that the request asks for. */
export const inCurrency =
  (read: ReadHandler): ReadHandler =>
  async (deps, request) => {
    const answer = await read(deps, request);
    const currency = request.query.currency?.[0];
    if (currency === undefined || answer.file || answer.status !== undefined) return answer;
    return { ...answer, data: pricedIn(answer.data, currency, answer.price_currency) };
  };

/** `own`: the currency of the publication whose variants the value contains. */
function pricedIn(value: Presentable, currency: string, own: JsonValue | undefined): Presentable {
  if (value instanceof JsonText) return pricedIn(value.toJSON(), currency, own);
  if (Array.isArray(value)) return value.map((item) => pricedIn(item, currency, own));
  if (!isObject(value)) return value;
  const { price_currency = own } = value as JsonObject;
  const is_priced = value.object === 'publication' || value.object === 'variant';
  const shown: Record<string, Presentable> = is_priced
    ? withPriceIn(value as JsonObject, currency, price_currency)
    : { ...value };
  for (const name of CONTAINERS)
    if (shown[name] !== undefined) shown[name] = pricedIn(shown[name], currency, price_currency);
  return shown;
}

/** Returns the publication or the variant with its price in the currency. Without one, its price is inactive. */
function withPriceIn(
  { prices, ...resource }: JsonObject,
  currency: string,
  own: JsonValue | undefined,
): JsonObject {
  if (own === currency) return resource;
  const price = isObject(prices) && Object.hasOwn(prices, currency) ? prices[currency] : undefined;
  const others = Object.entries(resource).filter(([name]) => !OF_PRICE.has(name));
  const shown: JsonObject = Object.fromEntries(others);
  if (!isObject(price)) return { ...shown, price_active: false };
  const of_publication = resource.object === 'publication' && { price_currency: currency };
  return { ...shown, ...of_publication, ...(price as JsonObject) };
}

interface PriceQuery extends PriceBounds {
  readonly currency?: string | undefined;
  readonly priced?: true | undefined;
  readonly sort?: string | undefined;
  readonly has_price?: boolean | undefined;
  readonly has_discount?: boolean | undefined;
  readonly facets?: readonly string[] | undefined;
}

/** The filters that look at prices. */
const BY_PRICE = ['min_price', 'max_price', 'has_price', 'has_discount'] as const;

/**
 * Returns the query of a list as its filters understand it. In the base currency of the store, `priced` means `has_price`. In
 * another currency, throws `invalid_query` if the query sorts, filters or counts by price: the indexes have the prices in the
 * base currency only (docs/decisions/0038-prices-by-currency.md).
 */
export async function withCurrency<Query extends PriceQuery>(
  version: DocumentReader,
  store_id: string,
  query: Query,
): Promise<Query> {
  const { currency, priced, sort, facets = [] } = query;
  const names = [
    ...(sort === 'price' ? ['sort'] : []),
    ...BY_PRICE.filter((name) => query[name] !== undefined),
    ...(facets.some((facet) => ['price', 'has_price', 'has_discount'].includes(facet)) ? ['facets'] : []),
  ];
  if (currency === undefined || (names.length === 0 && !priced)) return query;
  const store = await version.get('stores', store_id);
  const [base] = (store?.document?.body.currencies as string[] | undefined) ?? [];
  if (currency === base) return priced ? { ...query, priced: undefined, has_price: true } : query;
  const constraint = `nothing by price together with currency=${currency}: only the first currency of the store can be used for it`;
  if (names.length > 0)
    throw CatalogError.ofFaults(
      names.map((field) => ({ condition: 'invalid_query', field, constraint }) as const),
    );
  return query;
}

const isObject = (value: unknown): value is Readonly<Record<string, Presentable>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
