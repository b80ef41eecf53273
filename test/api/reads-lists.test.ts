import { type Harness, startHarness } from '../support/harness';
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

const LISTS: Readonly<Record<string, number>> = {
  '/api/publications': 10,
  '/api/listings': 2,
  '/api/store-listings': 2,
  '/api/payment-methods': 2,
};

describe.each(Object.entries(LISTS))('the list %s', (path, count) => {
  test('has the paginated envelope', async () => {
    expect(await read(`${path}?limit=1&page=2&visibility=all`)).toMatchObject({
      code: 200,
      status: 'OK',
      data: [{ id: expect.any(String), object: expect.any(String) }],
      meta: {
        page: 2,
        take: 1,
        item_count: count,
        pagination: { page: 2, total_pages: count, total_items: count, limit: 1 },
      },
    });
  });

  test.each(['created_at', 'price', 'name'])('sorted by %s, the pages have every item once', async (sort) => {
    for (const order of ['asc', 'desc']) {
      const sorted = `${path}?visibility=all&sort=${sort}&order=${order}`;
      const single_page = await read(`${sorted}&limit=50`);
      const walked: unknown[] = [];
      for (let page = 1; page <= Math.ceil(count / 3); page++)
        walked.push(...(await read(`${sorted}&limit=3&page=${page}`)).data);
      expect(walked).toEqual(single_page.data);
      expect(new Set(walked.map((item) => (item as { id: string }).id)).size).toBe(count);
    }
  });

  test.each([100, 180_143_985_094_818, Number.MAX_SAFE_INTEGER])(
    'page %i, past the end, is empty',
    async (page) => {
      const found = await read(`${path}?page=${page}&limit=50&visibility=all`);
      expect(found).toMatchObject({ code: 200, data: [], meta: { page, item_count: count } });
    },
  );

  test.each(['limit=51', 'limit=0', 'page=0', 'expand=store', 'sort=title', 'order=up', 'visibility=some'])(
    'rejects %s',
    async (query) => {
      const reply = await harness.request('GET', `${path}?${query}`, { token: shop.secret.token });
      const [field] = query.split('=');
      expect(reply.status).toBe(400);
      expect(reply.body).toMatchObject({
        code: 400,
        status: 'error',
        message: expect.any(String),
        error: {
          code: 'VALIDATION_ERROR',
          message: expect.any(String),
          details: { field, constraint: expect.any(String), errors: [{ field, code: 'VALIDATION_ERROR' }] },
        },
      });
    },
  );
});

describe('GET /api/publications', () => {
  test('sorts by price, with inactive prices last in both directions', async () => {
    const shirts = `/api/publications?listing_id=${shop.listings.Shirts}&sort=price`;
    const priced = ['Cheap shirt', 'Ärmelloses shirt', 'Plain shirt', 'First star', 'Second star'];
    expect(await names(`${shirts}&order=asc`)).toEqual([...priced, 'Unpriced shirt']);
    expect(await names(`${shirts}&order=desc`)).toEqual([...priced.toReversed(), 'Unpriced shirt']);
  });

  test('sorts names without case and accents', async () => {
    expect((await names('/api/publications?sort=name&limit=3')).slice(0, 2)).toEqual([
      'Ärmelloses shirt',
      'Cheap shirt',
    ]);
  });

  test('is newest first by default', async () => {
    expect((await names('/api/publications'))[0]).toBe('Loose thing');
  });

  test.each([
    ['featured=true', ['First star', 'Second star']],
    ['free_shipping=true', ['Cheap shirt']],
    ['min_price=3000&max_price=5000', ['Plain shirt', 'Wine']],
    ['max_price=1500', ['Cheap shirt']],
    ['min_price=8000&featured=true', ['First star', 'Second star']],
    ['featured=true&free_shipping=true', []],
  ])('%s returns and counts the matching publications', async (query, expected) => {
    const { data, meta } = await read(`/api/publications?${query}&sort=name`);
    expect(namesOf(data)).toEqual(expected);
    expect(meta.item_count).toBe(expected.length);
  });

  test('a price filter reaches any page, whatever the list is sorted by', async () => {
    const deep = '/api/publications?min_price=1&limit=50&page=21';
    expect((await read(deep)).data).toEqual([]);
    expect((await read(`${deep}&sort=price`)).data).toEqual([]);
  });

  test('in_stock=false means a quantity of 0; untracked stock is in stock', async () => {
    expect(await names('/api/publications?in_stock=false')).toEqual(['Plain shirt']);
    expect((await read('/api/publications?in_stock=true')).meta.item_count).toBe(7);
  });

  test('filtering by a private or unknown listing returns an empty list, unless the visibility is all', async () => {
    const cellar = `/api/publications?listing_id=${shop.listings.Cellar}`;
    expect(await read(cellar)).toMatchObject({ data: [], meta: { item_count: 0 } });
    expect(await names(`${cellar}&visibility=all&sort=name`)).toEqual(['Hidden wine', 'Wine']);
    expect(await names(`/api/publications?listing_id=${shop.store_id}`)).toEqual([]);
  });

  test('a listing_id that is not a UUID returns INVALID_UUID', async () => {
    const reply = await harness.request('GET', '/api/publications?listing_id=shirts', {
      token: shop.public.token,
    });
    expect([reply.status, reply.body.error.code]).toEqual([400, 'INVALID_UUID']);
  });
});

test('payment methods come in the merchant’s order', async () => {
  expect((await read('/api/payment-methods')).data).toMatchObject([
    { object: 'payment_method', type: 'cash', name: 'Cash', position: 1 },
    { object: 'payment_method', type: 'bank_transfer', name: 'Bank transfer', position: 2 },
  ]);
});

test('reviews come newest first, with a summary of all of them', async () => {
  const path = `/api/publication/${shop.publications['Plain shirt']}/reviews`;
  const { data, meta } = await read(`${path}?limit=2`);
  expect(data).toMatchObject([
    { object: 'review', body: 'Day 3', rating: 4, author_name: 'A buyer', verified: false },
    { object: 'review', body: 'Day 2' },
  ]);
  expect(meta).toMatchObject({
    item_count: 3,
    pagination: { total_pages: 2 },
    summary: { average: 4.33, count: 3, distribution: { 1: 0, 2: 0, 3: 0, 4: 2, 5: 1 } },
  });
});
