import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { CatalogApiError, CatalogClient } from 'catalog-client';

/*
 * A small storefront, rendered on the server: a list of products, and a page for each. Needs no framework.
 *
 *   CATALOG_URL=http://127.0.0.1:8080 CATALOG_KEY=pk_live_… PORT=3000 node storefront.mjs
 *
 * MEDIA_URL is the address at which browsers reach the pictures, if it is not CATALOG_URL. Pages are kept for
 * CACHE_SECONDS (default: 5).
 */

const { CATALOG_URL = 'http://127.0.0.1:8080', CATALOG_KEY = '', MEDIA_URL = CATALOG_URL } = process.env;
const client = new CatalogClient({ baseUrl: CATALOG_URL, apiKey: CATALOG_KEY, mediaBaseUrl: MEDIA_URL });

// --- Pages ---

async function productList(page) {
  const list = client.publications.list({ limit: 12, page, sort: 'created_at', expand: ['media'] });
  const [store, { data, meta }] = await Promise.all([client.store.get(), list.page()]);
  const { total_pages } = meta.pagination;
  return layout(
    store.name,
    html`<h1>${store.name}</h1>
      <ul>
        ${data.map(
          (product) =>
            html`<li>
              <a href="/product/${product.id}">${picture(product, 'small')} ${product.title}</a> ${price(product)}
            </li>`,
        )}
      </ul>
      ${page > 1 ? html`<a rel="prev" href="/?page=${page - 1}">Newer</a>` : ''}
      ${page < total_pages ? html`<a rel="next" href="/?page=${page + 1}">Older</a>` : ''}`,
  );
}

async function productPage(id) {
  const product = await client.publications.get(id, { expand: ['media', 'listing'] });
  // The service has removed scripts and everything else that is not safe from `description_html`.
  const description = product.description_html
    ? new Html(product.description_html)
    : html`<p>${product.description}</p>`;
  return layout(
    product.title,
    html`<p><a href="/">All products</a>${product.listing ? html` · ${product.listing.name}` : ''}</p>
      <h1>${product.title}</h1>
      ${picture(product, 'large')}
      <p>${price(product)}${product.quantity_available === 0 ? ' · sold out' : ''}</p>
      ${description}`,
  );
}

function layout(title, content) {
  return html`<!doctype html>
    <html lang="en">
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width" />
      <title>${title}</title>
      ${content}
    </html>`;
}

function price({ price_active, price_amount, price_currency }) {
  return price_active ? `${(price_amount / 100).toFixed(2)} ${price_currency}` : '';
}

/** Returns the first picture of a product, in the named width if it has one. Media addresses are absolute. */
function picture({ media, title }, variant_name) {
  const first = media.data.find(({ status }) => status === 'ready');
  if (first === undefined) return '';
  const { url, width, height } = first.variants.find(({ name }) => name === variant_name) ?? first;
  return html`<img src="${url}" width="${width}" height="${height}" alt="${first.alt ?? title}" />`;
}

// --- HTML ---

/** Text that is HTML already. */
class Html {
  constructor(text) {
    this.text = text;
  }
}

/** Builds HTML. Escapes every value that is not `Html` itself. */
function html(strings, ...values) {
  return new Html(String.raw({ raw: strings }, ...values.map(escapeHtml)));
}

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escapeHtml(value) {
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(escapeHtml).join('');
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character]);
}

// --- Server ---

const { CACHE_SECONDS = '5' } = process.env;
const CACHED_PAGES_MAX = 500;
/** The rendered pages by path. Requests at the same time share one rendering. */
const cache = new Map();

function rendered(path, render) {
  const cached = cache.get(path);
  if (cached && Date.now() < cached.expires_at_ms) return cached.page;
  const page = render().then(({ text }) => ({
    text,
    etag: `"${createHash('sha256').update(text).digest('base64url')}"`,
  }));
  cache.delete(path);
  if (cache.size >= CACHED_PAGES_MAX) cache.delete(cache.keys().next().value);
  cache.set(path, { page, expires_at_ms: Date.now() + Number(CACHE_SECONDS) * 1_000 });
  // A failure is not kept.
  page.catch(() => cache.delete(path));
  return page;
}

/** Returns the page of a path, or undefined if there is none. */
function route({ pathname, searchParams }) {
  if (pathname === '/') {
    const page = Math.max(1, Math.trunc(Number(searchParams.get('page'))) || 1);
    return rendered(`/?page=${page}`, () => productList(page));
  }
  const [, id] = /^\/product\/([\w-]+)$/.exec(pathname) ?? [];
  return id && rendered(pathname, () => productPage(id));
}

const server = createServer(async (request, response) => {
  const send = (status, text, headers = {}) =>
    response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(text);
  const notFound = () => send(404, layout('Not found', html`<h1>Not found</h1>`).text);
  if (request.method !== 'GET' && request.method !== 'HEAD') return send(405, '', { allow: 'GET, HEAD' });
  try {
    const page = await route(new URL(request.url, 'http://storefront'));
    if (page === undefined) return notFound();
    const headers = { etag: page.etag, 'cache-control': `public, max-age=${CACHE_SECONDS}` };
    const is_unchanged = request.headers['if-none-match'] === page.etag;
    return is_unchanged ? send(304, '', headers) : send(200, page.text, headers);
  } catch (error) {
    // 400: the id in the address is no id.
    if (error instanceof CatalogApiError && (error.status === 404 || error.status === 400)) return notFound();
    console.error(error);
    return send(503, layout('Unavailable', html`<h1>Please try again in a moment</h1>`).text);
  }
});

server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${server.address().port}`),
);
