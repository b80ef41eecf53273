import type { VisibilityFilter } from '../../shared/api/requests/reads';
import type { Visibility } from '../../shared/catalog/vocabulary';
import type { KeyCondition, WordScope } from '../../shared/ports/view-store';

/** The visibilities that the filter lets through. */
export function visibilitiesOf(filter: VisibilityFilter): readonly Visibility[] {
  return filter === 'all' ? ['public', 'private'] : [filter];
}

export function visibilityKey(filter: VisibilityFilter): KeyCondition {
  return filter === 'all' ? { in: visibilitiesOf(filter) } : filter;
}

/** Where words are looked up for one store's publications. */
export function wordScope(store_id: string, filter: VisibilityFilter): WordScope {
  return { store_id, visibility: filter === 'all' ? { in: visibilitiesOf(filter) } : filter };
}

/** Whether the filter shows a resource as what was asked for: an item of a list, or one by its id. */
export type Shows = (filter: VisibilityFilter, visibility: Visibility | null) => boolean;

export const showsItem: Shows = (filter, visibility) =>
  visibility !== null && visibilitiesOf(filter).includes(visibility);

/**
 * Whether the filter shows a resource that only leads to the items asked for, such as the listing of its
 * publications. It must be public in the storefront's view; who manages hidden items reaches them through any.
 */
export const showsContainer: Shows = (filter, visibility) => filter !== 'public' || visibility === 'public';
