import { type Gateway, startGateway } from '../support/gateway';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { runOutside } from '../support/outsider';

/** A program that uses only what the package of the client publishes. */
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
