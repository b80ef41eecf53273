import { type Harness, startHarness } from '../support/harness';
import { namesOf, type StockedShop, stockShop } from './reads-shop';

let harness: Harness;
let shop: StockedShop;

beforeAll(async () => {
  harness = await startHarness();
  shop = await stockShop(harness);
});
afterAll(() => harness.close());

const get = (path: string, key: 'public' | 'secret' = 'public') =>
  harness.request('GET', path, { token: shop[key].token });
const data = async (path: string, key: 'public' | 'secret' = 'public') => {
  const reply = await get(path, key);
  if (reply.status !== 200) throw new Error(`GET ${path}: ${reply.status} ${reply.text}`);
  return reply.body.data;
};
const failure = async (path: string, key: 'public' | 'secret' = 'public') => {
  const { status, body } = await get(path, key);
  return [status, body.error?.code];
};

describe('a listing’s publications', () => {
  const path = (query = '') => `/api/listing/${shop.listings.Shirts}/publications${query}`;
  const SEQUENCE = [
    ...['First star', 'Second star'],
    ...['Cheap shirt', 'Ärmelloses shirt', 'Plain shirt', 'Unpriced shirt'],
  ];

  test('show the featured ones first, then the others by the listing’s own mode', async () => {
    const result = await data(path());
    expect(namesOf(result.featured)).toEqual(SEQUENCE.slice(0, 2));
    expect(namesOf(result.others)).toEqual(SEQUENCE.slice(2));
    expect(result.meta).toEqual({
      default_sort_mode: 'price_asc',
      effective_sort_mode: 'price_asc',
      pagination: { page: 1, limit: 20, total: 6, total_pages: 1 },
    });
  });

  test('are one sequence that pages of any size cut, across the border of the featured ones', async () => {
    for (const limit of [1, 2, 3, 4, 5]) {
      const walked: string[] = [];
      for (let page = 1; page <= Math.ceil(6 / limit); page++) {
        const { featured, others } = await data(path(`?limit=${limit}&page=${page}`));
        walked.push(...namesOf(featured), ...namesOf(others));
      }
      expect(walked).toEqual(SEQUENCE);
    }
  });

  test('take the request’s sort, which leaves the featured ones in front', async () => {
    const result = await data(path('?sort=name&order=desc'));
    expect(namesOf([...result.featured, ...result.others])).toEqual([
      ...['First star', 'Second star'],
      ...['Unpriced shirt', 'Plain shirt', 'Cheap shirt', 'Ärmelloses shirt'],
    ]);
    expect(result.meta.effective_sort_mode).toBe('name_desc');
  });

  test('hold the hidden ones for who asks for them with a secret key', async () => {
    const managed = await data(path('?visibility=private'), 'secret');
    expect(namesOf(managed.others)).toEqual(['Hidden shirt']);
    expect((await data(path('?visibility=all'), 'secret')).meta.pagination.total).toBe(7);
  });

  test('of a hidden listing are not found', async () => {
    const cellar = `/api/listing/${shop.listings.Cellar}/publications`;
    for (const key of ['public', 'secret'] as const)
      expect(await failure(cellar, key)).toEqual([404, 'LISTING_NOT_FOUND']);
    expect(namesOf((await data(`${cellar}?visibility=all`, 'secret')).others)).toEqual([
      'Hidden wine',
      'Wine',
    ]);
  });
});

describe('visibility by id', () => {
  const publication = (title: string, query = '') => `/api/publication/${shop.publications[title]}${query}`;

  test('a hidden publication is not found by either kind of key, until a secret one asks for it', async () => {
    for (const key of ['public', 'secret'] as const)
      expect(await failure(publication('Hidden shirt'), key)).toEqual([404, 'PUBLICATION_NOT_FOUND']);
    for (const visibility of ['private', 'all'])
      expect(await data(publication('Hidden shirt', `?visibility=${visibility}`), 'secret')).toMatchObject({
        title: 'Hidden shirt',
        visibility: 'private',
      });
  });

  test('visibility=private finds no public resource', async () => {
    expect(await failure(publication('Wine', '?visibility=private'), 'secret')).toEqual([
      404,
      'PUBLICATION_NOT_FOUND',
    ]);
  });

  test('a public publication of a hidden listing is readable, its expanded listing absent', async () => {
    expect(await data(publication('Wine', '?expand=listing'))).not.toHaveProperty('listing');
    expect(await data(publication('Wine', '?expand=listing&visibility=all'), 'secret')).toMatchObject({
      listing: { object: 'listing', name: 'Cellar' },
    });
  });
});

describe('expansion and stats', () => {
  test('a publication with its listing and media', async () => {
    const path = `/api/publication/${shop.publications['Plain shirt']}`;
    const plain = await data(path);
    expect(plain).not.toHaveProperty('listing');
    expect(plain.stats).toEqual({ media_count: 0, view_count: 0 });
    expect(await data(`${path}?expand=listing,media`)).toEqual({
      ...plain,
      listing: expect.objectContaining({ id: shop.listings.Shirts, object: 'listing', name: 'Shirts' }),
      media: { object: 'collection', data: [], total_count: 0, has_more: false, url: expect.any(String) },
    });
  });

  test('a listing with its publications, featured first; counts by visibility', async () => {
    const path = `/api/listing/${shop.listings.Shirts}`;
    const shown = await data(`${path}?expand=publication`);
    expect(shown.stats).toEqual({ media_count: 0, publication_count: 6 });
    expect(shown.publications).toMatchObject({ object: 'collection', total_count: 6, has_more: false });
    expect(namesOf(shown.publications.data).slice(0, 3)).toEqual([
      'First star',
      'Second star',
      'Cheap shirt',
    ]);
    const all = await data(`${path}?expand=publication&visibility=all`, 'secret');
    expect(all.stats.publication_count).toBe(7);
    expect(namesOf(all.publications.data)).toContain('Hidden shirt');
  });

  test('the address of an expanded collection goes on with the same items', async () => {
    const query = 'expand=publication&visibility=all';
    const { publications } = await data(`/api/listing/${shop.listings.Shirts}?${query}`, 'secret');
    const { featured, others } = await data(publications.url, 'secret');
    expect([...featured, ...others]).toEqual(publications.data);
    const store = await data('/api/store?expand=listing&visibility=all', 'secret');
    expect(await data(store.listings.url, 'secret')).toEqual(store.listings.data);
  });

  test('the store with its listings', async () => {
    const store = await data('/api/store?expand=listing');
    expect(store).toMatchObject({ object: 'store', id: shop.store_id, stats: { listing_count: 1 } });
    expect(store.listings).toMatchObject({ object: 'collection', total_count: 1, has_more: false });
    expect(store.listings.data).toMatchObject([{ name: 'Shirts', stats: { publication_count: 6 } }]);
    const managed = await data('/api/store?expand=listing&visibility=private', 'secret');
    expect(managed.stats.listing_count).toBe(1);
    expect(managed.listings.data).toMatchObject([{ name: 'Cellar', stats: { publication_count: 1 } }]);
  });
});
