import type { Key } from './stored-document';
import type { SortMode } from './vocabulary';

export type SortDirection = 'asc' | 'desc';
/** Keys in order of weight; `id` last, so that the order is total (decisions §5). */
export type SortOrder = readonly (readonly [key: string, direction: SortDirection])[];

const BY_MODE: Record<SortMode, SortOrder> = {
  created_at_desc: [
    ['created_at', 'desc'],
    ['id', 'desc'],
  ],
  created_at_asc: [
    ['created_at', 'asc'],
    ['id', 'asc'],
  ],
  price_asc: [
    ['price_up', 'asc'],
    ['id', 'asc'],
  ],
  price_desc: [
    ['price_down', 'desc'],
    ['id', 'desc'],
  ],
  name_asc: [
    ['name_fold', 'asc'],
    ['id', 'asc'],
  ],
  name_desc: [
    ['name_fold', 'desc'],
    ['id', 'desc'],
  ],
};

const FEATURED_FIRST = Object.fromEntries(
  Object.entries(BY_MODE).map(([mode, order]) => [mode, [['featured_rank', 'asc'], ...order]]),
) as unknown as Record<SortMode, SortOrder>;

export const orderOf = (mode: SortMode): SortOrder => BY_MODE[mode];

/** The one sequence of a listing's publications: featured ones first, then the others, each by `mode`. */
export const featuredFirst = (mode: SortMode): SortOrder => FEATURED_FIRST[mode];

/** The comparison that every view store's sort agrees with; nulls first, texts by code point. */
export function compareByOrder(
  order: SortOrder,
  a: { readonly id: string; readonly keys: Readonly<Record<string, Key>> },
  b: { readonly id: string; readonly keys: Readonly<Record<string, Key>> },
): number {
  for (const [key, direction] of order) {
    const left = key === 'id' ? a.id : (a.keys[key] ?? null);
    const right = key === 'id' ? b.id : (b.keys[key] ?? null);
    const compared = compareKeys(left, right);
    if (compared !== 0) return direction === 'asc' ? compared : -compared;
  }
  return 0;
}

function compareKeys(a: Key, b: Key): number {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b);
  return a < b ? -1 : 1;
}

/** Below, a text's code units are in the order of its code points. */
const FIRST_SURROGATE = 0xd800;

function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (left >= FIRST_SURROGATE || right >= FIRST_SURROGATE)
      return Buffer.compare(Buffer.from(a), Buffer.from(b));
    if (left !== right) return left - right;
  }
  return a.length - b.length;
}
