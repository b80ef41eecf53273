import { realSystem } from '../../shared/kernel/system';
import { waitFor } from '../support/wait-for';
import { ownShop } from './own-shop';

let ahead_ms = 0;
const own = ownShop({ system: { ...realSystem, now: () => Date.now() + ahead_ms } });
const { send } = own;

const TEA = { title: 'Tea', price_currency: 'PEN', price_amount: 3_400 };
const sizes = (...prices: object[]) => ({
  options: [{ name: 'Size' }],
  variants: prices.map((price, index) => ({ option_values: { Size: 'SML'[index] }, ...price })),
});

async function make(fields: object): Promise<string> {
  const { status, body } = await send('POST', '/api/publication', { body: { ...TEA, ...fields } });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.data.id;
}
const patch = (id: string, fields: object) => send('PATCH', `/api/publication/${id}`, { body: fields });
const read = async (path: string) => (await send('GET', `/api/${path}`)).body.data;
const pricesOf = async (id: string) => (await read(`publication/${id}`)).prices;
const withCurrencies = (...currencies: string[]) =>
  send('PATCH', '/api/store', { body: { currencies: ['PEN', ...currencies] } });

test('a publication has prices in the currencies of its store, and a patch changes them one by one', async () => {
  const refused = await send('POST', '/api/publication', {
    body: { ...TEA, prices: { USD: { price_amount: 900 } } },
  });
  expect([refused.status, refused.body.error.details.field]).toEqual([400, 'prices.USD']);

  const store = await withCurrencies('USD', 'JPY');
  expect(store.body.data.currencies).toEqual(['PEN', 'USD', 'JPY']);
  const id = await make({ prices: { USD: { price_amount: 900, compare_at_amount: null } } });
  const plain = await make({});
  expect(await pricesOf(plain)).toBeUndefined();
  expect(await pricesOf(id)).toEqual({ USD: { price_amount: 900 } });
  const sale = {
    price_amount: 50_000,
    sale_price_amount: 40_000,
    sale_from: '2099-01-01T00:00:00.000Z',
  };
  await patch(id, { prices: { JPY: sale } });
  expect(await pricesOf(id)).toEqual({ USD: { price_amount: 900 }, JPY: sale });
  const { body } = await patch(id, { prices: { USD: { price_amount: 900 }, JPY: sale } });
  const { data: changes } = (await send('GET', `/api/publication/${id}/history`)).body;
  expect([body.data.prices, changes.length]).toEqual([{ USD: { price_amount: 900 }, JPY: sale }, 2]);
  await patch(id, { prices: { JPY: null } });
  expect(await pricesOf(id)).toEqual({ USD: { price_amount: 900 } });
  const { data: latest } = (await send('GET', `/api/publication/${id}/history`)).body;
  expect(latest[0].changed).toEqual({ prices: { before: { JPY: sale }, after: {} } });
  await patch(id, { prices: null });
  expect(await read(`publication/${id}`)).not.toHaveProperty('prices');
  expect((await send('GET', `/api/publication/${id}/history`)).body.data[0].changed).toEqual({
    prices: { before: { USD: { price_amount: 900 } }, after: null },
  });
  await send('POST', `/api/publication/${id}/revert`, { body: { revision: changes[0].revision } });
  expect(await pricesOf(id)).toEqual({ USD: { price_amount: 900 }, JPY: sale });
});

test.each<[story: string, prices: object, field: string]>([
  ['a currency that does not exist', { ABC: { price_amount: 1 } }, 'prices.ABC'],
  ['the currency of price_amount', { PEN: { price_amount: 1 } }, 'prices.PEN'],
  ['half a yen', { JPY: { price_amount: 150 } }, 'prices.JPY.price_amount'],
  ['no amount', { USD: { compare_at_amount: 1 } }, 'prices.USD.price_amount'],
  [
    'a sale price above the price',
    { USD: { price_amount: 1, sale_price_amount: 2 } },
    'prices.USD.sale_price_amount',
  ],
  [
    'a sale that ends before it begins',
    { USD: { price_amount: 1, sale_from: '2027-02-01T00:00:00Z', sale_to: '2027-01-01T00:00:00Z' } },
    'prices.USD.sale_to',
  ],
  ['an unknown field', { USD: { price_amount: 1, amount: 1 } }, 'prices.USD.amount'],
])('prices with %s are refused', async (_story, prices, field) => {
  await withCurrencies('USD', 'JPY');
  const { status, body } = await send('POST', '/api/publication', { body: { ...TEA, prices } });
  expect([status, body.error.details.field]).toEqual([400, field]);
});

test('a new price_currency is none of prices, and a currency that the store gives up keeps its prices', async () => {
  await withCurrencies('USD', 'EUR');
  const id = await make({ prices: { USD: { price_amount: 900 } } });
  const { status, body } = await patch(id, { price_currency: 'USD' });
  expect([status, body.error.details.field]).toEqual([400, 'price_currency']);
  await withCurrencies('EUR');
  expect((await patch(id, { title: 'Green tea', prices: { USD: { price_amount: 950 } } })).status).toBe(200);
  expect((await patch(id, { price_currency: 'USD', prices: { USD: null } })).status).toBe(200);
});

test('with variants, a publication has the lowest price of its variants in each currency', async () => {
  await withCurrencies('USD', 'EUR');
  const usd = (price_amount: number) => ({ prices: { USD: { price_amount } } });
  const id = await make(sizes(usd(900), usd(700), { prices: { EUR: { price_amount: 800 } } }));
  expect(await pricesOf(id)).toEqual({
    USD: { price_amount: 700, price_range: { min: 700, max: 900 } },
    EUR: { price_amount: 800, price_range: { min: 800, max: 800 } },
  });
  const [, cheapest, last] = await read(`publication/${id}/variants`);
  expect(cheapest.prices).toEqual({ USD: { price_amount: 700 } });
  const send_variant = (variant: { id: string }, prices: object) =>
    send('PATCH', `/api/variant/${variant.id}`, { body: { prices } });
  expect((await send_variant(last, { GBP: { price_amount: 1 } })).body.error.details.field).toBe(
    'prices.GBP',
  );
  await send_variant(last, { EUR: null, USD: { price_amount: 600 } });
  expect(await pricesOf(id)).toEqual({ USD: { price_amount: 600, price_range: { min: 600, max: 900 } } });
  // The sale of a currency is that of the publication, which needs a variant with a price in it.
  const refused = await patch(id, { prices: { EUR: { price_amount: 1 } } });
  expect(refused.body.error.details).toMatchObject({
    field: 'prices.EUR',
    constraint: 'a currency in which a variant has a price',
  });
  await patch(id, { prices: { USD: { price_amount: 1, sale_price_amount: 500 } } });
  expect((await pricesOf(id)).USD).toMatchObject({
    price_amount: 600,
    sale_price_amount: 500,
    lowest_price_30d: 600,
  });
  // Without variants, the publication keeps its prices. New variants begin with them.
  await patch(id, { variants: [] });
  expect((await pricesOf(id)).USD).toEqual({
    price_amount: 600,
    sale_price_amount: 500,
    lowest_price_30d: 600,
  });
  await patch(id, sizes({}, { prices: { USD: null } }));
  const variants = await read(`publication/${id}/variants`);
  expect(variants.map((one: { prices?: object }) => one.prices)).toEqual([
    { USD: { price_amount: 600, lowest_price_30d: 500 } },
    undefined,
  ]);
});

test('prices are exported and imported, and an import keeps those that were changed by hand', async () => {
  await withCurrencies('USD', 'EUR');
  const { imports } = own.harness.client(own.shop.secret);
  const run = async (...rows: object[]) => {
    const ended = (id: string) =>
      waitFor(async () => {
        const found = await imports.get(id);
        return found.status !== 'running' && found;
      });
    const file = new File([rows.map((row) => JSON.stringify(row)).join('\n')], 'catalog.jsonl');
    const { id } = await imports.create(file);
    await ended(id);
    await imports.start(id);
    const done = await ended(id);
    await own.harness.settled();
    return done;
  };
  const [usd, eur] = [{ USD: { price_amount: 900 } }, { EUR: { price_amount: 800 } }];
  const row = { title: 'Tea', price_currency: 'PEN', price_amount: 3_400 };
  const tea = { ...row, external_id: 'tea', prices: { ...usd, ...eur } };
  const shirt = {
    ...row,
    title: 'Shirt',
    external_id: 'shirt',
    ...sizes({ prices: { ...usd, ...eur } }, {}),
  };
  await run(tea, shirt);
  const exported = (await send('GET', '/api/export')).text.split('\n').filter(Boolean);
  const rows = exported.map((line) => JSON.parse(line));
  expect(rows.map(({ prices, variants }) => [prices, variants[0]?.prices])).toEqual([
    [
      { ...usd, ...eur },
      { ...usd, ...eur },
    ],
    [{ ...usd, ...eur }, undefined],
  ]);
  expect((await run(...rows)).report?.publications).toMatchObject({ unchanged: 2 });

  // A file removes a price with null, and leaves out what it does not change.
  const stored = await read('publications?sort=name&order=asc');
  await run({ ...tea, prices: { EUR: null } }, { ...shirt, ...sizes({ prices: { USD: null } }, {}) });
  expect(await Promise.all(stored.map(({ id }: { id: string }) => pricesOf(id)))).toEqual([
    { EUR: { price_amount: 800, price_range: { min: 800, max: 800 } } },
    usd,
  ]);
  const [, { id }] = stored;
  await patch(id, { prices: { USD: { price_amount: 950 } } });
  await run(tea);
  expect(await pricesOf(id)).toEqual({ USD: { price_amount: 950 } });
});

describe('a read in a currency', () => {
  const usd = (price_amount: number, more: object = {}) => ({ prices: { USD: { price_amount, ...more } } });
  const ids: Record<string, string> = {};
  let listing_id: string;

  beforeEach(async () => {
    await withCurrencies('USD', 'EUR');
    listing_id = (await send('POST', '/api/listing', { body: { name: 'Teas' } })).body.data.id;
    const all = {
      tea: { title: 'Tea', ...usd(900, { compare_at_amount: 1_100 }), compare_at_amount: 9_999 },
      shirt: { title: 'Tea shirt', ...sizes({ ...usd(700), price_amount: 2_000 }, {}) },
      plain: { title: 'Tea pot', sale_price_amount: 3_000 },
      hidden: { title: 'Tea box', ...usd(500), price_active: false },
    };
    for (const [name, fields] of Object.entries(all)) ids[name] = await make({ listing_id, ...fields });
  });

  const tea = {
    ...{ price_currency: 'USD', price_amount: 900, price_active: true },
    ...{ compare_at_amount: 1_100, lowest_price_30d: 900 },
  };

  test('shows every price in it, and an inactive one where there is none, in every read', async () => {
    const shown = await read(`publication/${ids.tea}?currency=USD`);
    expect(shown).toMatchObject(tea);
    expect(shown).not.toHaveProperty('prices');
    expect(await read(`publication/${ids.plain}?currency=USD`)).toMatchObject({
      ...{ price_currency: 'PEN', price_amount: 3_400, price_active: false },
    });
    expect(await read(`publication/${ids.plain}?currency=USD`)).not.toHaveProperty('sale_price_amount');
    expect(await read(`publication/${ids.tea}?currency=PEN`)).toMatchObject({
      ...{ price_currency: 'PEN', price_amount: 3_400, compare_at_amount: 9_999 },
    });
    expect(await read(`publication/by-handle/${shown.handle}?currency=USD`)).toEqual(shown);
    const shirt = await read(`publication/${ids.shirt}?currency=USD&expand=variants`);
    expect(shirt).toMatchObject({
      ...{ price_currency: 'USD', price_amount: 700, price_range: { min: 700, max: 700 } },
      variants: { data: [{ price_amount: 700 }, { price_active: false }] },
    });
    expect(await read(`publication/${ids.shirt}/variants?currency=USD`)).toEqual(shirt.variants.data);
    expect(await read(`variant/${shirt.variants.data[0].id}?currency=USD`)).toEqual(shirt.variants.data[0]);

    const lists = [
      'publications?',
      `publications?ids=${ids.tea}&`,
      'store/search?q=tea&',
      `publication/${ids.plain}/related?`,
      `listing/${listing_id}/publications?`,
      `listing/${listing_id}?expand=publication&`,
    ];
    for (const path of lists) {
      const data = await read(`${path}currency=USD`);
      const found = data.others ?? data.publications?.data ?? data;
      const one = found.find(({ id }: { id: string }) => id === ids.tea);
      expect([path, one]).toEqual([path, shown]);
    }
  });

  test('leaves out what has no price in it with priced=true', async () => {
    const titles = async (query: string) =>
      (await read(`publications?sort=name&order=asc&${query}`)).map(({ title }: { title: string }) => title);
    expect(await titles('currency=USD&priced=true')).toEqual(['Tea', 'Tea shirt']);
    expect(await titles('currency=PEN&priced=true')).toEqual(['Tea', 'Tea pot', 'Tea shirt']);
    expect(await titles('currency=EUR&priced=true')).toEqual([]);
    await patch(ids.hidden!, { price_active: true });
    await patch(ids.tea!, { prices: null });
    expect(await titles('currency=USD&priced=true')).toEqual(['Tea box', 'Tea shirt']);
    const { meta } = (await send('GET', '/api/publications?currency=USD&priced=true&limit=1&facets=in_stock'))
      .body;
    expect([meta.item_count, meta.facets[0].values[0].count]).toEqual([2, 2]);
    const page = (await send('GET', `/api/listing/${listing_id}/publications?currency=USD&priced=true`)).body
      .data;
    expect(page.others.map(({ title }: { title: string }) => title)).toEqual(['Tea box', 'Tea shirt']);
    expect((await send('GET', '/api/store/search?q=tea&currency=USD&priced=true')).body.meta.item_count).toBe(
      2,
    );
  });

  test('sorts, filters and counts by price in it, also in a sale, in the past and in a tree', async () => {
    const titles = async (path: string): Promise<string[]> => {
      const data = await read(path);
      return (data.others ?? data).map(({ title }: { title: string }) => title);
    };
    await patch(ids.plain!, usd(800));
    await send('PATCH', `/api/listing/${listing_id}`, { body: { default_sort_mode: 'price_asc' } });
    // The price of the hidden one is inactive. It comes last, and after those with an active price in another currency.
    const order = ['Tea shirt', 'Tea pot', 'Tea', 'Tea box'];
    const page = `listing/${listing_id}/publications?`;
    expect(await titles(`${page}currency=USD`)).toEqual(order);
    expect(await titles(`${page}currency=USD&include_descendants=true`)).toEqual(order);
    expect(await titles('publications?currency=USD&sort=price')).toEqual(order);
    expect(await titles('store/search?q=tea&currency=USD&sort=price&order=desc')).toEqual([
      ...['Tea', 'Tea pot', 'Tea shirt', 'Tea box'],
    ]);
    const related = await titles(`publication/${ids.plain}/related?currency=USD&sort=price`);
    expect(related).toEqual(order.filter((title) => title !== 'Tea pot'));
    expect(await titles('publications?currency=USD&sort=price&max_price=800')).toEqual(order.slice(0, 2));
    expect(await titles('publications?currency=USD&has_discount=true')).toEqual(['Tea']);
    expect(await titles('publications?currency=USD&has_price=false')).toEqual(['Tea box']);
    const { meta } = (await send('GET', '/api/publications?currency=USD&facets=price,has_discount')).body;
    expect(meta.facets.map(({ values }: { values: object[] }) => values)).toEqual([
      [
        expect.objectContaining({ value: '700-799', count: 1 }),
        expect.objectContaining({ value: '800-899', count: 1 }),
        expect.objectContaining({ value: '900-999', count: 1 }),
      ],
      [
        expect.objectContaining({ value: 'true', count: 1 }),
        expect.objectContaining({ value: 'false', count: 3 }),
      ],
    ]);
    const before = new Date(Date.now() + ahead_ms).toISOString();

    const sale_from = new Date(Date.now() + ahead_ms + 60_000).toISOString();
    await patch(ids.plain!, { prices: { USD: { price_amount: 800, sale_price_amount: 1, sale_from } } });
    expect(await titles(`${page}currency=USD`)).toEqual(order);
    ahead_ms += 60_000;
    await waitFor(async () => (await titles(`${page}currency=USD`))[0] === 'Tea pot');
    expect(await titles('publications?currency=USD&max_price=10')).toEqual(['Tea pot']);
    expect(await titles(`${page}currency=PEN&max_price=10`)).toEqual([]);
    expect(await titles(`${page}currency=USD&as_of=${before}`)).toEqual(order);

    const status = async (query: string) => (await send('GET', `/api/publications?${query}`)).status;
    expect([await status('priced=true'), await status('currency=usd')]).toEqual([400, 400]);
  });

  test('has an ETag and a cached answer of its own', async () => {
    const path = `/api/publication/${ids.tea}`;
    const token = own.shop.public.token;
    const get = (query: string, headers = {}) => own.harness.request('GET', path + query, { token, headers });
    const [base, dollars] = [await get(''), await get('?currency=USD')];
    expect(dollars.headers.get('etag')).not.toBe(base.headers.get('etag'));
    expect((await get('?currency=USD')).body).toEqual(dollars.body);
    const etag = dollars.headers.get('etag')!;
    expect((await get('?currency=USD', { 'If-None-Match': etag })).status).toBe(304);
    await patch(ids.tea!, usd(950));
    const after = await get('?currency=USD', { 'If-None-Match': etag });
    expect([after.status, after.body.data.price_amount]).toEqual([200, 950]);
  });
});
