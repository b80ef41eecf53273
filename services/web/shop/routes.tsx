import { join } from 'node:path';
import accepts from 'accepts';
import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { canonicalLocale } from '../../../shared/catalog/translations';
import { CatalogApiError, CatalogClient, type Listing, type Publication } from '../../../shared/client';
import { readAsset } from '../../../shared/http/asset';
import { type HttpRequest, headerOf, ownAddress } from '../../../shared/http/request';
import { etagOf } from '../../../shared/http/respond';
import type { PublicRoute, TextAnswer } from '../../../shared/http/route';
import { CatalogError } from '../../../shared/kernel/errors';
import { isUuid } from '../../../shared/kernel/ids';
import { listingPath, pathIn, productPath } from '../../feeds/addresses';
import { assetRoute, htmlAnswer, PAGE_HEADERS } from '../html';
import type { ConnectShop } from '../shops';
import { type Frame, type Head, Home, Layout, ListingPage, Message, Product, Products } from './pages';
import { PRICE_BOUNDS, pathOf } from './parts';
import { breadcrumbs, productData } from './structured-data';
import { ICON, STYLE } from './style';
import { TEXTS } from './texts';

const STYLE_ROUTE = assetRoute('shop', 'css', STYLE);
const SCRIPT_ROUTE = assetRoute('shop', 'mjs', readAsset(join(__dirname, 'shop.mjs')));
const ICON_ROUTE = assetRoute('shop', 'svg', ICON);
const HEADERS = {
  ...PAGE_HEADERS,
  'Cache-Control': 'no-cache',
  Vary: 'Accept-Encoding, Accept, Accept-Language',
};

/** How long a page waits for a busy service, or for the rate limit of the key. */
const WAIT_MS = 3_000;
const PAGE_SIZE = 24;
/** The most letters of a search. The service refuses longer ones. */
const SEARCH_LETTERS_MAX = 200;
/** The most listings in the menu. */
const MENU_MAX = 50;
/** How many products the home page shows of each kind. */
const HOME_ROW_SIZE = 8;
/** The filters that are offered if the products of the store have them. Merchants name options in their own language. */
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

type Page = (request: PageRequest) => Promise<PageContent | TextAnswer>;

interface PageRequest {
  readonly client: CatalogClient;
  readonly frame: Frame;
  readonly query: URLSearchParams;
  /** The parameters of a read for the language and the currency of the page. */
  readonly shown: { readonly locale?: string | undefined; readonly currency?: string | undefined };
  /** The handle or the id in the path. Empty if the path has none. */
  readonly name: string;
}

/** A page without the frame that all pages have. */
interface PageContent extends Head {
  /** The id of the listing at the top of the tree that the page belongs to. */
  readonly current?: string | undefined;
  readonly status?: number;
  readonly body: VNode;
}

/**
 * Builds the pages of the shop. The pages read the catalog with the client and a public key. A script shows the results of a
 * search while the visitor types. Without the script, the pages work as well.
 *
 * `connect` returns undefined if there is no store to show. Then `start` answers `/`, and other pages are 404. `start` also
 * answers `/` if `Accept` prefers JSON.
 */
export function shopRoutes(connect: ConnectShop, start: PublicRoute): PublicRoute[] {
  const clients = new Map<string, CatalogClient>();
  const open = async (host: string | undefined): Promise<CatalogClient | undefined> => {
    const connection = await connect(host);
    if (!connection) return undefined;
    const { base_url: baseUrl, public_key: apiKey } = connection;
    const client = clients.get(apiKey) ?? new CatalogClient({ baseUrl, apiKey, retryForMs: WAIT_MS });
    clients.set(apiKey, client);
    return client;
  };
  const route = (path: string, page: Page): PublicRoute => ({
    path,
    serve: async (req, params, request_id) => {
      const is_start = path === '/' && accepts(req).types(['json', 'html']) !== 'html';
      const opened = is_start ? undefined : await open(headerOf(req, 'host'));
      if (opened) return answer(opened, req, params, page);
      return path === '/' ? start.serve(req, params, request_id) : htmlAnswer('', 404, HEADERS);
    },
  });
  const inEachLanguage = (path: string, page: Page) => [
    route(path, page),
    route(pathIn({ locale: ':locale' }, path), page),
  ];
  return [
    ...inEachLanguage('/', homePage),
    ...inEachLanguage('/products', (request) => productsPage(request, '')),
    ...inEachLanguage('/search', (request) => productsPage(request, wordsOf(request.query))),
    ...inEachLanguage('/c/:name', listingPage),
    ...inEachLanguage('/p/:name', productPage),
    STYLE_ROUTE,
    SCRIPT_ROUTE,
    ICON_ROUTE,
  ];
}

/**
 * Answers with a page. Its language is that of the path, otherwise the language that the browser asks for. Throws `path_not_found`
 * if the store does not have the locale of the path.
 */
async function answer(
  client: CatalogClient,
  req: HttpRequest,
  { locale: of_path, name = '' }: Readonly<Record<string, string>>,
  page: Page,
): Promise<TextAnswer> {
  const { pathname, searchParams: query } = new URL(req.url ?? '/', 'http://shop');
  if (of_path && !canonicalLocale(of_path)) throw new CatalogError('path_not_found');
  const asked = of_path ? { locale: of_path } : {};
  const accepted = {
    fetchOptions: { headers: { 'accept-language': headerOf(req, 'accept-language') ?? '' } },
  };
  let t = textsIn(languageOf(req, undefined));
  try {
    const [store, listings] = await Promise.all([
      client.store.get(asked, accepted),
      client.listings.list({ parent_id: 'none', limit: MENU_MAX, ...asked }, accepted).page(),
    ]);
    const { locales = [], currencies = [] } = store;
    const { language: negotiated } = client.answerOf(store)!;
    if (of_path && of_path.toLowerCase() !== negotiated?.toLowerCase())
      throw new CatalogError('path_not_found');
    const locale = negotiated ?? locales[0];
    const language = languageOf(req, locale);
    t = textsIn(language);
    const currency = currencies.slice(1).find((each) => each === query.get('currency'));
    const edition = { locale: of_path && locale, currency, has_languages: locales.length > 1 };
    const listed = { ...edition, locale: locale === locales[0] ? undefined : locale };
    const path = of_path ? pathname.slice(of_path.length + 1) || '/' : pathname;
    const base_url = ownAddress((name) => headerOf(req, name));
    const of_visitor = { t, language, locale, edition, listed, path, query };
    const frame = { ...of_visitor, store, listings: listings.data, now: Date.now(), base_url };
    try {
      const content = await page({ client, frame, query, name, shown: { locale: negotiated, currency } });
      return 'headers' in content ? content : render(frame, content);
    } catch (error) {
      // The service answers 400 to a query that no link of the shop has.
      if (!(error instanceof CatalogApiError) || (error.status !== 404 && error.status !== 400)) throw error;
      const body = <Message heading={t.not_found} hint={t.not_found_hint} t={t} edition={edition} />;
      return render(frame, { title: t.not_found, status: 404, body });
    }
  } catch (error) {
    if (error instanceof CatalogError) throw error;
    // The service has logged its own failure. The visitor only needs to know that the shop is not ready.
    const body = <Message heading={t.unavailable} hint={t.unavailable_hint} t={t} />;
    return pageAnswer(body, 503);
  }
}

const textsIn = (language: string) => (language.startsWith('es') ? TEXTS.es : TEXTS.en);

/**
 * Returns the language that the browser asks for, with its country: `es-PE` formats as in Peru. It is a form of the locale, or
 * of a language of the shop's own texts if the store has no locales.
 */
function languageOf(req: HttpRequest, locale: string | undefined): string {
  const known = locale === undefined ? Object.keys(TEXTS) : [locale];
  const isKnown = (tag: string): boolean =>
    known.some((each) => `${tag}-`.toLowerCase().startsWith(`${each}-`.toLowerCase()));
  const accepted = accepts(req).languages();
  return accepted.find((tag) => isKnown(tag) && canonicalLocale(tag) !== undefined) ?? known[0]!;
}

function render(frame: Frame, { status = 200, body, ...page }: PageContent): TextAnswer {
  const layout = (
    <Layout {...frame} {...page} style={STYLE_ROUTE.path} script={SCRIPT_ROUTE.path} icon={ICON_ROUTE.path}>
      {body}
    </Layout>
  );
  return pageAnswer(layout, status, frame.locale);
}

function pageAnswer(page: VNode, status: number, locale?: string): TextAnswer {
  const html = `<!doctype html>${renderToString(page)}`;
  const etag = status === 200 && { ETag: etagOf(undefined, html) };
  return htmlAnswer(html, status, { ...HEADERS, ...(locale && { 'Content-Language': locale }), ...etag });
}

const homePage: Page = async ({ client, frame, shown }) => {
  const query = { limit: HOME_ROW_SIZE, expand: ['media'], ...shown } as const;
  const [featured, newest] = await Promise.all([
    client.publications.list({ featured: true, ...query }).page(),
    client.publications.list({ featured: false, ...query }).page(),
  ]);
  return {
    title: frame.store.name,
    description: frame.store.description,
    canonical: '/',
    body: <Home featured={featured.data} newest={newest.data} {...frame} />,
  };
};

const wordsOf = (query: URLSearchParams): string =>
  [...(query.get('q')?.trim() ?? '')].slice(0, SEARCH_LETTERS_MAX).join('').trim();

/** Shows the results of a search, or all products without words. */
async function productsPage(
  { client, frame, query, shown }: PageRequest,
  words: string,
): Promise<PageContent> {
  const parameters = { ...parametersOf(query), ...shown };
  const { data, meta } = await (words === ''
    ? client.publications.list(parameters).page()
    : client.store.search(words, parameters).page());
  const title = words === '' ? frame.t.all_products : frame.t.results_for(words);
  const found = { products: data, total: meta.pagination.total_items, meta };
  const canonical = words === '' && { canonical: canonicalOf('/products', meta.pagination.page) };
  return { title, ...canonical, body: <Products heading={title} {...found} {...frame} /> };
}

const listingPage: Page = async ({ client, frame, query, name, shown }) => {
  const listing = isUuid(name)
    ? await client.listings.get(name, shown)
    : await client.listings.getByHandle(name, shown);
  const moved = movedTo(name, listing, frame, listingPath(listing));
  if (moved) return moved;
  const { id } = listing;
  const parameters = { ...parametersOf(query), ...shown, include_descendants: true };
  const [{ featured, others, meta }, children] = await Promise.all([
    client.listings.publications(id, parameters).page(),
    client.listings.list({ parent_id: id, limit: 50, locale: shown.locale }).page(),
  ]);
  const found = { products: [...featured, ...others], total: meta.pagination.total, meta };
  return {
    title: listing.seo?.title ?? listing.name,
    description: listing.seo?.description ?? listing.description,
    current: listing.path?.[0]?.id ?? id,
    canonical: canonicalOf(listingPath(listing), found.meta.pagination.page),
    handles: listing.handles,
    data: [breadcrumbs(frame.base_url, crumbsOf(frame, [...(listing.path ?? []), listing]))],
    body: <ListingPage listing={listing} {...found} {...frame} children={children.data} />,
  };
};

const productPage: Page = async ({ client, frame, name, shown }) => {
  const query = { expand: ['media', 'listing', 'variants'], ...shown } as const;
  const product = isUuid(name)
    ? await client.publications.get(name, query)
    : await client.publications.getByHandle(name, query);
  const path = productPath(product);
  const moved = movedTo(name, product, frame, path);
  if (moved) return moved;
  const [reviews, related] = await Promise.all([
    client.publications.reviews(product.id, { limit: 12 }).page(),
    client.publications.related(product.id, { limit: 4, expand: ['media'], ...shown }).page(),
  ]);
  const { listing, media, title } = product;
  const picture = media.data[0]?.url;
  const crumbs = [
    ...crumbsOf(frame, listing ? [listing] : []),
    { name: title, path: productPath(product, { locale: frame.listed.locale }) },
  ];
  return {
    title: product.seo?.title ?? product.title,
    description: product.seo?.description ?? product.description,
    canonical: path,
    handles: product.handles,
    picture: picture && pathOf(picture),
    type: 'product',
    data: [productData(product, { ...frame, edition: frame.listed }), breadcrumbs(frame.base_url, crumbs)],
    body: <Product product={product} reviews={reviews.data} related={related.data} {...frame} />,
  };
};

/** Returns the address of a page of a list, whose filters and order search engines need not know. */
const canonicalOf = (path: string, page: number): string => (page > 1 ? `${path}?page=${page}` : path);

const crumbsOf = (
  { t, listed: { locale } }: Frame,
  listings: readonly Pick<Listing, 'id' | 'name' | 'handle'>[],
) => [
  { name: t.home, path: pathIn({ locale }, '/') },
  ...listings.map((listing) => ({ name: listing.name, path: listingPath(listing, { locale }) })),
];

/**
 * Redirects to the page of a resource if `name` is another handle of the resource than that of the language, or the id of a
 * resource that has a handle. Returns undefined otherwise.
 */
function movedTo(
  name: string,
  { handle }: Publication | Listing,
  { edition: { locale }, query }: Frame,
  path: string,
): TextAnswer | undefined {
  if (handle === undefined || handle === name) return undefined;
  const Location = pathIn({ locale }, query.size === 0 ? path : `${path}?${query}`);
  return htmlAnswer('', 301, { ...HEADERS, Location });
}

/** Returns the parameters of the service for the query of a page. Ignores parameters that no link of the shop has. */
function parametersOf(query: URLSearchParams) {
  const [sort, order] = (query.get('sort') ?? '').split('.');
  const page = Number(query.get('page') ?? 1);
  const labels = [...new Set(query.keys())].filter(
    (name) => FILTERS.has(name) || name.startsWith('option.') || name.startsWith('attributes.'),
  );
  return {
    expand: ['media'] as const,
    limit: PAGE_SIZE,
    facets: FACETS,
    ...(Number.isSafeInteger(page) && page > 0 && { page }),
    ...((sort === 'price' || sort === 'created_at') &&
      ({ sort, order: order === 'asc' ? 'asc' : 'desc' } as const)),
    ...priceBoundsIn(query),
    ...Object.fromEntries(FLAGS.filter((name) => query.get(name) === 'true').map((name) => [name, true])),
    ...Object.fromEntries(labels.map((name) => [name, query.getAll(name)])),
  };
}

/** Returns the bounds of the price filter in hundredths. Visitors type whole units, such as `12` or `12,50`. */
function priceBoundsIn(query: URLSearchParams): { readonly min_price?: number; readonly max_price?: number } {
  const amountOf = (name: string): number | undefined => {
    const text = query.get(name)?.trim().replace(',', '.') ?? '';
    return /^\d{1,9}(\.\d{1,2})?$/.test(text) ? Math.round(Number(text) * 100) : undefined;
  };
  const [one, other] = [amountOf(PRICE_BOUNDS[0]), amountOf(PRICE_BOUNDS[1])];
  const is_reversed = one !== undefined && other !== undefined && one > other;
  const [min_price, max_price] = is_reversed ? [other, one] : [one, other];
  return { ...(min_price !== undefined && { min_price }), ...(max_price !== undefined && { max_price }) };
}
