import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CatalogClient } from '../../shared/client';
import { fetch } from '../support/fetch';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { makeTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';
import { Cli } from './cli-run';

const MAIN = 'services/boot/main.js';
const folder = makeTempDir();
let service: RunningProcess;

async function open(path: string, headers: Record<string, string> = {}, url = service.url) {
  const answer = await fetch(url + path, {
    headers: { accept: 'text/html', 'accept-language': 'es-PE,en;q=0.5', ...headers },
    redirect: 'manual',
  });
  const html = await answer.text();
  return { status: answer.status, headers: answer.headers, html };
}

/** Reads the catalog as the shop does. */
function client(): CatalogClient {
  const { public_key } = JSON.parse(readFileSync(join(folder.path, 'demo.json'), 'utf8'));
  return new CatalogClient({ baseUrl: service.url, apiKey: public_key });
}

/** Returns the addresses of the links of a page that begin with `start`. */
const linksIn = (html: string, start: string): string[] => [
  ...new Set(
    [...html.matchAll(/href="([^"]+)"/g)]
      .map(([, href]) => href!.replaceAll('&amp;', '&'))
      .filter((href) => href.startsWith(start)),
  ),
];
const titlesIn = (html: string): string[] =>
  [...html.matchAll(/<strong>([^<]+)<\/strong>/g)].map(([, title]) => title!);

describe('of the demo', () => {
  beforeAll(async () => {
    service = await startProcess(MAIN, { DATA_DIR: folder.path, DEMO: 'on' });
    await waitFor(async () => (await open('/')).html.includes('srcset='));
  });
  afterAll(() => {
    endAll();
    folder.remove();
  });

  test('a customer finds a product from the first page, through the tree of listings', async () => {
    const home = await open('/');
    expect([home.status, home.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(home.html).toContain('<html lang="es-PE">');
    expect(home.html).toContain('Destacados');
    expect(linksIn(home.html, '/c/')).toContain('/c/ceramica');
    const listing = await open('/c/ceramica');
    expect(linksIn(listing.html, '/c/')).toContain('/c/velas-y-aromas');
    expect(titlesIn(listing.html)).toEqual(expect.arrayContaining(['Taza Amancay', 'Vela Palo Santo']));
    const product = await open('/p/taza-amancay');
    expect(product.html).toMatch(/<h1>Taza Amancay<\/h1>.*S\/.42\.00.*Rosa Quispe/s);
    expect(titlesIn(product.html)).toHaveLength(4);
    const picture = / src="([^"]+\.webp)"/.exec(product.html)![1]!;
    expect((await fetch(service.url + picture)).headers.get('content-type')).toBe('image/webp');
  });

  test('filters show their counts, and a selected one is taken back by its link', async () => {
    const all = await open('/products');
    const [link] = linksIn(all.html, '?tag=para+regalar');
    const count = Number(/para regalar<\/span><span class="note">(\d+)/.exec(all.html)![1]);
    const filtered = await open(`/products${link}`);
    expect(filtered.html).toContain(`${count} productos`);
    expect(titlesIn(filtered.html)).toHaveLength(count);
    expect(linksIn(filtered.html, '?')).toContain('?');
    const cheap = titlesIn((await open('/products?tag=para+regalar&sort=price.asc')).html);
    const dear = titlesIn((await open('/products?tag=para+regalar&sort=price.desc')).html);
    expect([cheap.length, cheap[0]]).toEqual([count, dear.at(-1)]);
    const pages = linksIn(all.html, '?page=');
    expect(titlesIn((await open(`/products${pages[0]}`)).html)).not.toEqual(titlesIn(all.html));
  });

  test('a search finds products by the beginning of a word', async () => {
    const { html } = await open('/search?q=caf');
    expect(titlesIn(html)).toContain('Café Chanchamayo, 250 g');
    expect(html).toContain('Resultados para «caf»');
    expect((await open('/search?q=zzzz')).html).toContain('Ningún producto coincide');
  });

  test('variants are listed with price and stock', async () => {
    expect((await open('/p/pantuflas-fieltro')).html).toMatch(/<th scope="col">Talla<\/th>.*<td>35<\/td>/s);
  });

  test('an id leads to the address with the handle; a page that does not exist is 404', async () => {
    const listing = await client().listings.getByHandle('ceramica');
    const { status, headers } = await open(`/c/${listing.id}`);
    expect([status, headers.get('location')]).toEqual([301, `/c/${listing.handle}`]);
    for (const path of ['/p/none', '/c/none']) expect([path, (await open(path)).status]).toEqual([path, 404]);
  });

  test('pages have no script in them and need no other host, and are sent again only if they changed', async () => {
    const { html, headers } = await open('/');
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'self';/);
    expect(html).not.toMatch(/<style|style="|\son\w+=|https?:/);
    const scripts = [...html.matchAll(/<script type="module" src="(\/shop-search-[^"]+\.mjs)"><\/script>/g)];
    expect(html.match(/<script/g)).toHaveLength(scripts.length);
    expect((await open(scripts[0]![1]!)).headers.get('content-type')).toContain('text/javascript');
    // The page changes while the pictures of the demo are made.
    await waitFor(async () => {
      const etag = (await open('/')).headers.get('etag')!;
      return (await open('/', { 'if-none-match': etag })).status === 304;
    });
    const [style] = linksIn(html, '/shop-');
    expect((await open(style!)).headers.get('cache-control')).toContain('immutable');
  });

  test('English browsers get English texts; programs get the addresses of the service', async () => {
    expect((await open('/', { 'accept-language': 'de,en-GB' })).html).toContain('Featured');
    expect((await open('/', { 'accept-language': 'ja' })).html).toContain('<html lang="en">');
    expect(JSON.parse((await open('/', { accept: '*/*' })).html).data.docs).toBe('/docs');
  });
});

test('SHOP_KEY shows a store of one’s own, and its texts are escaped; without a key there is no shop', async () => {
  const own = makeTempDir();
  try {
    const cli = new Cli(own.path);
    const account = await cli.account();
    const store = await cli.store(account);
    const file = join(own.path, 'rows.jsonl');
    writeFileSync(file, JSON.stringify({ external_id: 'x', title: '<b>Bold</b> & "quoted"', price: '1' }));
    await cli.json('import', file, '--format', 'jsonl', '--store', store);
    const { key } = await cli.json(
      'key',
      'create',
      '--account',
      account,
      '--type',
      'public',
      '--store',
      store,
    );
    const without = await startProcess(MAIN, { DATA_DIR: own.path });
    expect((await open('/', {}, without.url)).html).toContain('<h1>Catalog service</h1>');
    expect((await open('/p/mug', {}, without.url)).status).toBe(404);
    await without.end('SIGTERM');
    const with_key = await startProcess(MAIN, { DATA_DIR: own.path, SHOP_KEY: key });
    const { html } = await open('/products', {}, with_key.url);
    expect(titlesIn(html)).toEqual(['&lt;b>Bold&lt;/b> &amp; &quot;quoted&quot;']);
    await cli.json('key', 'revoke', (await cli.json('key', 'list', '--account', account)).keys[0].id);
    await waitFor(async () => (await open('/', {}, with_key.url)).status === 503);
  } finally {
    endAll();
    own.remove();
  }
});
