import type { CatalogClient, Publication } from 'catalog-client';

/* The products that the page shows, as the query of its address. A link from elsewhere has the same parameters as the interface. */

/** Filters of several values, with counts. */
export const LABELS = ['vendor', 'product_type', 'tag'] as const;
/** Filters that are true or false. */
export const FLAGS = [
  'in_stock',
  'has_media',
  'has_price',
  'has_discount',
  'scheduled',
  'free_shipping',
] as const;
const SINGLE = [
  ...FLAGS,
  ...'q visibility listing_id min_price max_price sort order untranslated'.split(' '),
];
/** Characters that a search may have. */
const QUERY_MAX = 200;
const NUMBERS = ['min_price', 'max_price'];
const SEVERAL = [...LABELS, 'sku', 'barcode'];

/** Options and attributes are filters that each store has of its own. */
export const isOwnFilter = (name: string): boolean => /^(option|attributes)\../.test(name);
const isSeveral = (name: string): boolean => (SEVERAL as string[]).includes(name) || isOwnFilter(name);

/** Parameters of the interface. `visibility` is `all` unless the address has another one. */
export type Filters = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** Ignores parameters and values that the page does not know. */
export function filtersOf(params: URLSearchParams): Filters {
  const filters: Record<string, string | number | boolean | string[]> = { visibility: 'all' };
  for (const name of new Set(params.keys())) {
    const value = params.get(name)!.trim();
    if (value === '') continue;
    if (isSeveral(name)) filters[name] = params.getAll(name);
    else if ((FLAGS as readonly string[]).includes(name)) filters[name] = value === 'true';
    else if (NUMBERS.includes(name)) {
      if (/^\d{1,15}$/.test(value)) filters[name] = Number(value);
    } else if (name === 'q') filters[name] = value.slice(0, QUERY_MAX);
    else if (SINGLE.includes(name)) filters[name] = value;
  }
  return filters;
}

/** Returns the parameters with others for one name; without values, it is removed. */
export function withValues(
  params: URLSearchParams,
  name: string,
  values: readonly string[],
): URLSearchParams {
  const next = new URLSearchParams(params);
  next.delete(name);
  for (const value of values) if (value !== '') next.append(name, value);
  return next;
}

/** Whether the parameter chooses products; the search and their order are not filters. */
export const isFilter = (name: string): boolean =>
  isSeveral(name) || (SINGLE.includes(name) && !['q', 'sort', 'order'].includes(name));

/** The parameters that choose products, in a form that can be compared. */
export function selectionOf(params: URLSearchParams): string {
  const known = [...params].filter(([name, value]) => value !== '' && (name === 'q' || isFilter(name)));
  return new URLSearchParams(known.sort(([a, x], [b, y]) => (a + x < b + y ? -1 : 1))).toString();
}

export const PAGE_SIZE = 50;

type Expansion = 'media' | 'variants';
interface PageOptions {
  readonly page?: number;
  readonly limit?: number;
  readonly expand?: readonly Expansion[];
  readonly facets?: readonly string[];
}

/** The list, or the search, that the filters ask for. */
export function listOf(client: CatalogClient, { q, ...filters }: Filters, options: PageOptions = {}) {
  // Deleted products have no filters.
  if (filters.visibility === 'deleted') {
    const { facets: _, ...others } = options;
    return client.publications.list({ visibility: 'deleted', ...others });
  }
  const { untranslated: _, ...others } = filters;
  // Searches and facets cannot be filtered by untranslated texts.
  const query = { ...(q || options.facets ? others : filters), ...options };
  return q ? client.store.search(String(q), query) : client.publications.list(query);
}

/** Reads all products that match, without the texts that no change of many products needs. */
export async function readMatching(
  client: CatalogClient,
  filters: Filters,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (done: number) => void },
): Promise<Publication[]> {
  const products: Publication[] = [];
  for await (const { description: _, description_html: __, ...product } of listOf(client, filters, {
    expand: ['variants'],
  })) {
    if (signal.aborted) break;
    products.push({ ...product, description: '' });
    if (products.length % PAGE_SIZE === 0) onProgress(products.length);
  }
  return products;
}
