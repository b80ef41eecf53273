import type { Key } from './documents';
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

export const orderOf = (mode: SortMode): SortOrder => BY_MODE[mode];

/** The one sequence of a listing's publications: featured ones first, then the others, each by `mode`. */
export const featuredFirst = (mode: SortMode): SortOrder => [['featured_rank', 'asc'], ...BY_MODE[mode]];

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
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : 1;
}
