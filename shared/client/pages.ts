/** One page as it was answered, and what of it an iteration gives. */
export interface FetchedPage<Item, Page> {
  readonly page: Page;
  readonly items: readonly Item[];
  readonly total_pages: number;
}

/**
 * A list, read page by page as it is needed.
 *
 * @example
 * for await (const publication of client.publications.list({ sort: 'price' })) console.log(publication.title);
 * const { data, meta } = await client.publications.list({ limit: 10 }).page(3);
 */
export class Pages<Item extends { readonly id: string }, Page> implements AsyncIterable<Item> {
  constructor(
    private readonly fetchPage: (page: number) => Promise<FetchedPage<Item, Page>>,
    private readonly first = 1,
  ) {}

  /** One page, from 1, with its counts; beyond the last it is empty. Default: the query's, or the first. */
  async page(page: number = this.first): Promise<Page> {
    return (await this.fetchPage(page)).page;
  }

  /**
   * Every item from the query's page on. A list may change meanwhile: what moved to the next page is given once; what
   * moved to an earlier page, as something before it was deleted, is missed. Sorted by `created_at`, `asc`, what is
   * made meanwhile comes at the end.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    let before = new Set<string>();
    for (let page = this.first; ; page++) {
      const { items, total_pages } = await this.fetchPage(page);
      yield* items.filter(({ id }) => !before.has(id));
      if (page >= total_pages || items.length === 0) return;
      before = new Set(items.map(({ id }) => id));
    }
  }

  /** All items in an array, as an iteration gives them. */
  async all(): Promise<Item[]> {
    const items: Item[] = [];
    for await (const item of this) items.push(item);
    return items;
  }
}

/** What cuts a list. */
interface Cut {
  readonly page?: number;
  readonly limit?: number;
}

/** The paginated envelope. */
interface ListPage {
  readonly data: readonly { readonly id: string }[];
  readonly meta: { readonly pagination: { readonly total_pages: number } };
}

/** As many as a page may have: the fewest requests. */
const LIMIT = 50;

/** The pages of a list; each is read when it is asked for. */
export function listOf<Page extends ListPage>(
  read: (query: Cut) => Promise<Page>,
  query: Cut,
): Pages<Page['data'][number], Page> {
  return pagesOf(
    read,
    (page: Page) => page.data,
    (page) => page.meta.pagination.total_pages,
    query,
  );
}

/** Pages of any shape. */
export function pagesOf<Item extends { readonly id: string }, Page>(
  read: (query: Cut) => Promise<Page>,
  itemsOf: (page: Page) => readonly Item[],
  totalOf: (page: Page) => number,
  query: Cut,
): Pages<Item, Page> {
  const fetchPage = async (number: number) => {
    const page = await read({ limit: LIMIT, ...query, page: number });
    return { page, items: itemsOf(page), total_pages: totalOf(page) };
  };
  return new Pages(fetchPage, query.page);
}
