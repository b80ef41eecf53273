import { z } from 'zod';
import { NOT_FEATURED } from '../../shared/contracts/documents';
import type { FacetFlags } from '../../shared/contracts/facets';
import { PRICE_AMOUNT_MAX } from '../../shared/contracts/money';
import type { SortMode } from '../../shared/contracts/vocabulary';
import { queryId } from '../../shared/http/validation';
import type { ViewQuery } from '../../shared/ports/view-store';
import { listSchema } from './list-query';

const flag = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .optional();

const price = z
  .string()
  .regex(/^\d{1,15}$/, 'a whole number of hundredths, 0 or more')
  .transform(Number)
  .optional();

export const priceBounds = { min_price: price, max_price: price };

export interface PriceBounds {
  readonly min_price?: number | undefined;
  readonly max_price?: number | undefined;
}

export const BOUNDS_IN_ORDER = { path: ['min_price'], error: 'at most max_price' };

export function areBoundsInOrder({ min_price, max_price }: PriceBounds): boolean {
  return (min_price ?? 0) <= (max_price ?? Number.MAX_SAFE_INTEGER);
}

/** The parameters of `GET /api/publications`: those of every list, and its filters (decisions §5). */
export const publicationsSchema = listSchema
  .extend({
    listing_id: queryId.optional(),
    featured: flag,
    free_shipping: flag,
    in_stock: flag,
    ...priceBounds,
  })
  .refine(areBoundsInOrder, BOUNDS_IN_ORDER);

export type PublicationsQuery = z.infer<typeof publicationsSchema>;

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
