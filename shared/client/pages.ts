/** One page as the service sent it, and the items in it that an iteration yields. */
export interface FetchedPage<Item, Page> {
  readonly page: Page;
  readonly items: readonly Item[];
  readonly total_pages: number;
  /** Where the next page begins, if the list has cursors and there is a next page. */
  readonly next_cursor: string | undefined;
  /** The limit of the page, and how many of its last items the answer leaves out because of its size. */
  readonly limit: number;
  readonly omitted_items: number;
}

/** Where a page begins: its number, or the cursor of the page before it. */
type PageStart = { readonly page: number } | { readonly cursor: string };

/**
 * A paginated list. Pages are requested when they are needed.
 *
 * @example
 * for await (const publication of client.publications.list({ sort: 'price' })) console.log(publication.title);
 * const { data, meta } = await client.publications.list({ limit: 10 }).page(3);
 */
export class Pages<Item extends { readonly id: string }, Page> implements AsyncIterable<Item> {
  constructor(
    private readonly fetchPage: (start: PageStart, limit?: number) => Promise<FetchedPage<Item, Page>>,
    private readonly first: PageStart = { page: 1 },
  ) {}

  /**
   * Returns one page with its counts. Pages are numbered from 1; a page after the last one is empty. Default: `page` or
   * `cursor` of the query, or 1.
   *
   * @example
   * const { data, meta } = await client.publications.list({ limit: 10 }).page(3);
   */
  async page(page?: number): Promise<Page> {
    return (await this.fetchPage(page === undefined ? this.first : { page })).page;
  }

  /**
   * Yields every item, from `page` or `cursor` of the query to the last page. If the list changes during the iteration, an
   * item that does not move is yielded once. With `{ sort: 'created_at', order: 'asc' }`, items created during the
   * iteration come last. A search and related publications without `sort` have no such order: of them, an item that moves
   * to an earlier page may be missed.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    let previous_ids = new Set<string>();
    for (let start = this.first; ; ) {
      const fetched = await this.fetchPage(start);
      const { total_pages, next_cursor } = fetched;
      const items = [...fetched.items];
      yield* items.filter(({ id }) => !previous_ids.has(id));
      if (next_cursor !== undefined) {
        // It comes after the last item of the answer, also if the answer leaves out items.
        start = { cursor: next_cursor };
        continue;
      }
      if ('cursor' in start) return;
      const { page } = start;
      for (let left = fetched.omitted_items; left > 0; left--) {
        // With a limit of 1, the number of the page is the number of the item.
        const number = (page - 1) * fetched.limit + items.length + 1;
        const { items: next } = await this.fetchPage({ page: number }, 1);
        yield* next.filter(({ id }) => !previous_ids.has(id));
        items.push(...next);
      }
      if (page >= total_pages || items.length === 0) return;
      previous_ids = new Set(items.map(({ id }) => id));
      start = { page: page + 1 };
    }
  }

  /**
   * Returns all items in an array, in the order of an iteration.
   *
   * @example
   * const listings = await client.listings.list().all();
   */
  async all(): Promise<Item[]> {
    const items: Item[] = [];
    for await (const item of this) items.push(item);
    return items;
  }
}

interface PageQuery {
  readonly page?: number | undefined;
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
  /** The list is these items. It has one page, and refuses the other parameters of a page. */
  readonly ids?: readonly string[] | undefined;
}

/** The paginated envelope. */
interface ListPage {
  readonly data: readonly { readonly id: string }[];
  readonly meta: { readonly pagination: Pagination };
}

interface Pagination {
  readonly total_pages: number;
  readonly next_cursor?: string | undefined;
  readonly omitted_items?: number | undefined;
}

/** Default page size: the maximum, so that an iteration sends the fewest requests. */
const LIMIT_DEFAULT = 50;

/** Returns the pages of an operation that answers with the paginated envelope. */
export function listOf<Page extends ListPage>(
  read: (query: PageQuery) => Promise<Page>,
  query: PageQuery,
): Pages<Page['data'][number], Page> {
  return pagesOf(
    read,
    (page: Page) => page.data,
    (page) => page.meta.pagination,
    query,
  );
}

/** Returns the pages of an operation whose page has another shape. */
export function pagesOf<Item extends { readonly id: string }, Page>(
  read: (query: PageQuery) => Promise<Page>,
  itemsOf: (page: Page) => readonly Item[],
  paginationOf: (page: Page) => Pagination,
  query: PageQuery,
): Pages<Item, Page> {
  const { page: first = 1, cursor, ...others } = query;
  const fetchPage = async (start: PageStart, limit = query.limit ?? LIMIT_DEFAULT) => {
    const page = await read(others.ids === undefined ? { ...others, ...start, limit } : others);
    const { total_pages, next_cursor, omitted_items = 0 } = paginationOf(page);
    return { page, items: itemsOf(page), total_pages, next_cursor, limit, omitted_items };
  };
  return new Pages(fetchPage, cursor === undefined ? { page: first } : { cursor });
}
