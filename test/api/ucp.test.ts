import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { pino } from 'pino';
import { type Service, startAllInOne } from '../../services/boot/all-in-one';
import { CatalogClient, type Import } from '../../shared/client';
import { parseConfig } from '../../shared/kernel/config';
import { LateWrites } from '../support/late-writes';
import { flatPicture } from '../support/pictures';
import { makeTempDir } from '../support/temp-dir';
import { WAIT_MS_MAX, waitFor } from '../support/wait-for';
import { InProcessCli } from './cli-run';

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely by tests
type Body = any;

const VERSION = '2026-08-25';
const SEARCH = 'dev.ucp.shopping.catalog.search';
const LOOKUP = 'dev.ucp.shopping.catalog.lookup';

/** The official schemas. Their ids are those of the fixtures' files, such as `ucp.json#/$defs/error`, behind a host. */
const schemas = new Ajv2020({ strict: false, allErrors: true });
addFormats(schemas);
const FIXTURES = join(process.cwd(), 'test/fixtures/ucp');
for (const file of readdirSync(FIXTURES, { recursive: true, encoding: 'utf8' }))
  if (file.endsWith('.json')) schemas.addSchema(JSON.parse(readFileSync(join(FIXTURES, file), 'utf8')));

function expectValid(name: string, body: Body): void {
  const validate = schemas.getSchema(`https://ucp.dev/schemas/${name}`)!;
  validate(body);
  expect(validate.errors ?? []).toEqual([]);
}

/** The schemas of the answers of each operation, with its path by REST. */
const ANSWERS = {
  search_catalog: ['search', 'shopping/catalog_search.json#/$defs/search_response'],
  lookup_catalog: ['lookup', 'shopping/catalog_lookup.json#/$defs/lookup_response'],
  get_product: ['product', 'shopping/catalog_lookup.json#/$defs/get_product_response'],
} as const;
type Operation = keyof typeof ANSWERS;

function expectAnswer(operation: Operation, body: Body): Body {
  const is_error = body.ucp.status === 'error';
  expectValid(is_error ? 'common/types/error_response.json' : ANSWERS[operation][1], body);
  return body;
}

const folder = makeTempDir();
const late = new LateWrites();
const fetch = late.settling(() => service);
let service: Service;
/** A server with the profiles of platforms, by path. */
let platform: Server;
const profiles: Record<string, Body> = {};
let merchant: CatalogClient;
/** The merchant of the store that the other host shows. */
let other: CatalogClient;
let keys: Record<'one' | 'two', string>;

const profile = (name = 'agent'): string =>
  `http://127.0.0.1:${(platform.address() as AddressInfo).port}/${name}`;
const offering = (capabilities: readonly string[], version = VERSION): Body => ({
  ucp: {
    version,
    services: {},
    payment_handlers: {},
    capabilities: Object.fromEntries(capabilities.map((name) => [name, [{ version }]])),
  },
});

async function startService(settings: Record<string, string>): Promise<Service> {
  const environment = {
    DATA_DIR: folder.path,
    PORT: '0',
    DEMO: 'off',
    LOG_LEVEL: 'silent',
    WEBHOOKS: 'private',
  };
  const started = await startAllInOne(
    parseConfig({ ...environment, ...settings }),
    pino({ level: 'warn' }, late),
  );
  expect(await started.pipelines.caughtUp(WAIT_MS_MAX)).toBe(true);
  return started;
}

beforeAll(async () => {
  platform = createServer((request, response) => {
    const found = profiles[request.url!.slice(1)];
    response
      .writeHead(found === undefined ? 404 : 200)
      .end(typeof found === 'string' ? found : JSON.stringify(found));
  });
  await new Promise<void>((resolve) => platform.listen(0, '127.0.0.1', resolve));
  profiles.agent = offering([SEARCH, LOOKUP]);
  const cli = new InProcessCli(folder.path);
  const account = await cli.account();
  const stores = [await cli.store(account), await cli.store(account)] as const;
  const keyOf = async (type: string, store: string): Promise<string> =>
    (await cli.json('key', 'create', '--account', account, '--type', type, '--store', store)).key;
  keys = { one: await keyOf('public', stores[0]), two: await keyOf('public', stores[1]) };
  const secrets = [await keyOf('secret', stores[0]), await keyOf('secret', stores[1])] as const;
  const high = '1000000/100000000/1000000';
  service = await startService({
    ...{ RATE_LIMIT_PUBLIC: high, RATE_LIMIT_SECRET: high },
    VIEW_FLUSH_INTERVAL_S: '86400',
    SHOP_KEY: `127.0.0.1=${keys.one}, localhost=${keys.two},lost.example=pk_live_${'x'.repeat(43)}`,
  });
  const client = (apiKey: string) => new CatalogClient({ baseUrl: service.url, apiKey, fetch });
  [merchant, other] = [client(secrets[0]), client(secrets[1])];
});
afterAll(async () => {
  await service?.close();
  platform?.close();
  folder.remove();
});

interface Sent {
  readonly host?: string;
  readonly agent?: string | undefined;
  readonly url?: string;
}

/** Sends a request by REST as a platform does. */
async function post(operation: Operation, body: Body, { host, url = service.url, ...sent }: Sent = {}) {
  const agent = 'agent' in sent ? sent.agent : `profile="${profile()}"`;
  const address = new URL(`/ucp/catalog/${ANSWERS[operation][0]}`, url);
  if (host) address.hostname = host;
  const response = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(agent !== undefined && { 'ucp-agent': agent }) },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const answer = (await response.json()) as Body;
  return { status: response.status, headers: response.headers, body: answer };
}

/** Sends a request by MCP, without the SDK. */
async function call(name: string, catalog: Body, { host, url = service.url, ...sent }: Sent = {}) {
  const agent = 'agent' in sent ? sent.agent : `profile="${profile()}"`;
  const meta = agent && { 'ucp-agent': { profile: agent.split('"').at(-2) } };
  const address = new URL('/ucp/mcp', url);
  if (host) address.hostname = host;
  const params = { name, arguments: { meta, catalog } };
  const response = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params }),
  });
  const body = (await response.json()) as Body;
  expectValid('transports/jsonrpc.json', body);
  // Too many requests are refused before their bodies are read.
  expect(body.id).toBe(response.status === 429 ? null : 7);
  return { status: response.status, headers: response.headers, body };
}

/** Calls an operation by REST and by MCP. Both have the same answer. */
async function ask(operation: Operation, body: Body, sent?: Sent): Promise<Body> {
  const answer = await post(operation, body, sent);
  expect(answer.status).toBe(200);
  const by_mcp = (await call(operation, body, sent)).body;
  expectValid('transports/mcp_tool_call.json#/$defs/response', by_mcp);
  expect(by_mcp.result.structuredContent).toEqual(answer.body);
  expect(JSON.parse(by_mcp.result.content[0].text)).toEqual(answer.body);
  return expectAnswer(operation, answer.body);
}

const search = (body: Body, sent?: Sent) => ask('search_catalog', body, sent);
const lookup = (...ids: string[]) => ask('lookup_catalog', { ids });
const getProduct = (body: Body) => ask('get_product', body);
const titlesIn = ({ products }: Body): string[] => products.map(({ title }: Body) => title);

const usd = (amount: number) => ({ amount, currency: 'USD' });

/** A shirt in two colours and three sizes. There is no red one in M, and the blue one in L is sold out. */
const SHIRT = {
  title: 'Linen shirt',
  description: 'A shirt for hot days.',
  description_html: '<p>A <b>shirt</b> for hot days.</p>',
  price_currency: 'USD',
  price_amount: 3_500,
  vendor: 'Acme',
  tags: ['summer'],
  attributes: { material: 'linen' },
  options: [
    { name: 'Color', values: ['Blue', 'Red'] },
    { name: 'Size', values: ['S', 'M', 'L'] },
  ],
  variants: [
    { option_values: { Color: 'Blue', Size: 'S' }, sku: 'BLUE-S' },
    { option_values: { Color: 'Blue', Size: 'M' }, sku: 'BLUE-M', barcode: '4006381333931' },
    { option_values: { Color: 'Blue', Size: 'L' }, sku: 'BLUE-L', quantity_available: 0 },
    { option_values: { Color: 'Red', Size: 'S' }, sku: 'RED-S' },
    {
      option_values: { Color: 'Red', Size: 'L' },
      sku: 'RED-L',
      price_amount: 2_900,
      compare_at_amount: 4_000,
    },
  ],
};

/** Imports a file of JSON Lines as the console does. Returns the import when reads show it. */
async function importLines(client: CatalogClient, lines: string): Promise<Import> {
  const untilEnded = ({ id }: Import) =>
    waitFor(async () => {
      const found = await client.imports.get(id);
      return found.status !== 'running' && found;
    });
  const previewed = await untilEnded(await client.imports.create(new File([lines], 'catalog.jsonl')));
  const ended = await untilEnded(await client.imports.start(previewed.id));
  expect(await service.pipelines.caughtUp(WAIT_MS_MAX)).toBe(true);
  return ended;
}

describe('an agent', () => {
  test('finds a red shirt in L below 30 after an import, gets it, and sees its new price', async () => {
    const lines = [
      { listing: { name: 'Shirts', parent: 'Clothing' } },
      { ...SHIRT, external_id: 'shirt', handle: 'linen-shirt', listing: 'Shirts' },
      { external_id: 'shoes', title: 'Red shoes in L', price: '25.00', price_currency: 'USD' },
    ];
    const { report } = await importLines(merchant, lines.map((line) => JSON.stringify(line)).join('\n'));
    expect(report!.rows.failed).toBe(0);

    const below = { filters: { price: { max: 3_000 } }, context: { currency: 'USD' } };
    const found = await search({ query: 'red shirt L', ...below });
    expect(titlesIn(found)).toEqual(['Linen shirt']);
    const [product] = found.products;
    const [variant] = product.variants;
    expect(variant.options).toEqual([
      { name: 'Color', label: 'Red' },
      { name: 'Size', label: 'L' },
    ]);
    expect(product).toMatchObject({
      handle: 'linen-shirt',
      url: `${service.url}/p/linen-shirt`,
      description: { plain: SHIRT.description, html: SHIRT.description_html },
      categories: [{ value: 'Clothing > Shirts', taxonomy: 'merchant' }],
      price_range: { min: usd(2_900), max: usd(3_500) },
      list_price_range: { min: usd(3_500), max: usd(4_000) },
      tags: ['summer'],
      metadata: { vendor: 'Acme', attributes: { material: 'linen' } },
    });
    expect(variant).toMatchObject({
      sku: 'RED-L',
      title: 'Red / L',
      price: usd(2_900),
      list_price: usd(4_000),
      availability: { available: true, status: 'in_stock' },
    });

    const [first] = (await search({ query: 'shirts red l' })).products[0].variants;
    expect(first.title).toBe('Red / L');

    for (const request of [{ id: product.id, selected: variant.options }, { id: variant.id }]) {
      const detail = await getProduct(request);
      expect(detail.product.selected).toEqual(variant.options);
      expect(detail.product.variants.map(({ id }: Body) => id)).toEqual([variant.id]);
    }
    await merchant.publications.updateVariant(variant.id, { price_amount: 2_000 });
    expect((await lookup(variant.id)).products[0].variants[0].price.amount).toBe(2_000);
    const feed = await (await fetch(`${service.url}/feeds/google.xml`)).text();
    expect(feed).toContain('<g:price>20.00 USD</g:price>');
  });
});

test('the operations are those of the profile, at the addresses that it names', async () => {
  const answer = await fetch(`${service.url}/.well-known/ucp`);
  const body = (await answer.json()) as Body;
  expectValid('profile.json#/$defs/business_schema', body);
  expect(answer.headers.get('cache-control')).toBe('public, max-age=3600');
  const [rest, mcp] = body.ucp.services['dev.ucp.shopping'];
  expect([rest.endpoint, mcp.endpoint]).toEqual([`${service.url}/ucp`, `${service.url}/ucp/mcp`]);
  expect(Object.keys(body.ucp.capabilities)).toEqual([SEARCH, LOOKUP]);
  const again = await fetch(`${service.url}/.well-known/ucp`, {
    headers: { 'if-none-match': answer.headers.get('etag')! },
  });
  expect(again.status).toBe(304);
});

describe('get_product', () => {
  let id: string;
  const select = async (selected: Record<string, string>, ...preferences: string[]): Promise<Body> => {
    const chosen = Object.entries(selected).map(([name, label]) => ({ name, label }));
    return (await getProduct({ id, selected: chosen, preferences })).product;
  };
  const skusIn = ({ variants }: Body): string[] => variants.map(({ sku }: Body) => sku);
  /** Returns the values of an option by their signals. */
  const valuesOf = ({ options }: Body, name: string): Record<string, string> => {
    const { values } = options.find((option: Body) => option.name === name);
    const stateOf = ({ available, exists }: Body) => (available ? 'in stock' : exists ? 'sold out' : 'none');
    return Object.fromEntries(values.map((value: Body) => [value.label, stateOf(value)]));
  };
  const selectedIn = ({ selected }: Body) =>
    Object.fromEntries(selected.map(({ name, label }: Body) => [name, label]));

  beforeAll(async () => {
    const variants = SHIRT.variants.map(({ sku, ...variant }) => ({ ...variant, sku: `own-${sku}` }));
    ({ id } = await merchant.publications.create({ ...SHIRT, handle: 'own-shirt', variants }));
  });

  test('begins with the first variant that can be bought', async () => {
    const { product } = await getProduct({ id });
    expect(selectedIn(product)).toEqual({ Color: 'Blue', Size: 'S' });
    expect(skusIn(product)).toEqual(['own-BLUE-S']);
    expect(valuesOf(product, 'Size')).toEqual({ S: 'in stock', M: 'in stock', L: 'sold out' });
    expect(valuesOf(product, 'Color')).toEqual({ Blue: 'in stock', Red: 'in stock' });
  });

  test('shows the variants of a partial selection, and what else can be selected', async () => {
    const product = await select({ Color: 'Red' });
    expect(selectedIn(product)).toEqual({ Color: 'Red' });
    expect(skusIn(product)).toEqual(['own-RED-S', 'own-RED-L']);
    expect(valuesOf(product, 'Size')).toEqual({ S: 'in stock', M: 'none', L: 'in stock' });
    const blue = await select({ Color: 'Blue' });
    expect(skusIn(blue)).toEqual(['own-BLUE-S', 'own-BLUE-M', 'own-BLUE-L']);
    expect(product.price_range).toEqual(blue.price_range);
  });

  test('drops options from the end of the preferences until a variant has the others', async () => {
    expect(selectedIn(await select({ Size: 'M', Color: 'Red' }, 'Color', 'Size'))).toEqual({ Color: 'Red' });
    expect(selectedIn(await select({ Size: 'M', Color: 'Red' }, 'Size', 'Color'))).toEqual({ Size: 'M' });
    expect(selectedIn(await select({ Size: 'M', Color: 'Red' }, 'Size'))).toEqual({ Size: 'M' });
    expect(selectedIn(await select({ Size: 'XXL', Color: 'Red', Cut: 'slim' }))).toEqual({ Color: 'Red' });
    expect(skusIn(await select({ Size: 'XXL' }))).toHaveLength(5);
  });

  test('takes the options of a variant from its id, before those of the request', async () => {
    const [, , , , red_l] = (await merchant.publications.variants(id).page()).data;
    const { product } = await getProduct({ id: red_l!.id, selected: [{ name: 'Color', label: 'Blue' }] });
    expect([selectedIn(product), skusIn(product)]).toEqual([{ Color: 'Red', Size: 'L' }, ['own-RED-L']]);
  });

  test('narrows the variants by filters', async () => {
    const filters = { price: { max: 3_000 } };
    const cheap = await getProduct({ id, selected: [{ name: 'Color', label: 'Red' }], filters });
    expect(skusIn(cheap.product)).toEqual(['own-RED-L']);
    const none = await getProduct({ id, selected: [{ name: 'Color', label: 'Blue' }], filters });
    expect(none.messages[0]).toMatchObject({ code: 'not_found', severity: 'recoverable' });
  });

  test('has a product without variants as its only variant, which has its rating', async () => {
    const tea = { title: 'Tea', price_currency: 'USD', price_amount: 900, quantity_available: 0 };
    const { id: tea_id } = await merchant.publications.create({ ...tea, description_html: '<p>Green</p>' });
    const review = { rating: 4, author_name: 'Ana', status: 'published' } as const;
    await merchant.reviews.create(tea_id, review);
    const { product } = await getProduct({ id: tea_id });
    const description = { html: '<p>Green</p>' };
    const availability = { available: false, status: 'out_of_stock' };
    expect(product.variants).toEqual([
      { id: tea_id, title: 'Tea', description, price: usd(900), availability },
    ]);
    expect(product).not.toHaveProperty('selected');
    expect(product.rating).toEqual({ value: 4, scale_min: 1, scale_max: 5, count: 1 });
  });

  test('counts as a view, a look-up does not', async () => {
    const tea = await merchant.publications.create({
      title: 'Tea',
      price_currency: 'USD',
      price_amount: 900,
    });
    await lookup(tea.id, tea.handle!);
    await getProduct({ id: tea.handle });
    await service.page_views.flush();
    expect(await service.pipelines.caughtUp(WAIT_MS_MAX)).toBe(true);
    // One by each transport.
    expect((await merchant.publications.get(tea.id)).stats?.view_count).toBe(2);
  });

  test('says that a product does not exist', async () => {
    for (const unknown of ['nothing', '01890000-0000-7000-8000-000000000000', '']) {
      const { messages } = await getProduct({ id: unknown });
      const content = `Product not found: ${unknown}`;
      expect(messages).toEqual([{ type: 'error', code: 'not_found', content, severity: 'unrecoverable' }]);
    }
  });
});

describe('lookup_catalog', () => {
  /** Returns the SKU or title of each variant, with the identifiers that it was found by. */
  const matchesIn = ({ products }: Body): Record<string, string[]> =>
    Object.fromEntries(
      products.flatMap(({ variants }: Body) =>
        variants.map(({ sku, title, inputs }: Body) => [
          sku ?? title,
          inputs.map(({ id, match }: Body) => `${match} ${id}`),
        ]),
      ),
    );

  test('finds products and variants by id, SKU, barcode, handle and address', async () => {
    const variants = SHIRT.variants.map((variant) => ({ ...variant, sku: `by-${variant.sku}` }));
    const { id } = await merchant.publications.create({ ...SHIRT, handle: 'by-all', variants });
    const [, medium] = (await merchant.publications.variants(id).page()).data;
    const address = `${service.url}/p/by-all?utm_source=agent`;
    expect(matchesIn(await lookup(id, 'by-all', address))).toEqual({
      'by-BLUE-S': [`featured ${id}`, 'featured by-all', `featured ${address}`],
    });
    const ids = ['by-RED-L', medium!.id.toUpperCase(), id, 'by-RED-L'];
    const found = await lookup(...ids);
    expect(matchesIn(found)).toEqual({
      'by-BLUE-S': [`featured ${id}`],
      'by-BLUE-M': [`exact ${ids[1]}`],
      'by-RED-L': ['exact by-RED-L'],
    });
    expect(found).not.toHaveProperty('messages');
    const { url } = found.products[0].variants.find(({ sku }: Body) => sku === 'by-RED-L');
    expect(url).toBe(`${service.url}/p/by-all?option.Color=Red&option.Size=L`);
    expect(matchesIn(await lookup(url))).toEqual({ 'by-RED-L': [`exact ${url}`] });
    expect((await getProduct({ id: url })).product.variants[0].sku).toBe('by-RED-L');
    await merchant.publications.update(id, { handle: 'by-another' });
    expect(matchesIn(await lookup('by-all'))).toEqual({ 'by-BLUE-S': ['featured by-all'] });
    const mug = { title: 'Mug', price_currency: 'USD', price_amount: 900 };
    const { id: mug_id } = await merchant.publications.create(mug);
    expect(matchesIn(await lookup(mug_id))).toEqual({ Mug: [`exact ${mug_id}`] });
  });

  test('has all products with a barcode, and names what it did not find', async () => {
    const variants = [{ option_values: { Size: 'M' }, barcode: '96385074' }];
    for (const title of ['Cap', 'Hat'])
      await merchant.publications.create({ title, price_currency: 'USD', price_amount: 900, variants });
    const found = await lookup('96385074', 'nothing', '', `${service.url}/p/%ff`);
    expect(titlesIn(found).sort()).toEqual(['Cap', 'Hat']);
    expect(found.messages).toEqual(
      ['nothing', '', `${service.url}/p/%ff`].map((content) => ({
        type: 'info',
        code: 'not_found',
        content,
      })),
    );
  });

  test('leaves out what the filters do not select, also a whole product', async () => {
    const listing = await merchant.listings.create({ name: 'Linen' });
    const variants = SHIRT.variants.map((variant) => ({ ...variant, sku: `if-${variant.sku}` }));
    const { id } = await merchant.publications.create({ ...SHIRT, variants, listing_id: listing.id });
    const found = async (filters: Body): Promise<string[]> =>
      Object.keys(matchesIn(await ask('lookup_catalog', { ids: [id], filters })));
    expect(await found({ price: { max: 3_000 } })).toEqual(['if-RED-L']);
    expect(await found({ option: { Size: ['M', 'L'] }, in_stock: true })).toEqual(['if-BLUE-M']);
    for (const selected of [
      { categories: ['Cotton', 'Linen'] },
      { vendor: 'Acme' },
      { tag: ['winter', 'summer'] },
      { attributes: { material: 'linen' } },
    ])
      expect(await found(selected)).toEqual(['if-BLUE-S']);
    for (const excluded of [
      { price: { max: 100 } },
      { categories: ['Lin'] },
      { vendor: 'Other' },
      { product_type: 'Shirt' },
      { attributes: { material: 'wool' } },
      { sku: 'if-NONE' },
    ])
      expect(await found(excluded)).toEqual([]);
  });

  test('takes 50 ids, and no more', async () => {
    const ids = Array.from({ length: 50 }, (_, index) => `none-${index}`);
    expect((await lookup(...ids)).messages).toHaveLength(50);
    const { status, body } = await post('lookup_catalog', { ids: [...ids, 'none-50'] });
    expect([status, body.code]).toEqual([400, 'request_too_large']);
  });
});

describe('search_catalog', () => {
  /** Makes products of a vendor that only this test has, named by the numbers from 1. */
  const makeProducts = async (
    vendor: string,
    count: number,
    more: (index: number) => object = () => ({}),
  ) => {
    const items = Array.from({ length: count }, (_, index) => ({
      action: 'create' as const,
      body: {
        ...{
          title: `${vendor} ${index + 1}`,
          price_currency: 'USD',
          price_amount: (index + 1) * 100,
          vendor,
        },
        ...more(index),
      },
    }));
    await merchant.publications.batch({ items });
  };

  test('has pages of ten by default, with cursors, with words and without', async () => {
    await makeProducts('Paged', 23);
    for (const request of [{ query: 'paged' }, { filters: { vendor: 'Paged' } }]) {
      const titles: string[] = [];
      for (let cursor: string | undefined; ; ) {
        const page = await search({ ...request, ...(cursor && { pagination: { cursor } }) });
        titles.push(...titlesIn(page));
        expect(page.pagination.total_count).toBe(23);
        cursor = page.pagination.cursor;
        expect(page.pagination.has_next_page).toBe(cursor !== undefined);
        if (cursor === undefined) break;
        expect(titles.length % 10).toBe(0);
      }
      expect(new Set(titles).size).toBe(23);
    }
    const large = await search({ query: 'paged', pagination: { limit: 1_000 } });
    expect(large.products).toHaveLength(23);
  });

  test('reads few pages at once of which a filter leaves nothing, and ends', async () => {
    await makeProducts('Foreign', 12);
    const request = { filters: { vendor: 'Foreign', price: { min: 0 } }, context: { currency: 'CHF' } };
    let requests = 0;
    for (let cursor: string | undefined; ; requests++) {
      const page = await search({ ...request, pagination: { limit: 1, ...(cursor && { cursor }) } });
      expect(page.products).toEqual([]);
      cursor = page.pagination.cursor;
      if (cursor === undefined) break;
    }
    expect(requests).toBe(2);
    const beyond = { part: 3, limit: 1, page: 1 };
    const cursor = Buffer.from(JSON.stringify(beyond)).toString('base64url');
    expect((await search({ query: 'foreign', pagination: { cursor } })).pagination.has_next_page).toBe(false);
  });

  test('selects by price, vendor, tag, attributes, options and stock', async () => {
    await makeProducts('Chosen', 6, (index) => ({
      tags: [index % 2 ? 'odd' : 'even'],
      product_type: index < 3 ? 'Small' : 'Large',
      attributes: { index },
      quantity_available: index,
    }));
    const found = async (filters: Body): Promise<string[]> =>
      titlesIn(await search({ filters: { vendor: ['Chosen'], ...filters } })).sort();
    const numbered = (...numbers: number[]) => numbers.map((number) => `Chosen ${number}`);
    expect(await found({ price: { min: 200, max: 400 } })).toEqual(numbered(2, 3, 4));
    expect(await found({ tag: 'odd', product_type: ['Small', 'None'] })).toEqual(numbered(2));
    expect(await found({ attributes: { index: ['0', '5'] } })).toEqual(numbered(1, 6));
    expect(await found({ in_stock: false })).toEqual(numbered(1));
    expect(await found({ vendor: 'Nobody' })).toEqual([]);
    const empty = await search({ query: 'chosen', filters: { tag: 'none' } });
    expect([empty.products, empty.pagination]).toEqual([[], { has_next_page: false, total_count: 0 }]);
    expect(empty).not.toHaveProperty('messages');
    const { messages } = await search({ filters: { vendor: 'Chosen', colour: 'red' } });
    expect(messages).toEqual([
      { type: 'info', code: 'filter_ignored', content: 'The filter colour is not supported.' },
    ]);
  });

  test('selects by categories, of which a product has one or more', async () => {
    const home = await merchant.listings.create({ name: 'Home' });
    const below = { parent_id: home.id };
    const lamps = await merchant.listings.create({ name: 'Lamps', ...below });
    const rugs = await merchant.listings.create({ name: 'Rugs', ...below });
    const make = (title: string, listing_id: string, listing_ids: string[] = []) =>
      merchant.publications.create({
        title,
        price_currency: 'USD',
        price_amount: 100,
        listing_id,
        listing_ids,
      });
    await make('Lamp', lamps.id);
    await make('Rug', rugs.id);
    await make('Lamp on a rug', lamps.id, [rugs.id]);
    const found = async (...categories: string[]) =>
      titlesIn(await search({ filters: { categories } })).sort();
    expect(await found('Home > Lamps')).toEqual(['Lamp', 'Lamp on a rug']);
    expect(await found('Home > Rugs')).toEqual(['Lamp on a rug', 'Rug']);
    expect(await found('Home')).toEqual([]);
    expect(await found('Garden', 'Lamps')).toEqual([]);

    const both: string[] = [];
    const filters = { categories: ['Home > Lamps', 'Garden', 'Home > Rugs'] };
    for (let cursor: string | undefined; ; ) {
      const page = await search({
        query: 'lamp',
        filters,
        pagination: { limit: 1, ...(cursor && { cursor }) },
      });
      both.push(...titlesIn(page));
      cursor = page.pagination.cursor;
      if (cursor === undefined) break;
    }
    expect(both.sort()).toEqual(['Lamp', 'Lamp on a rug']);
    const [product] = (await search({ query: 'lamp on a rug', filters })).products;
    expect(product.categories.map(({ value }: Body) => value)).toEqual(['Home > Lamps', 'Home > Rugs']);
  });

  test('finds one variant among many, and shows it', async () => {
    const variants = Array.from({ length: 60 }, (_, index) => ({
      option_values: { Number: `N${index + 1}` },
      ...{ sku: `many-${index + 1}`, price_amount: 1_000 + index },
    }));
    await merchant.publications.create({
      title: 'Door number',
      price_currency: 'USD',
      price_amount: 1,
      variants,
    });
    const [product] = (await search({ query: 'door', filters: { option: { Number: 'N60' } } })).products;
    expect(product.variants.map(({ sku }: Body) => sku)).toEqual(['many-60']);
    const [all] = (await search({ query: 'door number' })).products;
    expect([all.variants.length, all.price_range.max]).toEqual([10, usd(1_059)]);
    const [one] = (await lookup('many-60')).products;
    expect(one.variants[0]).toMatchObject({ sku: 'many-60', price: usd(1_059) });
  });

  test('has prices in minor units of their currency, and those of a sale', async () => {
    const make = (title: string, price_currency: string, price_amount: number, more = {}) =>
      merchant.publications.create({ title, price_currency, price_amount, vendor: 'Money', ...more });
    await make('Yen', 'JPY', 120_000);
    await make('Dinar', 'KWD', 1_250);
    const sale = { sale_price_amount: 700, sale_to: '2999-01-01T00:00:00Z' };
    await make('Sol', 'PEN', 1_000, sale);
    const pricesOf = async (more: Body = {}) => {
      const { products } = await search({
        filters: { vendor: 'Money', ...more.filters },
        context: more.context,
      });
      return Object.fromEntries(
        products.map(({ title, variants: [{ price, list_price }] }: Body) => [
          title,
          [price, list_price].filter(Boolean).map(({ amount, currency }: Body) => `${amount} ${currency}`),
        ]),
      );
    };
    expect(await pricesOf()).toEqual({
      Yen: ['1200 JPY'],
      Dinar: ['12500 KWD'],
      Sol: ['700 PEN', '1000 PEN'],
    });
    const below = (max: number, currency: string) => ({ filters: { price: { max } }, context: { currency } });
    expect(await pricesOf(below(1_200, 'JPY'))).toEqual({ Yen: ['1200 JPY'] });
    expect(await pricesOf(below(12_499, 'KWD'))).toEqual({});
    expect(await pricesOf(below(12_500, 'KWD'))).toEqual({ Dinar: ['12500 KWD'] });
    expect(await pricesOf(below(700, 'PEN'))).toEqual({ Sol: ['700 PEN', '1000 PEN'] });

    await other.store.update({ currency: 'EUR' });
    await other.publications.create({ title: 'Euro', price_currency: 'EUR', price_amount: 500 });
    const request = { query: 'euro', filters: { price: { max: 1 } } };
    const localhost = { host: 'localhost' };
    expect(titlesIn(await search(request, localhost))).toEqual([]);
    const ignored = await search({ ...request, context: { currency: 'USD' } }, localhost);
    expect(titlesIn(ignored)).toEqual(['Euro']);
    expect(ignored.messages).toMatchObject([{ type: 'warning', code: 'price_filter_ignored' }]);
  });

  test('shows pictures, that of a variant with it', async () => {
    const product = await merchant.publications.create({
      title: 'Pictured',
      price_currency: 'USD',
      price_amount: 1,
    });
    const pictures = await Promise.all(
      ['red', 'blue'].map(async (alt) => {
        const png = await flatPicture('png', { width: 30, height: 20 });
        const { id } = await merchant.media.upload(new Blob([new Uint8Array(png)]), { alt });
        await merchant.media.processed(id);
        return id;
      }),
    );
    const variants = [{ option_values: { Color: 'Blue' }, media_id: pictures[1] }];
    await merchant.publications.update(product.id, { media_ids: pictures, variants });
    const [
      {
        media,
        variants: [blue],
      },
    ] = (await search({ query: 'pictured' })).products;
    expect(media.map(({ alt_text }: Body) => alt_text)).toEqual(['red', 'blue']);
    expect(media[0]).toMatchObject({ type: 'image', width: 30, height: 20 });
    expect((await fetch(media[0].url)).status).toBe(200);
    expect(blue.media).toEqual([media[1]]);
  });
});

test('an answer is sent again from the edge cache until a document of the store changes', async () => {
  const hits = async (): Promise<number> => {
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    return Number(/^catalog_cache_lookups_total\{cache="edge",result="hit"\} (\d+)/m.exec(metrics)?.[1] ?? 0);
  };
  const body = { query: 'kept lamp' };
  const lamp = { title: 'Kept lamp', price_currency: 'USD', price_amount: 900 };
  const { id } = await merchant.publications.create(lamp);
  const first = await waitFor(async () => {
    const before = await hits();
    const answer = await post('search_catalog', body);
    return (await hits()) > before && answer.body;
  });
  expect(await search(body)).toEqual(first);
  await merchant.publications.update(id, { price_amount: 800 });
  expect((await search(body)).products[0].price_range.min).toEqual(usd(800));
});

test('private products and those without an active price are never shown', async () => {
  const base = { price_currency: 'USD', price_amount: 100, vendor: 'Hidden' };
  const hidden = [
    { title: 'Hidden draft', handle: 'hidden-draft', visibility: 'private', sku: 'hidden-1' },
    { title: 'Hidden on request', handle: 'hidden-on-request', price_active: false, sku: 'hidden-2' },
  ] as const;
  for (const { sku, ...product } of hidden) {
    const variants = [{ option_values: { Size: 'M' }, sku }];
    const { id } = await merchant.publications.create({ ...base, ...product, variants });
    const [variant] = (await merchant.publications.variants(id, { visibility: 'all' }).page()).data;
    const names = [id, variant!.id, sku, product.handle, `${service.url}/p/${product.handle}`];
    const found = await lookup(...names);
    expect([found.products, found.messages.length]).toEqual([[], names.length]);
    for (const name of names) expect(await getProduct({ id: name })).toHaveProperty('messages');
  }
  expect((await search({ query: 'hidden' })).products).toEqual([]);
  expect((await search({ filters: { vendor: 'Hidden' } })).products).toEqual([]);
  const secret_listing = await merchant.listings.create({ name: 'Not yet', visibility: 'private' });
  await merchant.publications.create({
    ...base,
    title: 'Shown',
    vendor: 'Seen',
    listing_id: secret_listing.id,
  });
  const [shown] = (await search({ filters: { vendor: 'Seen' } })).products;
  expect(shown).not.toHaveProperty('categories');
  expect((await search({ filters: { categories: ['Not yet'] } })).products).toEqual([]);
});

test('every answer about every product of the demo catalog fits the schemas', async () => {
  await importLines(other, readFileSync('services/demo/catalog.jsonl', 'utf8'));
  const localhost = { host: 'localhost' };
  const products: Body[] = [];
  for (let cursor: string | undefined; ; ) {
    const pagination = { limit: 7, ...(cursor && { cursor }) };
    const page = await search({ filters: { in_stock: true }, pagination }, localhost);
    products.push(...page.products);
    cursor = page.pagination.cursor;
    if (cursor === undefined) break;
  }
  const ids = products.map(({ id }) => id);
  const in_stock = await other.publications.list({ in_stock: true, has_price: true }).all();
  expect(ids.sort()).toEqual(in_stock.map(({ id }) => id).sort());
  for (let start = 0; start < ids.length; start += 50) {
    const some = ids.slice(start, start + 50);
    const found = await ask('lookup_catalog', { ids: some }, localhost);
    expect(found.products).toHaveLength(some.length);
  }
  for (const { id, title, options = [] } of products) {
    await search({ query: title }, localhost);
    await ask('get_product', { id }, localhost);
    for (const { name, values } of options)
      for (const { label } of values)
        await ask('get_product', { id, selected: [{ name, label }] }, localhost);
  }
});

test('each host shows the store of its key, any other host none', async () => {
  const make = (client: CatalogClient, title: string) =>
    client.publications.create({ title, price_currency: 'USD', price_amount: 100, vendor: 'Hosted' });
  const mine = await make(merchant, 'Mine');
  await make(other, 'Theirs');
  const request = { filters: { vendor: 'Hosted' } };
  expect(titlesIn(await search(request))).toEqual(['Mine']);
  const theirs = await search(request, { host: 'localhost' });
  expect(titlesIn(theirs)).toEqual(['Theirs']);
  expect(theirs.products[0].url).toMatch(/^http:\/\/localhost:\d+\/p\/theirs$/);
  expect((await ask('lookup_catalog', { ids: [mine.id] }, { host: 'localhost' })).products).toEqual([]);
  const shown = [
    '/products',
    '/feeds/google.xml',
    '/feeds/meta.csv',
    '/feeds/acp.jsonl',
    '/sitemaps/products-1.xml',
  ];
  for (const path of shown) {
    const [ours, others] = [await askAs('127.0.0.1', path), await askAs('LOCALHOST:99', path)];
    expect([path, ours.text.includes('mine'), ours.text.includes('theirs')]).toEqual([path, true, false]);
    expect([path, others.text.includes('mine'), others.text.includes('theirs')]).toEqual([path, false, true]);
    if (path !== '/products') expect(others.text).toContain('http://LOCALHOST:99/p/theirs');
  }
  for (const path of [...shown, '/sitemap.xml', '/llms.txt', '/.well-known/ucp', '/ucp/catalog/search'])
    expect((await askAs('constructor', path, path.startsWith('/ucp') ? 'POST' : 'GET')).status).toBe(404);
});

/** Sends a request with another `Host`, which `fetch` cannot do. */
async function askAs(
  host: string,
  path: string,
  method = 'GET',
  body = '',
): Promise<{ status: number; text: string }> {
  const agent = { 'ucp-agent': `profile="${profile()}"`, 'content-type': 'application/json' };
  const headers = { host, accept: 'text/html', ...agent };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sendRequest(service.url + path, { method, headers }, resolve)
      .on('error', reject)
      .end(body);
  });
  return { status: response.statusCode!, text: await text(response) };
}

describe('a request that cannot be processed', () => {
  test.each([
    ['search_catalog', '{'],
    ['search_catalog', {}],
    ['search_catalog', { query: ' ', filters: {} }],
    ['search_catalog', { filters: { colour: 'red' } }],
    ['search_catalog', { query: 1 }],
    ['search_catalog', { query: 'a', pagination: { limit: 0 } }],
    ['search_catalog', { query: 'a', pagination: { cursor: 'e30' } }],
    ['search_catalog', { query: 'a', filters: { price: { min: 1.5 } } }],
    ['search_catalog', { query: 'a', filters: { price: { min: 2, max: 1 } } }],
    ['search_catalog', { query: 'a', filters: { tag: '' } }],
    ['lookup_catalog', {}],
    ['lookup_catalog', { ids: [] }],
    ['get_product', { id: 7 }],
    ['get_product', { id: 'a', selected: [{ name: 'Size' }] }],
    ['get_product', { id: 'a', selected: ['S', 'M'].map((label) => ({ name: 'Size', label })) }],
  ] as const)('is refused with what is wrong: %s %j', async (operation, body) => {
    const answer = await post(operation, body);
    expect(answer.status).toBe(400);
    expect(answer.body.content).toMatch(/\w+/);
    if (typeof body === 'string') return;
    const { status, body: by_mcp } = await call(operation, body);
    expect([status, by_mcp.error]).toMatchObject([200, { code: -32602, data: answer.body }]);
  });

  test('is refused unless the platform has a profile with the same version', async () => {
    profiles.text = 'no JSON';
    profiles.other = { version: VERSION };
    profiles.old = offering([SEARCH], '2026-01-23');
    profiles.large = { ...offering([SEARCH]), filler: 'x'.repeat(200_000) };
    const refusal = async (agent: string | undefined) => {
      const { status, body } = await post('search_catalog', { query: 'shirt' }, { agent });
      const by_mcp = await call('search_catalog', { query: 'shirt' }, { agent });
      expect([by_mcp.status, by_mcp.body.error]).toMatchObject([status, { code: -32001, data: body }]);
      return `${status} ${body.code}`;
    };
    expect(await refusal(undefined)).toBe('400 invalid_profile_url');
    expect(await refusal('profile="ftp://platform.example/"')).toBe('400 invalid_profile_url');
    expect(await refusal(`profile="${profile('x'.repeat(3_000))}"`)).toBe('400 invalid_profile_url');
    expect(await refusal(`profile="${profile('none')}"`)).toBe('424 profile_unreachable');
    expect(await refusal(`profile="${profile('large')}"`)).toBe('424 profile_unreachable');
    expect(await refusal(`profile="${profile('text')}"`)).toBe('422 profile_malformed');
    expect(await refusal(`profile="${profile('other')}"`)).toBe('422 profile_malformed');
    expect(await refusal(`v="1", profile="${profile('old')}"`)).toBe('422 version_unsupported');
  });

  test('has no result if the platform does not have the capability', async () => {
    profiles.lookup = offering([LOOKUP]);
    const answer = await search({ query: 'shirt' }, { agent: `profile="${profile('lookup')}"` });
    expect(answer.messages[0].code).toBe('capabilities_incompatible');
    expect([answer.ucp.capabilities, answer.continue_url]).toEqual([{}, `${service.url}/`]);
  });
});

test('a key that does not work makes the service unavailable, not the platform unauthorized', async () => {
  const { status, text } = await askAs('lost.example', '/ucp/catalog/search', 'POST', '{"query":"shirt"}');
  expect([status, JSON.parse(text).code]).toEqual([503, 'unavailable']);
});

test('anybody may ask, within the limits of an address, and from a public platform', async () => {
  const own = makeTempDir();
  const limits = { RATE_LIMIT_PUBLIC: '3/100/3' };
  const limited = await startService({ ...limits, DATA_DIR: own.path, SHOP_KEY: keys.one, WEBHOOKS: 'on' });
  try {
    const refusal = async (address: string) => {
      const agent = `profile="${address}"`;
      return post('search_catalog', { query: 'shirt' }, { agent, url: limited.url });
    };
    expect((await refusal(profile())).body.code).toBe('invalid_profile_url');
    const inside = (await refusal(profile().replace('http:', 'https:'))).body;
    expect([inside.code, inside.content]).toEqual([
      'profile_unreachable',
      expect.stringContaining('not public'),
    ]);
    await refusal(profile());
    const by_mcp = await call('search_catalog', { query: 'shirt' }, { url: limited.url });
    expect([by_mcp.status, by_mcp.body.error.code]).toEqual([429, -32000]);
    expect(by_mcp.body.error.data.retry_after).toBeGreaterThan(0);
    const { status, headers, body } = await refusal(profile());
    expect([status, body.code]).toEqual([429, 'rate_limited']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  } finally {
    await limited.close();
    own.remove();
  }
});

describe('the client of the Model Context Protocol', () => {
  const client = new Client({ name: 'agent', version: '1' });
  const meta = () => ({ 'ucp-agent': { profile: profile() } });

  beforeAll(() => client.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/ucp/mcp`))));
  afterAll(() => client.close());

  test('finds the tools, and checks their answers', async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(Object.keys(ANSWERS));
    const { id } = await merchant.publications.create({
      title: 'Vase',
      price_currency: 'USD',
      price_amount: 900,
    });
    for (const [name, catalog] of [
      ['search_catalog', { query: 'vase' }],
      ['lookup_catalog', { ids: [id] }],
      ['get_product', { id }],
      ['get_product', { id: 'nothing' }],
    ] as const) {
      const answer = await client.callTool({ name, arguments: { meta: meta(), catalog } });
      expectAnswer(name, answer.structuredContent);
      expect(answer.isError).toBeUndefined();
    }
  });

  test('is told what is wrong with a call', async () => {
    const ids = Array.from({ length: 51 }, (_, index) => `none-${index}`);
    for (const params of [
      { name: 'lookup_catalog', arguments: { meta: meta(), catalog: { ids } } },
      { name: 'search_catalog', arguments: { meta: meta() } },
      { name: 'create_checkout', arguments: { meta: meta() } },
    ])
      await expect(client.callTool(params)).rejects.toMatchObject({ code: -32602 });
    await expect(client.callTool({ name: 'search_catalog', arguments: {} })).rejects.toThrow(
      'invalid_profile_url',
    );
  });
});

test('MCP has no sessions and no streams', async () => {
  const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
  const send = (body: string, more = {}) =>
    fetch(`${service.url}/ucp/mcp`, { method: 'POST', headers: { ...headers, ...more }, body });
  expect((await fetch(`${service.url}/ucp/mcp`, { headers })).status).toBe(405);
  const listing = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const listed = await send(listing);
  expect([listed.status, listed.headers.get('mcp-session-id')]).toEqual([200, null]);
  const unreadable = await send('{');
  expect([unreadable.status, await unreadable.json()]).toMatchObject([
    400,
    { id: null, error: { code: -32700 } },
  ]);
  expect((await send(listing, { Origin: 'http://other.example' })).status).toBe(403);
});

test('a message of MCP that is malformed is told what is wrong', async () => {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call' };
  const agent = { 'ucp-agent': { profile: 7 } };
  for (const [message, id, code, text] of [
    [{ ...call, id: { a: 1 } }, null, -32600, 'Invalid id: expected a string or an integer.'],
    [{ ...call, params: 'search_catalog' }, 1, -32602, 'Invalid params: expected an object.'],
    [{ ...call, params: { name: 7 } }, 1, -32602, 'Invalid params.name: expected string, received number.'],
    [
      { ...call, params: { name: 'get_product', arguments: { meta: agent } } },
      ...[1, -32602, 'Invalid meta.ucp-agent.profile: expected string, received number.'],
    ],
  ] as const) {
    const response = await fetch(`${service.url}/ucp/mcp`, {
      method: 'POST',
      headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify(message),
    });
    const body = (await response.json()) as Body;
    expectValid('transports/jsonrpc.json', body);
    expect(body).toMatchObject({ id, error: { code, message: text } });
  }
});
