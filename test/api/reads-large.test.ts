import { CatalogClient } from '../../shared/client';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { waitFor } from '../support/wait-for';

/** 240 kB of JSON. */
const largest = {
  ...{ price_currency: 'USD', price_amount: 100 },
  ...{ description: '🐉'.repeat(10_000), description_html: '🐉'.repeat(50_000) },
};
const ANSWER_BYTES_MAX = 8_000_000;
/** Public publications of each listing, oldest first. The last one has two private ones more. */
const SHELVES = [8, 8, 8, 8, 14];
const PUBLIC = SHELVES.reduce((sum, count) => sum + count);
const OF_LARGE = SHELVES.at(-1)!;

let harness: Harness;
let shop: Shop;
/** Newest first. */
const listing_ids: string[] = [];
const publication_ids: string[] = [];
const titles: string[] = [];

beforeAll(async () => {
  harness = await startHarness();
  shop = await harness.newShop();
  const create = async (path: string, body: object): Promise<string> =>
    (await harness.request('POST', path, { token: shop.secret.token, body })).body.data.id;
  for (const [n, count] of SHELVES.entries()) {
    const listing_id = await create('/api/listing', { name: `Shelf ${n}` });
    listing_ids.unshift(listing_id);
    const hide = async (title: string): Promise<void> => {
      titles.unshift(title);
      await create('/api/publication', { ...largest, title, listing_id, visibility: 'private' });
    };
    if (count === OF_LARGE) await hide('First novel');
    for (let m = 0; m < count; m++) {
      const title = `Novel ${m}`;
      if (count === OF_LARGE) titles.unshift(title);
      publication_ids.unshift(await create('/api/publication', { ...largest, title, listing_id }));
    }
    if (count === OF_LARGE) await hide('Last novel');
  }
  await harness.settled();
});
afterAll(() => harness?.close());

/** Asks again after a 503: a busy machine may not make the answer in time. */
const get = async (path: string, { token } = shop.public) => {
  const reply = await waitFor(async () => {
    const one = await harness.request('GET', path, { token });
    return one.status !== 503 && one;
  });
  expect(reply.status).toBe(200);
  expect(Buffer.byteLength(reply.text)).toBeLessThanOrEqual(ANSWER_BYTES_MAX);
  return reply.body;
};
const idsOf = (items: readonly { id: string }[]): string[] => items.map(({ id }) => id);
const titlesOf = (items: readonly { title: string }[]): string[] => items.map(({ title }) => title);

describe('a listing whose publications are too large for its document', () => {
  const path = (): string => `/api/listing/${listing_ids[0]}`;

  test('is expanded to the first of them, with the right total', async () => {
    const { publications } = (await get(`${path()}?expand=publication&visibility=all`, shop.secret)).data;
    expect(publications.data.length).toBeGreaterThan(3);
    expect(publications.data.length).toBeLessThan(OF_LARGE);
    expect(titlesOf(publications.data)).toEqual(titles.slice(0, publications.data.length));
    expect(publications).toMatchObject({ total_count: OF_LARGE + 2, has_more: true });
    const { data } = await get(publications.url, shop.secret);
    expect([titlesOf(data.others), data.meta.pagination.total]).toEqual([titles, OF_LARGE + 2]);
  });

  test('has complete first pages', async () => {
    for (const limit of [3, 6])
      expect(titlesOf((await get(`${path()}/publications?limit=${limit}`)).data.others)).toEqual(
        titles.slice(1, -1).slice(0, limit),
      );
  });
});

test('a list of listings has all its items, and the expansions that fit into 8 MB', async () => {
  const { data, meta } = await get('/api/listings?limit=50&expand=publication,media');
  expect(idsOf(data)).toEqual(listing_ids);
  for (const [n, { publications, media }] of data.entries()) {
    const total_count = SHELVES.at(-1 - n)!;
    expect(publications).toMatchObject({ object: 'collection', total_count });
    expect(publications.has_more).toBe(publications.data.length < total_count);
    expect(media).toMatchObject({ object: 'collection', data: [], has_more: false });
  }
  expect(data.at(-1).publications.data.length).toBeLessThan(data[0].publications.data.length);
  expect((await get(data.at(-1).publications.url)).data.others).toHaveLength(SHELVES[0]!);
  const { pagination } = meta;
  expect(pagination).toMatchObject({ limit: 50, total_items: SHELVES.length, total_pages: 1 });
  expect(pagination.shortened_items).toBeGreaterThan(0);
  expect(pagination.omitted_items).toBeUndefined();
});

test('a list of publications says how many items it omits, and the client library yields every item', async () => {
  const { data, meta } = await get('/api/publications?limit=50&expand=listing,media');
  const { omitted_items, total_items } = meta.pagination;
  expect(meta.pagination).toMatchObject({ page: 1, limit: 50, total_pages: 1 });
  expect([data.length + omitted_items, total_items]).toEqual([PUBLIC, PUBLIC]);
  expect(data.length).toBeGreaterThan(30);
  const client = new CatalogClient({ baseUrl: harness.url, apiKey: shop.public.key });
  expect(idsOf(await client.publications.list().all())).toEqual(publication_ids);
});

test('an expanded listing shows the next one if one of the first is deleted', async () => {
  const path = `/api/listing/${listing_ids[0]}?expand=publication`;
  const expanded = async (): Promise<string[]> => titlesOf((await get(path)).data.publications.data);
  const before = await expanded();
  await harness.request('DELETE', `/api/publication/${publication_ids[0]}`, { token: shop.secret.token });
  await harness.settled();
  expect(await expanded()).toEqual(titles.slice(2, 2 + before.length));
});
