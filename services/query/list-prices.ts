import type { z } from 'zod';
import { reads } from '../../shared/api/operations/reads';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import type { Presentable } from '../../shared/catalog/json-text';
import { type ListPriceBody, listPriceIdOf } from '../../shared/catalog/list-price/list-price';
import { cheapestOf, type Variant } from '../../shared/catalog/publication/variants';
import type { SortOrder } from '../../shared/catalog/sorting';
import type { ActiveStore } from '../../shared/catalog/store/document';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { parseQuery } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import type { DocumentReader } from '../../shared/ports/document-reader';
import { bodiesAnswer, pageOf, placeOf } from './list-place';
import { openStore, type ReadDeps, requestedStore, requireStore } from './read';

const BY_ID: SortOrder = [['id', 'asc']];
/** The filters and facets that look at prices. */
const BY_PRICE = ['price', 'min_price', 'max_price', 'has_price', 'has_discount'];

/** Handles `GET /api/list-prices`. */
export async function readListPrices(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  const query = parseQuery(reads.listListPrices.query, request.query);
  const store_id = requestedStore(request);
  const version = await openStore(deps, request, store_id);
  const where = { store_id, price_list: query.price_list };
  const place = placeOf(request, query, 'list_prices', BY_ID);
  const [page, total] = await Promise.all([
    version.find('list_prices', { where, order: BY_ID, ...pageOf(place) }),
    version.count('list_prices', where),
    requireStore(version, store_id),
  ]);
  return bodiesAnswer(place, page, total);
}

interface ListQuery {
  readonly sort?: string;
  readonly facets?: readonly string[];
}

/** Throws `invalid_query` if the query sorts, filters or counts by price: the indexes have the prices of the publications. */
export function refuseByPrice(schema: z.ZodType, request: ApiRequest): void {
  const { sort, facets = [], ...query } = parseQuery(schema, request.query) as ListQuery;
  const names = BY_PRICE.filter((name) => query[name as never] !== undefined);
  if (sort === 'price') names.push('sort');
  if (facets.some((facet) => BY_PRICE.includes(facet))) names.push('facets');
  const constraint = 'nothing by price with a key of a price list';
  const faults = names.map((field) => ({ condition: 'invalid_query', field, constraint }) as const);
  if (faults.length > 0) throw CatalogError.ofFaults(faults);
}

export interface ListPrices {
  readonly currency: string;
  /** Returns the price of a publication or a variant. Undefined if it has none in the list, and for other resources. */
  priceOf(resource: JsonObject): JsonObject | undefined;
}

/**
 * Reads the prices of all publications in an answer, in the price list of the key (docs/interface/price-lists.md#reads). Returns
 * undefined if the key has no list or none of them has a price in it, and for an answer about the past.
 */
export async function pricesInList(
  deps: ReadDeps,
  request: ApiRequest,
  { id: store_id, price_lists }: ActiveStore,
  data: Presentable,
): Promise<ListPrices | undefined> {
  const { price_list } = request.principal;
  const currency = price_lists?.[price_list ?? ''];
  const is_past = request.query.as_of !== undefined || request.params.revision !== undefined;
  if (price_list === undefined || currency === undefined || is_past) return undefined;
  const ids = new Set(publicationIdsIn(data));
  if (ids.size === 0) return undefined;
  const version = await openStore(deps, request, store_id);
  const found = await version.getMany(
    'list_prices',
    [...ids].map((id) => listPriceIdOf(store_id, price_list, id)),
  );
  // A price does not count if the list has got another currency since.
  const valid = found.flatMap(({ document }) =>
    document?.body.price && document.body.currency === currency ? document.body : [],
  );
  if (valid.length === 0) return undefined;
  const prices = new Map(valid.map((body) => [body.publication_id, body]));
  const with_variants = valid.filter((body) => body.variants).map((body) => body.publication_id);
  const variants = await variantsOf(version, with_variants);
  return {
    currency,
    priceOf: (resource) => {
      const id = publicationIdOf(resource) ?? '';
      const set = prices.get(id);
      return set && shownPrice(set, resource, variants.get(id));
    },
  };
}

/** Returns the variants of publications by the id of the publication, also of deleted ones. */
async function variantsOf(version: DocumentReader, ids: readonly string[]) {
  const owners = await version.getMany('publications', ids, ['state']);
  return new Map(
    owners.map(({ id, document }) => {
      const { publication, deleted } = document?.state ?? {};
      return [id, (publication ?? deleted?.resource)?.variants];
    }),
  );
}

function publicationIdsIn(value: Presentable): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const id = publicationIdOf(value as JsonObject);
  const inside = Object.values(value).flatMap(publicationIdsIn);
  return id === undefined ? inside : [id, ...inside];
}

/** Returns the id of the publication whose prices the resource shows. */
function publicationIdOf({ object, id, publication_id }: JsonObject): string | undefined {
  if (object === 'publication') return String(id);
  return object === 'variant' ? String(publication_id) : undefined;
}

/**
 * Returns the price of a variant in the list, or the lowest price of a publication. `existing`: the variants of the publication,
 * needed only if the list has prices of single variants.
 */
function shownPrice(
  { price, variants = {} }: ListPriceBody,
  { object, id, price_range }: JsonObject,
  existing: readonly Variant[] = [],
): JsonObject {
  const priceOfVariant = (variant_id: string) => variants[variant_id] ?? price!;
  if (object === 'variant') return priceOfVariant(String(id));
  const all = existing.length > 0 ? existing.map((variant) => priceOfVariant(variant.id)) : [price!];
  const lowest = cheapestOf(all);
  const range = { min: lowest.price_amount, max: Math.max(...all.map(({ price_amount }) => price_amount)) };
  return { ...lowest, ...(price_range !== undefined && { price_range: range }) };
}
