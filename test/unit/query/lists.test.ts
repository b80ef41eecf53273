import fc from 'fast-check';
import type { JsonObject } from '../../../shared/catalog/events/envelope';
import type { Publication } from '../../../shared/catalog/publication/publication';
import { compareByOrder, orderOf } from '../../../shared/catalog/sorting';
import { listSortModeSchema, type Visibility } from '../../../shared/catalog/vocabulary';
import { cases, SEED } from '../../support/long';
import { publicationKeys } from './catalog-documents';
import { ReadWorld } from './read-world';
import { idOf, minute, sampleListing, samplePublication, sampleStore } from './sample';

const store = sampleStore('store');
const other = sampleStore('other');
const foreign = sampleListing(other, 'Foreign');
const open = sampleListing(store, 'Open');
const hidden = sampleListing(store, 'Hidden', { visibility: 'private' });

/** Few values each, so that ties are frequent. */
const publications = fc.sample(
  fc.record({
    visibility: fc.constantFrom<Visibility>('public', 'public', 'private'),
    listing_id: fc.constantFrom(open.id, hidden.id, null),
    price_amount: fc.constantFrom(0, 100, 250, 99_999_999_999),
    price_active: fc.constantFrom(true, true, false),
    title: fc.constantFrom('Ärmel', 'armel', 'Zoë', 'apple', 'Éclair', '帽子'),
    free_shipping: fc.constantFrom(true, false, null),
    quantity_available: fc.constantFrom(0, 3, null),
    featured_position: fc.constantFrom(1, 10_000, null, null),
    created_at: fc.constantFrom(minute(1), minute(2), minute(3)),
  }),
  { numRuns: 120, seed: SEED },
);
const items: Publication[] = publications.map((fields, n) => samplePublication(store, `#${n}`, fields));

interface Filters {
  visibility: 'public' | 'private' | 'all';
  listing_id?: string | undefined;
  featured?: boolean | undefined;
  free_shipping?: boolean | undefined;
  in_stock?: boolean | undefined;
  min_price?: number | undefined;
  max_price?: number | undefined;
}

/** Implements the filters independently of keys, sentinel values and facets. */
function matches(item: Publication, filters: Filters): boolean {
  const { min_price = 0, max_price = Number.POSITIVE_INFINITY } = filters;
  const has_range = filters.min_price !== undefined || filters.max_price !== undefined;
  const hiddenListing = filters.listing_id === hidden.id && filters.visibility === 'public';
  const matchesFlag = (filter: boolean | undefined, value: boolean) =>
    filter === undefined || filter === value;
  return (
    (filters.visibility === 'all' || filters.visibility === item.visibility) &&
    (filters.listing_id === undefined || (filters.listing_id === item.listing_id && !hiddenListing)) &&
    matchesFlag(filters.featured, item.featured_position !== null) &&
    matchesFlag(filters.free_shipping, item.free_shipping === true) &&
    matchesFlag(filters.in_stock, item.quantity_available !== 0) &&
    (!has_range || (item.price_active && item.price_amount >= min_price && item.price_amount <= max_price))
  );
}

const filtersOf = fc.record({
  visibility: fc.constantFrom<Filters['visibility']>('public', 'private', 'all'),
  listing_id: fc.constantFrom(undefined, undefined, open.id, hidden.id, foreign.id, idOf('nothing')),
  featured: fc.constantFrom(undefined, true, false),
  free_shipping: fc.constantFrom(undefined, true, false),
  in_stock: fc.constantFrom(undefined, true, false),
  min_price: fc.constantFrom(undefined, undefined, 0, 100),
  max_price: fc.constantFrom(undefined, undefined, 250, 999_999_999_999),
});

describe('lists', () => {
  let world: ReadWorld;

  beforeAll(async () => {
    world = await ReadWorld.open([store.id]);
    await world.fill({ store, listings: [open, hidden], publications: items });
    const foreign_publication = samplePublication(other, 'Foreign publication', { listing_id: foreign.id });
    await world.fill({ store: other, listings: [foreign], publications: [foreign_publication] });
  });
  afterAll(() => world.close());

  const ids = (data: unknown) => (data as { id: string }[]).map((item) => item.id);

  test('the pages have every matching publication once and in order, with any filter and sort', async () => {
    const mode = fc.constantFrom(...listSortModeSchema.options);
    await fc.assert(
      fc.asyncProperty(filtersOf, mode, fc.constantFrom(1, 7, 20, 50), async (filters, requested, limit) => {
        const expected = items
          .filter((item) => matches(item, filters))
          .map((item) => ({ id: item.id, keys: publicationKeys(item) }))
          .sort((a, b) => compareByOrder(orderOf(requested), a, b))
          .map((item) => item.id as string);
        const [, sort, order] = /^(.*)_(asc|desc)$/.exec(requested)!;
        const parameters = Object.entries(filters).filter(([, value]) => value !== undefined);
        const pages = Math.max(1, Math.ceil(expected.length / limit));
        const walked: string[] = [];
        let cursor: unknown;
        for (let page = 1; page <= pages; page++) {
          const read = async (start: [string, string]) => {
            const query = new URLSearchParams([
              ...parameters.map(([name, value]) => [name, String(value)] as [string, string]),
              ['sort', sort!],
              ['order', order!],
              ['limit', String(limit)],
              start,
            ]);
            return world.ask('/api/publications', { query: String(query) });
          };
          const answer = await read(['page', String(page)]);
          // The page after a cursor is the page with the next number.
          if (cursor !== undefined) expect(await read(['cursor', String(cursor)])).toEqual(answer);
          const { next_cursor, ...pagination } = answer.meta!.pagination as JsonObject;
          cursor = next_cursor;
          expect(cursor === undefined).toBe(page === pages);
          expect({ ...answer.meta, pagination }).toEqual({
            page,
            take: limit,
            item_count: expected.length,
            pagination: {
              page,
              limit,
              total_items: expected.length,
              total_pages: Math.ceil(expected.length / limit),
            },
          });
          walked.push(...ids(answer.data));
        }
        expect(walked).toEqual(expected);
      }),
      cases(25),
    );
  });

  test.each(['sort=price&order=asc', 'sort=price&order=desc', 'sort=name'])(
    'an inactive price matches no range, with %s',
    async (sort) => {
      const shown = items.filter((item) => item.price_active && item.visibility === 'public');
      for (const range of [
        'min_price=0',
        'max_price=999999999999999',
        'min_price=0&max_price=999999999999',
      ]) {
        const answer = await world.ask('/api/publications', { query: `${range}&${sort}&limit=50` });
        expect(answer.meta).toMatchObject({ item_count: shown.length });
        expect((answer.data as { price_active: boolean }[]).every((item) => item.price_active)).toBe(true);
      }
    },
  );

  test('sort has a default direction, and order without sort reverses the default order', async () => {
    const list = async (query: string) => ids((await world.ask('/api/publications', { query })).data);
    expect(await list('')).toEqual(await list('sort=created_at&order=desc'));
    expect(await list('sort=created_at')).toEqual(await list('sort=created_at&order=desc'));
    expect(await list('sort=price')).toEqual(await list('sort=price&order=asc'));
    expect(await list('sort=name')).toEqual(await list('sort=name&order=asc'));
    expect(await list('order=asc')).toEqual(await list('sort=created_at&order=asc'));
  });

  test('both paths of the list of listings return the same, with totals by visibility', async () => {
    for (const [query, total] of [
      ['', 1],
      ['visibility=private', 1],
      ['visibility=all', 2],
    ] as const) {
      const answer = await world.ask('/api/listings', { query });
      expect(answer.meta).toMatchObject({ item_count: total });
      expect(await world.ask('/api/store-listings', { query })).toEqual(answer);
    }
  });

  test('listings sorted by price are sorted by id, because they have no price', async () => {
    const list = async (query: string) =>
      ids((await world.ask('/api/listings', { query: `visibility=all&${query}` })).data);
    const byId = [open.id, hidden.id].sort();
    expect(await list('sort=price')).toEqual(byId);
    expect(await list('sort=price&order=desc')).toEqual(byId.reverse());
  });
});
