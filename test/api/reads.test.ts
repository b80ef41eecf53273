import { type Harness, startHarness } from '../support/harness';
import { waitFor } from '../support/wait-for';
import { namesOf, type StockedShop, stockShop } from './reads-shop';

let harness: Harness;
let shop: StockedShop;

beforeAll(async () => {
  harness = await startHarness();
  shop = await stockShop(harness);
});
afterAll(() => harness.close());

const read = async (path: string) => {
  const reply = await harness.request('GET', path, { token: shop.secret.token });
  if (reply.status !== 200) throw new Error(`GET ${path}: ${reply.status} ${reply.text}`);
  return reply.body;
};
const names = async (path: string) => namesOf((await read(path)).data);
const errorOf = async (path: string, { token } = shop.public) =>
  (await harness.request('GET', path, { token })).body.error?.code;
const idOf = (title: string): string => shop.publications[title]!;

const LISTS = { publications: 10, listings: 2, 'store-listings': 2, 'payment-methods': 2 };

test.each(Object.entries(LISTS))('the list %s has the paginated envelope', async (name, count) => {
  expect(await read(`/api/${name}?limit=1&page=2&visibility=all`)).toMatchObject({
    ...{ code: 200, status: 'OK', data: [{ id: expect.any(String), object: expect.any(String) }] },
    meta: {
      ...{ page: 2, take: 1, item_count: count },
      pagination: { page: 2, total_pages: count, total_items: count, limit: 1 },
    },
  });
});

test('publications are read by their ids, in the order of the request', async () => {
  const asked = [idOf('Wine'), idOf('Hidden wine'), idOf('Plain shirt')];
  const ids = [...asked, shop.store_id, idOf('Wine').toUpperCase()].join(',');
  expect(await names(`/api/publications?ids=${ids}`)).toEqual(['Wine', 'Plain shirt']);
  const all = await read(`/api/publications?ids=${ids}&visibility=all&expand=media`);
  expect(namesOf(all.data)).toEqual(['Wine', 'Hidden wine', 'Plain shirt']);
  expect(all.data[0].media).toMatchObject({ object: 'collection' });
  expect(all.meta.pagination).toEqual({ page: 1, total_pages: 1, total_items: 3, limit: 4 });
  const path = (more: string) => `/api/publications?ids=${more}`;
  expect(await errorOf(path('tea'))).toBe('INVALID_UUID');
  const many = Array.from({ length: 51 }, (_, n) => `${idOf('Wine').slice(0, -2)}${n + 10}`);
  expect(await errorOf(path(many.join(',')))).toBe('VALIDATION_ERROR');
  for (const other of ['page=1', 'sort=name', 'tag=new', 'option.Size=M'])
    expect([other, await errorOf(path(`${idOf('Wine')}&${other}`))]).toEqual([other, 'VALIDATION_ERROR']);
});

test('payment methods come in the order of the merchant, or sorted', async () => {
  expect((await read('/api/payment-methods')).data).toMatchObject([
    { object: 'payment_method', type: 'cash', name: 'Cash', position: 1 },
    { object: 'payment_method', type: 'bank_transfer', name: 'Bank transfer', position: 2 },
  ]);
  for (const query of ['order=desc', 'sort=name', 'sort=created_at&order=asc'])
    expect([query, await names(`/api/payment-methods?${query}`)]).toEqual([query, ['Bank transfer', 'Cash']]);
});

test('reviews come newest first, with a summary of all of them on every page', async () => {
  const reviews = (title: string) => `/api/publication/${idOf(title)}/reviews`;
  const { data, meta } = await read(`${reviews('Plain shirt')}?limit=2`);
  expect(data).toMatchObject([
    { object: 'review', body: 'Day 3', rating: 4, author_name: 'A buyer', verified: false },
    { object: 'review', body: 'Day 2' },
  ]);
  expect(meta).toMatchObject({
    ...{ item_count: 3, pagination: { total_pages: 2 } },
    summary: { average: 4.33, count: 3, distribution: { 1: 0, 2: 0, 3: 0, 4: 2, 5: 1 } },
  });
  const none = { average: 0, count: 0, distribution: { 1: 0, 2: 0, 3: 0, 4: 0, 5: 0 } };
  expect(await read(reviews('Wine'))).toMatchObject({ data: [], meta: { summary: none } });
  expect(await errorOf(reviews('Hidden wine'))).toBe('PUBLICATION_NOT_FOUND');
  expect((await read(`${reviews('Hidden wine')}?visibility=all`)).meta.item_count).toBe(0);
});

describe('a listing’s publications', () => {
  const shirts = async (query = '') =>
    (await read(`/api/listing/${shop.listings.Shirts}/publications?${query}`)).data;

  test('that are private, or in a private listing, are only found with another visibility', async () => {
    expect(namesOf((await shirts('visibility=private')).others)).toEqual(['Hidden shirt']);
    expect((await shirts('visibility=all')).meta.pagination.total).toBe(7);
    const cellar = `/api/listing/${shop.listings.Cellar}/publications`;
    for (const key of [shop.public, shop.secret])
      expect(await errorOf(cellar, key)).toBe('LISTING_NOT_FOUND');
    const managed = (await read(`${cellar}?visibility=all`)).data;
    expect(namesOf(managed.others)).toEqual(['Hidden wine', 'Wine']);
  });

  test('are the same from the listing’s document and from the publications, after any change', async () => {
    // More publications than a listing's document contains.
    const count = 27;
    const merchant = harness.client(shop.secret);
    const listing = await merchant.listings.create({ name: 'Shelf', default_sort_mode: 'price_asc' });
    const items = Array.from({ length: count }, (_, n) => {
      const visibility = n % 9 === 8 ? 'private' : 'public';
      const price = { price_currency: 'EUR', price_amount: 1_000 + 7 * ((n * 11) % count) };
      const body = { title: `Item ${n}`, ...price, listing_id: listing.id, visibility };
      return { action: 'create', body };
    });
    const { token } = shop.secret;
    const made = await harness.request('POST', '/api/publications/batch', { token, body: { items } });
    const ids: string[] = made.body.data.items.map(({ id }: { id: string }) => id);

    /** Compares with the page that has an explicit sort, which is read from the publications. */
    const expectSame = async (sort: string): Promise<void> => {
      await harness.settled();
      for (const visibility of ['public', 'private', 'all'])
        for (const limit of [7, 20]) {
          const path = `/api/listing/${listing.id}/publications?limit=${limit}&visibility=${visibility}`;
          const from_document = await harness.request('GET', path, { token: shop.secret.token });
          const found = await harness.request('GET', `${path}&${sort}`, { token: shop.secret.token });
          expect([from_document.status, from_document.text]).toEqual([200, found.text]);
          expect(from_document.headers.get('etag')).toBe(found.headers.get('etag'));
        }
    };
    const change = merchant.publications.update.bind(merchant.publications);
    await expectSame('sort=price&order=asc');
    await change(ids[5]!, { featured_position: 3 });
    await change(ids[9]!, { featured_position: 3 });
    await change(ids[3]!, { visibility: 'private' });
    await change(ids[8]!, { visibility: 'public', price_active: false });
    await expectSame('sort=price&order=asc');
    for (const id of [ids[0]!, ids[5]!, ids[12]!]) await merchant.publications.delete(id);
    await change(ids[20]!, { listing_id: null });
    await expectSame('sort=price&order=asc');
    await merchant.listings.update(listing.id, { default_sort_mode: 'name_desc' });
    await change(ids[11]!, { title: 'Zebra' });
    await expectSame('sort=name&order=desc');
  });
});

describe('by id', () => {
  const one = async (title: string, query = '') =>
    (await read(`/api/publication/${idOf(title)}?${query}`)).data;

  test('a private publication is only found with a secret key and another visibility', async () => {
    const path = `/api/publication/${idOf('Hidden shirt')}`;
    for (const key of [shop.public, shop.secret])
      expect(await errorOf(path, key)).toBe('PUBLICATION_NOT_FOUND');
    for (const visibility of ['private', 'all'])
      expect(await one('Hidden shirt', `visibility=${visibility}`)).toMatchObject({ visibility: 'private' });
    const wine = `/api/publication/${idOf('Wine')}?visibility=private`;
    expect(await errorOf(wine, shop.secret)).toBe('PUBLICATION_NOT_FOUND');
  });

  test('a publication expands its media, and its listing if that is visible', async () => {
    const plain = await one('Plain shirt');
    expect(plain).not.toHaveProperty('listing');
    const rating = { average: 4.33, count: 3 };
    expect(plain.stats).toEqual({ media_count: 0, view_count: 0, rating });
    const expanded = {
      ...plain,
      listing: expect.objectContaining({ id: shop.listings.Shirts, object: 'listing', name: 'Shirts' }),
      media: { object: 'collection', data: [], total_count: 0, has_more: false, url: expect.any(String) },
    };
    for (const query of ['expand=listing,media', 'expand=listing&expand=media'])
      expect(await one('Plain shirt', query)).toEqual(expanded);
    expect(await one('Wine', 'expand=listing')).not.toHaveProperty('listing');
    expect((await one('Wine', 'expand=listing&visibility=all')).listing.name).toBe('Cellar');
    expect(await one('Loose thing', 'expand=listing')).not.toHaveProperty('listing');
  });

  test('a store and a listing count what is visible, and the url of an expansion returns its items', async () => {
    for (const [visibility, shirts, stores] of [
      ['public', 6, ['Shirts']],
      ['private', 1, ['Cellar']],
      ['all', 7, ['Cellar', 'Shirts']],
    ] as const) {
      const query = `visibility=${visibility}`;
      const store = (await read(`/api/store?expand=listing&${query}`)).data;
      const own = store.listings.data.filter(({ name }: { name: string }) => name !== 'Shelf');
      expect(namesOf(own)).toEqual(stores);
      expect(store.stats.listing_count).toBe(store.listings.total_count);
      expect((await read(store.listings.url)).data).toEqual(store.listings.data);
      if (visibility === 'private') continue;
      const listing = (await read(`/api/listing/${shop.listings.Shirts}?expand=publication&${query}`)).data;
      expect([listing.stats.publication_count, listing.publications.total_count]).toEqual([shirts, shirts]);
      const { featured, others } = (await read(listing.publications.url)).data;
      expect([...featured, ...others]).toEqual(listing.publications.data);
    }
  });
});

test('a read shows the last known lag and its age while the head of the log cannot be read', async () => {
  const { secret } = await harness.newShop();
  const lagOf = async () => {
    const { headers } = await harness.request('GET', '/api/store', { token: secret.token });
    return ['x-catalog-lag-ms', 'x-catalog-lag-age-ms'].map((name) => headers.get(name));
  };
  await waitFor(async () => (await lagOf())[0] === '0', { what: 'documents that lack nothing' });
  const head = jest.spyOn(harness.deps.events.live, 'head').mockImplementation(() => new Promise(() => {}));
  try {
    const [lag_ms, age_ms] = await waitFor(async () => {
      const shown = await lagOf();
      return shown[1] !== null && shown;
    });
    expect(lag_ms).toBe('0');
    expect(Number(age_ms)).toBeGreaterThan(1_000);
  } finally {
    head.mockRestore();
  }
  await waitFor(async () => (await lagOf())[1] === null, { what: 'a lag of the last second' });
});
