import type { Publication } from '../../../shared/catalog/publication/publication';
import { ReadWorld } from './read-world';
import { minute, sampleListing, samplePublication, sampleStore } from './sample';

const store = sampleStore('store');
const shirts = sampleListing(store, 'Shirts', { default_sort_mode: 'price_asc' });
const hidden = sampleListing(store, 'Hidden', { visibility: 'private' });

/** Seven featured publications, two of them at the same position, and nine others, the last with an inactive price. */
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

  /** By position; at the same position, the cheaper one first. */
  const featuredInOrder = ['Featured 1', 'Featured 3', 'Featured 2', 'Featured 0'].concat([
    'Featured 6',
    'Featured 5',
    'Featured 4',
  ]);
  const othersInOrder = titles(others);

  test.each([1, 2, 3, 5, 7, 8, 16, 50])(
    'pages of %i divide one sequence of featured and other publications',
    async (limit) => {
      const walked: string[] = [];
      let cursor: unknown;
      const pages = Math.ceil(16 / limit);
      for (let page = 1; page <= pages; page++) {
        const result = await ask(`page=${page}&limit=${limit}`);
        const items = [...result.featured, ...result.others];
        expect(items.length).toBe(Math.min(limit, 16 - (page - 1) * limit));
        if (cursor !== undefined) expect(await ask(`cursor=${cursor}&limit=${limit}`)).toEqual(result);
        const { next_cursor, ...pagination } = result.meta.pagination;
        expect(pagination).toEqual({ page, limit, total: 16, total_pages: pages });
        expect(next_cursor === undefined).toBe(page === pages);
        cursor = next_cursor;
        walked.push(...titles(items));
      }
      expect(walked).toEqual([...featuredInOrder, ...othersInOrder]);
      expect(await ask(`page=${pages + 1}&limit=${limit}`)).toMatchObject({ featured: [], others: [] });
    },
  );

  test('sort and order replace the listing’s sort mode, but featured publications stay first', async () => {
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

  test('order alone reverses the listing’s sort mode, and an inactive price stays last', async () => {
    const result = await ask('order=desc');
    expect(result.meta.effective_sort_mode).toBe('price_desc');
    const priced = othersInOrder.slice(0, 8).reverse();
    expect(titles(result.others)).toEqual([...priced, 'Other 8']);
  });
});
