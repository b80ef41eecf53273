/** One page as the service sent it, and the items in it that an iteration yields. */
export interface FetchedPage<Item, Page> {
  readonly page: Page;
  readonly items: readonly Item[];
  readonly total_pages: number;
  /** The limit of the page, and how many of its last items the answer leaves out because of its size. */
  readonly limit: number;
  readonly omitted_items: number;
}

/**
 * A paginated list. Pages are requested when they are needed.
 *
 * @example
 * for await (const publication of client.publications.list({ sort: 'price' })) console.log(publication.title);
 * const { data, meta } = await client.publications.list({ limit: 10 }).page(3);
 */
export class Pages<Item extends { readonly id: string }, Page> implements AsyncIterable<Item> {
  constructor(
    private readonly fetchPage: (page: number, limit?: number) => Promise<FetchedPage<Item, Page>>,
    private readonly first_page = 1,
  ) {}

  /**
   * Returns one page with its counts. Pages are numbered from 1; a page after the last one is empty. Default: `page`
   * of the query, or 1.
   *
   * @example
   * const { data, meta } = await client.publications.list({ limit: 10 }).page(3);
   */
  async page(page: number = this.first_page): Promise<Page> {
    return (await this.fetchPage(page)).page;
  }

  /**
   * Yields every item, from `page` of the query to the last page. If the list changes during the iteration, an item
   * that moves to the next page is still yielded only once, but an item that moves to an earlier page may be missed. With
   * `{ sort: 'created_at', order: 'asc' }`, items created during the iteration come last.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    let previous_ids = new Set<string>();
    for (let page = this.first_page; ; page++) {
      const fetched = await this.fetchPage(page);
      const { total_pages } = fetched;
      const items = [...fetched.items];
      yield* items.filter(({ id }) => !previous_ids.has(id));
      for (let left = fetched.omitted_items; left > 0; left--) {
        // With a limit of 1, the number of the page is the number of the item.
        const { items: next } = await this.fetchPage((page - 1) * fetched.limit + items.length + 1, 1);
        yield* next.filter(({ id }) => !previous_ids.has(id));
        items.push(...next);
      }
      if (page >= total_pages || items.length === 0) return;
      previous_ids = new Set(items.map(({ id }) => id));
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
  readonly limit?: number | undefined;
}

/** The paginated envelope. */
interface ListPage {
  readonly data: readonly { readonly id: string }[];
  readonly meta: { readonly pagination: Pagination };
}

interface Pagination {
  readonly total_pages: number;
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
  const fetchPage = async (number: number, limit = query.limit ?? LIMIT_DEFAULT) => {
    const page = await read({ ...query, limit, page: number });
    const { total_pages, omitted_items = 0 } = paginationOf(page);
    return { page, items: itemsOf(page), total_pages, limit, omitted_items };
  };
  return new Pages(fetchPage, query.page);
}
