import { service } from '../../shared/api/operations/service';
import type { PublicationDocument } from '../../shared/catalog/publication/document';
import type { HttpRequest } from '../../shared/http/request';
import { etagOf } from '../../shared/http/respond';
import type { Answer, PublicRoute, TextAnswer } from '../../shared/http/route';
import { CatalogError } from '../../shared/kernel/errors';
import { readListings } from '../query/export-items';
import { alternatesOf, type Handles, listingPath, productPath } from './addresses';
import { CHANNELS, element, escapeXml } from './channels';
import { imagesOf, listingShownBy, publicDocuments, type Shop } from './products';
import { feedSlots, type OpenedShop, openShop, type PublicFeedOptions, streamAnswer } from './routes';

/*
 * What crawlers and agents look for: /sitemap.xml, /robots.txt and /llms.txt.
 */

/** At most 50,000 addresses and 50 MB (https://www.sitemaps.org/protocol.html): these have 25 MB with long addresses. */
const PRODUCTS_MAX = 10_000;
const PICTURES_MAX = 10;
const LISTINGS_MAX = 49_998;
const XML = 'application/xml; charset=utf-8';
const XML_BEGIN = '<?xml version="1.0" encoding="UTF-8"?>\n';
const NAMESPACES =
  'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:xhtml="http://www.w3.org/1999/xhtml"';

/** How many pages a file has, each of them in all languages. */
const pagesIn = ({ locales = [] }: Shop): number => Math.floor(PRODUCTS_MAX / Math.max(1, locales.length));

/** Returns the routes of the files that name the pages of a shop. */
export function discoveryRoutes(options: PublicFeedOptions): PublicRoute[] {
  const slots = feedSlots();
  const route = (
    path: string,
    answer: (
      opened: OpenedShop,
      req: HttpRequest,
      params: Readonly<Record<string, string>>,
    ) => Promise<Answer | TextAnswer>,
  ): PublicRoute => ({
    path,
    slots,
    serve: async (req, params) => answer(await openShop(options, req), req, params),
  });
  return [
    route('/sitemap.xml', async (opened) => textAnswer(XML, await sitemapIndex(opened))),
    route('/sitemaps/:file', async (opened, req, { file = '' }) => {
      const number = Number(/^products-([1-9]\d{0,5})\.xml$/.exec(file)?.[1]);
      if (file !== 'pages.xml' && !number) throw new CatalogError('path_not_found');
      const { shop } = opened;
      return streamAnswer(options, req, opened, XML, sitemap(number ? products(shop, number) : pages(shop)));
    }),
    route('/robots.txt', async (opened) => textAnswer('text/plain; charset=utf-8', robots(opened.shop))),
    route('/llms.txt', async (opened) => textAnswer('text/markdown; charset=utf-8', await llms(opened))),
  ];
}

function textAnswer(content_type: string, body: string): TextAnswer {
  return { body, content_type, headers: { 'Cache-Control': 'no-cache', ETag: etagOf(undefined, body) } };
}

async function sitemapIndex({ shop, version }: OpenedShop): Promise<string> {
  const count = await version.count('publications', { store_id: shop.store_id, visibility: 'public' });
  const numbers = Array.from({ length: Math.ceil(count / pagesIn(shop)) }, (_, index) => index + 1);
  const files = ['pages.xml', ...numbers.map((number) => `products-${number}.xml`)];
  const entries = files.map(
    (file) => `<sitemap>${element('loc', `${shop.base_url}/sitemaps/${file}`)}</sitemap>\n`,
  );
  return `${XML_BEGIN}<sitemapindex ${NAMESPACES}>\n${entries.join('')}</sitemapindex>\n`;
}

async function* sitemap(entries: AsyncIterable<string>): AsyncGenerator<string> {
  yield `${XML_BEGIN}<urlset ${NAMESPACES}>\n`;
  yield* entries;
  yield '</urlset>\n';
}

/** Returns a page in each language. Each of them names all others. `more`: of the first one. */
function entry({ base_url, locales = [] }: Shop, path: string, page: ShownPage = {}, more = ''): string {
  const { updated_at, handles } = page;
  const alternates = alternatesOf(locales, path, handles);
  const link = (locale: string, each: string) =>
    `<xhtml:link rel="alternate" hreflang="${locale}" href="${escapeXml(base_url + each)}"/>`;
  const links = alternates.map(([locale, each]) => link(locale, each)).join('');
  const others = links && links + link('x-default', path);
  const lastmod = updated_at ? element('lastmod', updated_at) : '';
  const paths = alternates.length > 0 ? alternates.map(([, each]) => each) : [path];
  return paths
    .map((each, index) => {
      const first = index === 0 ? more : '';
      return `<url>${element('loc', base_url + each)}${lastmod}${others}${first}</url>\n`;
    })
    .join('');
}

interface ShownPage {
  readonly updated_at?: string;
  readonly handles?: Handles;
}

async function* pages(shop: Shop): AsyncGenerator<string> {
  yield entry(shop, '/') + entry(shop, '/products');
  const listings_max = shop.edition?.has_languages ? pagesIn(shop) : LISTINGS_MAX;
  for (const listing of (await publicListings(shop)).slice(0, listings_max))
    yield entry(shop, listingPath(listing), shop.show ? listingShownBy(shop.show)(listing) : listing);
}

async function publicListings(shop: Shop) {
  return (await readListings(shop)).filter(({ visibility }) => visibility === 'public');
}

/** Yields the products of a file, of which the first has number 1. */
async function* products(shop: Shop, number: number): AsyncGenerator<string> {
  let left = pagesIn(shop);
  for await (const { document } of publicDocuments(shop, { skip: (number - 1) * left })) {
    yield productEntry(shop, document!);
    if (--left === 0) return;
  }
}

function productEntry(shop: Shop, { state, expansions }: PublicationDocument): string {
  const { show = (resource) => resource } = shop;
  const publication = show({ ...state.publication!, object: 'publication', variants: [] });
  const pictures = imagesOf(shop, expansions).slice(0, PICTURES_MAX);
  const images = pictures.map(
    ({ url }) => `<image:image><image:loc>${escapeXml(url)}</image:loc></image:image>`,
  );
  return entry(shop, productPath(publication), publication, images.join(''));
}

/** Keeps crawlers away from what is no page of the shop, and from searches. */
const robots = ({ base_url, edition }: Shop): string => `User-agent: *
Disallow: /api/
Disallow: /auth/
Disallow: /console
Disallow: /operator
Disallow: /search
${edition?.has_languages ? 'Disallow: /*/search\n' : ''}
Sitemap: ${base_url}/sitemap.xml
`;

/** Returns a page for language models (https://llmstxt.org). */
async function llms({ shop, version }: OpenedShop): Promise<string> {
  const { base_url, name, store_id } = shop;
  const store = (await version.get('stores', store_id))?.document?.body;
  const description = typeof store?.description === 'string' ? store.description : '';
  const top = (await publicListings(shop)).filter(({ parent_id }) => parent_id === null).slice(0, TOP_MAX);
  const link = (title: string, path: string, note = '') =>
    `- [${oneLine(title).replace(/[[\]()\\]/g, '\\$&')}](${base_url}${path})${note}\n`;
  const quote = description && `\n> ${oneLine(description)}\n`;
  const products = [
    link('All products', '/products'),
    ...top.map((each) => link(each.name, listingPath(each))),
  ];
  const feeds = Object.values(CHANNELS).map(({ file }) =>
    link(file, service.getFeed.path.replace(':feed', file), ': all variants with price and stock'),
  );
  const data = [
    link('Sitemap', '/sitemap.xml', ': all pages, with the time of the last change'),
    ...feeds,
    link('Universal Commerce Protocol', '/.well-known/ucp', ': search and look up products'),
    link('Interface', '/openapi.json', ': the OpenAPI document of the service'),
  ];
  return `# ${oneLine(name)}\n${quote}\n## Products\n\n${products.join('')}\n## Data\n\n${data.join('')}`;
}

/** How many listings at the top of the tree are named. */
const TOP_MAX = 50;

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();
