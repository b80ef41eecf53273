import { hash } from 'node:crypto';
import type { Pagination } from '../../shared/api/requests/parameters';
import type { PageEnd } from '../../shared/api/responses/envelopes';
import {
  collections,
  type Key,
  type StoredDocument,
  type ViewDocument,
} from '../../shared/catalog/documents';
import { type SortOrder, sortKeysOf } from '../../shared/catalog/sorting';
import type { ApiRequest } from '../../shared/http/route';
import { pageMeta } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import type { ViewQuery } from '../../shared/ports/view-store';
import { requestedStore } from './read';

/*
 * Where the page of a request begins: at a number of items, or after the item of a cursor (docs/interface/lists.md#cursors). A
 * cursor contains the sort keys of the last item of the page before, so that other writes do not move the next page. It is
 * not signed: a forged one gives another place in a list that the caller may read anyway.
 */

/** The place of a page in a list. */
export interface ListPlace extends Pagination {
  /** Number of the page: with a cursor, counted from the items of the pages before. */
  readonly page: number;
  /** Number of items on the pages before. */
  readonly before: number;
  /** With a cursor: the sort keys of the item that the page comes after. */
  readonly after?: ViewQuery['after'] & {};
  /** Undefined if the list is by relevance, which no keys express. It has no cursors. */
  readonly order: SortOrder | undefined;
  /** Different for every list and order. */
  readonly list: string;
}

interface Sortable {
  readonly id: string;
  readonly keys: Readonly<Record<string, Key>>;
}

const LIST_LENGTH = 12;

/**
 * Returns the place of the requested page. `name` is that of the kind of list. Throws `invalid_query` if the cursor is not
 * one of this list in this order, or if there is also a page.
 */
export function placeOf(
  request: ApiRequest,
  query: Pagination & object,
  name: string,
  order: SortOrder | undefined,
): ListPlace {
  const { page, limit, cursor, ...others } = query;
  const list = order === undefined ? '' : listName(request, others, [name, order]);
  if (cursor === undefined) return { page, limit, before: (page - 1) * limit, order, list };
  const place = request.query.page === undefined ? parseCursor(cursor, list, order) : undefined;
  if (place === undefined) {
    const constraint = order
      ? 'the next_cursor of a page of this list in this order, and no page'
      : 'none, because a list by relevance has pages only: use page, or sort';
    throw CatalogError.ofFaults([{ condition: 'invalid_query', field: 'cursor', constraint }]);
  }
  return { ...place, page: Math.floor(place.before / limit) + 1, limit, order, list };
}

/** Parameters that do not change which items a list has, or that the order and the container express. */
const OTHER_PARAMETERS = ['expand', 'facets', 'locale', 'market', 'country', 'sort', 'order', 'store_id'];

function listName(request: ApiRequest, query: object, kind: readonly unknown[]): string {
  const filters = Object.entries(query).filter(([name]) => !OTHER_PARAMETERS.includes(name));
  const container = request.params.id ?? requestedStore(request);
  return hash('sha256', JSON.stringify([...kind, container, filters]), 'base64url').slice(0, LIST_LENGTH);
}

/** Returns undefined unless it is a cursor of this list. */
function parseCursor(cursor: string, list: string, order: SortOrder | undefined) {
  const [name, before, ...after] = parseArray(Buffer.from(cursor, 'base64url').toString());
  const is_cursor =
    name === list && isWhole(before) && before > 0 && order?.length === after.length && after.every(isValue);
  return is_cursor ? { before, after: after as ViewQuery['after'] & {} } : undefined;

  function isValue(value: unknown, n: number): boolean {
    return isText(order![n]![0]) ? typeof value === 'string' : isWhole(value);
  }
}

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

/** Returns whether the values of a key are texts. A key has the same type in all collections. */
const isText = (key: string): boolean =>
  key === 'id' ||
  Object.values(collections).some(({ keys }) => (keys as Record<string, string>)[key] === 'text');

function parseArray(json: string): unknown[] {
  try {
    const value: unknown = JSON.parse(json);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

/** Larger than any catalog, and small enough for the integers of every view store. */
const SKIP_MAX = 1_000_000_000_000;

/** Returns what reads the page, and one item more, which tells whether there is a next page. */
export const pageOf = ({
  before,
  limit,
  after,
}: ListPlace): Pick<ViewQuery, 'skip' | 'limit' | 'after'> & {
  readonly skip: number;
} => (after ? { after, skip: 0, limit: limit + 1 } : { skip: Math.min(before, SKIP_MAX), limit: limit + 1 });

/** Returns the answer with a page of a list. `found`: the documents from the place on, which are shown as they are stored. */
export function bodiesAnswer(
  place: ListPlace,
  found: readonly StoredDocument<Pick<ViewDocument, 'keys' | 'body'>>[],
  total: number,
) {
  const page = found
    .slice(0, place.limit)
    .flatMap(({ id, document }) => (document ? [{ id, keys: document.keys, body: document.body }] : []));
  const end = endOf(place, page, found.length > place.limit);
  return { data: page.map(({ body }) => body), meta: pageMeta({ ...place, total }, end) };
}

/** Returns the cursor of the next page, if there is one. `page`: the items that are shown. */
export function endOf(
  { before, order, list }: ListPlace,
  page: readonly Sortable[],
  has_more: boolean,
): Pick<PageEnd, 'next_cursor'> {
  const last = page.at(-1);
  if (!order || !last || !has_more) return {};
  const cursor = JSON.stringify([list, before + page.length, ...sortKeysOf(order, last)]);
  return { next_cursor: Buffer.from(cursor).toString('base64url') };
}
