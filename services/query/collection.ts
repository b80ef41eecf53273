import type { VisibilityFilter } from '../../shared/api/requests/reads';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { compareByOrder, type SortOrder } from '../../shared/catalog/sorting';
import { type Entries, type Entry, EXPANDED_MAX } from '../../shared/catalog/stored-document';

/** An expanded collection; `url` is the read that gives all of it. */
export function collectionOf(items: readonly JsonObject[], total_count: number, url: string): JsonObject {
  const data = items.slice(0, EXPANDED_MAX);
  return { object: 'collection', data, total_count, has_more: total_count > data.length, url };
}

/** The first entries that `filter` shows. Each visibility's are the first of their kind, so the merge's are too. */
export function entriesShown(entries: Entries, filter: VisibilityFilter, order: SortOrder): readonly Entry[] {
  if (filter !== 'all') return entries[filter];
  return [...entries.public, ...entries.private]
    .sort((a, b) => compareByOrder(order, a, b))
    .slice(0, EXPANDED_MAX);
}

/** A path below `/api`, with what it needs to show the same items as the read that names it. */
export function urlOf(
  path: string,
  filter: VisibilityFilter,
  parameters: Record<string, string> = {},
): string {
  const query = new URLSearchParams(parameters);
  if (filter !== 'public') query.set('visibility', filter);
  return query.size === 0 ? path : `${path}?${query}`;
}
