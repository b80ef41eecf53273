import type { Reply } from '../support/harness';
import { waitFor } from '../support/wait-for';
import { ownShop } from './own-shop';
import { expectError } from './replies';

const own = ownShop();
const { send } = own;
const EU = { handle: 'eu', currency: 'EUR', locales: ['de', 'en'], countries: ['DE', 'AT'] };
const US = { handle: 'us', currency: 'USD', countries: ['US'] };

const get = (
  path: string,
  headers: Record<string, string> = {},
  { token } = own.shop.public,
): Promise<Reply> => own.harness.request('GET', path, { token, headers });
/** Returns the texts and prices that a read by id shows. */
async function shown(path: string, headers?: Record<string, string>, key = own.shop.public) {
  const { body, headers: answered } = await get(path, headers, key);
  const { title, price_currency, price_amount, price_active, prices } = body.data;
  return [answered.get('content-language'), title, price_currency, price_amount, price_active, prices];
}
const SPANISH = ['es', 'Té', 'PEN', 3_400, true, { EUR: { price_amount: 900 } }];
const GERMAN = ['de', 'Tee', 'EUR', 900, true, undefined];
const ENGLISH = ['en', 'Tea', 'EUR', 900, true, undefined];

let tea: string;
let path: string;

beforeEach(async () => {
  const { status } = await send('PATCH', '/api/store', {
    body: { currencies: ['PEN', 'EUR', 'USD'], locales: ['es', 'en', 'de'], markets: [EU, US] },
  });
  expect(status).toBe(200);
  const { body } = await send('POST', '/api/publication', {
    body: {
      ...{ title: 'Té', price_currency: 'PEN', price_amount: 3_400, prices: { EUR: { price_amount: 900 } } },
      translations: { de: { title: 'Tee' }, en: { title: 'Tea' } },
    },
  });
  tea = body.data.id;
  path = `/api/publication/${tea}`;
  await send('POST', '/api/publication', { body: { title: 'Mate', price_currency: 'PEN', price_amount: 1 } });
  // Reads by id know the settings of the store within a second.
  await waitFor(async () => (await get(`${path}?market=eu`)).body.data?.price_currency === 'EUR');
});

test('a visitor reads in the currency and the language of a market, by its name or its country', async () => {
  expect(await shown(path)).toEqual(SPANISH);
  expect(await shown(`${path}?market=eu`)).toEqual(GERMAN);
  expect(await shown(`${path}?country=AT`)).toEqual(GERMAN);
  expect(await shown(`${path}?country=US&market=eu`)).toEqual(GERMAN);
  // A market without a price of the product, and without locales of its own.
  expect(await shown(`${path}?market=us`)).toEqual(['es', 'Té', 'PEN', 3_400, false, undefined]);
  for (const list of [
    '/api/publications?sort=name&order=desc&country=DE',
    '/api/store/search?q=Tee&market=eu',
  ]) {
    const { data } = (await get(list)).body;
    expect(data[0]).toMatchObject({ title: 'Tee', price_currency: 'EUR', price_amount: 900 });
  }
  const priced = async (query: string) =>
    (await get(`/api/publications?priced=true&${query}`)).body.data.map((one: { id: string }) => one.id);
  expect(await priced('market=eu')).toEqual([tea]);
  expect(await priced('country=DE')).toEqual([tea]);
  expect(await priced('market=us')).toEqual([]);
  expect(await priced('country=PE')).toHaveLength(2);
});

test('Accept-Language chooses among the locales of the market, and explicit parameters win', async () => {
  expect(await shown(`${path}?market=eu`, { 'accept-language': 'es, en;q=0.5' })).toEqual(ENGLISH);
  expect(await shown(`${path}?market=eu`, { 'accept-language': 'es' })).toEqual(GERMAN);
  const spanish = ['es', 'Té', 'EUR', 900, true, undefined];
  expect(await shown(`${path}?market=eu&locale=es`, { 'accept-language': 'en' })).toEqual(spanish);
  const base = ['de', 'Tee', 'PEN', 3_400, true, undefined];
  expect(await shown(`${path}?country=DE&currency=PEN`)).toEqual(base);
});

test('a country without a market changes nothing, and an unknown market is refused', async () => {
  expect(await shown(`${path}?country=PE`)).toEqual(SPANISH);
  for (const country of ['de', 'T1'])
    expectError(await get(`${path}?country=${country}`), 400, 'VALIDATION_ERROR', 'country');
  for (const read of [path, '/api/publications', '/api/store', '/api/store/search?q=tea'])
    for (let n = 0; n < 2; n++) {
      const refused = await get(`${read}${read.includes('?') ? '&' : '?'}market=jp`);
      expectError(refused, 400, 'VALIDATION_ERROR', 'market');
    }
  const other = await own.harness.newShop();
  expect((await get('/api/publications?country=DE', {}, other.public)).status).toBe(200);
  expectError(await get('/api/publications?market=eu', {}, other.public), 400, 'VALIDATION_ERROR', 'market');
});

test('a secret key sees what a market sees, whatever its browser accepts', async () => {
  const by_secret = (query: string) => shown(path + query, { 'accept-language': 'en' }, own.shop.secret);
  expect((await by_secret('?country=PE')).slice(0, 3)).toEqual([null, 'Té', 'PEN']);
  expect(await by_secret('?market=eu')).toEqual(GERMAN);
  expect(await by_secret('?country=DE')).toEqual(GERMAN);
  const { data } = (await get(`${path}?market=eu`, {}, own.shop.secret)).body;
  expect(data).not.toHaveProperty('translations');
});

test('an earlier revision is shown in a currency and in a market, too', async () => {
  await send('PATCH', path, { body: { prices: { EUR: { price_amount: 950 } } } });
  const { revision } = (await send('GET', `${path}/history`)).body.data.at(-1);
  const then = `${path}/history/${revision}`;
  expect(await shown(`${then}?market=eu`, {}, own.shop.secret)).toEqual(GERMAN);
  expect((await shown(`${then}?currency=EUR`, {}, own.shop.secret)).slice(2, 4)).toEqual(['EUR', 900]);
});

test('the countries of a market share the answers of the edge cache, and a change of the markets ends them', async () => {
  const hits = async (): Promise<number> => {
    const { text } = await own.harness.request('GET', '/metrics');
    return Number(/^catalog_cache_lookups_total\{cache="edge",result="hit"\} (\d+)/m.exec(text)?.[1] ?? 0);
  };
  /** Reads until the cache answers. */
  const warm = (query: string) =>
    waitFor(async () => {
      const before = await hits();
      const found = await shown(path + query);
      return (await hits()) > before && found;
    });
  expect(await warm('?country=DE')).toEqual(GERMAN);
  const before = await hits();
  expect(await shown(`${path}?country=AT`)).toEqual(GERMAN);
  expect(await hits()).toBe(before + 1);
  expect(await warm('?country=PE')).toEqual(SPANISH);
  expect(await warm('')).toEqual(SPANISH);
  const repeated = await get(`${path}?country=DE&country=AT`);
  expectError(repeated, 400, 'VALIDATION_ERROR', 'country');
  await send('PATCH', '/api/store', { body: { markets: [{ ...EU, countries: ['AT'] }] } });
  await waitFor(async () => (await shown(`${path}?country=DE`))[2] === 'PEN');
  expect(await warm('?country=DE')).toEqual(SPANISH);
  expect(await warm('?country=AT')).toEqual(GERMAN);
});
