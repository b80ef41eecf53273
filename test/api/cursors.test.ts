import type { Reply } from '../support/harness';
import { type Harness, startHarness } from '../support/harness';
import { type StockedShop, stockShop } from './reads-shop';
import { expectError } from './replies';

let harness: Harness;
let shop: StockedShop;
let of_variants: string;

beforeAll(async () => {
  harness = await startHarness();
  shop = await stockShop(harness);
  const merchant = harness.client(shop.secret);
  const fields = { price_currency: 'EUR', price_amount: 700 };
  const options = [{ name: 'Size', values: ['S', 'M', 'L'] }];
  const variants = ['S', 'M', 'L'].map((Size) => ({ option_values: { Size } }));
  of_variants = (await merchant.publications.create({ ...fields, title: 'Cap', options, variants })).id;
  await merchant.listings.create({ name: 'Caps', parent_id: shop.listings.Shirts });
  for (const title of ['Gone', 'Lost', 'Sold']) {
    await merchant.publications.delete((await merchant.publications.create({ ...fields, title })).id);
    await merchant.listings.delete((await merchant.listings.create({ name: title })).id);
    await merchant.listings.update(shop.listings.Shirts, { description: title });
    await merchant.store.update({ description: title });
  }
  await harness.settled();
});
afterAll(() => harness.close());

const read = (path: string, query: string): Promise<Reply> =>
  harness.request('GET', `${path}${path.includes('?') ? '&' : '?'}${query}`, { token: shop.secret.token });

/** Puts the ids of the shop into a path. */
const pathOf = (path: string): string =>
  path
    .replace(':listing', shop.listings.Shirts)
    .replace(':publication', shop.publications['Plain shirt']!)
    .replace(':variants', of_variants);

function pageOf({ body: { data, meta } }: Reply) {
  const items: { id: string }[] = Array.isArray(data) ? data : [...data.featured, ...data.others];
  return { ids: items.map(({ id }) => id), pagination: (meta ?? data.meta).pagination };
}

/** The lists that have cursors. */
const LISTS = [
  '/api/publications',
  '/api/publications?visibility=all&sort=price',
  '/api/publications?visibility=deleted',
  '/api/listings?visibility=all&sort=name',
  '/api/listings?visibility=deleted',
  '/api/store-listings?order=asc',
  '/api/listing/:listing/publications',
  '/api/listing/:listing/publications?include_descendants=true&order=desc',
  '/api/payment-methods',
  '/api/payment-methods?sort=name',
  '/api/publication/:publication/reviews',
  '/api/publication/:publication/reviews?sort=name',
  '/api/reviews',
  '/api/publication/:variants/variants',
  '/api/store/search?q=shirt&sort=name',
  '/api/publication/:publication/related?sort=price',
  '/api/listing/:listing/history',
  '/api/store/history',
];

test.each(LISTS)('%s has the same pages by cursor and by number', async (list) => {
  const path = pathOf(list);
  let start = '';
  for (let page = 1; ; page++) {
    const by_number = await read(path, `limit=1&page=${page}`);
    expect(by_number.status).toBe(200);
    expect((await read(path, `limit=1&${start}`)).body).toEqual(by_number.body);
    const { ids, pagination } = pageOf(by_number);
    expect(ids).toHaveLength(1);
    const { next_cursor, total_pages } = pagination;
    expect(next_cursor === undefined).toBe(page === total_pages);
    if (page === 1) expect(total_pages).toBeGreaterThan(1);
    if (next_cursor === undefined) break;
    start = `cursor=${next_cursor}`;
  }
});

test('a history by cursor ends where it did, although something changes meanwhile', async () => {
  const path = pathOf('/api/listing/:listing/history');
  const whole = pageOf(await read(path, 'limit=50')).ids;
  const first = pageOf(await read(path, 'limit=2'));
  await harness.client(shop.secret).listings.update(shop.listings.Shirts, { description: 'New' });
  await harness.settled();
  const rest = pageOf(await read(path, `cursor=${first.pagination.next_cursor}`));
  expect([...first.ids, ...rest.ids]).toEqual(whole);
});

test('a page of a cursor may have another limit, and is counted from the items before it', async () => {
  const all = pageOf(await read('/api/publications', 'limit=50')).ids;
  const { next_cursor } = pageOf(await read('/api/publications', 'limit=4')).pagination;
  const next = pageOf(await read('/api/publications', `limit=2&cursor=${next_cursor}&expand=listing`));
  expect(next.ids).toEqual(all.slice(4, 6));
  expect(next.pagination).toMatchObject({ page: 3, limit: 2 });
});

describe('a cursor is refused', () => {
  const cursorOf = async (list: string) => pageOf(await read(pathOf(list), 'limit=1')).pagination.next_cursor;
  const expectRefused = (reply: Reply) => expectError(reply, 400, 'VALIDATION_ERROR', 'cursor');

  test.each([
    ['of another list', '/api/reviews', '/api/publications'],
    ['of a list with other filters', '/api/publications?in_stock=true', '/api/publications'],
    ['of another order', '/api/publications?sort=price', '/api/publications'],
    ['of the other direction', '/api/publications', '/api/publications?order=asc'],
    ['of another resource', '/api/listing/:listing/history', '/api/store/history'],
    ['of lists by relevance', '/api/store/search?q=shirt&sort=name', '/api/store/search?q=shirt'],
    ['of related publications', '/api/publications', '/api/publication/:publication/related'],
  ])('%s', async (_case, of, list) => {
    expectRefused(await read(pathOf(list), `cursor=${await cursorOf(of)}`));
  });

  test('that is none', async () => {
    const name = JSON.parse(Buffer.from(await cursorOf('/api/publications'), 'base64url').toString())[0];
    const forged = [[], {}, [name], [name, 1, 5, 'x'], [name, -1, 'x', 'x'], [name, 1, 'x', null]].map(
      (one) => Buffer.from(JSON.stringify(one)).toString('base64url'),
    );
    for (const cursor of ['', 'x', '%00', 'W10', ...forged])
      expectRefused(await read('/api/publications', `cursor=${cursor}`));
  });

  test('beside a page', async () => {
    const cursor = await cursorOf('/api/publications');
    const reply = await read('/api/publications', `cursor=${cursor}&page=2`);
    expectRefused(reply);
    expect(reply.text).toContain('the next_cursor of a page of this list in this order, and no page');
  });

  test('and none is given, for a list by relevance', async () => {
    for (const list of ['/api/store/search?q=shirt', '/api/publication/:publication/related'])
      expect(await cursorOf(list)).toBeUndefined();
  });
});
