import { waitFor } from '../support/wait-for';
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

test('at most 10 markets derive prices', async () => {
  const currencies = ['PEN', 'USD', 'EUR', 'GBP', 'CHF', 'SEK', 'NOK', 'DKK', 'PLN', 'CZK', 'HUF', 'RON'];
  const markets = currencies
    .slice(1)
    .map((currency) => ({ handle: currency.toLowerCase(), currency, countries: [], derived }));
  const { status, body } = await patchStore({ currencies, markets });
  expect([status, body.error.details.field]).toEqual([400, 'markets.10.derived']);
  expect((await patchStore({ currencies, markets: markets.slice(0, 10) })).status).toBe(200);
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

describe('derived prices', () => {
  const TEA = { title: 'Tea', price_currency: 'PEN', price_amount: 3_400 };
  const euro = (price_amount: number, more: object = {}) => ({ EUR: { price_amount, ...more } });
  const derivedEuro = (price_amount: number, more: object = {}) =>
    euro(price_amount, { ...more, derived: true });
  const setRule = (rule: object | undefined) =>
    patchStore({ markets: [{ ...EU, ...(rule && { derived: rule }) }] });
  const make = async (fields: object = {}) =>
    (await send('POST', '/api/publication', { body: { ...TEA, ...fields } })).body.data;
  const patch = async (id: string, fields: object) => {
    const { status, body } = await send('PATCH', `/api/publication/${id}`, { body: fields });
    return status === 200 ? body.data : body.error.details.field;
  };
  const read = async (path: string) => (await send('GET', `/api/${path}`)).body.data;
  const pricesOf = async (id: string) => (await read(`publication/${id}`)).prices;
  const typesOf = async (id: string) => {
    const log = own.harness.service.runtime.events.live;
    return (await log.readStream(`live.publication-${id}` as never)).map(({ type }) => type);
  };

  test('follow the base price in its event, unless a price is set, and come back when it is removed', async () => {
    await setRule(derived);
    const { id, prices } = await make({ compare_at_amount: 4_000 });
    expect(prices).toEqual(derivedEuro(899, { compare_at_amount: 1_099, lowest_price_30d: 899 }));
    const sale_to = '2099-12-01T00:00:00.000Z';
    const sale = { sale_price_amount: 2_000, sale_to };
    expect((await patch(id, { price_amount: 2_900, compare_at_amount: null, ...sale })).prices).toEqual(
      derivedEuro(799, { sale_price_amount: 599, sale_to, lowest_price_30d: 899 }),
    );
    expect(await typesOf(id)).toEqual(['PublicationCreated', 'PublicationPriced', 'PublicationSaleSet']);
    expect(await read(`publication/${id}?currency=EUR`)).toEqual(
      expect.objectContaining({ price_currency: 'EUR', price_amount: 799, lowest_price_30d: 899 }),
    );
    expect(await read(`publication/${id}?currency=EUR`)).not.toHaveProperty('derived');

    expect((await patch(id, { prices: euro(700) })).prices).toEqual(euro(700));
    expect((await patch(id, { price_amount: 5_000 })).prices).toEqual(euro(700));
    expect((await patch(id, { prices: { EUR: null } })).prices.EUR).toMatchObject({ price_amount: 1_299 });
    const { data: changes } = (await send('GET', `/api/publication/${id}/history`)).body;
    expect(changes[3].changed.prices.after).toEqual(derivedEuro(799, { sale_price_amount: 599, sale_to }));
    expect(await patch(id, { prices: derivedEuro(1) })).toBe('prices.EUR.derived');

    const reverted = await send('POST', `/api/publication/${id}/revert`, {
      body: { revision: changes[3].revision },
    });
    expect(reverted.body.data.prices.EUR).toMatchObject({ price_amount: 799, derived: true });
    expect(await patch(id, { price_currency: 'EUR', sale_price_amount: null })).not.toHaveProperty('prices');
  });

  test('are those of each variant, and the publication has the lowest one', async () => {
    await setRule(derived);
    const variants = [
      { option_values: { Size: 'S' }, price_amount: 3_000, sale_price_amount: 2_000 },
      { option_values: { Size: 'M' }, price_amount: 4_000, prices: euro(500) },
    ];
    const { id, prices } = await make({ variants, sale_price_amount: 2_500 });
    expect(prices).toEqual(
      euro(500, {
        ...{ sale_price_amount: 699, derived: false },
        price_range: { min: 500, max: 799 },
      }),
    );
    const [small, medium] = await read(`publication/${id}/variants`);
    expect([small.prices.EUR, medium.prices.EUR]).toMatchObject([
      { price_amount: 799, sale_price_amount: 599, derived: true },
      { price_amount: 500 },
    ]);
    expect((await patch(id, { sale_price_amount: 2_000 })).prices.EUR).toMatchObject({
      ...{ price_amount: 500, sale_price_amount: 599, derived: false },
    });
    await send('PATCH', `/api/variant/${small.id}`, { body: { price_amount: 2_600 } });
    await send('PATCH', `/api/variant/${medium.id}`, { body: { prices: { EUR: null } } });
    const wanted = [699, 1_099].map((price_amount) => ({ prices: { EUR: { price_amount } } }));
    expect(await read(`publication/${id}/variants`)).toMatchObject(wanted);
    const added = { option_values: { Size: 'L' }, price_amount: 1_000, sale_price_amount: null };
    await patch(id, { sale_price_amount: null });
    await send('POST', `/api/publication/${id}/variants`, { body: added });
    expect((await pricesOf(id)).EUR).toMatchObject({
      ...{ price_amount: 299, derived: true },
      price_range: { min: 299, max: 1_099 },
    });
    const events = await own.harness.service.runtime.events.live.readStream(
      `live.publication-${id}` as never,
    );
    expect(JSON.stringify(events.map(({ data }) => data))).not.toMatch(/"derived"/);
    expect((await patch(id, { variants: [] })).prices.EUR).toMatchObject({
      price_amount: 299,
      derived: true,
    });
  });

  const allFollow = (price_amount: number | undefined, count: number) =>
    waitFor(async () => {
      const pages = await Promise.all([1, 2, 3].map((page) => read(`publications?limit=50&page=${page}`)));
      const all = pages.flat();
      return all.length === count && all.every(({ prices }) => prices?.EUR?.price_amount === price_amount);
    });

  test('follow a change of the rule in all publications, also after a restoration', async () => {
    const items = Array.from({ length: 120 }, (_, n) => ({
      ...{ action: 'put', external_id: `tea-${n}`, body: { ...TEA, title: `Tea ${n}` } },
    }));
    await own.writeAll(items);
    const { id } = await make({ title: 'Fixed', prices: euro(1) });
    await setRule(derived);
    await patch(id, { prices: { EUR: null } });
    await allFollow(899, 121);
    const { status } = await send('DELETE', `/api/publication/${id}`);
    expect(status).toBe(200);
    await setRule({ percent: 30, ending: null });
    await allFollow(1_020, 120);
    const restored = await send('POST', `/api/publication/${id}/restore`, {});
    expect(restored.body.data.prices).toEqual(derivedEuro(1_020));
    await setRule(undefined);
    await allFollow(undefined, 121);
    expect((await read(`publication/${id}/history`))[0]).toMatchObject({
      ...{ actor: { type: 'system' }, changed: { prices: { after: null } } },
    });
    expect(await make()).not.toHaveProperty('prices');
  });

  test('are not exported, and an import and an undo leave them derived', async () => {
    await setRule(derived);
    const { imports } = own.harness.client(own.shop.secret);
    const ended = (run: string) =>
      waitFor(async () => {
        const found = await imports.get(run);
        return found.status !== 'running' && found;
      });
    const run = async (row: object) => {
      const { id } = await imports.create(new File([JSON.stringify(row)], 'catalog.jsonl'));
      await ended(id);
      await imports.start(id);
      const done = await ended(id);
      await own.harness.settled();
      return done;
    };
    await run({ ...TEA, external_id: 'tea', prices: { USD: { price_amount: 900 } } });
    const [{ id }] = await read('publications');
    expect((await pricesOf(id)).EUR).toEqual({ price_amount: 899, derived: true });
    const row = JSON.parse((await send('GET', '/api/export')).text.trim());
    expect(row.prices).toEqual({ USD: { price_amount: 900 } });
    expect((await run(row)).report?.publications).toMatchObject({ unchanged: 1 });
    await setRule({ percent: 30, ending: null });
    await waitFor(async () => (await pricesOf(id)).EUR.price_amount === 1_020);
    const done = await run({ ...row, price_amount: 5_000, prices: { USD: { price_amount: 800 } } });
    const prices = { USD: { price_amount: 800 }, ...derivedEuro(1_500) };
    expect(await pricesOf(id)).toEqual(prices);
    const undone = await send('POST', `/api/runs/${done.id}/undo`, { body: {} });
    expect(undone.body.data).toMatchObject({ reverted: 1, kept: [] });
    expect(await pricesOf(id)).toEqual({ USD: { price_amount: 900 }, ...derivedEuro(1_020) });
  });
});
