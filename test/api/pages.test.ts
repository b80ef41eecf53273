import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import type { Page } from 'playwright-core';
import { type Service, startAllInOne } from '../../services/boot/all-in-one';
import { ensureDemo, type ReadyDemo } from '../../services/demo/ensure';
import { CatalogClient } from '../../shared/client';
import { parseConfig } from '../../shared/kernel/config';
import { FRAMES, useBrowser } from '../support/browser';
import { startHarness } from '../support/harness';
import { LateWrites } from '../support/late-writes';
import { describeWithProgram } from '../support/programs';
import { makeTempDir, withTempDir } from '../support/temp-dir';
import { WAIT_MS_MAX, waitFor } from '../support/wait-for';
import { InProcessCli } from './cli-run';

const PRODUCT = '/p/taza-amancay';
/** Script and style of a page as they are sent, compressed. */
const TRANSFERRED_BYTES_MAX = 60_000;

const silent = pino({ level: 'silent' });
const folder = makeTempDir();
const late = new LateWrites();
const fetch = late.settling(() => service);
let service: Service;
let demo: ReadyDemo['demo'];

/** The service with the demo. Only one product has pictures, because to render those of all takes as long as the tests. */
beforeAll(async () => {
  const high = '100000/10000000/100000';
  const limits = { RATE_LIMIT_PUBLIC: high, RATE_LIMIT_SECRET: high };
  const config = parseConfig({
    DATA_DIR: folder.path,
    PORT: '0',
    LOG_LEVEL: 'silent',
    ...limits,
  });
  service = await startAllInOne(config, pino({ level: 'warn' }, late));
  ({ demo } = (await ensureDemo(service.runtime, config))!);
  expect(await service.pipelines.caughtUp(WAIT_MS_MAX)).toBe(true);
  const merchant = client(demo.secret_key);
  const { id } = await merchant.publications.getByHandle('taza-amancay');
  for (const name of ['product', 'detail']) {
    const picture = new Blob([readFileSync(`services/demo/pictures/${name}-taza-amancay.jpg`)]);
    const uploaded = await merchant.media.upload(picture, { publication_id: id, alt: name });
    await merchant.media.processed(uploaded.id);
  }
  await waitFor(async () => (await open(PRODUCT)).html.match(/srcset=/g)?.length === 2, {
    what: 'the page of the product with its pictures',
  });
});
afterAll(async () => {
  await service?.close();
  folder.remove();
});

/** Uses the interface as a program does. */
const client = (apiKey: string): CatalogClient => new CatalogClient({ baseUrl: service.url, apiKey, fetch });

async function open(path: string, headers: Record<string, string> = {}, url = service.url) {
  const answer = await fetch(url + path, {
    headers: { accept: 'text/html', 'accept-language': 'es-PE,en;q=0.5', ...headers },
    redirect: 'manual',
  });
  const html = await answer.text();
  return { status: answer.status, headers: answer.headers, html };
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

describe('the shop', () => {
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

  test('buttons choose a variant, which shows its own sale price, or that of the product, and its stock', async () => {
    const merchant = client(demo.secret_key);
    const sold_out = { quantity_available: 0, allow_backorder: false };
    const variants = [
      { option_values: { Talla: 'S', Color: 'Azul' }, price_amount: 90_000, sale_price_amount: 80_000 },
      { option_values: { Talla: 'M', Color: 'Azul' }, price_amount: 95_000 },
      { option_values: { Talla: 'M', Color: 'Rojo' }, price_amount: 95_000, ...sold_out },
    ];
    const { id, handle } = await merchant.publications.create({
      ...{
        title: 'Kimono',
        price_currency: 'JPY',
        price_amount: 90_000,
        sale_price_amount: 85_000,
        variants,
      },
    });
    await waitFor(async () => (await open(`/p/${handle}`)).status === 200);
    /** Returns the price before, the price now, whether it is sold out, and the chosen values. */
    const shown = async (query: string) => {
      const { html } = await open(`/p/${handle}${query}`);
      const price = /<span class="price">(.*?)<\/p>/s.exec(html)![1]!;
      const chosen = [...html.matchAll(/aria-current="true"[^>]*data-in-place[^>]*>([^<]+)/g)];
      return [
        ...[...price.matchAll(/>[^<\d]*(\d[\d.,]*)</g)].map(([, amount]) => amount),
        html.includes('<span class="badge">Agotado'),
        ...chosen.map(([, value]) => value),
      ];
    };
    expect(await shown('')).toEqual(['900', '800', false, 'S', 'Azul']);
    expect(await shown('?option.Talla=M&option.Color=Azul')).toEqual(['950', '850', false, 'M', 'Azul']);
    expect(await shown('?option.Talla=M&option.Color=Rojo')).toEqual(['950', '850', true, 'M', 'Rojo']);
    const lowest = /<span class="lowest">Precio más bajo de los últimos 30 días: [^<]*850</;
    expect((await open(`/p/${handle}?option.Talla=M`)).html).toMatch(lowest);
    // There is no red one of size S: the button leads to the next red one.
    const { html } = await open(`/p/${handle}`);
    expect(linksIn(html, '?option.')).toContain('?option.Talla=M&option.Color=Rojo');
    await merchant.publications.delete(id);
  });

  test('prices are filtered in whole units, and a search of 300 letters is shortened', async () => {
    const between = await open('/products?price_from=30&price_to=42,00');
    expect(titlesIn(between.html)).toContain('Taza Amancay');
    expect(titlesIn((await open('/products?price_from=42,01')).html)).not.toContain('Taza Amancay');
    // Bounds in the wrong order are exchanged, and a text that is no number is ignored.
    const count = titlesIn(between.html).length;
    expect(titlesIn((await open('/products?price_from=42&price_to=30')).html)).toHaveLength(count);
    expect((await open('/products?price_from=cheap')).status).toBe(200);
    expect((await open(`/search?q=${'taza '.repeat(60)}`)).status).toBe(200);
  });

  test('an id leads to the address with the handle; a page that does not exist is 404', async () => {
    const listing = await client(demo.public_key).listings.getByHandle('ceramica');
    const { status, headers } = await open(`/c/${listing.id}`);
    expect([status, headers.get('location')]).toEqual([301, `/c/${listing.handle}`]);
    for (const path of ['/p/none', '/c/none', '/none', '/none/none', '/console/assets/none.js']) {
      const { status, headers, html } = await open(path);
      expect([path, status, headers.get('content-type')]).toEqual([path, 404, 'text/html; charset=utf-8']);
      expect(html).toContain('href="/"');
    }
    for (const path of ['/none', '/console/assets/none.js'])
      expect(JSON.parse((await open(path, { accept: '*/*' })).html)).toMatchObject({ code: 404 });
  });

  test('pages have no script in them and need no other host, and are sent again only if they changed', async () => {
    const { html, headers } = await open('/');
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'self';/);
    // Only search engines and social networks use the complete addresses of its own pages.
    expect(html.replaceAll(service.url, '')).not.toMatch(/<style|style="|\son\w+=|https?:/);
    const scripts = [...html.matchAll(/<script type="module" src="(\/shop-[^"]+\.mjs)"><\/script>/g)];
    expect(html.match(/<script/g)).toHaveLength(scripts.length);
    expect((await open(scripts[0]![1]!)).headers.get('content-type')).toContain('text/javascript');
    const etag = headers.get('etag')!;
    expect((await open('/', { 'if-none-match': etag })).status).toBe(304);
    for (const file of linksIn(html, '/shop-'))
      expect((await open(file)).headers.get('cache-control')).toContain('immutable');
  });

  test('English browsers get English texts; programs get the addresses of the service', async () => {
    expect((await open('/', { 'accept-language': 'de,en-GB' })).html).toContain('Featured');
    expect((await open('/', { 'accept-language': 'ja' })).html).toContain('<html lang="en">');
    expect(JSON.parse((await open('/', { accept: '*/*' })).html).data.docs).toBe('/docs');
  });
});

test('SHOP_KEY shows a store of one’s own, and its texts are escaped', () =>
  withTempDir(async (own) => {
    const cli = new InProcessCli(own);
    const account = await cli.account();
    const store = await cli.store(account);
    const file = join(own, 'rows.jsonl');
    writeFileSync(file, JSON.stringify({ external_id: 'x', title: '<b>Bold</b> & "quoted"', price: '1' }));
    await cli.json('import', file, '--format', 'jsonl', '--store', store);
    const create = ['key', 'create', '--account', account, '--type', 'public', '--store', store];
    const { id, key } = await cli.json(...create);
    const config = parseConfig({ DATA_DIR: own, PORT: '0', DEMO: 'off', SHOP_KEY: key });
    const { url, close } = await startAllInOne(config, silent);
    try {
      const { html } = await open('/products', {}, url);
      expect(titlesIn(html)).toEqual(['&lt;b>Bold&lt;/b> &amp; &quot;quoted&quot;']);
      await cli.json('key', 'revoke', id);
      await waitFor(async () => (await open('/', {}, url)).status === 503);
    } finally {
      await close();
    }
  }));

test('without a key there is no shop', async () => {
  const without = await startHarness();
  try {
    expect((await open('/', {}, without.url)).html).toContain('<h1>Catalog service</h1>');
    expect((await open('/p/mug', {}, without.url)).status).toBe(404);
  } finally {
    await without.close();
  }
});

describeWithProgram('chromium', 'in a browser', () => {
  const browser = useBrowser();

  const newPage = (baseURL = service.url) => browser().newPage(baseURL);

  /** Opens each page on a phone and a desktop, and looks at it in one or all of the combinations. Returns what is wrong. */
  async function look(page: Page, paths: readonly string[], waits_for = 'body'): Promise<string[]> {
    const wrong: string[] = [];
    for (const path of paths) {
      await page.goto(path);
      await page.locator(waits_for).first().waitFor();
      wrong.push(...(await browser().look(page, `shop ${path}`, path === '/')));
    }
    return wrong;
  }

  test('the shop can be read by everybody', async () => {
    const lists = ['/', '/products?tag=para+regalar', '/c/ceramica', '/search?q=caf', '/search?q=zzzz'];
    expect(await look(await newPage(), [...lists, PRODUCT, '/p/pantuflas-fieltro'])).toEqual([]);
  });

  test('the start page and the reference of the interface can be read by everybody', async () => {
    const without_shop = await startHarness({ is_own: true });
    try {
      const page = await newPage(without_shop.url);
      expect(await look(page, ['/'])).toEqual([]);
      expect(await look(page, ['/docs'], '.opblock')).toEqual([]);
    } finally {
      await without_shop.close();
    }
  });

  test('the variant that was chosen last is shown, however fast the buttons are pressed', async () => {
    const page = await newPage();
    await page.goto('/p/pantuflas-fieltro');
    await page.route(/Talla=37/, () => {});
    await page.getByRole('link', { name: '37' }).click();
    await page.getByRole('link', { name: '38' }).click();
    await page.waitForURL(/Talla=38/);
    await page.locator('[aria-current]', { hasText: '38' }).waitFor();
  });

  test('a product page loads little, and nothing moves while it loads', async () => {
    const page = await newPage();
    await page.addInitScript(`
      globalThis.shifts = [];
      new PerformanceObserver((list) => shifts.push(...list.getEntries().map(({ value }) => value)))
        .observe({ type: 'layout-shift', buffered: true });`);
    // Pictures arrive when the page is drawn already, as they do over a slow connection.
    let release = (): void => {};
    const is_drawn = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/*.webp', async (route) => {
      await is_drawn;
      await route.continue();
    });
    await page.goto(PRODUCT, { waitUntil: 'domcontentloaded' });
    await page.evaluate(FRAMES);
    release();
    // Pictures further down are loaded when they are scrolled to.
    await page.evaluate(
      `(async () => { for (const each of document.images) { each.scrollIntoView(); await each.decode(); } })()`,
    );
    await page.evaluate(FRAMES);
    expect(await page.evaluate('shifts')).toEqual([]);
    const sizes = (await page.evaluate(`performance.getEntriesByType('resource')
      .filter(({ name }) => /\\.(css|m?js)$/.test(name)).map(({ encodedBodySize }) => encodedBodySize)`)) as number[];
    expect(Math.min(...sizes)).toBeGreaterThan(0);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(TRANSFERRED_BYTES_MAX);
  });
});
