import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fetch } from '../support/fetch';
import { startGateway } from '../support/gateway';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { runOutside } from '../support/outsider';
import { installClient, packClient } from '../support/packed-client';
import { flatPicture } from '../support/pictures';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { within } from '../support/wait-for';

const PACKAGE_BYTES_MAX = 95_000;

let harness: Harness;
let shop: Shop;
let folder: TempDir;

beforeAll(async () => {
  harness = await startHarness();
  shop = await harness.newShop();
  folder = makeTempDir();
  await installClient(folder.path);
});
afterAll(async () => {
  folder.remove();
  await harness.close();
});

describe('the package', () => {
  test('is small, and contains only the compiled client, its readme, its licence and an example', async () => {
    const { archive, files } = await packClient();
    expect(archive.byteLength).toBeLessThan(PACKAGE_BYTES_MAX);
    const others = files.filter((path) => !/^dist\/(esm\/)?[\w-]+\.(js|d\.ts)$/.test(path));
    expect(others.sort()).toEqual([
      ...['LICENSE', 'README.md', 'dist/esm/package.json', 'examples/storefront.mjs', 'package.json'],
    ]);
    for (const path of files.filter((path) => path.startsWith('dist/')))
      expect(readFileSync(join(folder.path, 'node_modules/catalog-client', path), 'utf8')).not.toMatch(
        /(require\(|from |import\()['"](?!\.\/)/,
      );
  });

  test('has no dependencies', () => {
    const text = readFileSync(join(folder.path, 'node_modules/catalog-client/package.json'), 'utf8');
    expect(Object.keys(JSON.parse(text)).filter((key) => /dependencies/i.test(key))).toEqual([]);
  });

  test('is loaded by import and by require in its own format, without any other package', () => {
    const program = `
      import { createRequire } from 'node:module';
      import { CatalogApiError, CatalogClient } from 'catalog-client';
      const require = createRequire(import.meta.url);
      const other = require('catalog-client');
      const paths = [import.meta.resolve('catalog-client'), require.resolve('catalog-client')];
      const error = new other.CatalogApiError(404, new Headers(), undefined);
      process.stdout.write(JSON.stringify({
        entries: paths.map((at) => at.split('catalog-client')[1]),
        names: [CatalogClient, other.CatalogClient].map(
          (Client) => new Client({ baseUrl: 'http://127.0.0.1:1', apiKey: 'pk_test_x' }).constructor.name,
        ),
        are_same: CatalogApiError === other.CatalogApiError,
        are_instances: [error, new Error()].map((each) => each instanceof CatalogApiError),
      }));`;
    writeFileSync(join(folder.path, 'main.mjs'), program);
    const printed = execFileSync(process.execPath, [join(folder.path, 'main.mjs')], { encoding: 'utf8' });
    expect(JSON.parse(printed)).toEqual({
      entries: ['/dist/esm/index.js', '/dist/index.js'],
      names: ['CatalogClient', 'CatalogClient'],
      are_same: false,
      // An error of one format is an instance of the class of the other.
      are_instances: [true, false],
    });
  });
});

/** A program that uses only what the package of the client publishes. */
const OUTSIDE_PROGRAM = `
import { CatalogApiError, CatalogClient, type Publication } from 'catalog-service/client';
declare const process: { argv: string[] };

const [, , baseUrl = '', apiKey = ''] = process.argv;
const client = new CatalogClient({ baseUrl, apiKey });
const { id } = await client.listings.create({ name: 'Teas', default_sort_mode: 'price_asc' });
const tea: Publication = await client.publications.create({
  ...{ title: 'Tea', price_currency: 'PEN', price_amount: 1_250, listing_id: id },
});
const prices: number[] = [];
for await (const { price_amount } of client.listings.publications(id)) prices.push(price_amount);
const listing = await client.listings.get(id, { expand: ['publication'] });
const titles: string[] = listing.publications.data.map(({ title }) => title);
let refused: [number, string | undefined, string | undefined] | undefined;
try {
  await client.publications.update(tea.id, { price_amount: -1 });
} catch (error) {
  if (error instanceof CatalogApiError) refused = [error.status, error.code, error.details?.field];
}
console.log(JSON.stringify({ prices, titles, refused }));

// Never run. Each line must fail to compile.
export const wrong = [
  // @ts-expect-error price_amount must be a number
  () => client.publications.create({ title: 'Tea', price_currency: 'PEN', price_amount: '1' }),
  // @ts-expect-error title is required
  () => client.publications.create({ price_currency: 'PEN', price_amount: 1 }),
  // @ts-expect-error unknown field
  () => client.listings.update(id, { title: 'Teas' }),
  // @ts-expect-error not a value of order
  () => client.publications.list({ order: 'up' }),
  // @ts-expect-error publications may be undefined without expand
  async () => (await client.listings.get(id)).publications.data,
  // @ts-expect-error a listing has no title
  async () => (await client.publications.get(id, { expand: ['listing'] })).listing?.title,
];
`;

test('a program that imports the packaged client compiles and works behind a gateway with a path prefix', async () => {
  const gateway = await startGateway(harness.url, '/shops/tea');
  const { secret } = await harness.newShop();
  const answered = runOutside({ 'main.ts': OUTSIDE_PROGRAM }, [`${gateway.url}/shops/tea`, secret.key]);
  expect(await answered.finally(() => gateway.close())).toEqual({
    prices: [1_250],
    titles: ['Tea'],
    refused: [400, 'FIELD_INVALID', 'price_amount'],
  });
});

/** Reads and writes as a page of another origin does: a preflight, and the request if the service allows it. */
const PAGE = `
import { CatalogClient } from 'catalog-client';
declare const process: { argv: string[] };

const [, , baseUrl = '', public_key = '', secret_key = ''] = process.argv;
Object.assign(globalThis, { window: globalThis, document: {} });
const writes: string[] = [];
const browserFetch: typeof fetch = async (input, init = {}) => {
  const { method = 'GET' } = init;
  const names = [...new Headers(init.headers).keys()];
  const asked = { 'access-control-request-method': method, 'access-control-request-headers': names.join(',') };
  const preflight = await fetch(input, { method: 'OPTIONS', headers: { origin: 'https://shop.test', ...asked } });
  const allows = (header: string, name: string) =>
    (preflight.headers.get(header) ?? '').toLowerCase().split(/, */).includes(name.toLowerCase());
  if (method !== 'GET' && String(input).includes('/api/')) writes.push(method);
  if (allows('access-control-allow-methods', method))
    if (names.every((name) => allows('access-control-allow-headers', name))) return fetch(input, init);
  throw new TypeError('Failed to fetch');
};
const messageOf = (error: unknown) => (error instanceof Error ? \`\${error.name}: \${error.message}\` : '');

const options = { baseUrl, fetch: browserFetch };
const client = new CatalogClient({ ...options, apiKey: public_key });
const titles = (await client.publications.list({}, { consistent: '0' }).all()).map(({ title }) => title);
const tea = { title: 'Tea', price_currency: 'PEN', price_amount: 1 };
const written = await client.publications.create(tea).then(() => 'written', messageOf);
let refused = '';
try {
  new CatalogClient({ ...options, apiKey: secret_key });
} catch (error) {
  refused = messageOf(error);
}
const allowed = new CatalogClient({ ...options, apiKey: secret_key, dangerouslyAllowBrowser: true });
const { key_type } = await allowed.tokens.validate();
console.log(JSON.stringify({ titles, written, writes, refused, key_type }));
`;

test('in a browser, a public key reads, a write fails at once and names CORS, a secret key is refused', async () => {
  const merchant = harness.client(shop.secret);
  await merchant.publications.create({ title: 'Coffee', price_currency: 'PEN', price_amount: 1 });
  await harness.settled();
  const args = [harness.url, shop.public.key, shop.secret.key];
  expect(await runOutside({ 'main.ts': PAGE }, args)).toEqual({
    titles: ['Coffee'],
    written: expect.stringMatching(/^CatalogConnectionError: .*POST http.*CORS.*your own server/),
    writes: ['POST'],
    refused: expect.stringMatching(/^TypeError: .*sk_.*public key.*dangerouslyAllowBrowser/),
    key_type: 'secret',
  });
});

/** As much of React as the example of the page needs: renders to HTML, and keeps one state between two renderings. */
const REACT = `
type Props = Record<string, unknown>;
declare global { namespace JSX { interface IntrinsicElements { [tag: string]: object } } }
export function h(type: string | ((props: never) => unknown), props: Props | null, ...children: unknown[]): unknown {
  if (typeof type !== 'string') return type({ ...props, children } as never);
  const attributes = Object.entries(props ?? {}).map(([name, value]) => \` \${name}="\${value}"\`);
  return \`<\${type}\${attributes.join('')}>\${children.flat().join('')}</\${type}>\`;
}
let state: unknown;
let onState = () => {};
export const rendered = new Promise<void>((resolve) => { onState = resolve; });
export function useState<State>(initial: State): [State, (next: State) => void] {
  const set = (next: State) => { state = next; onState(); };
  return [(state ?? initial) as State, set];
}
export function useEffect(effect: () => unknown, _dependencies: unknown[]): void { if (state === undefined) effect(); }
`;

const REACT_PROGRAM = `
import { CatalogClient } from 'catalog-client';
import { Price, Products } from './example.js';
import { rendered } from './react.js';
declare const process: { argv: string[] };
const [, , baseUrl = '', apiKey = ''] = process.argv;
const client = new CatalogClient({ baseUrl, apiKey, consistent: true });
Products({ client });
await rendered;
const [product] = await client.publications.list().all();
const priced = (price_currency: string, price_amount: number) => Price({ ...product!, price_currency, price_amount });
const prices = [
  ...[priced('JPY', 50_000), priced('KWD', 1_250), priced('HUF', 1_250)],
  Price({ ...product!, price_active: false }),
];
console.log(JSON.stringify({ html: Products({ client }), prices }));
`;

test('the React example of the documentation shows pictures by width, and prices with the decimals of their currency', async () => {
  const own_shop = await harness.newShop();
  const merchant = harness.client(own_shop.secret);
  const { id } = await merchant.publications.create({
    title: 'Cup',
    price_currency: 'PEN',
    price_amount: 3_450,
  });
  const png = new Blob([new Uint8Array(await flatPicture('png', { width: 640, height: 480 }))]);
  await merchant.media.processed((await merchant.media.upload(png, { publication_id: id })).id);
  await harness.settled();
  const [, example] = /```tsx\n([\s\S]+?)```/.exec(readFileSync('docs/storefront.md', 'utf8'))!;
  const files = {
    'react.ts': REACT,
    'example.tsx': example!.replace(
      "import { useEffect, useState } from 'react'",
      "import { h, useEffect, useState } from './react.js'",
    ),
    'main.ts': REACT_PROGRAM,
  };
  const options = { jsx: 'react', jsxFactory: 'h', lib: ['es2023', 'dom', 'dom.iterable'] };
  const { html, prices } = (await runOutside(files, [harness.url, own_shop.public.key], options)) as {
    html: string;
    prices: string[];
  };
  expect(html).toMatch(
    /srcSet="http:\S+\.webp 200w, http:\S+\.webp 480w, [^"]+" sizes="[^"]+" width="640" height="480" alt="Cup"/,
  );
  expect(html).toMatch(/Cup <span>PEN.34\.50<\/span>/);
  expect(prices).toEqual([
    '<span>¥500</span>',
    expect.stringMatching(/^<span>KWD.12\.500<\/span>$/),
    expect.stringMatching(/^<span>HUF.12\.5<\/span>$/),
    null,
  ]);
});

describe('the storefront of the examples', () => {
  let storefront: ChildProcess;
  let url: string;
  let product_id: string;
  let coffee_shop: Shop;

  beforeAll(async () => {
    coffee_shop = await harness.newShop();
    const merchant = harness.client(coffee_shop.secret);
    const listing = await merchant.listings.create({ name: 'Coffee & tea' });
    const product = await merchant.publications.create({
      ...{ title: 'Coffee <script>alert(1)</script>', price_currency: 'PEN', price_amount: 3_450 },
      ...{ listing_id: listing.id, description_html: '<p>Round, <em>sweet</em></p>' },
    });
    product_id = product.id;
    const png = new Blob([new Uint8Array(await flatPicture('png', { width: 640, height: 480 }))]);
    const { id } = await merchant.media.upload(png, { alt: 'A "cup"', publication_id: product_id });
    await merchant.media.processed(id);
    await harness.settled();
    copyFileSync('shared/client/examples/storefront.mjs', join(folder.path, 'storefront.mjs'));
    const settings = { CATALOG_URL: harness.url, CATALOG_KEY: coffee_shop.public.key, PORT: '0' };
    storefront = spawn(process.execPath, [join(folder.path, 'storefront.mjs')], {
      env: { ...process.env, ...settings, CACHE_SECONDS: '3600' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await within(
      once(createInterface(storefront.stdout!), 'line'),
      'the storefront to listen',
    );
    url = line as string;
  });
  afterAll(async () => {
    const exited = once(storefront, 'exit');
    storefront.kill();
    await within(exited, 'the storefront to exit');
  });

  test('lists products, escaped, with pictures that a browser can load', async () => {
    const page = await (await fetch(url)).text();
    expect(page).toContain('Coffee &lt;script&gt;alert(1)&lt;/script&gt;');
    expect(page).not.toContain('<script>');
    expect(page).toContain('34.50 PEN');
    expect(page).toContain('alt="A &quot;cup&quot;"');
    const [, source] = /<img src="([^"]+)"/.exec(page)!;
    expect(source).toMatch(new RegExp(`^${harness.url}/media/`));
    const picture = await fetch(source!);
    expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/webp']);
    const [, link] = /<a href="(\/product\/[^"]+)"/.exec(page)!;
    expect(link).toBe(`/product/${product_id}`);
  });

  test('shows a product with its listing and its description', async () => {
    const page = await (await fetch(`${url}/product/${product_id}`)).text();
    expect(page).toContain('<h1>Coffee &lt;script&gt;');
    expect(page).toContain('Coffee &amp; tea');
    expect(page).toContain('<p>Round, <em>sweet</em></p>');
  });

  test('serves a page from its cache, with an ETag', async () => {
    const path = `${url}/product/${product_id}`;
    const first = await fetch(path);
    const etag = first.headers.get('etag')!;
    await harness.client(coffee_shop.secret).publications.update(product_id, { title: 'Another coffee' });
    const again = await fetch(path);
    expect([again.headers.get('etag'), again.headers.get('cache-control')]).toEqual([
      etag,
      'public, max-age=3600',
    ]);
    expect(await again.text()).toBe(await first.text());
    const unchanged = await fetch(path, { headers: { 'if-none-match': etag } });
    expect([unchanged.status, await unchanged.text()]).toEqual([304, '']);
  });

  test('has a page for what does not exist', async () => {
    for (const path of ['/product/019a0000-0000-7000-8000-000000000000', '/product/tea', '/cart'])
      expect([path, (await fetch(url + path)).status]).toEqual([path, 404]);
  });
});
