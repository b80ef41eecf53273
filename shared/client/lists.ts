import { Pages } from './pages';

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
