import { reads } from '../../shared/api/operations/reads';
import { shapeOf } from '../../shared/api/requests/parameters';
import type { TestKey } from '../support/harness';
import { waitFor } from '../support/wait-for';
import { ownShop } from './own-shop';
import { expectError } from './replies';

const own = ownShop();
const { send } = own;

/** No other number of an answer contains these digits. */
const NORMAL = 1_357_911;
const LISTED = 7_654_321;
/** Matches whole numbers, because a random id may contain any digits. */
const OF_NOBODY = new RegExp(`\\b${NORMAL}\\b`);
const OF_LIST = /\b765432\d\b|\b76543[.,]2\d\b/;
const [S, M, L] = [LISTED + 4, LISTED + 1, LISTED + 3];

const make = async (path: string, body: object) => {
  const reply = await send('POST', `/api/${path}`, { body });
  if (reply.status !== 201) throw new Error(reply.text);
  return reply.body.data;
};
const withLists = (price_lists: object) => send('PATCH', '/api/store', { body: { price_lists } });
const setIn = (price_list: string, ...items: object[]) =>
  send('PUT', '/api/list-prices', { body: { price_list, items } });
const setPrices = (...items: object[]) => setIn('wholesale', ...items);
const listed = async (price_list = 'wholesale') =>
  (await send('GET', `/api/list-prices?price_list=${price_list}`)).body;
const priceOf = (publication_id: string, price_amount: number, more: object = {}) => ({
  publication_id,
  price: { price_amount },
  ...more,
});

async function newKey(fields: object): Promise<TestKey> {
  const { id, secret } = await make('key', { name: 'Reseller', type: 'public', ...fields });
  return { id, key: secret, token: await own.harness.token(secret) };
}

const TEA = { title: 'Tea', price_currency: 'PEN', price_amount: NORMAL, price_active: true };
const sizes = (...names: string[]) => ({
  options: [{ name: 'Size' }],
  variants: names.map((Size) => ({ option_values: { Size }, price_amount: NORMAL })),
});
const newTea = (fields: object = {}) => make('publication', { ...TEA, ...fields });
const variantsOf = async (id: string): Promise<string[]> =>
  (await send('GET', `/api/publication/${id}/variants`)).body.data.map((one: { id: string }) => one.id);
const read = async ({ token }: TestKey, path: string) => {
  const reply = await own.harness.request('GET', `/api/${path}`, { token });
  if (reply.status !== 200) throw new Error(reply.text);
  return reply.body.data;
};

test('a key of a price list sees its prices, and all other keys those of the publications', async () => {
  const { shop } = own;
  const { id } = await newTea({ compare_at_amount: NORMAL + 1, sale_price_amount: NORMAL - 1 });
  const other = await newTea();
  const store = await withLists({ wholesale: 'USD' });
  expect(store.body.data.price_lists).toEqual({ wholesale: 'USD' });
  expect(await read(shop.secret, 'store')).toMatchObject({ price_lists: { wholesale: 'USD' } });
  expect(await read(shop.public, 'store')).not.toHaveProperty('price_lists');
  await setPrices({ publication_id: id, price: { price_amount: 800, compare_at_amount: 900 } });
  const reseller = await newKey({ price_list: 'wholesale' });
  const normal = await read(shop.public, `publication/${id}`);
  const { sale_price_amount: _, lowest_price_30d: __, ...fields } = normal;
  expect(await read(reseller, `publication/${id}`)).toEqual({
    ...fields,
    ...{ price_currency: 'USD', price_amount: 800, compare_at_amount: 900, stats: expect.anything() },
  });
  const pen = { price_currency: 'PEN', price_amount: NORMAL };
  expect(await read(reseller, `publication/${other.id}`)).toMatchObject(pen);
  expect(await read(shop.public, `publication/${id}`)).toMatchObject(pen);
  const past = `publication/${id}?as_of=${new Date().toISOString()}`;
  const buyer = await newKey({ type: 'secret', price_list: 'wholesale' });
  expect(await read(buyer, `publication/${id}`)).toMatchObject({ price_currency: 'USD', price_amount: 800 });
  for (const path of [past, `publication/${id}/history/1`])
    expect(await read(buyer, path)).toMatchObject(pen);

  // In another currency, what has a price in the list has none.
  await send('PATCH', '/api/store', { body: { currencies: ['PEN', 'USD', 'EUR'] } });
  await send('PATCH', `/api/publication/${id}`, { body: { prices: { EUR: { price_amount: 700 } } } });
  expect(await read(reseller, `publication/${id}?currency=EUR`)).toMatchObject({ price_active: false });
  const in_usd = { price_amount: 800, price_active: true };
  expect(await read(reseller, `publication/${id}?currency=USD`)).toMatchObject(in_usd);

  // Without a price in the list, it has its own again.
  await setPrices({ publication_id: id, price: null });
  expect(await read(reseller, `publication/${id}`)).toMatchObject(pen);
  await setPrices(priceOf(id, 810));
  expect(await read(reseller, `publication/${id}`)).toMatchObject({ price_amount: 810 });
  // A list that is removed keeps its prices in its currency.
  await withLists({});
  expect(await read(reseller, `publication/${id}`)).toMatchObject(pen);
  await withLists({ wholesale: 'PEN' });
  expect(await read(reseller, `publication/${id}`)).toMatchObject(pen);
  await withLists({ wholesale: 'USD' });
  expect(await read(reseller, `publication/${id}`)).toMatchObject({ price_amount: 810 });
});

test('a variant has its own price in a list or that of its publication, which has the lowest one', async () => {
  const tea = await newTea(sizes('S', 'M', 'L'));
  const [small, medium, large] = await variantsOf(tea.id);
  await withLists({ wholesale: 'USD' });
  const reseller = await newKey({ price_list: 'wholesale' });
  const variants = { [medium!]: { price_amount: M }, [large!]: { price_amount: L } };
  await setPrices(priceOf(tea.id, S, { variants }));
  expect(await read(reseller, `publication/${tea.id}?expand=variants`)).toMatchObject({
    ...{ price_currency: 'USD', price_amount: M, price_range: { min: M, max: S } },
    variants: { data: [S, M, L].map((price_amount) => ({ price_amount })) },
  });
  const shown = await read(reseller, `publication/${tea.id}/variants`);
  expect(shown.map((one: { price_amount: number }) => one.price_amount)).toEqual([S, M, L]);
  expect(await read(reseller, `variant/${small}`)).toMatchObject({ price_amount: S });
  const [in_pen] = await read(reseller, `publication/${tea.id}/variants?currency=PEN`);
  expect(in_pen).toMatchObject({ price_active: false });
  // A variant that is deleted does not count any more.
  await send('DELETE', `/api/variant/${medium}`);
  const lowest = { price_amount: L, price_range: { min: L, max: S } };
  expect(await read(reseller, `publication/${tea.id}`)).toMatchObject(lowest);
});

test('prices of a list are set together, or refused together', async () => {
  const { store_id } = own.shop;
  const tea = await newTea(sizes('S'));
  const [variant] = await variantsOf(tea.id);
  const fieldOf = async (...items: object[]) => (await setPrices(...items)).body.error.details.field;
  expect(await fieldOf(priceOf(tea.id, 100))).toBe('price_list');
  await withLists({ wholesale: 'JPY' });
  expect(await fieldOf(priceOf(tea.id, 50))).toBe('items.0.price');
  expect(await fieldOf(priceOf(store_id, 100))).toBe('items.0.publication_id');
  const of_nobody = { [tea.id]: { price_amount: 100 } };
  expect(await fieldOf(priceOf(tea.id, 100, { variants: of_nobody }))).toBe(`items.0.variants.${tea.id}`);
  expect(await fieldOf(priceOf(tea.id, 100), priceOf(tea.id, 200))).toBe('items');
  expect(await fieldOf(priceOf(tea.id, 100), priceOf(store_id, 100))).toBe('items.1.publication_id');
  expect((await listed()).data).toEqual([]);

  const headers = { 'idempotency-key': 'once' };
  const items = [priceOf(tea.id, 100, { variants: { [variant!]: { price_amount: 200 } } })];
  const request = { body: { price_list: 'wholesale', items }, headers };
  const first = await send('PUT', '/api/list-prices', request);
  expect([first.status, first.body.data.changed_count]).toEqual([200, 1]);
  const again = await send('PUT', '/api/list-prices', request);
  expect([again.body, again.headers.get('idempotent-replayed')]).toEqual([first.body, 'true']);
  expect((await setPrices(...items)).body.data.changed_count).toBe(0);
  await setPrices(priceOf(tea.id, 300));
  const { data, meta } = await listed();
  expect([data, meta.pagination.total_items]).toEqual([
    [
      {
        ...{ id: expect.any(String), object: 'list_price', price_list: 'wholesale', currency: 'JPY' },
        ...{ publication_id: tea.id, price: { price_amount: 300 } },
      },
    ],
    1,
  ]);
  expect((await listed('vip')).data).toEqual([]);
  await setPrices({ publication_id: tea.id, price: null });
  expect((await listed()).meta.pagination.total_items).toBe(0);
});

test('a key gets another price list within a moment, keeps it when it is replaced, and gives it up', async () => {
  const tea = await newTea();
  await withLists({ wholesale: 'PEN', vip: 'PEN' });
  await setPrices(priceOf(tea.id, 100));
  await setIn('vip', priceOf(tea.id, 200));
  const reseller = await newKey({ price_list: 'wholesale' });
  const amountOf = async (key: TestKey) => (await read(key, `publication/${tea.id}`)).price_amount;
  const bind = (price_list: string | null) =>
    send('PATCH', `/api/key/${reseller.id}`, { body: { price_list } });
  expect(await amountOf(reseller)).toBe(100);
  expect((await bind('vip')).body.data).toMatchObject({ price_list: 'vip' });
  await waitFor(async () => (await amountOf(reseller)) === 200);
  const rotated = (await send('POST', `/api/key/${reseller.id}/rotate`)).body.data;
  expect(rotated.price_list).toBe('vip');
  const next = { ...reseller, token: await own.harness.token(rotated.secret) };
  expect(await amountOf(next)).toBe(200);
  expect((await bind(null)).body.data).not.toHaveProperty('price_list');
  await waitFor(async () => (await amountOf(reseller)) === NORMAL);
  expect(await amountOf(next)).toBe(200);
  expectError(await bind('retail'), 400, 'FIELD_INVALID', 'price_list');
  const body = { name: 'Reseller', type: 'public', price_list: 'retail' };
  expectError(await send('POST', '/api/key', { body }), 400, 'FIELD_INVALID', 'price_list');
});

test('a key of a price list cannot sort, filter or count by price', async () => {
  await withLists({ wholesale: 'PEN' });
  const { token } = await newKey({ price_list: 'wholesale' });
  for (const query of ['sort=price', 'min_price=1', 'max_price=1', 'has_discount=true', 'facets=price']) {
    const refused = await own.harness.request('GET', `/api/publications?${query}`, { token });
    expectError(refused, 400, 'VALIDATION_ERROR', query.split('=')[0]);
  }
  expect((await own.harness.request('GET', '/api/publications?sort=name', { token })).status).toBe(200);
});

test('a key that needs confirmation cannot propose prices of a list, which others would read in the proposal', async () => {
  const tea = await newTea();
  await withLists({ wholesale: 'PEN' });
  const { token } = await newKey({ type: 'secret', needs_confirmation: true });
  const body = { price_list: 'wholesale', items: [priceOf(tea.id, 100)] };
  const refused = await own.harness.request('PUT', '/api/list-prices', { token, body });
  expectError(refused, 403, 'INSUFFICIENT_PERMISSIONS');
});

describe('a shop with prices in a list', () => {
  /** The address of each read, with everything in the answer that the read can have. */
  async function addressesOf(): Promise<Map<string, string>> {
    const listing = await make('listing', { name: 'Teas' });
    const fields = { listing_id: listing.id, handle: `tea-${listing.id}` };
    const tea = await newTea({ ...fields, ...sizes('S', 'M') });
    const cup = await newTea({ title: 'Tea cup', listing_id: listing.id });
    const [small] = await variantsOf(tea.id);
    await withLists({ wholesale: 'PEN', vip: 'PEN' });
    const variants = { [small!]: { price_amount: S } };
    await setPrices(priceOf(tea.id, LISTED, { variants }), priceOf(cup.id, LISTED));
    const run = { 'x-catalog-run': 'prices' };
    const body = { price_list: 'wholesale', items: [priceOf(cup.id, LISTED + 5)] };
    await send('PUT', '/api/list-prices', { body, headers: run });
    const { id: webhook } = await make('webhook', { url: 'https://erp.example/catalog' });
    const ids: Record<string, string> = {
      ...{ publication: tea.id, listing: listing.id, variant: small!, webhook },
      ...{ media: tea.id, proposal: tea.id, import: tea.id },
    };
    const addresses = Object.values(reads).map(({ id, path, query }): [string, string] => {
      const kind = path.split('/')[2]!;
      const address = path
        .replace(':id', ids[kind] ?? '')
        .replace(':handle', kind === 'listing' ? listing.handle : fields.handle)
        .replace(':revision', '1')
        .replace(':channel', 'google');
      const shape = query ? shapeOf(query) : {};
      const parameters = new URLSearchParams({
        ...('expand' in shape && { expand: 'publication,listing,variants' }),
        ...('q' in shape && { q: 'tea' }),
        ...('offset' in shape && { offset: '-1' }),
        ...('price_list' in shape && { price_list: 'wholesale' }),
      });
      return [id, `${address}?${parameters}`];
    });
    return new Map([
      ...addresses,
      ['snapshot', '/api/changes?offset=snapshot'],
      ['Shopify', '/api/export?format=shopify'],
      ['facets', '/api/publications?facets=price'],
      ['past', `/api/publication/${tea.id}?as_of=${new Date().toISOString()}`],
      ['deleted', '/api/publications?visibility=deleted'],
    ]);
  }

  test('nothing of a price list is in any answer of another key', async () => {
    const { public: visitor, secret } = own.shop;
    const addresses = await addressesOf();
    const elsewhere = await own.harness.newShop();
    const reader = await newKey({
      type: 'secret',
      permissions: ['read:stores', 'read:listings', 'read:publications', 'read:media', 'read:reviews'],
    });
    const reseller = await newKey({ price_list: 'wholesale' });
    const other = await newKey({ price_list: 'vip' });
    let priced = 0;
    for (const { token } of [visitor, reader, other, elsewhere.public, elsewhere.secret, secret])
      for (const [name, address] of addresses) {
        if (token === secret.token && name === reads.listListPrices.id) continue;
        // The answer to the second request may be a stored one.
        for (const key of [token, reseller.token, token]) {
          const { text } = await own.harness.request('GET', address, { token: key });
          if (key === reseller.token) continue;
          expect([name, OF_LIST.exec(text)]).toEqual([name, null]);
          priced += +text.includes(String(NORMAL));
        }
      }
    expect(priced).toBeGreaterThan(60);

    const leaving = new AbortController();
    const stream = await fetch(`${own.harness.url}/api/changes?offset=-1&live=sse`, {
      signal: leaving.signal,
      headers: { authorization: `Bearer ${secret.token}`, accept: 'text/event-stream' },
    });
    let sent = '';
    for await (const piece of stream.body!) {
      sent += Buffer.from(piece).toString();
      if (sent.includes('Tea cup')) break;
    }
    leaving.abort();
    expect(sent).not.toMatch(OF_LIST);
    const undone = await send('POST', '/api/runs/prices/undo', { body: { dry_run: true } });
    expect([undone.status, OF_LIST.exec(undone.text)]).toEqual([200, null]);
  });

  test('a key of the list sees its prices wherever there are prices', async () => {
    const { public: visitor } = own.shop;
    const addresses = await addressesOf();
    const reseller = await newKey({ price_list: 'wholesale' });
    // A revision is in the past, and the report of a channel names products without prices.
    const priced = Object.values(reads).filter(
      ({ path, query }) => query && 'currency' in shapeOf(query) && !/:(revision|channel)/.test(path),
    );
    expect(priced.length).toBeGreaterThan(8);
    for (const { id } of priced)
      for (const key of [visitor, reseller, visitor, reseller]) {
        const { text } = await own.harness.request('GET', addresses.get(id)!, { token: key.token });
        const shows = { listed: OF_LIST.test(text), normal: OF_NOBODY.test(text) };
        expect([id, shows]).toEqual([id, { listed: key === reseller, normal: key === visitor }]);
      }
  });
});
