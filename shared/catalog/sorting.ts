import type { Key } from './stored-document';
import type { ListSortMode } from './vocabulary';

export type SortDirection = 'asc' | 'desc';
/** Sort keys, the most significant first. `id` comes last, so that the order is total (docs/interface/lists.md#sorting). */
export type SortOrder = readonly (readonly [key: string, direction: SortDirection])[];

const by = (key: string, direction: SortDirection): SortOrder => [
  [key, direction],
  ['id', direction],
];

const BY_MODE: Record<ListSortMode, SortOrder> = {
  created_at_desc: by('created_at', 'desc'),
  created_at_asc: by('created_at', 'asc'),
  price_asc: by('price_up', 'asc'),
  price_desc: by('price_down', 'desc'),
  name_asc: by('name_fold', 'asc'),
  name_desc: by('name_fold', 'desc'),
  rating_desc: by('rating_rank', 'desc'),
  rating_asc: by('rating_rank', 'asc'),
};

const FEATURED_FIRST = Object.fromEntries(
  Object.entries(BY_MODE).map(([mode, order]) => [mode, [['featured_rank', 'asc'], ...order]]),
) as unknown as Record<ListSortMode, SortOrder>;

export const orderOf = (mode: ListSortMode): SortOrder => BY_MODE[mode];

/**
 * Returns the order of a listing's publications: first the featured ones by their position, then all others by `mode`.
 */
export const featuredFirst = (mode: ListSortMode): SortOrder => FEATURED_FIRST[mode];

interface Sortable {
  readonly id: string;
  readonly keys: Readonly<Record<string, Key>>;
}

/** Compares two items like the sort of every view store: null first, texts by code point. */
export function compareByOrder(order: SortOrder, a: Sortable, b: Sortable): number {
  for (const [key, direction] of order) {
    const left = key === 'id' ? a.id : (a.keys[key] ?? null);
    const right = key === 'id' ? b.id : (b.keys[key] ?? null);
    const compared = compareKeys(left, right);
    if (compared !== 0) return direction === 'asc' ? compared : -compared;
  }
  return 0;
}

/** Returns the item's values of the keys of the order, as `after` of a query takes them. */
export const sortKeysOf = (order: SortOrder, { id, keys }: Sortable): Key[] =>
  order.map(([key]) => (key === 'id' ? id : (keys[key] ?? null)));

/** Returns whether the item comes after the place of an item with these sort keys. */
export function isAfter(order: SortOrder, item: Sortable, after: readonly Key[]): boolean {
  const keys = Object.fromEntries(order.map(([key], n) => [key, after[n] ?? null]));
  return compareByOrder(order, item, { id: String(keys.id), keys }) > 0;
}

function compareKeys(a: Key, b: Key): number {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b);
  return a < b ? -1 : 1;
}

/** Below this code unit, UTF-16 code units sort like code points. */
const FIRST_SURROGATE = 0xd800;

/** Compares as the stores sort texts: by their bytes in UTF-8. */
export function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const [left, right] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (left >= FIRST_SURROGATE || right >= FIRST_SURROGATE)
      return Buffer.compare(Buffer.from(a), Buffer.from(b));
    if (left !== right) return left - right;
  }
  return a.length - b.length;
}
