import { z } from 'zod';
import { type CollectionName, collections, type Key } from '../../shared/catalog/documents';
import type { SortOrder } from '../../shared/catalog/sorting';
import { CatalogError } from '../../shared/kernel/errors';
import type { PagePlace } from '../../shared/ports/view-store';

/*
 * A cursor names the last item of a page: the keys that the list is sorted by, and the id. It is base64url of JSON. It is
 * not signed, because it gives access to nothing: whoever changes it continues the list at another place.
 */

/** An item as the order of its list sees it. */
interface Item {
  readonly id: string;
  readonly keys: Readonly<Record<string, Key>>;
}

/** Returns the cursor of the page after this item. */
export function cursorAfter(order: SortOrder, { id, keys }: Item): string {
  const values = order.map(([key]) => (key === 'id' ? id : (keys[key] ?? null)));
  return Buffer.from(JSON.stringify([signatureOf(order), ...values])).toString('base64url');
}

/** Throws `invalid_query` if the text is no cursor of a list of the collection in this order. */
export function parseCursor(text: string, collection: CollectionName, order: SortOrder): PagePlace {
  const invalid = (): CatalogError =>
    CatalogError.ofFaults([
      { condition: 'invalid_query', field: 'cursor', constraint: 'next_cursor of the same list and order' },
    ]);
  const parsed = parse(text);
  if (!Array.isArray(parsed) || parsed.length !== order.length + 1 || parsed[0] !== signatureOf(order))
    throw invalid();
  const kinds: Readonly<Record<string, 'text' | 'integer'>> = collections[collection].keys;
  const keys: Record<string, Key> = {};
  let id = '';
  for (const [index, [key]] of order.entries()) {
    const value: unknown = parsed[index + 1];
    if (key === 'id') {
      if (!z.guid().safeParse(value).success) throw invalid();
      id = value as string;
    } else if (kinds[key] === 'text' ? typeof value !== 'string' : !Number.isSafeInteger(value))
      throw invalid();
    else keys[key] = value as Key;
  }
  return { id, keys };
}

const signatureOf = (order: SortOrder): string =>
  order.map(([key, direction]) => (direction === 'asc' ? key : `-${key}`)).join();

function parse(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return undefined;
  }
}
