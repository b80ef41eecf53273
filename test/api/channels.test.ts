import { parse } from 'csv-parse/sync';
import { XMLParser } from 'fast-xml-parser';
import { pino } from 'pino';
import { type Service, startAllInOne } from '../../services/boot/all-in-one';
import { CatalogClient } from '../../shared/client';
import { parseConfig } from '../../shared/kernel/config';
import { useBrowser } from '../support/browser';
import { LateWrites } from '../support/late-writes';
import { flatPicture } from '../support/pictures';
import { describeWithProgram } from '../support/programs';
import { makeTempDir } from '../support/temp-dir';
import { WAIT_MS_MAX } from '../support/wait-for';
import { InProcessCli } from './cli-run';

/*
 * A shop in three languages and three currencies, as its visitors, marketplaces and agents see it.
 */

const folder = makeTempDir();
const cli = new InProcessCli(folder.path);
const late = new LateWrites();
const fetch = late.settling(() => service);
let service: Service;
let secret_key: string;
let merchant: CatalogClient;
let tea: { readonly id: string; readonly variants: readonly string[] };

beforeAll(async () => {
  const account = await cli.account();
  const store = await cli.store(account);
  const keyOf = async (type: string): Promise<string> =>
    (await cli.json('key', 'create', '--account', account, '--type', type, '--store', store)).key;
  const [SHOP_KEY, apiKey] = [await keyOf('public'), await keyOf('secret')];
  const limit = '1000000/100000000/1000000';
  const config = parseConfig({
    ...{ DATA_DIR: folder.path, PORT: '0', DEMO: 'off', LOG_LEVEL: 'silent', SHOP_KEY, WEBHOOKS: 'private' },
    ...{ RATE_LIMIT_PUBLIC: limit, RATE_LIMIT_SECRET: limit },
  });
  service = await startAllInOne(config, pino({ level: 'warn' }, late));
  expect(await service.pipelines.caughtUp(WAIT_MS_MAX)).toBe(true);
  secret_key = apiKey;
  merchant = new CatalogClient({ baseUrl: service.url, apiKey, fetch });
  await merchant.store.update({
    ...{ name: 'Casa del té', description: 'Tés de montaña.' },
    ...{ locales: ['es', 'de', 'ar'], currencies: ['PEN', 'USD', 'JPY'] },
    markets: [{ handle: 'us', currency: 'USD', locales: ['ar', 'es'], countries: ['US'] }],
    translations: {
      de: { name: 'Teehaus', description: 'Tee aus den Bergen.' },
      ar: { name: 'بيت الشاي', description: 'شاي من الجبال.' },
    },
  });
  const drinks = await merchant.listings.create({
    name: 'Bebidas',
    translations: { de: { name: 'Getränke' }, ar: { name: 'مشروبات' } },
  });
  const picture = new Blob([new Uint8Array(await flatPicture('png', { width: 600, height: 400 }))]);
  const media = await merchant.media.upload(picture, { alt: 'Una taza' });
  await merchant.media.processed(media.id);
  await merchant.media.update(media.id, { translations: { de: { alt: 'Eine Tasse' } } });
  const created = await merchant.publications.create({
    ...{ title: 'Té verde', description: 'Fresco y suave.', listing_id: drinks.id, media_ids: [media.id] },
    ...{ price_currency: 'PEN', price_amount: 3_400, vendor: 'Inti' },
    variants: [
      {
        option_values: { Peso: '100 g', Hoja: 'Entera' },
        prices: { USD: { price_amount: 900, sale_price_amount: 800 }, JPY: { price_amount: 140_000 } },
      },
      {
        option_values: { Peso: '250 g', Hoja: 'Entera' },
        price_amount: 7_000,
        prices: { USD: { price_amount: 1_900 } },
      },
    ],
    translations: {
      de: {
        ...{ title: 'Grüner Tee', handle: 'gruener-tee', description: 'Frisch und mild.' },
        options: { Hoja: { name: 'Blatt', values: { Entera: 'Ganz' } }, Peso: { name: 'Gewicht' } },
      },
      ar: { title: 'شاي أخضر', description: 'منعش وخفيف.', options: { Peso: { name: 'الوزن' } } },
    },
  });
  tea = {
    id: created.id,
    variants: (await merchant.publications.variants(created.id).all()).map(({ id }) => id),
  };
  await merchant.publications.update(created.id, {
    prices: {
      USD: { price_amount: 900, sale_from: '2026-01-01T00:00:00.000Z', sale_to: '2099-06-01T00:00:00.000Z' },
    },
  });
  await merchant.publications.create({
    ...{ title: 'Taza', price_currency: 'PEN', price_amount: 2_000, listing_id: drinks.id },
  });
});
afterAll(async () => {
  await service?.close();
  folder.remove();
});

async function open(path: string, headers: Record<string, string> = {}) {
  const answer = await fetch(service.url + path, {
    headers: { accept: 'text/html', ...headers },
    redirect: 'manual',
  });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

/** Returns the addresses of the links of a page, with the text in each. */
const linksIn = (html: string): Map<string, string> =>
  new Map(
    [...html.matchAll(/<a [^>]*href="([^"]+)"[^>]*>(.*?)<\/a>/gs)].map(([, href, text]) => [
      href!.replaceAll('&amp;', '&'),
      text!.replace(/<[^>]+>/g, ''),
    ]),
  );
const headIn = (html: string, pattern: RegExp): string[][] =>
  [...html.matchAll(pattern)].map(([, ...found]) => found.map((text) => text!.replace(service.url, '')));

describe('the shop', () => {
  test('speaks the language of the browser, until the visitor chooses another one', async () => {
    const browser = { 'accept-language': 'fr,de-AT;q=0.8' };
    const moved = await open('/p/te-verde', browser);
    expect([moved.status, moved.headers.get('location')]).toEqual([301, '/p/gruener-tee']);
    const german = await open('/p/gruener-tee', browser);
    expect([german.headers.get('content-language'), german.headers.get('vary')]).toEqual([
      'de',
      'Accept-Encoding, Accept, Accept-Language',
    ]);
    expect(german.text).toContain('<html lang="de-AT">');
    expect(german.text).toContain('<h1>Grüner Tee</h1>');
    expect(german.text).toContain('alt="Eine Tasse"');
    const links = linksIn(german.text);
    expect(links.get('/ar/p/te-verde')).toBe('العربية');
    expect(links.get('/es/p/te-verde')).toBe('español');
    expect(links.get('/de/p/gruener-tee')).toBe('Deutsch');
    // A link without a locale stays in the language of the browser.
    expect([...links].filter(([, text]) => text === 'Getränke')[0]![0]).toMatch(/^\/c\/bebidas$/);
    const chosen = await open('/ar/p/te-verde', { 'accept-language': 'de' });
    expect(chosen.text).toContain('<html lang="ar" dir="rtl">');
    expect(chosen.text).toContain('<h1>شاي أخضر</h1>');
    expect(linksIn(chosen.text).get('/ar/c/bebidas')).toBe('مشروبات');
    expect((await open('/ar', { 'accept-language': 'de' })).text).toContain('<h1>بيت الشاي</h1>');
    for (const path of ['/fr/p/te-verde', '/fr', '/de/none', '/p/products', '/api/products'])
      expect([path, (await open(path)).status]).toEqual([path, path.startsWith('/api') ? 401 : 404]);
  });

  test('names its pages in each language for search engines', async () => {
    const alternates = (html: string) =>
      headIn(html, /<link rel="alternate" hreflang="([^"]+)" href="([^"]+)"/g);
    const { text: german } = await open('/de/p/gruener-tee');
    expect(headIn(german, /<link rel="canonical" href="([^"]+)"/g)).toEqual([['/de/p/gruener-tee']]);
    const everywhere = [
      ...[
        ['es', '/p/te-verde'],
        ['de', '/de/p/gruener-tee'],
        ['ar', '/ar/p/te-verde'],
      ],
      ['x-default', '/p/te-verde'],
    ];
    expect(alternates(german)).toEqual(everywhere);
    expect(german).toContain('property="og:locale" content="de"');
    // Without a header, as crawlers come, and under the address with its locale, the page in the default language is one.
    for (const path of ['/p/te-verde', '/es/p/te-verde?currency=USD']) {
      const { text } = await open(path);
      expect(headIn(text, /<link rel="canonical" href="([^"]+)"/g)).toEqual([['/p/te-verde']]);
      expect(alternates(text)).toEqual(everywhere);
    }
    const data = headIn(german, /<script type="application\/ld\+json">(.*?)<\/script>/g);
    const [product, crumbs] = data.map(([json]) => JSON.parse(json!));
    expect(product).toMatchObject({ name: 'Grüner Tee', variesBy: ['Gewicht', 'Blatt'] });
    expect(crumbs.itemListElement.at(-1).item).toMatch(/\/de\/p\/gruener-tee$/);
  });

  test('shows prices in the currency that the visitor chooses, and keeps it in all links', async () => {
    const { text: start } = await open('/de');
    const usd = [...linksIn(start)].find(([, text]) => text.startsWith('USD'))!;
    expect(usd).toEqual(['/de?currency=USD', 'USD · US-Dollar']);
    const { text } = await open('/de/p/gruener-tee?currency=USD');
    expect(text).toMatch(/<s>9,00\s\$<\/s>.*8,00\s\$/s);
    expect(text).toContain('"price":"8.00","priceCurrency":"USD"');
    const hrefs = [...linksIn(text).keys()].filter((href) => /^[/?](?!media|docs)/.test(href));
    // Only the choice of the base currency leaves it out.
    expect(
      hrefs.filter(
        (href) => !href.includes('currency=USD') && href !== '/de/p/gruener-tee' && !href.includes('JPY'),
      ),
    ).toEqual([]);
    expect(text).toContain('<input type="hidden" name="currency" value="USD"');
    // A variant has the same address in each language.
    const second = `/p/te-verde?variant=${tea.variants[1]}`;
    expect([...linksIn(text).keys()]).toContain(`?variant=${tea.variants[1]}&currency=USD`);
    const query = second.slice('/p/te-verde'.length);
    expect((await open(`/de${second}`)).headers.get('location')).toBe(`/de/p/gruener-tee${query}`);
    for (const path of [second, `/de/p/gruener-tee${query}`])
      expect((await open(path)).text).toMatch(/aria-current="true"[^>]*>250 g</);
    const titlesOf = async (query: string) =>
      headIn((await open(`/products?currency=USD${query}`)).text, /<strong>([^<]+)<\/strong>/g).flat();
    expect(await titlesOf('&price_to=8&sort=price.asc')).toEqual(['Té verde']);
    expect(await titlesOf('&price_to=7.99')).toEqual([]);
    // What has no price in the currency has no price.
    expect((await open('/p/taza?currency=JPY')).text).toMatch(/Precio a consultar/);
    // The ids in the page may contain any digits, so an amount counts only beside its currency.
    expect((await open(`${second}&currency=JPY`)).text).not.toMatch(/\b7[\d.,]*\s(PEN|JPY)|"price":"7/);
    expect((await open('/p/taza?currency=XXX')).text).toMatch(/20,00\sPEN/);
  });
});

describe('the feeds', () => {
  const isArray = (name: string) => ['item', 'url', 'xhtml:link'].includes(name);
  const xml = new XMLParser({ parseTagValue: false, ignoreAttributes: false, isArray });
  const itemsOf = async (query: string) =>
    xml.parse((await open(`/feeds/google.xml${query}`)).text, true).rss.channel.item as Record<
      string,
      string
    >[];

  test('have the texts of a language and the prices of a currency', async () => {
    const german = await open('/feeds/google.xml?locale=de-AT&currency=USD');
    expect([german.status, german.headers.get('content-language')]).toEqual([200, 'de']);
    const items = await itemsOf('?locale=de-AT&currency=USD');
    // The cup has no price in dollars.
    expect(items.map((item) => [item['g:title'], item['g:price'], item['g:sale_price']])).toEqual([
      ['Grüner Tee - 100 g / Ganz', '9.00 USD', '8.00 USD'],
      ['Grüner Tee - 250 g / Ganz', '19.00 USD', undefined],
    ]);
    expect(items[0]).toMatchObject({
      ...{ 'g:description': 'Frisch und mild.', 'g:product_type': 'Getränke' },
      'g:sale_price_effective_date': '2026-01-01T00:00+0000/2099-06-01T00:00+0000',
      'g:link': `${service.url}/de/p/gruener-tee?variant=${tea.variants[0]}&currency=USD`,
    });
    const yen = await itemsOf('?currency=JPY');
    expect(yen.map((item) => [item['g:title'], item['g:price']])).toEqual([
      ['Té verde - 100 g / Entera', '1400.00 JPY'],
    ]);
    // Without parameters, a feed has the default locale, whatever the reader accepts, and each price_currency.
    const plain = await open('/feeds/meta.csv', { 'accept-language': 'de' });
    const rows = parse(plain.text, { columns: true }) as Record<string, string>[];
    expect(rows.map(({ title, price, link }) => [title, price, link!.includes('currency')])).toEqual([
      ...[
        ['Té verde - 100 g / Entera', '34.00 PEN', false],
        ['Té verde - 250 g / Entera', '70.00 PEN', false],
      ],
      ['Taza', '20.00 PEN', false],
    ]);
    const [agents] = (await open('/feeds/acp.jsonl?locale=ar&currency=JPY')).text.trim().split('\n');
    expect(JSON.parse(agents!)).toMatchObject({
      ...{ title: 'شاي أخضر', url: `${service.url}/ar/p/te-verde?currency=JPY` },
      variants: [{ price: { amount: 1_400, currency: 'JPY' }, seller: { name: 'بيت الشاي' } }],
    });
  });

  test('keep what a channel knows of options whose names are translated', async () => {
    const shirt = await merchant.publications.create({
      ...{ title: 'Camisa', price_currency: 'PEN', price_amount: 9_000 },
      variants: [{ option_values: { Talla: 'Única' } }],
      translations: { ar: { options: { Talla: { name: 'المقاس', values: { Única: 'واحد' } } } } },
    });
    const item = (await itemsOf('?locale=ar')).find((each) => each['g:item_group_id'] === shirt.id);
    expect(item).toMatchObject({ 'g:size': 'واحد', 'g:title': 'Camisa - واحد' });
    await merchant.publications.delete(shirt.id);
  });

  test('differ in their ETag, and refuse a currency that the store does not have', async () => {
    const queries = ['', '?locale=de', '?locale=ar', '?currency=USD', '?locale=de&currency=USD'];
    const etags = await Promise.all(
      queries.map(async (query) => (await open(`/feeds/google.xml${query}`)).headers.get('etag')!),
    );
    expect(new Set(etags).size).toBe(queries.length);
    for (const [index, query] of queries.entries())
      expect((await open(`/feeds/google.xml${query}`, { 'if-none-match': etags[index]! })).status).toBe(304);
    // An empty feed would take all products out of a channel.
    const refused = await open('/feeds/google.xml?currency=EUR', { accept: 'application/json' });
    expect([refused.status, JSON.parse(refused.text).error]).toMatchObject([
      400,
      {
        code: 'VALIDATION_ERROR',
        details: { field: 'currency', constraint: 'a currency of the store: PEN, USD, JPY' },
      },
    ]);
    expect((await open('/feeds/google.xml?locale=de_DE', { accept: 'application/json' })).status).toBe(400);
    const issues = await merchant.feeds.issues('google', { locale: 'de', currency: 'USD' }).all();
    expect(new Set(issues.map(({ title }) => title))).toEqual(new Set(['Grüner Tee']));
  });

  test('and the sitemap names each page in all languages', async () => {
    const { urlset } = xml.parse((await open('/sitemaps/products-1.xml')).text, true);
    const pages = urlset.url.filter(({ loc }: { loc: string }) => /te-verde|gruener-tee/.test(loc));
    const paths = ['/p/te-verde', '/de/p/gruener-tee', '/ar/p/te-verde'].map((path) => service.url + path);
    expect(pages.map(({ loc }: { loc: string }) => loc)).toEqual(paths);
    for (const page of pages)
      expect(
        page['xhtml:link'].map((link: Record<string, string>) => [link['@_hreflang'], link['@_href']]),
      ).toEqual([
        ...['es', 'de', 'ar'].map((locale, index) => [locale, paths[index]]),
        ['x-default', paths[0]],
      ]);
    expect((await open('/robots.txt')).text).toContain('Disallow: /*/search');
  });
});

interface UcpProduct {
  readonly title: string;
  readonly variants: readonly { readonly id: string; readonly price: object }[];
}
interface Answered {
  readonly products: readonly UcpProduct[];
  readonly product: UcpProduct;
}

describe('agents', () => {
  const PROFILE = () => `profile="${service.url}/.well-known/ucp"`;
  /** Sends an operation of the Universal Commerce Protocol. */
  async function ask(operation: string, body: object, headers: Record<string, string> = {}) {
    const answer = await fetch(`${service.url}/ucp/catalog/${operation}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'ucp-agent': PROFILE(), ...headers },
      body: JSON.stringify(body),
    });
    return (await answer.json()) as Answered;
  }
  const german = { language: 'de-AT', currency: 'USD' };

  test('read the texts in the language and the prices in the currency of their buyer', async () => {
    const { products } = await ask('search', { query: 'Tee', context: german });
    const found = products[0]!;
    const page = `${service.url}/de/p/gruener-tee`;
    expect(products).toHaveLength(1);
    expect(found).toMatchObject({
      ...{ title: 'Grüner Tee', description: { plain: 'Frisch und mild.' }, url: `${page}?currency=USD` },
      ...{ categories: [{ value: 'Getränke' }], options: [{ name: 'Gewicht' }, { name: 'Blatt' }] },
      media: [{ alt_text: 'Eine Tasse' }],
      price_range: { min: { amount: 800, currency: 'USD' }, max: { amount: 1_900, currency: 'USD' } },
    });
    expect(found.variants[0]).toMatchObject({
      ...{ title: '100 g / Ganz', url: `${page}?variant=${tea.variants[0]}&currency=USD` },
      ...{ price: { amount: 800 }, list_price: { amount: 900 } },
    });
    // Only one variant has a price in yen, and the cup has none.
    const yen = await ask('search', { filters: { in_stock: true }, context: { currency: 'JPY' } });
    expect(yen.products.map(({ title, variants }) => [title, variants.map(({ price }) => price)])).toEqual([
      ['Té verde', [{ amount: 1_400, currency: 'JPY' }]],
    ]);
    // The next request is in another language, which neither of two caches may confuse.
    const plain = await ask('search', { query: 'Té' });
    expect(plain.products[0]).toMatchObject({ title: 'Té verde', url: `${service.url}/p/te-verde` });
    const arabic = await ask('search', { query: 'Té' }, { 'accept-language': 'ar' });
    expect(arabic.products[0]?.title).toBe('شاي أخضر');
    const american = await ask('search', { query: 'شاي', context: { address_country: 'US' } });
    expect(american.products).toMatchObject([
      { title: 'شاي أخضر', price_range: { min: { amount: 800, currency: 'USD' } } },
    ]);
    const both = await ask('search', { query: 'Tee', context: { language: 'de', address_country: 'US' } });
    expect(both.products).toMatchObject([{ title: 'Grüner Tee', url: `${page}?currency=USD` }]);
    // A currency that the store does not have, and what is no language, are no obstacle.
    const other = await ask('search', {
      query: 'Té',
      context: { language: 'de_DE!', currency: 'EUR', address_country: 'xx' },
    });
    expect(other.products[0]).toMatchObject({ title: 'Té verde', price_range: { min: { currency: 'PEN' } } });
  });

  test('filter and select by what they are shown', async () => {
    const found = async (filters: object) =>
      (await ask('search', { filters, context: german })).products.map(({ variants }) => variants.length);
    expect(await found({ option: { Gewicht: '250 g', Blatt: ['Ganz'] } })).toEqual([1]);
    expect(await found({ option: { Gewicht: '300 g' } })).toEqual([]);
    const american = { filters: { option: { الوزن: '100 g' } }, context: { address_country: 'US' } };
    expect((await ask('search', american)).products).toMatchObject([{ title: 'شاي أخضر' }]);
    expect(await found({ categories: ['Getränke'] })).toEqual([2]);
    // In cents of the dollar, in a sale too.
    expect(await found({ price: { max: 800 } })).toEqual([1]);
    expect(await found({ price: { min: 801, max: 1_800 } })).toEqual([]);
    const selected = [{ name: 'Gewicht', label: '250 g' }];
    const { product } = await ask('product', { id: tea.id, selected, context: german });
    expect(product.variants.map(({ id }) => id)).toEqual([tea.variants[1]]);
  });

  test('look up a variant by its address in any language and currency', async () => {
    for (const path of ['/p', '/ar/p'])
      for (const end of ['', '&currency=JPY']) {
        const id = `${service.url}${path}/te-verde?variant=${tea.variants[1]}${end}`;
        const { products } = await ask('lookup', { ids: [id], context: german });
        expect(products[0]!.variants).toMatchObject([
          { id: tea.variants[1], inputs: [{ id, match: 'exact' }] },
        ]);
      }
  });
});

test('a tool of the Model Context Protocol reads in a language and a currency', async () => {
  const call = { name: 'list_publications', arguments: { locale: 'de', currency: 'USD', priced: true } };
  const answer = await fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: {
      ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      'x-api-key': secret_key,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }),
  });
  const { result } = (await answer.json()) as { result: { structuredContent: object } };
  expect(result.structuredContent).toMatchObject({
    data: [{ title: 'Grüner Tee', price_currency: 'USD', price_amount: 900, untranslated: ['options'] }],
  });
});

describeWithProgram('chromium', 'in a browser', () => {
  const browser = useBrowser();

  test('the shop can be read by everybody in a language from right to left', async () => {
    const page = await browser().newPage(service.url, { locale: 'ar-EG' });
    const wrong: string[] = [];
    for (const path of ['/', '/products', '/c/bebidas', '/p/te-verde', '/ar/p/te-verde?currency=USD']) {
      await page.goto(path);
      wrong.push(...(await browser().look(page, `world ${path}`, true)));
    }
    await page.goto('/p/te-verde?currency=USD');
    await page.locator('.chooser summary').click();
    wrong.push(...(await browser().look(page, 'world chooser', true)));
    expect(wrong).toEqual([]);
    await page.getByRole('link', { name: 'Deutsch' }).click();
    await page.getByRole('heading', { name: 'Grüner Tee' }).waitFor();
    expect(new URL(page.url()).search).toBe('?currency=USD');
    await page.locator('.chooser summary').click();
    expect(await browser().look(page, 'world chosen')).toEqual([]);
  });
});
