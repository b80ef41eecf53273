import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import Ajv from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { parse } from 'csv-parse/sync';
import { XMLParser } from 'fast-xml-parser';
import { pino } from 'pino';
import { type Service, startAllInOne } from '../../services/boot/all-in-one';
import { CatalogClient, type NewPublication } from '../../shared/client';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import { LateWrites } from '../support/late-writes';
import { flatPicture } from '../support/pictures';
import { makeTempDir } from '../support/temp-dir';
import { WAIT_MS_MAX, waitFor } from '../support/wait-for';
import { InProcessCli } from './cli-run';

const folder = makeTempDir();
const cli = new InProcessCli(folder.path);
const DAY_MS = 86_400_000;
const tomorrow = new Date(Date.now() + DAY_MS).toISOString();
const in_a_week = new Date(Date.now() + 7 * DAY_MS).toISOString();

/** By how much the clock of the service is ahead of the machine's. */
let ahead_ms = 0;
const system = { ...realSystem, now: () => Date.now() + ahead_ms };
const late = new LateWrites();
const fetch = late.settling(() => service);
let service: Service;
let store: string;
let merchant: CatalogClient;
let visitor: CatalogClient;
let clothes: string;
let shirt: { readonly id: string; readonly variants: readonly string[] };

/** A shop with a shirt in three variants, and a mug of which channels miss a lot. */
beforeAll(async () => {
  const account = await cli.account();
  store = await cli.store(account);
  const keyOf = async (type: string): Promise<string> =>
    (await cli.json('key', 'create', '--account', account, '--type', type, '--store', store)).key;
  const [SHOP_KEY, apiKey] = [await keyOf('public'), await keyOf('secret')];
  const limit = '1000000/100000000/1000000';
  const config = parseConfig({
    ...{ DATA_DIR: folder.path, PORT: '0', DEMO: 'off', LOG_LEVEL: 'silent', SHOP_KEY },
    ...{ RATE_LIMIT_PUBLIC: limit, RATE_LIMIT_SECRET: limit },
  });
  service = await startAllInOne(config, pino({ level: 'warn' }, late), system);
  expect(await service.pipelines.caughtUp(WAIT_MS_MAX)).toBe(true);
  merchant = new CatalogClient({ baseUrl: service.url, apiKey, fetch });
  visitor = new CatalogClient({ baseUrl: service.url, apiKey: SHOP_KEY, fetch });

  clothes = (await merchant.listings.create({ name: 'Ropa' })).id;
  const shirts = await merchant.listings.create({ name: 'Camisas & blusas', parent_id: clothes });
  const hidden = await merchant.listings.create({ name: 'Secret plans', visibility: 'private' });
  const media_ids = await upload(2);
  const option = (Talla: string, Color: string) => ({ option_values: { Talla, Color } });
  const created = await merchant.publications.create({
    ...{ title: 'Camisa <lino>', description: 'Fresca, "ligera"\ny suave.', vendor: 'Taller Rímac' },
    ...{ price_currency: 'PEN', price_amount: 8_900, listing_id: shirts.id, media_ids },
    ...{ sale_price_amount: 7_900, sale_from: tomorrow, sale_to: in_a_week },
    attributes: { google_product_category: 'Apparel & Accessories > Clothing', material: 'lino' },
    variants: [
      {
        ...option('S', 'Azul'),
        ...{ barcode: '7750182003834', quantity_available: 3, weight_grams: 180, media_id: media_ids[1]! },
      },
      { ...option('M', 'Azul'), quantity_available: 0 },
      {
        ...{ ...option('M', 'Rojo'), quantity_available: 0, allow_backorder: true, price_amount: 9_900 },
        ...{ sale_price_amount: 9_500, attributes: { availability_date: '2027-01-31' } },
      },
    ],
  });
  shirt = {
    id: created.id,
    variants: (await merchant.publications.variants(created.id).all()).map(({ id }) => id),
  };
  const price = { price_currency: 'JPY', price_amount: 120_000 };
  await merchant.publications.create({ ...price, title: 'Mug', description_html: '<p>Two<br>lines</p>' });
  await merchant.publications.create({ ...price, title: 'Private', visibility: 'private' });
  await merchant.publications.create({
    ...price,
    title: 'On request',
    price_active: false,
    listing_id: hidden.id,
  });
});
afterAll(async () => {
  await service?.close();
  folder.remove();
});

async function upload(count: number): Promise<string[]> {
  const uploads = Array.from({ length: count }, async (_, n) => {
    const bytes = await flatPicture('png', { width: 30 + n, height: 20 });
    const { id } = await merchant.media.upload(new Blob([new Uint8Array(bytes)]), { alt: `Picture ${n}` });
    await merchant.media.processed(id);
    return id;
  });
  return Promise.all(uploads);
}

let many: Promise<string[]> | undefined;
/** Returns the ids of 21 pictures: more than any channel accepts of a product. */
function manyPictures(): Promise<string[]> {
  many ??= upload(21);
  return many;
}

async function open(path: string, headers: Record<string, string> = {}) {
  const answer = await fetch(service.url + path, { headers });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

type Item = Readonly<Record<string, string>> & { readonly 'g:additional_image_link'?: readonly string[] };

/** Reads the feed for Google with a parser that others have written. */
async function googleItems(): Promise<Item[]> {
  const { text } = await open('/feeds/google.xml');
  const isArray = (name: string) => name === 'item' || name === 'g:additional_image_link';
  const { rss } = new XMLParser({ parseTagValue: false, isArray }).parse(text, true);
  return rss.channel.item;
}
const itemsOf = async (title: string) =>
  (await googleItems()).filter((item) => item['g:title']!.startsWith(title));

async function withProduct<Result>(fields: NewPublication, run: (id: string) => Promise<Result>) {
  const { id } = await merchant.publications.create(fields);
  try {
    return await run(id);
  } finally {
    await merchant.publications.delete(id);
  }
}

const issuesOf = (id: string, channel: 'google' | 'meta' | 'acp') =>
  merchant.feeds
    .issues(channel)
    .all()
    .then((all) => all.filter(({ publication_id }) => publication_id === id));

describe('the feed for Google', () => {
  test('has each variant of the public products with a price', async () => {
    const items = await googleItems();
    expect(items.map((item) => item['g:title'])).toEqual([
      ...['Camisa <lino> - S / Azul', 'Camisa <lino> - M / Azul', 'Camisa <lino> - M / Rojo', 'Mug'],
    ]);
    const [first, second, third, mug] = items;
    const page = `${service.url}/p/camisa-lino`;
    const dates = `${tomorrow.slice(0, 16)}+0000/${in_a_week.slice(0, 16)}+0000`;
    expect(first).toMatchObject({
      ...{
        'g:id': shirt.variants[0],
        'g:item_group_id': shirt.id,
        'g:link': `${page}?option.Talla=S&option.Color=Azul`,
      },
      ...{
        'g:description': 'Fresca, "ligera"\ny suave.',
        'g:brand': 'Taller Rímac',
        'g:gtin': '7750182003834',
      },
      ...{ 'g:price': '89.00 PEN', 'g:sale_price': '79.00 PEN', 'g:sale_price_effective_date': dates },
      ...{ 'g:availability': 'in_stock', 'g:condition': 'new', 'g:shipping_weight': '180 g' },
      ...{
        'g:color': 'Azul',
        'g:size': 'S',
        'g:material': 'lino',
        'g:product_type': 'Ropa > Camisas & blusas',
      },
      'g:google_product_category': 'Apparel & Accessories > Clothing',
    });
    expect(first).not.toHaveProperty('g:identifier_exists');
    expect(second).toMatchObject({ 'g:availability': 'out_of_stock', 'g:identifier_exists': 'no' });
    expect(third).toMatchObject({
      ...{ 'g:availability': 'backorder', 'g:availability_date': '2027-01-31' },
      ...{ 'g:price': '99.00 PEN', 'g:sale_price': '95.00 PEN' },
    });
    expect(mug).toMatchObject({
      'g:price': '1200.00 JPY',
      'g:description': 'Two\nlines',
      'g:link': `${service.url}/p/mug`,
    });
    for (const name of ['g:item_group_id', 'g:image_link', 'g:sale_price', 'g:brand'])
      expect(mug).not.toHaveProperty(name);
  });

  test('shows the picture of the variant first, at addresses that can be loaded', async () => {
    const [first, second] = await googleItems();
    expect(first!['g:additional_image_link']).toEqual([second!['g:image_link']]);
    expect(second!['g:additional_image_link']).toEqual([first!['g:image_link']]);
    const picture = await open(first!['g:image_link']!.slice(service.url.length));
    expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/png']);
  });

  test.each([
    [
      'has run since yesterday, without an end',
      { sale_from: '2026-01-01T00:00:00.000Z' },
      '10.00 PEN',
      undefined,
    ],
    ['begins tomorrow, without an end', { sale_from: tomorrow }, undefined, undefined],
    ['has no bounds', {}, '10.00 PEN', undefined],
    ['has ended', { sale_to: '2026-01-02T00:00:00.000Z' }, undefined, undefined],
    ['ends tomorrow', { sale_to: tomorrow }, '10.00 PEN', `/${tomorrow.slice(0, 16)}+0000`],
  ])('a sale that %s', async (_, times, price, dates) => {
    const fields = { title: 'Sale', price_currency: 'PEN', price_amount: 2_000, sale_price_amount: 1_000 };
    const [item] = await withProduct({ ...fields, ...times }, () => itemsOf('Sale'));
    expect(item!['g:sale_price']).toBe(price);
    expect(item!['g:sale_price_effective_date']?.slice(21)).toBe(dates);
  });

  // https://support.google.com/merchants/answer/7052112
  const GOOGLE_LENGTHS = {
    ...{
      id: 50,
      title: 150,
      description: 5_000,
      link: 2_000,
      image_link: 2_000,
      product_type: 750,
      brand: 70,
    },
    ...{ mpn: 70, item_group_id: 50, color: 100, size: 100, material: 200, pattern: 100 },
  };

  test('keeps within the limits of Google, and the report says what is cut or left out', async () => {
    const long = 'ñ𝒳'.repeat(127);
    const media_ids = (await manyPictures()).slice(0, 12);
    const product = {
      ...{ title: long.slice(0, 250), description: long.repeat(30), vendor: long, media_ids },
      ...{ price_currency: 'PEN', price_amount: 0, product_type: long },
      attributes: {
        mpn: long,
        color: long,
        size: long,
        material: long,
        pattern: long,
        gender: 'any',
        age_group: 'old',
      },
      variants: [{ option_values: { Estilo: 'x' }, barcode: '2000000000008' }],
    };
    await withProduct(product, async (id) => {
      const [item] = (await googleItems()).filter((each) => each['g:item_group_id'] === id);
      for (const [name, length_max] of Object.entries(GOOGLE_LENGTHS)) {
        const { length } = [...item![`g:${name}`]!];
        expect({ [name]: length > 0 && length <= length_max }).toEqual({ [name]: true });
      }
      expect(item!['g:additional_image_link']).toHaveLength(10);
      for (const name of ['gtin', 'gender', 'age_group', 'price'])
        expect(item).not.toHaveProperty(`g:${name}`);
      const issues = await issuesOf(id, 'google');
      expect(issues.map(({ field, problem, severity }) => [field, problem, severity])).toEqual([
        ['title', 'too_long', 'warning'],
        ['description', 'too_long', 'warning'],
        ['additional_image_link', 'too_many', 'warning'],
        ['price', 'invalid', 'error'],
        ['brand', 'too_long', 'warning'],
        ['gtin', 'invalid', 'warning'],
        ['mpn', 'too_long', 'warning'],
        ['color', 'too_long', 'warning'],
        ['size', 'too_long', 'warning'],
        ['material', 'too_long', 'warning'],
        ['pattern', 'too_long', 'warning'],
        ['gender', 'invalid', 'warning'],
        ['age_group', 'invalid', 'warning'],
      ]);
      expect(issues[0]).toMatchObject({ variant_count: 1, message: 'title is cut after 150 characters' });
    });
  });
});

test('the feed for Meta is CSV with the values that Meta expects', async () => {
  const { text, headers } = await open('/feeds/meta.csv');
  expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
  const rows = parse(text, { columns: true }) as Record<string, string>[];
  expect(rows.map(({ availability }) => availability)).toEqual([
    ...['in stock', 'out of stock', 'available for order', 'in stock'],
  ]);
  expect(rows[0]).toMatchObject({
    ...{
      id: shirt.variants[0],
      item_group_id: shirt.id,
      title: 'Camisa <lino> - S / Azul',
      price: '89.00 PEN',
    },
    ...{
      description: 'Fresca, "ligera"\ny suave.',
      gtin: '7750182003834',
      quantity_to_sell_on_facebook: '3',
    },
  });
  const with_pictures = await withProduct(
    { title: 'Many pictures', price_currency: 'PEN', price_amount: 1, media_ids: await manyPictures() },
    async () => parse((await open('/feeds/meta.csv')).text, { columns: true }) as Record<string, string>[],
  );
  const pictures = with_pictures.at(-1)!.additional_image_link!;
  expect(pictures.length).toBeLessThanOrEqual(2_000);
  expect(pictures.split(',').length).toBeGreaterThan(10);
});

test('the feed for agents has products as the Agentic Commerce Protocol defines them', async () => {
  const validate = addFormats(new Ajv({ allErrors: true })).compile(
    JSON.parse(readFileSync('test/fixtures/acp-product.schema.json', 'utf8')),
  );
  const sale = { title: 'On sale', price_currency: 'BHD', price_amount: 2_000, sale_price_amount: 1_000 };
  const lines = await withProduct(sale, async () =>
    (await open('/feeds/acp.jsonl')).text.trimEnd().split('\n'),
  );
  const products = lines.map((line) => JSON.parse(line));
  for (const product of products) expect([validate(product), validate.errors]).toEqual([true, null]);
  const [of_shirt, mug, on_sale] = products;
  expect(of_shirt).toMatchObject({
    id: shirt.id,
    title: 'Camisa <lino>',
    url: `${service.url}/p/camisa-lino`,
  });
  expect(of_shirt.variants[0]).toMatchObject({
    ...{
      id: shirt.variants[0],
      barcodes: [{ type: 'GTIN', value: '7750182003834' }],
      seller: { name: 'Shop' },
    },
    ...{ price: { amount: 8_900, currency: 'PEN' }, availability: { available: true, status: 'in_stock' } },
    variant_options: [
      { name: 'Talla', value: 'S' },
      { name: 'Color', value: 'Azul' },
    ],
  });
  // Minor units of the currency: none of a yen, thousandths of a dinar.
  expect(mug.variants[0].price).toEqual({ amount: 1_200, currency: 'JPY' });
  expect(on_sale.variants[0]).toMatchObject({ price: { amount: 10_000 }, list_price: { amount: 20_000 } });
});

test('an unchanged catalog is a 304, and a new price is in the next feed', async () => {
  for (const file of ['google.xml', 'meta.csv', 'acp.jsonl']) {
    const first = await open(`/feeds/${file}`, { 'accept-encoding': 'br' });
    expect([first.status, first.headers.get('content-encoding')]).toEqual([200, 'br']);
    const if_unchanged = { 'if-none-match': first.headers.get('etag')! };
    expect((await open(`/feeds/${file}`, if_unchanged)).status).toBe(304);
    const plain = await open(`/feeds/${file}`, { 'accept-encoding': 'identity' });
    expect([plain.headers.get('content-encoding'), plain.text]).toEqual([null, first.text]);
    const mug = await merchant.publications.getByHandle('mug');
    const price_amount = mug.price_amount + 100;
    await merchant.publications.update(mug.id, { price_amount });
    const next = await open(`/feeds/${file}`, if_unchanged);
    expect(next.status).toBe(200);
    expect(next.text).not.toBe(first.text);
  }
});

test('an unchanged catalog is a 304 although shoppers look at it and write reviews', async () => {
  const feeds = ['google.xml', 'meta.csv', 'acp.jsonl'].map((file) => `/feeds/${file}`);
  const files = [...feeds, '/sitemaps/pages.xml', '/sitemaps/products-1.xml'];
  const texts = ['/sitemap.xml', '/robots.txt', '/llms.txt'];
  const etags = new Map<string, string>();
  for (const path of [...files, ...texts]) etags.set(path, (await open(path)).headers.get('etag')!);
  const statusesOf = (paths: readonly string[]) =>
    Promise.all(paths.map(async (path) => (await open(path, { 'if-none-match': etags.get(path)! })).status));
  const all = (status: number, paths: readonly string[]) => paths.map(() => status);

  const { stats } = await visitor.publications.get(shirt.id);
  await service.page_views.flush();
  const { id } = await merchant.reviews.create(shirt.id, {
    rating: 5,
    author_name: 'Ana',
    status: 'published',
  });
  await waitFor(async () => {
    const now = (await merchant.publications.get(shirt.id)).stats!;
    return now.view_count > stats!.view_count && now.rating!.count > (stats!.rating?.count ?? 0);
  });
  expect(await statusesOf([...files, ...texts])).toEqual(all(304, [...files, ...texts]));
  await merchant.reviews.delete(id);

  const { title } = await merchant.publications.get(shirt.id);
  await merchant.publications.update(shirt.id, { title: 'Camisa nueva' });
  await waitFor(async () => (await merchant.publications.get(shirt.id)).title === 'Camisa nueva');
  expect(await statusesOf(files)).toEqual(all(200, files));
  expect(await statusesOf(texts)).toEqual(all(304, texts));
  await merchant.publications.update(shirt.id, { title });
});

test.each([
  ['a picture', (id: string) => merchant.media.update(id, { alt: 'Azul' })],
  ['a listing above', () => merchant.listings.update(clothes, { name: 'Ropa y más' })],
])('a change of %s is in the next feed', async (_, change) => {
  const before = await open('/feeds/acp.jsonl');
  const [media] = (await merchant.media.list().page()).data;
  await change(media!.id);
  const etag = before.headers.get('etag')!;
  await waitFor(async () => (await open('/feeds/acp.jsonl', { 'if-none-match': etag })).status === 200);
  await merchant.listings.update(clothes, { name: 'Ropa' });
});

test('the end of a sale is in the next feed', async () => {
  const price = { price_currency: 'PEN', price_amount: 2_000, sale_price_amount: 1_000 };
  const sale_to = new Date(system.now() + 3_600_000).toISOString();
  await withProduct({ ...price, title: 'Short sale', sale_to }, async () => {
    const during = await open('/feeds/google.xml');
    expect(during.text).toContain('<g:sale_price>10.00 PEN');
    const if_changed = { 'if-none-match': during.headers.get('etag')! };
    expect((await open('/feeds/google.xml', if_changed)).status).toBe(304);
    ahead_ms += 3_600_000;
    const after = await waitFor(async () => {
      const answer = await open('/feeds/google.xml', if_changed);
      return answer.status === 200 && answer;
    });
    expect(after.text).not.toContain('<g:sale_price>10.00 PEN');
  });
});

describe('the report of what a channel would refuse', () => {
  const problems = async (id: string, channel: 'google' | 'meta' | 'acp') =>
    (await issuesOf(id, channel))
      .filter(({ severity }) => severity === 'error')
      .map(({ field, problem, variant_count }) => [field, problem, variant_count]);

  test('names the fields of each product that are missing, once for all of its variants', async () => {
    const product = {
      ...{ title: 'Bare', price_currency: 'PEN', price_amount: 100 },
      variants: ['S', 'M'].map((Talla) => ({
        ...{ option_values: { Talla }, quantity_available: 0, allow_backorder: true },
      })),
    };
    await withProduct(product, async (id) => {
      const missing = ['description', 'image_link'].map((field) => [field, 'missing', 2]);
      expect(await problems(id, 'google')).toEqual([...missing, ['availability_date', 'missing', 2]]);
      expect(await problems(id, 'meta')).toEqual([...missing, ['brand', 'missing', 2]]);
      expect(await problems(id, 'acp')).toEqual([]);
      expect((await issuesOf(id, 'acp')).map(({ field, severity }) => [field, severity])).toEqual([
        ...['description', 'media', 'barcodes'].map((field) => [field, 'warning']),
      ]);
    });
    expect(await problems(shirt.id, 'google')).toEqual([]);
  });

  test('is read in pages, filtered by severity, with a secret key only', async () => {
    const all = await merchant.feeds.issues('google').all();
    const in_pages = await merchant.feeds.issues('google', { limit: 1 }).all();
    expect(in_pages).toEqual(all);
    const errors = await merchant.feeds.issues('google', { severity: 'error' }).all();
    expect(errors).toEqual(all.filter(({ severity }) => severity === 'error'));
    expect(errors.map(({ title, field }) => [title, field])).toEqual([['Mug', 'image_link']]);
    const refused = (reading: Promise<unknown>) => reading.then(undefined, ({ status }) => status);
    expect(await refused(visitor.feeds.issues('google').all())).toBe(403);
    expect(await refused(merchant.feeds.issues('google', { cursor: 'x' }).page())).toBe(400);
    expect(await refused(merchant.feeds.issues('amazon' as 'google').page())).toBe(404);
  });

  test('the command line prints it, and fails if a channel would refuse something', async () => {
    const check = ['feeds', 'check', '--store', store, '--channel'];
    const google = await cli.run(...check, 'google');
    expect([google.code, google.stdout]).toEqual([
      1,
      expect.stringMatching(/error .*Mug .*image_link is missing/),
    ]);
    const { code, stdout } = await cli.run(...check, 'acp', '--json');
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { channel: 'acp', products: 2 }]);
  });
});

/** Returns the JSON-LD of a page, by `@type`. */
async function structuredData(path: string) {
  const { text } = await open(path, { accept: 'text/html' });
  const scripts = [...text.matchAll(/<script type="application\/ld\+json">(.*?)<\/script>/gs)];
  const all = scripts.map(([, json]) => JSON.parse(json!));
  for (const each of all) expect(each['@context']).toBe('https://schema.org');
  return { html: text, of: Object.fromEntries(all.map((each) => [each['@type'], each])) };
}

/** What Google requires of each type (https://developers.google.com/search/docs/appearance/structured-data/product). */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  ProductGroup: ['name', 'productGroupID', 'variesBy', 'hasVariant', 'url'],
  Product: ['name', 'image', 'offers', 'url'],
  Offer: ['price', 'priceCurrency', 'availability', 'url', 'itemCondition'],
  AggregateRating: ['ratingValue', 'reviewCount'],
  BreadcrumbList: ['itemListElement'],
  ListItem: ['position', 'name', 'item'],
  Brand: ['name'],
};

/** Returns what required properties of the types in the data are missing. */
function missingIn(data: unknown): string[] {
  if (typeof data !== 'object' || data === null) return [];
  const type = (data as Record<string, string>)['@type'];
  const required = type === undefined ? [] : (REQUIRED[type] ?? ['a known type']);
  const missing = required.filter((name) => !(name in data)).map((name) => `${type}.${name}`);
  return [...missing, ...Object.values(data).flatMap(missingIn)];
}

/** The part of schema.org that shops use: the properties of each type without those of its parent, and values. */
const SCHEMA_ORG: {
  readonly types: Readonly<
    Record<string, { readonly parent?: string; readonly properties: readonly string[] }>
  >;
  readonly values: readonly string[];
} = JSON.parse(readFileSync('test/fixtures/schema-org.json', 'utf8'));

function propertiesOf(type: string): readonly string[] {
  const { parent, properties = [] } = SCHEMA_ORG.types[type] ?? {};
  return parent === undefined ? properties : [...properties, ...propertiesOf(parent)];
}

/** Returns what of the data is not in the vocabulary: types, properties of their type, and addresses of values. */
function unknownIn(data: unknown): string[] {
  const name = /^https:\/\/schema\.org\/(.+)$/.exec(String(data))?.[1];
  if (typeof data === 'string' && name !== undefined)
    return [...SCHEMA_ORG.values, ...propertiesOf('Product')].includes(name) ? [] : [data];
  if (typeof data !== 'object' || data === null) return [];
  const { '@context': _, '@type': type, ...fields } = data as Record<string, unknown>;
  const known = type === undefined ? Object.keys(fields) : propertiesOf(String(type));
  const unknown = Object.keys(fields).filter((field) => !known.includes(field));
  return [...unknown.map((field) => `${type}.${field}`), ...Object.values(fields).flatMap(unknownIn)];
}

describe('the pages of the shop', () => {
  test('say in the vocabulary of schema.org what is on them', async () => {
    await merchant.reviews.create(shirt.id, { rating: 4, author_name: 'Rosa', body: 'Linda' });
    const page = `${service.url}/p/camisa-lino`;
    const { html, of } = await structuredData('/p/camisa-lino?option.Talla=M&option.Color=Azul');
    expect(Object.values(of).flatMap(missingIn)).toEqual([]);
    expect(Object.values(of).flatMap(unknownIn)).toEqual([]);
    expect(of.ProductGroup).toMatchObject({
      ...{ name: 'Camisa <lino>', productGroupID: shirt.id, url: page, brand: { name: 'Taller Rímac' } },
      variesBy: ['https://schema.org/size', 'https://schema.org/color'],
      aggregateRating: { ratingValue: 4, reviewCount: 1 },
    });
    expect(of.ProductGroup.hasVariant).toHaveLength(3);
    const [first, second, third] = of.ProductGroup.hasVariant;
    const link = `${page}?option.Talla=S&option.Color=Azul`;
    expect(first).toMatchObject({
      ...{ name: 'Camisa <lino> - S / Azul', gtin: '7750182003834', size: 'S', color: 'Azul', url: link },
      offers: { price: '89.00', priceCurrency: 'PEN', availability: 'https://schema.org/InStock', url: link },
    });
    expect(second.offers.availability).toBe('https://schema.org/OutOfStock');
    expect(third.offers).toMatchObject({ price: '99.00', availability: 'https://schema.org/InStock' });
    expect(of.BreadcrumbList.itemListElement.map(({ item }: { item: string }) => item)).toEqual([
      ...[`${service.url}/`, `${service.url}/c/camisas-blusas`, page],
    ]);
    expect(html).toContain(`<link rel="canonical" href="${page}"/>`);
    expect(html).toContain('<meta property="og:type" content="product"/>');
    const picture = /<meta property="og:image" content="([^"]+)"/.exec(html)![1]!;
    expect((await open(picture.slice(service.url.length))).status).toBe(200);
    const mug = await structuredData('/p/mug');
    expect(Object.values(mug.of).flatMap(unknownIn)).toEqual([]);
    expect(mug.of.Product.offers).toMatchObject({ priceCurrency: 'JPY' });
    expect((await structuredData('/p/on-request')).of.Product).not.toHaveProperty('offers');
  });

  test('have one address each: without filters, and searches have none', async () => {
    const canonicalOf = async (path: string) => {
      const { text } = await open(path, { accept: 'text/html' });
      return /<link rel="canonical" href="([^"]+)"/.exec(text)?.[1]?.slice(service.url.length) ?? 'noindex';
    };
    const paths = [
      '/',
      '/products?tag=x&sort=price.asc',
      '/c/camisas-blusas?in_stock=true',
      '/search?q=camisa',
      '/p/none',
    ];
    expect(await Promise.all(paths.map(canonicalOf))).toEqual([
      ...['/', '/products', '/c/camisas-blusas', 'noindex', 'noindex'],
    ]);
    expect((await structuredData('/c/camisas-blusas')).of.BreadcrumbList.itemListElement).toHaveLength(3);
  });

  test('are in the sitemap, which robots.txt names, with the time of the last change and pictures', async () => {
    const robots = await open('/robots.txt');
    const index = /^Sitemap: (.*)$/m.exec(robots.text)![1]!;
    expect(robots.text).toContain('Disallow: /search\n');
    const isArray = (name: string) => ['sitemap', 'url', 'image:image'].includes(name);
    const read = async (address: string) => {
      const { text, headers } = await open(address.slice(service.url.length));
      expect(headers.get('content-type')).toContain('application/xml');
      return new XMLParser({ isArray }).parse(text, true);
    };
    const files: { readonly loc: string }[] = (await read(index)).sitemapindex.sitemap;
    const entries: { loc: string; lastmod?: string; 'image:image'?: unknown[] }[] = [];
    for (const { loc } of files) entries.push(...(await read(loc)).urlset.url);
    const paths = entries.map(({ loc }) => loc.slice(service.url.length));
    expect(paths).toEqual([
      ...['/', '/products', '/c/camisas-blusas', '/c/ropa', '/p/camisa-lino', '/p/mug', '/p/on-request'],
    ]);
    for (const path of paths) expect([path, (await open(path)).status]).toEqual([path, 200]);
    const [of_shirt] = entries.slice(4);
    expect(of_shirt!['image:image']).toHaveLength(2);
    expect(of_shirt!.lastmod).toBe((await merchant.publications.get(shirt.id)).updated_at);
    expect((await open('/sitemaps/products-2.xml')).text).not.toContain('<url>');
    expect((await open('/sitemaps/products-0.xml')).status).toBe(404);
  });

  test('are described for language models, whose links all work', async () => {
    const { text, headers } = await open('/llms.txt');
    expect(headers.get('content-type')).toContain('text/markdown');
    expect(text).toMatch(/^# Shop\n/);
    expect(text).toContain('[Ropa]');
    expect(text).not.toContain('Secret plans');
    const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, address]) =>
      address!.slice(service.url.length),
    );
    expect(links.length).toBeGreaterThan(5);
    for (const link of links) expect([link, (await open(link)).status]).toEqual([link, 200]);
  });
});

test('there is no feed with another name, and feeds can only be read', async () => {
  expect((await open('/feeds/amazon.xml')).status).toBe(404);
  for (const path of [
    '/feeds/google.xml',
    '/sitemap.xml',
    '/sitemaps/pages.xml',
    '/robots.txt',
    '/llms.txt',
  ]) {
    const { status, headers } = await fetch(service.url + path, { method: 'POST' });
    expect([path, status, headers.get('allow')]).toEqual([path, 405, 'GET, HEAD, OPTIONS']);
  }
});

test('a character that XML does not have is left out, and a request to what is no host is refused', async () => {
  const odd = { title: 'Odd\ufffe mug', price_currency: 'PEN', price_amount: 100 };
  const { id } = await merchant.publications.create(odd);
  await waitFor(async () => (await googleItems()).some((item) => item['g:title'] === 'Odd mug'));
  await merchant.publications.delete(id);
  for (const path of ['/feeds/google.xml', '/sitemap.xml']) {
    const [answer] = (await once(get(service.url + path, { headers: { host: 'a<b>' } }), 'response')) as [
      IncomingMessage,
    ];
    answer.resume();
    expect([path, answer.statusCode]).toEqual([path, 400]);
  }
});
