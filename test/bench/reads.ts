import { ListingPicker, productAt } from './catalog/product';
import { integer, oneOf, type Random, randomFrom, Zipf } from './catalog/random';
import { foreignWords, vocabulary } from './catalog/vocabulary';
import { type Catalog, publicationIdAt } from './catalog/write-log';

/** A kind of read: different paths with answers of about the same size. */
export interface Read {
  readonly name: string;
  readonly paths: readonly string[];
  /** Whether the request carries the ETag of the answer, so that the answer is 304. */
  readonly is_conditional?: true;
}

/** How many paths of a kind are requested in turn. */
const PATHS = 200;
const SEED = 7;
const LIMIT = 20;

/** Returns what a path lists, for finding its last page. */
export type CountItems = (path: string) => Promise<number>;

const encoded = (text: string): string => encodeURIComponent(text);
const repeated = (make: (random: Random) => string, count = PATHS): string[] => {
  const random = randomFrom(SEED);
  return Array.from({ length: count }, () => make(random));
};

/** The public publications of the catalog's main store. */
export class PublicProducts {
  private readonly catalog: Catalog;
  private readonly listings: ListingPicker;

  constructor(catalog: Catalog) {
    this.catalog = catalog;
    this.listings = new ListingPicker(catalog.main.listing_ids);
  }

  isPublic(index: number): boolean {
    return productAt(this.catalog.main.seed, index, this.listings).visibility === 'public';
  }

  /** Returns the id of the public publication at or after this index. */
  idAt(index: number): string {
    const { main } = this.catalog;
    let at = index % main.size;
    while (!this.isPublic(at)) at = (at + 1) % main.size;
    return publicationIdAt(main, at);
  }

  count(): number {
    let count = 0;
    for (let index = 0; index < this.catalog.main.size; index++) if (this.isPublic(index)) count++;
    return count;
  }
}

/** Returns a typo of the word: two letters in its middle are swapped, or one is replaced. */
function withTypo(word: string, random: Random): string {
  const at = integer(random, 1, word.length - 3);
  if (random() < 0.5 && word[at] !== word[at + 1])
    return word.slice(0, at) + word[at + 1] + word[at] + word.slice(at + 2);
  return `${word.slice(0, at)}x${word.slice(at + 1)}`;
}

/** Words that are long enough for typos, from the middle of the vocabulary. */
const longWords = vocabulary.slice(50, 600).filter((word) => word.length >= 6);

const searchPath = (q: string): string => `/api/store/search?q=${encoded(q)}`;

/** Returns the paths of a list's pages around the middle of the list. */
async function deepPages(path: string, items: CountItems): Promise<string[]> {
  const pages = Math.ceil((await items(path)) / LIMIT);
  const separator = path.includes('?') ? '&' : '?';
  return Array.from(
    { length: 20 },
    (_, n) => `${path}${separator}page=${Math.max(1, Math.ceil(pages / 2) - n)}`,
  );
}

/** The kinds of reads that are compared with fixed answers. */
export async function readsOf(
  catalog: Catalog,
  products: PublicProducts,
  items: CountItems,
): Promise<Read[]> {
  const { listing_ids, size } = catalog.main;
  const byId = repeated((random) => `/api/publication/${products.idAt(integer(random, 0, size - 1))}`);
  const listing = `/api/listing/${listing_ids[0]}/publications`;
  const common = vocabulary[0]!;
  return [
    { name: 'by id', paths: byId },
    { name: 'by id, expanded', paths: byId.map((path) => `${path}?expand=listing,media`) },
    { name: '304', paths: byId.slice(0, 1), is_conditional: true },
    { name: 'page of 20', paths: listing_ids.slice(0, 10).map((id) => `/api/listing/${id}/publications`) },
    { name: 'page of 20, deep', paths: await deepPages(listing, items) },
    { name: 'page of 50, expanded', paths: ['/api/publications?limit=50&expand=listing,media'] },
    { name: 'filtered by flags', paths: ['/api/publications?in_stock=true&free_shipping=true'] },
    {
      name: 'filtered by price, sorted',
      paths: repeated((random) => {
        const min = integer(random, 100, 5_000);
        return `/api/publications?min_price=${min}&max_price=${min + 5_000}&sort=price&order=asc`;
      }),
    },
    { name: 'filtered, sorted by name', paths: ['/api/publications?free_shipping=true&sort=name&order=asc'] },
    { name: 'search, common word', paths: [searchPath(common)] },
    { name: 'search, common word, deep', paths: await deepPages(searchPath(common), items) },
    { name: 'search, rare word', paths: vocabulary.slice(3_000, 3_000 + PATHS).map(searchPath) },
    {
      name: 'search, two words',
      paths: repeated((random) =>
        searchPath(`${vocabulary[integer(random, 0, 60)]} ${vocabulary[integer(random, 61, 300)]}`),
      ),
    },
    {
      name: 'search, prefix',
      paths: repeated((random) => searchPath(oneOf(random, vocabulary.slice(0, 300)).slice(0, 3))),
    },
    {
      name: 'search, typo',
      paths: repeated((random) => searchPath(withTypo(oneOf(random, longWords), random))),
    },
    { name: 'search, mixed scripts', paths: repeated((random) => searchPath(mixedWords(random, 2))) },
    { name: 'related', paths: byId.map((path) => `${path}/related`) },
  ];
}

const SORTS = ['created_at', 'price', 'name'].flatMap((sort) =>
  ['asc', 'desc'].map((order) => `sort=${sort}&order=${order}`),
);
/** Many paths, each requested once, so that no cache has its answer. The order mixes dear and cheap requests. */
export function coldReadsOf({ main }: Catalog, products: PublicProducts): Read[] {
  const indexes = Array.from({ length: main.size }, (_, index) => (index * 7_919) % main.size);
  const byId = indexes
    .filter((index) => products.isPublic(index))
    .map((index) => `/api/publication/${products.idAt(index)}`);
  const pages = [1, 2, 3, 4, 5, 6, 7, 8].flatMap((page) =>
    SORTS.flatMap((sort) =>
      main.listing_ids.map((id) => `/api/listing/${id}/publications?page=${page}&${sort}`),
    ),
  );
  const words = vocabulary.map((_, index) => vocabulary[(index * 7_919) % vocabulary.length]!);
  return [
    { name: 'by id, cold', paths: byId },
    { name: 'page of 20, cold', paths: pages },
    { name: 'search, cold', paths: words.map(searchPath) },
    { name: 'related, cold', paths: byId.map((path) => `${path}/related`) },
  ];
}

function mixedWords(random: Random, count: number): string {
  return Array.from({ length: count }, () =>
    withTypo(`${oneOf(random, foreignWords)}${oneOf(random, longWords)}`, random),
  ).join(' ');
}

/** One request of the storefront walk. */
export interface WalkStep {
  readonly kind: 'product' | 'listing' | 'related' | 'search' | 'listings';
  readonly path: string;
}

/**
 * Returns what visitors of a shop request: products with Zipf frequencies, so that all of them together are more than a
 * cache holds, and the pages around them.
 */
export function storefrontWalk(catalog: Catalog, products: PublicProducts, steps: number): WalkStep[] {
  const { size, listing_ids } = catalog.main;
  const random = randomFrom(SEED);
  const ranks = new Zipf(size, 0.9);
  const words = new Zipf(1_000);
  const product = (): string => `/api/publication/${products.idAt((ranks.draw(random) * 7_919) % size)}`;
  return Array.from({ length: steps }, (): WalkStep => {
    const kind = random() * 100;
    if (kind < 55) return { kind: 'product', path: `${product()}?expand=listing,media` };
    if (kind < 70) return { kind: 'related', path: `${product()}/related` };
    if (kind < 85)
      return {
        kind: 'listing',
        path: `/api/listing/${oneOf(random, listing_ids)}/publications?page=${1 + Math.floor(3 * random() ** 2)}`,
      };
    if (kind < 95) return { kind: 'search', path: searchPath(vocabulary[words.draw(random)]!) };
    return { kind: 'listings', path: '/api/store-listings' };
  });
}

/** Frequent words of which thirty fit into a query. */
const shortWords = vocabulary.slice(0, 150).filter((word) => word.length <= 5);
/** The names of two models, of which a product has one at most. */
const modelPairs = ['k xt', 'xt k', 'm xt', 'xt m', 'k m', 'm k'];

/** Requests that are as dear as the interface allows, each path different, so that no cache has the answer. */
export async function dearRequests(products: PublicProducts, items: CountItems): Promise<Read[]> {
  const count = 8;
  const random = randomFrom(SEED + 1);
  const each = (make: (n: number) => string): string[] => Array.from({ length: count }, (_, n) => make(n));
  const pageOf = (path: string, part: number): Promise<(n: number) => string> =>
    items(path).then((total) => (n) => `${path}&page=${Math.max(1, Math.ceil((part * total) / LIMIT) - n)}`);
  const related = products.idAt(5);
  const filters = '/api/publications?in_stock=true&free_shipping=true&featured=false';
  return [
    {
      name: 'related, deep',
      paths: each(await pageOf(`/api/publication/${related}/related?limit=${LIMIT}`, 1)),
    },
    {
      name: 'list, no result',
      paths: each((n) => `/api/publications?free_shipping=true&min_price=${90_000_000 + n}`),
    },
    { name: 'in_stock, deep', paths: each(await pageOf('/api/publications?in_stock=true', 0.9)) },
    { name: 'three filters, deep', paths: each(await pageOf(filters, 0.9)) },
    { name: 'sort=name with filters', paths: each((n) => `${filters}&sort=name&order=asc&page=${n + 1}`) },
    {
      name: 'price range',
      paths: each((n) => `/api/publications?min_price=${200 + n}&sort=created_at&order=asc`),
    },
    { name: 'common word, deep', paths: each(await pageOf(searchPath(vocabulary[1]!), 0.9)) },
    { name: 'one letter', paths: each((n) => searchPath('abcdelmp'[n]!)) },
    { name: 'two common words', paths: each((n) => searchPath(`${vocabulary[n]} ${vocabulary[n + 1]}`)) },
    {
      name: 'five words of middling frequency',
      paths: each((n) => searchPath([5, 20, 30, 40, 60].map((at) => vocabulary[at + n]).join(' '))),
    },
    { name: 'thirty frequent words', paths: each((n) => searchPath(shortWords.slice(n, n + 30).join(' '))) },
    {
      name: 'two frequent words that never meet',
      paths: each((n) => searchPath(`${modelPairs[n % modelPairs.length]}${' '.repeat(n)}`)),
    },
    {
      name: 'eight typos',
      paths: each(() => searchPath(each(() => withTypo(oneOf(random, longWords), random)).join(' '))),
    },
    { name: 'eight mixed words', paths: each(() => searchPath(mixedWords(random, 8))) },
    {
      name: 'page of 50, expanded, deep',
      paths: each(await pageOf('/api/publications?limit=50&expand=listing,media', 0.39)),
    },
  ];
}
