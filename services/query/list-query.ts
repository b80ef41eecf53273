import type { ListQuery, SORT_FIELDS } from '../../shared/api/requests/reads';
import { type CollectionName, collections } from '../../shared/catalog/documents';
import { orderOf, type SortDirection, type SortOrder } from '../../shared/catalog/sorting';
import type { SortMode } from '../../shared/catalog/vocabulary';

type SortField = (typeof SORT_FIELDS)[number];

/** The direction of a `sort` that comes without an `order`: newest first, cheapest first, A to Z. */
const NATURAL_DIRECTION: Readonly<Record<SortField, SortDirection>> = {
  created_at: 'desc',
  price: 'asc',
  name: 'asc',
};

type AskedOrder = { readonly [Name in 'sort' | 'order']?: ListQuery[Name] };

/** The sort mode asked for; `order` alone turns the direction of `fallback`. */
export function sortModeOf(asked: AskedOrder, fallback: SortMode = 'created_at_desc'): SortMode {
  const cut = fallback.lastIndexOf('_');
  const field = asked.sort ?? (fallback.slice(0, cut) as SortField);
  const usual = asked.sort ? NATURAL_DIRECTION[field] : (fallback.slice(cut + 1) as SortDirection);
  return `${field}_${asked.order ?? usual}`;
}

/** The order of a collection by that mode; where its resources have no such field, all tie and the id decides. */
export function orderWithin(collection: CollectionName, mode: SortMode): SortOrder {
  return orderOf(mode).filter(([key]) => key === 'id' || key in collections[collection].keys);
}

/** Beyond every catalog, and small enough for every store's arithmetic, whatever page is asked for. */
const SKIP_MAX = 1_000_000_000_000;

/** What a page is in the store's terms. */
export function pageOf(query: Pick<ListQuery, 'page' | 'limit'>): { skip: number; limit: number } {
  return { skip: Math.min((query.page - 1) * query.limit, SKIP_MAX), limit: query.limit };
}
