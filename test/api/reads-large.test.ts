import { CatalogClient } from '../../shared/client';
import { type Harness, type Shop, startHarness } from '../support/harness';

/** A publication of this length is 180 kB of JSON, because each character takes three bytes. */
const fields = {
  price_currency: 'USD',
  price_amount: 100,
  description: '界'.repeat(10_000),
  description_html: `<p>${'界'.repeat(49_990)}</p>`,
};
const PUBLIC = 14;
const PRIVATE = 2;
const TOTAL = PUBLIC + PRIVATE;

describe('a listing whose publications are too large for its document', () => {
  let harness: Harness;
  let shop: Shop;
  let listing_id: string;
  const titles: string[] = [];

  const get = async (path: string) => {
    const reply = await harness.request('GET', path, { token: shop.secret.token });
    expect(reply.status).toBe(200);
    return reply.body.data;
  };

  beforeAll(async () => {
    harness = await startHarness();
    shop = await harness.newShop();
    const create = async (path: string, body: object): Promise<string> => {
      const reply = await harness.request('POST', path, { token: shop.secret.token, body });
      expect(reply.status).toBe(201);
      return reply.body.data.id;
    };
    listing_id = await create('/api/listing', { name: 'Novels' });
    for (let n = 0; n < TOTAL; n++) {
      const title = `Novel ${n}`;
      // The first and the last ones are private.
      const visibility = n === 0 || n === TOTAL - 1 ? 'private' : 'public';
      await create('/api/publication', { ...fields, title, visibility, listing_id });
      titles.unshift(title);
    }
    await harness.settled();
  });
  afterAll(() => harness?.close());

  const titlesOf = (items: readonly { title: string }[]): string[] => items.map(({ title }) => title);

  test.each([
    ['public', PUBLIC],
    ['all', TOTAL],
  ])(
    'is expanded to the first of them, with the right total, for visibility=%s',
    async (visibility, total) => {
      const { publications } = await get(
        `/api/listing/${listing_id}?expand=publication&visibility=${visibility}`,
      );
      const shown = visibility === 'all' ? titles : titles.slice(1, -1);
      expect(publications.data.length).toBeGreaterThan(5);
      expect(publications.data.length).toBeLessThan(PUBLIC);
      expect(titlesOf(publications.data)).toEqual(shown.slice(0, publications.data.length));
      expect(publications).toMatchObject({ total_count: total, has_more: true });

      const separator = publications.url.includes('?') ? '&' : '?';
      const page = await get(`${publications.url}${separator}limit=20`);
      expect(titlesOf(page.others)).toEqual(shown);
      expect(page.meta.pagination.total).toBe(total);
    },
  );

  test('has complete first pages', async () => {
    for (const limit of [3, PUBLIC - 1, 20])
      expect(titlesOf((await get(`/api/listing/${listing_id}/publications?limit=${limit}`)).others)).toEqual(
        titles.slice(1, -1).slice(0, limit),
      );
  });

  test('shows the next one if one of the first is deleted', async () => {
    const expanded = async (): Promise<string[]> =>
      titlesOf((await get(`/api/listing/${listing_id}?expand=publication`)).publications.data);
    const before = await expanded();
    const { others } = await get(`/api/listing/${listing_id}/publications?limit=1`);
    await harness.request('DELETE', `/api/publication/${others[0].id}`, { token: shop.secret.token });
    await harness.settled();
    expect(await expanded()).toEqual(titles.slice(2, 2 + before.length));
  });
});

describe('lists that would have more than 8 MB', () => {
  const LISTINGS = 5;
  const IN_EACH = 8;
  const TOTAL_ITEMS = LISTINGS * IN_EACH;
  const ANSWER_BYTES_MAX = 8_000_000;
  /** 240 kB of JSON. */
  const largest = { ...fields, description: '🐉'.repeat(10_000), description_html: '🐉'.repeat(50_000) };
  let harness: Harness;
  let shop: Shop;
  const listing_ids: string[] = [];
  const publication_ids: string[] = [];

  const get = async (path: string) => {
    const reply = await harness.request('GET', path, { token: shop.public.token });
    expect(reply.status).toBe(200);
    expect(Buffer.byteLength(reply.text)).toBeLessThanOrEqual(ANSWER_BYTES_MAX);
    return reply;
  };

  beforeAll(async () => {
    harness = await startHarness();
    shop = await harness.newShop();
    const create = async (path: string, body: object): Promise<string> =>
      (await harness.request('POST', path, { token: shop.secret.token, body })).body.data.id;
    for (let n = 0; n < LISTINGS; n++) {
      const listing_id = await create('/api/listing', { name: `Shelf ${n}` });
      listing_ids.unshift(listing_id);
      for (let m = 0; m < IN_EACH; m++)
        publication_ids.unshift(
          await create('/api/publication', { ...largest, title: `Novel ${n}`, listing_id }),
        );
    }
    await harness.settled();
  });
  afterAll(() => harness?.close());

  const idsOf = (items: readonly { id: string }[]): string[] => items.map(({ id }) => id);

  test.each(['/api/listings', '/api/store-listings'])(
    '%s has all its items, and the expansions that fit',
    async (path) => {
      const { data, meta } = (await get(`${path}?limit=50&expand=publication,media`)).body;
      expect(idsOf(data)).toEqual(listing_ids);
      const [first, ...others] = data;
      expect(first.publications.data.length).toBeGreaterThan(5);
      for (const { publications, media } of others) {
        expect(publications.has_more).toBe(publications.data.length < IN_EACH);
        expect(publications).toMatchObject({ object: 'collection', total_count: IN_EACH });
        expect(media).toMatchObject({ object: 'collection', data: [], has_more: false });
      }
      expect(data.at(-1).publications.data.length).toBeLessThan(first.publications.data.length);
      const page = await get(data.at(-1).publications.url);
      expect(page.body.data.others).toHaveLength(IN_EACH);
      expect(meta.pagination).toMatchObject({ limit: 50, total_items: LISTINGS, total_pages: 1 });
      expect(meta.pagination.shortened_items).toBeGreaterThan(0);
      expect(meta.pagination.omitted_items).toBeUndefined();
    },
  );

  test.each([
    ['/api/publications', ''],
    ['/api/publications', '&expand=listing,media'],
    ['/api/store/search', '&q=novel'],
    ['/api/publication/:id/related', ''],
  ])('%s says how many items it omits, and they can be read with a smaller limit%s', async (path, query) => {
    const url = path.replace(':id', publication_ids[0]!);
    const { data, meta } = (await get(`${url}?limit=50${query}`)).body;
    const { omitted_items, total_items } = meta.pagination;
    expect(meta.pagination).toMatchObject({ page: 1, limit: 50, total_pages: 1 });
    expect(data.length + omitted_items).toBe(total_items);
    expect(data.length).toBeGreaterThan(30);
    const rest: string[] = [];
    for (let item = data.length + 1; item <= total_items; item++)
      rest.push(...idsOf((await get(`${url}?limit=1&page=${item}${query}`)).body.data));
    const is_itself_missing = path.endsWith('related') ? 1 : 0;
    expect(new Set([...idsOf(data), ...rest]).size).toBe(TOTAL_ITEMS - is_itself_missing);
  });

  test('the client library yields every item', async () => {
    const client = new CatalogClient({ baseUrl: harness.url, apiKey: shop.public.key });
    expect(idsOf(await client.publications.list().all())).toEqual(publication_ids);
  });
});
