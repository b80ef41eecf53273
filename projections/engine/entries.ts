import { compareByOrder, type SortOrder } from '../../shared/catalog/sorting';
import type { Entry } from '../../shared/catalog/stored-document';

/**
 * A list contains the first `max` of `total` items in `order`, or as many of them as fit into `max_bytes`. The first item
 * is always in the list, whatever its size.
 */
export interface ListLimits {
  readonly max: number;
  /** Maximum size of the entries, in bytes of JSON. */
  readonly max_bytes: number;
  /** Number of items before and after the change, including items that are not in the list. */
  readonly total_before: number;
  readonly total: number;
  readonly order: SortOrder;
}

/** A list after a change. */
export interface Placement {
  readonly entries: readonly Entry[];
  /** Whether an item that is not in the list may now belong in it, so that it must be recomputed from the store. */
  readonly must_recompute: boolean;
}

/** Sizes by body. Cached, because an entry stays in its list while other entries change. */
const sizes = new WeakMap<Entry['body'], number>();

function sizeOf({ body }: Entry): number {
  let size = sizes.get(body);
  if (size === undefined) {
    size = Buffer.byteLength(JSON.stringify(body));
    sizes.set(body, size);
  }
  return size;
}

/** Returns the first entries, at least one, whose size is at most `max_bytes`. */
export function fitting(entries: readonly Entry[], max_bytes: number): readonly Entry[] {
  let bytes = 0;
  const end = entries.findIndex((entry, index) => {
    bytes += sizeOf(entry);
    return bytes > max_bytes && index > 0;
  });
  return end === -1 ? entries : entries.slice(0, end);
}

/**
 * Inserts or moves the item, or removes the item if `entry` is null. If the list contains the item neither before nor
 * after the change, returns the same array, so that callers can compare by `===`.
 */
export function placeEntry(
  list: readonly Entry[],
  id: string,
  entry: Entry | null,
  limits: ListLimits,
): Placement {
  const { max, max_bytes, total_before, total, order } = limits;
  const expected = Math.min(max, total);
  const before = list.find((listed) => listed.id === id);
  const others = before ? list.filter((listed) => listed !== before) : list;
  if (!entry) return { entries: others, must_recompute: others.length < expected };
  const index = insertionIndex(entry, others, order);
  if (index >= max) return { entries: others, must_recompute: false };
  const placed = others.slice(0, index);
  placed.push(entry);
  for (let next = index; next < others.length && placed.length < max; next++) placed.push(others[next]!);
  const entries = fitting(placed, max_bytes);
  // An item that moved to the end of the list may now come after an item that is not in the list.
  const moved_to_end =
    before !== undefined && index === others.length && compareByOrder(order, entry, before) > 0;
  // Whether the list ended early, before an item that did not fit into `max_bytes`.
  const was_cut = list.length < Math.min(max, total_before);
  if (!was_cut)
    return { entries, must_recompute: placed.length < expected || (moved_to_end && total > placed.length) };
  // The item that did not fit is unknown. It may come before an entry that is added at the end.
  const is_added_at_end = before === undefined && index === others.length;
  // The changed item may itself be the item that did not fit. The item after it may then fit.
  const was_outside_list = before === undefined && total === total_before;
  const is_still_cut = entries.length < placed.length;
  if (is_still_cut) return { entries, must_recompute: moved_to_end || (is_added_at_end && was_outside_list) };
  // The item that did not fit may fit into the room that becomes free.
  const frees_room = before !== undefined && sizeOf(entry) < sizeOf(before);
  return { entries, must_recompute: moved_to_end || is_added_at_end || was_outside_list || frees_room };
}

/** Returns the number of `others` that come before the entry, by binary search. */
function insertionIndex(entry: Entry, others: readonly Entry[], order: SortOrder): number {
  let low = 0;
  // Compare with the last entry first, because most changed items come after the list.
  let middle = others.length - 1;
  for (let high = others.length; low < high; middle = (low + high) >> 1)
    if (compareByOrder(order, entry, others[middle]!) < 0) high = middle;
    else low = middle + 1;
  return low;
}

/** Sorts the entries by another order. The list must be recomputed unless it contains all items. */
export function reorderEntries(
  list: readonly Entry[],
  { total, order }: Pick<ListLimits, 'total' | 'order'>,
): Placement {
  const sorted = [...list].sort((a, b) => compareByOrder(order, a, b));
  return { entries: sorted, must_recompute: list.length < total };
}
