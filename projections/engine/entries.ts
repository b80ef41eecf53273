import { compareByOrder, type SortOrder } from '../../shared/catalog/sorting';
import type { Entry } from '../../shared/catalog/stored-document';

/** What a list of entries is: the first `max` of `total` items by `order`. */
export interface ListShape {
  readonly max: number;
  /** After the change at hand. */
  readonly total: number;
  readonly order: SortOrder;
}

export interface Placement {
  readonly list: readonly Entry[];
  /** An item beyond those that are kept may belong into the list: it must be read anew. */
  readonly incomplete: boolean;
}

/**
 * Puts the item in its place, or takes it out where there is no `entry`. Gives the same list back where it neither was nor
 * is in it.
 */
export function placeEntry(
  list: readonly Entry[],
  id: string,
  entry: Entry | null,
  { max, total, order }: ListShape,
): Placement {
  const expected = Math.min(max, total);
  const before = list.find((entry) => entry.id === id);
  const others = before ? list.filter((entry) => entry !== before) : list;
  if (!entry) return { list: others, incomplete: others.length < expected };
  const index = placeOf(entry, others, order);
  if (index >= max) return { list: others, incomplete: false };
  const placed = [...others.slice(0, index), entry, ...others.slice(index)].slice(0, max);
  // One that was kept and fell to the end may now belong behind one that is not kept.
  const fell = before !== undefined && index === others.length && compareByOrder(order, entry, before) > 0;
  return { list: placed, incomplete: placed.length < expected || (fell && total > placed.length) };
}

/** How many of the others come before it. */
function placeOf(entry: Entry, others: readonly Entry[], order: SortOrder): number {
  let low = 0;
  // Most changes are of items beyond those that are kept: behind the last one, so that is looked at first.
  let middle = others.length - 1;
  for (let high = others.length; low < high; middle = (low + high) >> 1)
    if (compareByOrder(order, entry, others[middle]!) < 0) high = middle;
    else low = middle + 1;
  return low;
}

/** The same items by another order; incomplete unless they are all there are. */
export function reorderEntries(list: readonly Entry[], { total, order }: ListShape): Placement {
  const sorted = [...list].sort((a, b) => compareByOrder(order, a, b));
  return { list: sorted, incomplete: list.length < total };
}
