import type { CatalogClient, QueryOf } from '../../shared/client';
import { type Harness, startHarness } from '../support/harness';
import { namesOf, type StockedShop, stockShop } from './reads-shop';

const NO_LISTING = { status: 404, code: 'LISTING_NOT_FOUND' };
const NO_PUBLICATION = { status: 404, code: 'PUBLICATION_NOT_FOUND' };

let harness: Harness;
let shop: StockedShop;

beforeAll(async () => {
  harness = await startHarness();
  shop = await stockShop(harness);
});
afterAll(() => harness.close());

/** Clients with the public key of a storefront, and with the secret key of its merchant. */
const visitor = () => harness.client(shop.public);
const merchant = () => harness.client(shop.secret);
const idOf = (title: string): string => shop.publications[title]!;

describe('a listing’s publications', () => {
  const shirts = (client: CatalogClient, query: QueryOf<'listListingPublications'> = {}) =>
    client.listings.publications(shop.listings.Shirts, query);
  const SEQUENCE = [
    ...['First star', 'Second star'],
    ...['Cheap shirt', 'Ärmelloses shirt', 'Plain shirt', 'Unpriced shirt'],
  ];

  test('have featured ones first, then the others by the listing’s sort mode', async () => {
    const result = await shirts(visitor(), { limit: 20 }).page();
    expect(namesOf(result.featured)).toEqual(SEQUENCE.slice(0, 2));
    expect(namesOf(result.others)).toEqual(SEQUENCE.slice(2));
    expect(result.meta).toEqual({
      default_sort_mode: 'price_asc',
      effective_sort_mode: 'price_asc',
      pagination: { page: 1, limit: 20, total: 6, total_pages: 1 },
    });
  });

  test('are one sequence of featured and other publications, divided into pages of any size', async () => {
    for (const limit of [1, 2, 3, 4, 5]) {
      const walked: string[] = [];
      for (let page = 1; page <= Math.ceil(6 / limit); page++) {
        const { featured, others } = await shirts(visitor(), { limit, page }).page();
        walked.push(...namesOf(featured), ...namesOf(others));
      }
      expect(walked).toEqual(SEQUENCE);
      expect(namesOf(await shirts(visitor(), { limit }).all())).toEqual(SEQUENCE);
    }
  });

  test('can be sorted, with featured ones still first', async () => {
    const result = await shirts(visitor(), { sort: 'name', order: 'desc' }).page();
    expect(namesOf([...result.featured, ...result.others])).toEqual([
      ...['First star', 'Second star'],
      ...['Unpriced shirt', 'Plain shirt', 'Cheap shirt', 'Ärmelloses shirt'],
    ]);
    expect(result.meta.effective_sort_mode).toBe('name_desc');
  });

  test('include private ones with a secret key and another visibility', async () => {
    const managed = await shirts(merchant(), { visibility: 'private' }).page();
    expect(namesOf(managed.others)).toEqual(['Hidden shirt']);
    expect((await shirts(merchant(), { visibility: 'all' }).page()).meta.pagination.total).toBe(7);
  });

  test('of a private listing are only found with another visibility', async () => {
    const cellar = shop.listings.Cellar;
    for (const client of [visitor(), merchant()])
      await expect(client.listings.publications(cellar).page()).rejects.toMatchObject(NO_LISTING);
    const managed = await merchant().listings.publications(cellar, { visibility: 'all' }).page();
    expect(namesOf(managed.others)).toEqual(['Hidden wine', 'Wine']);
  });
});

describe('visibility by id', () => {
  test('a private publication is only found with a secret key and another visibility', async () => {
    const id = idOf('Hidden shirt');
    for (const client of [visitor(), merchant()])
      await expect(client.publications.get(id)).rejects.toMatchObject(NO_PUBLICATION);
    for (const visibility of ['private', 'all'] as const)
      expect(await merchant().publications.get(id, { visibility })).toMatchObject({
        title: 'Hidden shirt',
        visibility: 'private',
      });
  });

  test('visibility=private does not find public resources', async () => {
    const wine = merchant().publications.get(idOf('Wine'), { visibility: 'private' });
    await expect(wine).rejects.toMatchObject(NO_PUBLICATION);
  });

  test('a public publication of a private listing is readable, without the expanded listing', async () => {
    const wine = idOf('Wine');
    expect(await visitor().publications.get(wine, { expand: ['listing'] })).not.toHaveProperty('listing');
    const managed = await merchant().publications.get(wine, { expand: ['listing'], visibility: 'all' });
    expect(managed.listing).toMatchObject({ object: 'listing', name: 'Cellar' });
  });
});

describe('expansion and stats', () => {
  test('a publication expands its listing and media', async () => {
    const id = idOf('Plain shirt');
    const plain = await visitor().publications.get(id);
    expect(plain).not.toHaveProperty('listing');
    expect(plain.stats).toEqual({ media_count: 0, view_count: 0 });
    expect(await visitor().publications.get(id, { expand: ['listing', 'media'] })).toEqual({
      ...plain,
      listing: expect.objectContaining({ id: shop.listings.Shirts, object: 'listing', name: 'Shirts' }),
      media: { object: 'collection', data: [], total_count: 0, has_more: false, url: expect.any(String) },
    });
  });

  test('a listing expands its publications, featured first, with counts by visibility', async () => {
    const id = shop.listings.Shirts;
    const shown = await visitor().listings.get(id, { expand: ['publication'] });
    expect(shown.stats).toEqual({ media_count: 0, publication_count: 6 });
    expect(shown.publications).toMatchObject({ object: 'collection', total_count: 6, has_more: false });
    expect(namesOf(shown.publications.data).slice(0, 3)).toEqual([
      'First star',
      'Second star',
      'Cheap shirt',
    ]);
    const all = await merchant().listings.get(id, { expand: ['publication'], visibility: 'all' });
    expect(all.stats?.publication_count).toBe(7);
    expect(namesOf(all.publications.data)).toContain('Hidden shirt');
  });

  test('the url of an expanded collection returns the same items', async () => {
    const follow = async (url: string) =>
      (await harness.request('GET', url, { token: shop.secret.token })).body.data;
    const query = { expand: ['publication'], visibility: 'all' } as const;
    const { publications } = await merchant().listings.get(shop.listings.Shirts, query);
    const { featured, others } = await follow(publications.url);
    expect([...featured, ...others]).toEqual(publications.data);
    const store = await merchant().store.get({ expand: ['listing'], visibility: 'all' });
    expect(await follow(store.listings.url)).toEqual(store.listings.data);
  });

  test('a store expands its listings', async () => {
    const store = await visitor().store.get({ expand: ['listing'] });
    expect(store).toMatchObject({ object: 'store', id: shop.store_id, stats: { listing_count: 1 } });
    expect(store.listings).toMatchObject({ object: 'collection', total_count: 1, has_more: false });
    expect(store.listings.data).toMatchObject([{ name: 'Shirts', stats: { publication_count: 6 } }]);
    const managed = await merchant().store.get({ expand: ['listing'], visibility: 'private' });
    expect(managed.stats?.listing_count).toBe(1);
    expect(managed.listings.data).toMatchObject([{ name: 'Cellar', stats: { publication_count: 1 } }]);
  });
});
