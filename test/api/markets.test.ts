import { ownShop } from './own-shop';

const own = ownShop();
const { send } = own;

const patchStore = (fields: object) => send('PATCH', '/api/store', { body: fields });
const EU = { handle: 'eu', currency: 'EUR', countries: ['DE', 'AT'] };
const US = { handle: 'us', currency: 'USD', locales: ['en', 'es'], countries: ['US'] };
const derived = { percent: 25.5, ending: 99 };

beforeEach(() => patchStore({ currencies: ['PEN', 'EUR', 'USD'], locales: ['es', 'en', 'de'] }));

test('a store has markets, a patch replaces them, and its history shows them', async () => {
  const markets = [{ ...EU, derived }, US];
  const written = await patchStore({ markets });
  expect([written.status, written.body.data.markets]).toEqual([200, markets]);
  const { body } = await own.harness.request('GET', '/api/store', { token: own.shop.public.token });
  expect(body.data.markets).toEqual(markets);
  await patchStore({ markets: [US] });
  const { data } = (await send('GET', '/api/store/history')).body;
  expect(data[0].changed).toEqual({ markets: { before: markets, after: [US] } });
  expect((await patchStore({ markets: [] })).body.data.markets).toEqual([]);
});

test.each<[story: string, markets: unknown, field: string, code?: string]>([
  ['null', null, 'markets', 'FIELD_REQUIRED'],
  ['more than 50', Array(51).fill(EU), 'markets', 'FIELD_TOO_LONG'],
  ['a handle in capitals', [{ ...EU, handle: 'EU' }], 'markets.0.handle'],
  ['a handle twice', [US, { ...EU, handle: 'us' }], 'markets.1.handle'],
  ['a currency that does not exist', [{ ...EU, currency: 'XYZ' }], 'markets.0.currency'],
  ['a currency that the store does not have', [US, { ...EU, currency: 'GBP' }], 'markets.1.currency'],
  ['no locale', [{ ...US, locales: [] }], 'markets.0.locales', 'FIELD_TOO_SHORT'],
  ['a locale that the store does not have', [{ ...US, locales: ['en', 'fr'] }], 'markets.0.locales.1'],
  ['a country that does not exist', [{ ...US, countries: ['UK'] }], 'markets.0.countries.0'],
  ['a country of two markets', [EU, { ...US, countries: ['US', 'AT'] }], 'markets.1.countries.1'],
  ['no percent', [{ ...EU, derived: { ...derived, percent: 0 } }], 'markets.0.derived.percent'],
  ['seven decimals', [{ ...EU, derived: { ...derived, percent: 0.0000001 } }], 'markets.0.derived.percent'],
  [
    'an ending of three digits',
    [{ ...EU, derived: { ...derived, ending: 100 } }],
    'markets.0.derived.ending',
  ],
  ['a base currency that is derived', [{ ...EU, currency: 'PEN', derived }], 'markets.0.derived'],
  [
    'a currency that two markets derive',
    [
      { ...EU, derived },
      { ...US, currency: 'EUR', derived },
    ],
    'markets.1.derived',
  ],
])('markets with %s are refused', async (_story, markets, field, code = 'FIELD_INVALID') => {
  const { status, body } = await patchStore({ markets });
  expect([status, body.error.details.field, body.error.code]).toEqual([400, field, code]);
});

test('a list of currencies or locales that does not suit a market is refused with the name of the market', async () => {
  await patchStore({ markets: [{ ...EU, derived }, US] });
  const faultOf = async (fields: object) => {
    const { status, body } = await patchStore(fields);
    return [status, body.error?.details.field, body.error?.details.constraint];
  };
  expect(await faultOf({ currencies: ['PEN', 'EUR'] })).toEqual([
    ...[400, 'currencies', 'a list with USD, the currency of the market us'],
  ]);
  expect(await faultOf({ currencies: ['EUR', 'PEN', 'USD'] })).toEqual([
    ...[400, 'currencies', 'a list that does not begin with EUR, the derived currency of the market eu'],
  ]);
  expect(await faultOf({ locales: ['es', 'de'] })).toEqual([
    ...[400, 'locales', 'a list with en, a locale of the market us'],
  ]);
  expect(await faultOf({ currencies: ['PEN', 'EUR'], locales: ['es'], markets: [EU] })).toMatchObject([200]);
});

test('an undo of a run restores markets together with the currencies of the store', async () => {
  const run = `market-${own.shop.store_id}`;
  const headers = { 'X-Catalog-Run': run };
  const body = { currencies: ['PEN', 'EUR', 'USD', 'GBP'], markets: [{ ...EU, currency: 'GBP' }] };
  expect((await send('PATCH', '/api/store', { body, headers })).status).toBe(200);
  const undone = await send('POST', `/api/runs/${run}/undo`, { body: {} });
  expect(undone.body.data).toMatchObject({ reverted: 1, kept: [] });
  const { data } = (await send('GET', '/api/store')).body;
  expect([data.currencies, data.markets]).toEqual([['PEN', 'EUR', 'USD'], []]);
});
