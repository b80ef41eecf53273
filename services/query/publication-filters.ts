import {
  type PriceBounds,
  type PublicationsQuery,
  publicationFilters,
} from '../../shared/api/requests/reads';
import { PRICE_AMOUNT_MAX } from '../../shared/catalog/input-rules';
import { NOT_FEATURED, type PublicationKeys } from '../../shared/catalog/publication/document';
import { FACET_FLAGS, type FacetFlags } from '../../shared/catalog/publication/facets';
import type { SortMode } from '../../shared/catalog/vocabulary';
import type { ViewQuery } from '../../shared/ports/view-store';

type FilterName = keyof typeof publicationFilters;
const FILTERS = Object.keys(publicationFilters) as FilterName[];

/** The flags asked for, by which totals are maintained. */
export function flagsOf(query: PublicationsQuery): Partial<FacetFlags> {
  return Object.fromEntries(FACET_FLAGS.filter(isAskedOf(query)).map((name) => [name, query[name]]));
}

/** Whether the total is maintained: it is for every filter but the price and those that are no flags. */
export function hasMaintainedTotal(query: PublicationsQuery): boolean {
  const isFlag = (name: FilterName) => (FACET_FLAGS as readonly string[]).includes(name);
  return !filtersByPrice(query) && FILTERS.filter(isAskedOf(query)).every(isFlag);
}

/** The filters as conditions on keys, for a list in the order of `mode`. */
export function filterKeys(query: PublicationsQuery, mode: SortMode): ViewQuery['where'] {
  const conditions = FILTERS.filter(isAskedOf(query)).map((name) => conditionOf(name, query[name]!));
  return Object.assign({}, ...conditions, priceRange(query, mode));
}

function conditionOf(name: FilterName, value: boolean | string | number): ViewQuery['where'] {
  if (name === 'featured') return { featured_rank: value ? { lte: NOT_FEATURED - 1 } : NOT_FEATURED };
  const key: keyof PublicationKeys = name;
  return { [key]: typeof value === 'boolean' ? Number(value) : value };
}

/**
 * Both price keys hold an active price, and for an inactive one a number outside of all prices, which is in no range
 * (decisions §1). The range is put on the key that the list is sorted by, so that one index gives both.
 */
export function priceRange(query: PriceBounds, mode: SortMode): ViewQuery['where'] {
  if (!filtersByPrice(query)) return {};
  const { min_price, max_price } = query;
  const key = mode === 'price_desc' ? 'price_down' : 'price_up';
  return { [key]: { gte: min_price ?? 0, lte: Math.min(max_price ?? PRICE_AMOUNT_MAX, PRICE_AMOUNT_MAX) } };
}

function filtersByPrice({ min_price, max_price }: PriceBounds): boolean {
  return min_price !== undefined || max_price !== undefined;
}

function isAskedOf(query: PublicationsQuery): (name: FilterName) => boolean {
  return (name) => query[name] !== undefined;
}
