import { compareByOrder, type SortOrder } from '../../shared/catalog/sorting';
import { type Entries, type Entry, EXPANDED_MAX } from '../../shared/catalog/stored-document';
import { type Visibility, visibilitySchema } from '../../shared/catalog/vocabulary';
import type { Transition } from './view';

export const NO_ENTRIES: Entries = { public: [], private: [] };

/** What an entry is made of: a document's keys and body. */
type Shown = Pick<Entry, 'keys' | 'body'>;

export interface Placement {
  readonly list: readonly Entry[];
  /** An item beyond those that are kept may belong into the list: it must be read anew. */
  readonly incomplete: boolean;
}

/**
 * Puts the item in its place, or takes it out where `after` is null. `total` is how many items the list is the
 * first 20 of, after the change. Gives the same list back where nothing in it changes.
 */
export function placeEntry(
  list: readonly Entry[],
  id: string,
  after: Shown | null,
  total: number,
  order: SortOrder,
): Placement {
  const expected = Math.min(EXPANDED_MAX, total);
  const before = list.find((entry) => entry.id === id);
  const others = before ? list.filter((entry) => entry !== before) : list;
  if (!after) return { list: others, incomplete: others.length < expected };
  const entry: Entry = { id, keys: after.keys, body: after.body };
  const index = placeOf(entry, others, order);
  if (index >= EXPANDED_MAX) return { list: others, incomplete: false };
  const placed = [...others.slice(0, index), entry, ...others.slice(index)].slice(0, EXPANDED_MAX);
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
export function reorderEntries(list: readonly Entry[], total: number, order: SortOrder): Placement {
  const sorted = [...list].sort((a, b) => compareByOrder(order, a, b));
  return { list: sorted, incomplete: list.length < total };
}

/** The entries after an item's transition; `totals` are those after it. */
export function placeTransition(
  entries: Entries,
  id: string,
  { before, after }: Transition<Shown>,
  totals: Readonly<Record<Visibility, number>>,
  order: SortOrder,
): { readonly entries: Entries; readonly incomplete: readonly Visibility[] } {
  let next = entries;
  const incomplete: Visibility[] = [];
  for (const visibility of visibilitySchema.options) {
    const was = before?.keys.visibility === visibility;
    const is = after?.keys.visibility === visibility;
    if (!was && !is) continue;
    const placed = placeEntry(entries[visibility], id, is ? after : null, totals[visibility], order);
    if (placed.list !== entries[visibility]) next = { ...next, [visibility]: placed.list };
    if (placed.incomplete) incomplete.push(visibility);
  }
  return { entries: next, incomplete };
}
