import type { Publication } from '../../../shared/catalog/publication/publication';
import { ReadWorld, refusal, STOREFRONT } from './read-world';
import { minute, sampleListing, samplePublication, sampleStore } from './sample';

const store = sampleStore('store');
const shirts = sampleListing(store, 'Shirts', { default_sort_mode: 'price_asc' });
const hidden = sampleListing(store, 'Hidden', { visibility: 'private' });

/** Seven featured ones, two of them at the same position, and nine others, the last without a price to show. */
const featured = [3, 1, 2, 2, 6, 5, 4].map((featured_position, n) =>
  samplePublication(store, `Featured ${n}`, {
    listing_id: shirts.id,
    featured_position,
    price_amount: 900 - n,
  }),
);
const others = Array.from({ length: 9 }, (_, n) =>
  samplePublication(store, `Other ${n}`, {
    listing_id: shirts.id,
    price_amount: 100 + n,
    created_at: minute(n),
    price_active: n !== 8,
  }),
);
const secret = samplePublication(store, 'Secret', { listing_id: shirts.id, visibility: 'private' });
const inHidden = samplePublication(store, 'In hidden', { listing_id: hidden.id });

interface Result {
  featured: { id: string; title: string }[];
  others: { id: string; title: string }[];
  meta: { default_sort_mode: string; effective_sort_mode: string; pagination: Record<string, number> };
}

describe('GET /api/listing/:id/publications', () => {
  let world: ReadWorld;

  beforeAll(async () => {
    world = await ReadWorld.open([store.id]);
    const publications = [...others, secret, inHidden, ...featured];
    await world.fill({ store, listings: [shirts, hidden], publications });
  });
  afterAll(() => world.close());

  const ask = async (query = '', id: string = shirts.id) => {
    const answer = await world.ask('/api/listing/:id/publications', { id, query });
    expect(answer.meta).toBeUndefined();
    return answer.data as unknown as Result;
  };
  const titles = (items: readonly { title: string }[]) => items.map((item) => item.title);

  /** By position, the cheaper first at the same one. */
  const featuredInOrder = ['Featured 1', 'Featured 3', 'Featured 2', 'Featured 0'].concat([
    'Featured 6',
    'Featured 5',
    'Featured 4',
  ]);
  const othersInOrder = titles(others);

  test('the featured ones come first by position, then the others by the listing’s own mode', async () => {
    const result = await ask();
    expect(titles(result.featured)).toEqual(featuredInOrder);
    expect(titles(result.others)).toEqual(othersInOrder);
    expect(result.meta).toEqual({
      default_sort_mode: 'price_asc',
      effective_sort_mode: 'price_asc',
      pagination: { page: 1, limit: 20, total: 16, total_pages: 1 },
    });
  });

  test.each([1, 2, 3, 5, 7, 8, 16, 50])(
    'pages of %i cut one sequence, across the border of featured and others',
    async (limit) => {
      const walked: string[] = [];
      const pages = Math.ceil(16 / limit);
      for (let page = 1; page <= pages; page++) {
        const result = await ask(`page=${page}&limit=${limit}`);
        const share = [...result.featured, ...result.others];
        expect(share.length).toBe(Math.min(limit, 16 - (page - 1) * limit));
        expect(result.meta.pagination).toEqual({ page, limit, total: 16, total_pages: pages });
        walked.push(...titles(share));
      }
      expect(walked).toEqual([...featuredInOrder, ...othersInOrder]);
      expect(await ask(`page=${pages + 1}&limit=${limit}`)).toMatchObject({ featured: [], others: [] });
    },
  );

  test('the request’s sort and order replace the listing’s mode, never the featured ones’ place', async () => {
    const newest = await ask('sort=created_at');
    expect(newest.meta).toMatchObject({
      default_sort_mode: 'price_asc',
      effective_sort_mode: 'created_at_desc',
    });
    expect(titles(newest.others)).toEqual([...othersInOrder].reverse());
    expect(newest.featured.map((item) => (item as unknown as Publication).featured_position)).toEqual([
      1, 2, 2, 3, 4, 5, 6,
    ]);
  });

  test('order alone turns the listing’s own mode; the one without a price stays last', async () => {
    const result = await ask('order=desc');
    expect(result.meta.effective_sort_mode).toBe('price_desc');
    const priced = othersInOrder.slice(0, 8).reverse();
    expect(titles(result.others)).toEqual([...priced, 'Other 8']);
  });

  test('hidden publications are shown and counted only to who asks for them', async () => {
    expect((await ask('visibility=all')).meta.pagination.total).toBe(17);
    const managed = await ask('visibility=private');
    expect(titles(managed.others)).toEqual(['Secret']);
    expect(managed.meta.pagination).toEqual({ page: 1, limit: 20, total: 1, total_pages: 1 });
  });

  test('a hidden listing is not found, unless one asks for what is hidden', async () => {
    expect(await refusal(ask('', hidden.id))).toBe('listing_not_found');
    expect(titles((await ask('visibility=all', hidden.id)).others)).toEqual(['In hidden']);
    expect(titles((await ask('visibility=private', hidden.id)).others)).toEqual([]);
    const asked = { id: shirts.id, query: 'visibility=all', as: STOREFRONT };
    expect(await refusal(world.ask('/api/listing/:id/publications', asked))).toBe('insufficient_permissions');
  });

  test('its publications can be expanded', async () => {
    const result = await ask('expand=listing&limit=1');
    expect(result.featured[0]).toMatchObject({ listing: { id: shirts.id, name: 'Shirts' } });
  });

  test.each(['limit=51', 'limit=0', 'page=0', 'page=x', 'sort=title', 'order=up', 'expand=store'])(
    '%s is a bad query',
    async (query) => {
      expect(await refusal(ask(query))).toBe('invalid_query');
    },
  );
});
