import { join } from 'node:path';
import accepts from 'accepts';
import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { CatalogApiError, CatalogClient, type Listing, type Publication } from '../../../shared/client';
import { readAsset } from '../../../shared/http/asset';
import type { HttpRequest } from '../../../shared/http/request';
import { etagOf } from '../../../shared/http/respond';
import type { PublicRoute, TextAnswer } from '../../../shared/http/route';
import { isUuid } from '../../../shared/kernel/ids';
import { assetRoute, htmlAnswer, PAGE_HEADERS } from '../html';
import { type Found, type Frame, Home, Layout, ListingPage, Message, Product, Products } from './pages';
import { listingPath, productPath } from './parts';
import { STYLE } from './style';
import { TEXTS } from './texts';

/** Where the shop reads the catalog, as any storefront does: the address of the service, and a public key. */
export interface Connection {
  readonly base_url: string;
  readonly public_key: string;
}

const STYLE_ROUTE = assetRoute('shop', 'css', STYLE);
const SEARCH_ROUTE = assetRoute('shop-search', 'mjs', readAsset(join(__dirname, 'search.mjs')));
const HEADERS = {
  ...PAGE_HEADERS,
  'Cache-Control': 'no-cache',
  Vary: 'Accept-Encoding, Accept, Accept-Language',
};

/** How long a page waits for a busy service, or for the rate limit of the key. */
const WAIT_MS = 3_000;
/** Products on a page, and on the rows of the first page. */
const LIMIT = 24;
const ROW = 8;
/** The filters that are offered, if the store uses them. */
const FACETS = [
  'product_type',
  'vendor',
  'tag',
  'option.Talla',
  'option.Color',
  'option.Size',
  'attributes.material',
];
const FILTERS = new Set(['vendor', 'product_type', 'tag']);
const FLAGS = ['in_stock', 'has_discount'] as const;

type Page = (shop: Shop) => Promise<PageContent | TextAnswer>;

/** A page without the frame that all pages have. */
interface PageContent {
  readonly title: string;
  readonly description?: string | undefined;
  readonly current?: string | undefined;
  readonly status?: number;
  readonly body: VNode;
}

/** A request of a page. */
interface Shop {
  readonly client: CatalogClient;
  readonly frame: Frame;
  readonly query: URLSearchParams;
  readonly name: string;
}

/**
 * Builds the pages of the shop. They read with the client and a public key. Their script shows what
 * a search finds while one types; they work without it. `connect` returns undefined
 * while there is no store to show; `start` then answers `/`, other pages are 404. It always answers `/` if `Accept` prefers JSON.
 */
export function shopRoutes(
  connect: () => Promise<Connection | undefined>,
  start: PublicRoute,
): PublicRoute[] {
  let client: CatalogClient | undefined;
  const open = async (): Promise<CatalogClient | undefined> => {
    const found = client ? undefined : await connect();
    if (found)
      client = new CatalogClient({ baseUrl: found.base_url, apiKey: found.public_key, retryForMs: WAIT_MS });
    return client;
  };
  const route = (path: string, page: Page): PublicRoute => ({
    path,
    serve: async (req, params) => {
      const is_start = path === '/' && accepts(req).types(['json', 'html']) !== 'html';
      const opened = is_start ? undefined : await open();
      if (opened) return answer(opened, req, params.name ?? '', page);
      return path === '/' ? start.serve(req, params) : htmlAnswer('', 404, HEADERS);
    },
  });
  return [
    route('/', home),
    route('/products', (shop) => products(shop)),
    route('/search', (shop) => products(shop, shop.query.get('q')?.trim())),
    route('/c/:name', listingPage),
    route('/p/:name', productPage),
    STYLE_ROUTE,
    SEARCH_ROUTE,
  ];
}

async function answer(
  client: CatalogClient,
  req: HttpRequest,
  name: string,
  page: Page,
): Promise<TextAnswer> {
  const language = languageOf(req);
  const t = language.startsWith('es') ? TEXTS.es : TEXTS.en;
  const query = new URL(req.url ?? '/', 'http://shop').searchParams;
  try {
    const [store, listings] = await Promise.all([
      client.store.get(),
      client.listings.list({ parent_id: 'none', limit: 20 }).page(),
    ]);
    const frame = { t, language, store, listings: listings.data, query, now: Date.now() };
    try {
      const shown = await page({ client, frame, query, name });
      return 'headers' in shown ? shown : render(frame, shown);
    } catch (error) {
      // 400: a query that no link of the shop has.
      if (!(error instanceof CatalogApiError) || (error.status !== 404 && error.status !== 400)) throw error;
      const body = <Message heading={t.not_found} hint={t.not_found_hint} t={t} />;
      return render(frame, { title: t.not_found, status: 404, body });
    }
  } catch {
    const body = <Message heading={t.unavailable} hint={t.unavailable_hint} t={t} />;
    return text(`<!doctype html>${renderToString(body)}`, 503);
  }
}

/** Returns the first language that the browser asks for and the shop has, with its country: `es-PE` formats as in Peru. */
function languageOf(req: HttpRequest): string {
  const asked = accepts(req).languages();
  return asked.find((tag) => /^(en|es)(-[a-z0-9]{2,8})*$/i.test(tag)) ?? 'en';
}

function render(frame: Frame, { status = 200, body, ...page }: PageContent): TextAnswer {
  const html = renderToString(
    <Layout {...frame} {...page} style={STYLE_ROUTE.path} script={SEARCH_ROUTE.path}>
      {body}
    </Layout>,
  );
  return text(`<!doctype html>${html}`, status);
}

const text = (body: string, status: number): TextAnswer =>
  htmlAnswer(body, status, status === 200 ? { ...HEADERS, ETag: etagOf(undefined, body) } : HEADERS);

const home: Page = async ({ client, frame }) => {
  const expand = ['media'] as const;
  const [featured, newest] = await Promise.all([
    client.publications.list({ featured: true, limit: ROW, expand }).page(),
    client.publications.list({ featured: false, limit: ROW, expand }).page(),
  ]);
  const { name, description } = frame.store;
  return {
    ...{ title: name, description },
    body: <Home featured={featured.data} newest={newest.data} {...frame} />,
  };
};

/** Shows what a search finds, or without words all products. */
async function products({ client, frame, query }: Shop, words = ''): Promise<PageContent> {
  const asked = askedBy(query);
  const { data, meta } = await (words === ''
    ? client.publications.list(asked).page()
    : client.store.search(words, asked).page());
  const { page, total_pages, total_items: total } = meta.pagination;
  const found: Found = { products: data, page, total, total_pages, facets: meta.facets ?? [] };
  const title = words === '' ? frame.t.all_products : frame.t.results_for(words);
  return { title, body: <Products heading={title} found={found} {...frame} /> };
}

const listingPage: Page = async ({ client, frame, query, name }) => {
  const listing = isUuid(name) ? await client.listings.get(name) : await client.listings.getByHandle(name);
  const moved = movedTo(name, listing, listingPath(listing));
  if (moved) return moved;
  const { id } = listing;
  const asked = { ...askedBy(query), include_descendants: true };
  const [{ featured, others, meta }, children] = await Promise.all([
    client.listings.publications(id, asked).page(),
    client.listings.list({ parent_id: id, limit: 50 }).page(),
  ]);
  const { page, total, total_pages } = meta.pagination;
  const shown = [...featured, ...others];
  const found: Found = { products: shown, page, total, total_pages, facets: meta.facets ?? [] };
  return {
    title: listing.seo?.title ?? listing.name,
    description: listing.seo?.description ?? listing.description,
    current: listing.path?.[0]?.id ?? id,
    body: <ListingPage listing={listing} found={found} {...frame} children={children.data} />,
  };
};

const productPage: Page = async ({ client, frame, name }) => {
  const query = { expand: ['media', 'listing', 'variants'] } as const;
  const product = isUuid(name)
    ? await client.publications.get(name, query)
    : await client.publications.getByHandle(name, query);
  const moved = movedTo(name, product, productPath(product));
  if (moved) return moved;
  const [reviews, related] = await Promise.all([
    client.publications.reviews(product.id, { limit: 12 }).page(),
    client.publications.related(product.id, { limit: 4, expand: ['media'] }).page(),
  ]);
  return {
    title: product.seo?.title ?? product.title,
    description: product.seo?.description ?? product.description,
    body: <Product product={product} reviews={reviews.data} related={related.data} {...frame} />,
  };
};

/** Redirects from an earlier handle, and from the id of what has a handle. */
function movedTo(name: string, { handle }: Publication | Listing, path: string): TextAnswer | undefined {
  if (handle === undefined || handle === name) return undefined;
  return { status: 301, body: '', content_type: 'text/html; charset=utf-8', headers: { Location: path } };
}

/** Returns the query of the service for the query of a page. Ignores what no link of the shop has. */
function askedBy(query: URLSearchParams) {
  const [sort, order] = (query.get('sort') ?? '').split('.');
  const page = Number(query.get('page') ?? 1);
  const labels = [...new Set(query.keys())].filter(
    (name) => FILTERS.has(name) || name.startsWith('option.') || name.startsWith('attributes.'),
  );
  return {
    expand: ['media'] as const,
    limit: LIMIT,
    facets: FACETS,
    ...(Number.isSafeInteger(page) && page > 0 && { page }),
    ...((sort === 'price' || sort === 'created_at') &&
      ({ sort, order: order === 'asc' ? 'asc' : 'desc' } as const)),
    ...Object.fromEntries(
      (['min_price', 'max_price'] as const)
        .filter((name) => /^\d{1,15}$/.test(query.get(name) ?? ''))
        .map((name) => [name, Number(query.get(name))]),
    ),
    ...Object.fromEntries(FLAGS.filter((name) => query.get(name) === 'true').map((name) => [name, true])),
    ...Object.fromEntries(labels.map((name) => [name, query.getAll(name)])),
  };
}
