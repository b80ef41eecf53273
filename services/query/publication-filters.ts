import type { PriceBounds, PublicationsQuery } from '../../shared/api/requests/reads';
import { PRICE_AMOUNT_MAX } from '../../shared/catalog/money';
import { NOT_FEATURED } from '../../shared/catalog/publication/document';
import type { FacetFlags } from '../../shared/catalog/publication/facets';
import type { SortMode } from '../../shared/catalog/vocabulary';
import type { ViewQuery } from '../../shared/ports/view-store';

/** The flags asked for, by which totals are maintained. */
export function flagsOf(query: PublicationsQuery): Partial<FacetFlags> {
  const { featured, free_shipping, in_stock } = query;
  return {
    ...(featured === undefined ? {} : { featured }),
    ...(free_shipping === undefined ? {} : { free_shipping }),
    ...(in_stock === undefined ? {} : { in_stock }),
  };
}

/** Totals are maintained for every filter but these. */
export const filtersByPrice = (query: PriceBounds): boolean =>
  query.min_price !== undefined || query.max_price !== undefined;

/** The filters as conditions on keys, for a list in the order of `mode`. */
export function filterKeys(query: PublicationsQuery, mode: SortMode): ViewQuery['where'] {
  const { featured, free_shipping, in_stock } = query;
  return {
    ...(featured === undefined ? {} : { featured_rank: featured ? { lte: NOT_FEATURED - 1 } : NOT_FEATURED }),
    ...(free_shipping === undefined ? {} : { free_shipping: Number(free_shipping) }),
    ...(in_stock === undefined ? {} : { in_stock: Number(in_stock) }),
    ...priceRange(query, mode),
  };
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
