import { compareByOrder, type SortOrder } from '../../shared/catalog/sorting';
import type { Entry } from '../../shared/catalog/stored-document';

/** A list contains the first `max` of `total` items in `order`. */
export interface ListLimits {
  readonly max: number;
  /** Number of items after the change. */
  readonly total: number;
  readonly order: SortOrder;
}

/** A list after a change. */
export interface Placement {
  readonly entries: readonly Entry[];
  /** Whether an item that is not in the list may now belong in it, so that it must be recomputed from the store. */
  readonly must_recompute: boolean;
}

/**
 * Inserts or moves the item, or removes it if `entry` is null. Returns the same list if the item is in it neither
 * before nor after the change.
 */
export function placeEntry(
  list: readonly Entry[],
  id: string,
  entry: Entry | null,
  { max, total, order }: ListLimits,
): Placement {
  const expected = Math.min(max, total);
  const before = list.find((entry) => entry.id === id);
  const others = before ? list.filter((entry) => entry !== before) : list;
  if (!entry) return { entries: others, must_recompute: others.length < expected };
  const index = insertionIndex(entry, others, order);
  if (index >= max) return { entries: others, must_recompute: false };
  const entries_after = [...others.slice(0, index), entry, ...others.slice(index)].slice(0, max);
  // An item that moved to the end of the list may now come after an item that is not in the list.
  const moved_to_end =
    before !== undefined && index === others.length && compareByOrder(order, entry, before) > 0;
  return {
    entries: entries_after,
    must_recompute: entries_after.length < expected || (moved_to_end && total > entries_after.length),
  };
}

/** Returns the number of `others` that come before the entry, by binary search. */
function insertionIndex(entry: Entry, others: readonly Entry[], order: SortOrder): number {
  let low = 0;
  // Compare with the last entry first: most changed items come after it and are not in the list.
  let middle = others.length - 1;
  for (let high = others.length; low < high; middle = (low + high) >> 1)
    if (compareByOrder(order, entry, others[middle]!) < 0) high = middle;
    else low = middle + 1;
  return low;
}

/** Sorts the entries by another order. The list must be recomputed unless it contains all items. */
export function reorderEntries(list: readonly Entry[], { total, order }: ListLimits): Placement {
  const sorted = [...list].sort((a, b) => compareByOrder(order, a, b));
  return { entries: sorted, must_recompute: list.length < total };
}
