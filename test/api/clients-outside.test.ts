import { fetch } from '../support/fetch';
import { type Gateway, startGateway } from '../support/gateway';
import { type ApiDocument, generateClient } from '../support/generated-client';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { runOutside } from '../support/outsider';
import { flatPicture } from '../support/pictures';

/** Programs that use only what the package and the OpenAPI document publish: the client and a generated client. */
let harness: Harness;
let shop: Shop;
let gateway: Gateway;

beforeAll(async () => {
  harness = await startHarness();
  shop = await harness.newShop();
  gateway = await startGateway(harness.url, '/shops/tea');
});
afterAll(async () => {
  await gateway.close();
  await harness.close();
});

const PROGRAM = `
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
  expect(await runOutside({ 'main.ts': PROGRAM }, [`${gateway.url}/shops/tea`, shop.secret.key])).toEqual({
    prices: [1_250],
    titles: ['Tea'],
    refused: [400, 'FIELD_INVALID', 'price_amount'],
  });
});

const GENERATED_PROGRAM = `
import * as catalog from './generated.js';
declare const process: { argv: string[] };

const [, , url = '', key = '', png = ''] = process.argv;
const issued = await catalog.issueToken({ url, key }, { body: { ttl_minutes: 5 } });
if (issued.status !== 200) throw new Error(issued.body?.message);
const service = { url, token: issued.body.data.token };
const body: catalog.NewPublication_ = { title: 'Generated tea', price_currency: 'PEN', price_amount: 990 };
const created = await catalog.createPublication(service, { body, 'Idempotency-Key': 'once' });
if (created.status !== 201) throw new Error(created.body.error.message);
const { id } = created.body.data;
const repeated = await catalog.createPublication(service, { body, 'Idempotency-Key': 'once' });
const found = await catalog.searchStore(service, { q: 'gen', expand: ['listing', 'media'], limit: 5 });
if (found.status !== 200) throw new Error('not found');
const titles: string[] = found.body.data.map(({ title }) => title);
const total: number = found.body.meta.pagination.total_items;
const read = await catalog.getPublication(service, { id });
const etag = read.headers.get('etag') ?? '';
const unchanged = await catalog.getPublication(service, { id, 'If-None-Match': etag });
const deleted = await catalog.deletePublication(service, { id, 'If-Match': etag });
const missing = await catalog.getPublication(service, { id });
const code = missing.status === 404 ? missing.body.error.code : undefined;
const ready = await catalog.getReadiness(service, {});
const file = new Blob([Uint8Array.from(atob(png), (letter) => letter.charCodeAt(0))]);
const inForm = await catalog.uploadMedia(service, { body: { file, alt: 'Green' } });
const raw = await catalog.uploadMedia(service, { body: file.slice(0, file.size, 'image/png') });
const uploads = [inForm, raw].map((one) => (one.status === 201 ? one.body.data.width : one.body.error.code));
const expires_in: number = issued.body.data.expires_in;
const statuses = [repeated, read, unchanged, deleted, missing, ready].map(({ status }) => status);
console.log(JSON.stringify({ expires_in, titles, total, statuses, code, uploads }));

export const wrong = [
  // @ts-expect-error price_amount must be a number
  () => catalog.createPublication(service, { body: { ...body, price_amount: '1' } }),
  // @ts-expect-error unknown field
  () => catalog.createPublication(service, { body: { ...body, price: 1 } }),
  // @ts-expect-error id is required
  () => catalog.getPublication(service, {}),
  // @ts-expect-error not a value of sort
  () => catalog.listPublications(service, { sort: 'title' }),
  // @ts-expect-error not an error code
  () => code === 'NO_SUCH_PUBLICATION',
];
`;

test('a client generated from /openapi.json compiles and works behind the same gateway', async () => {
  const document_url = `${gateway.url}/shops/tea/openapi.json`;
  const body = (await (await fetch(document_url)).json()) as ApiDocument & { servers: { url: string }[] };
  const url = new URL(body.servers[0]!.url, document_url).href.replace(/\/$/, '');
  const files = { 'generated.ts': generateClient(body), 'main.ts': GENERATED_PROGRAM };
  const png = (await flatPicture('png', { width: 30, height: 20 })).toString('base64');
  expect(await runOutside(files, [url, shop.secret.key, png])).toEqual({
    expires_in: 300,
    titles: ['Generated tea'],
    total: 1,
    statuses: [201, 200, 304, 200, 404, 200],
    code: 'PUBLICATION_NOT_FOUND',
    uploads: [30, 30],
  });
});
