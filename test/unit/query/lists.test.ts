import fc from 'fast-check';
import type { JsonObject } from '../../../shared/catalog/events/envelope';
import { initialValues } from '../../../shared/catalog/fields';
import type { Publication } from '../../../shared/catalog/publication/publication';
import { type Variant, variantFields } from '../../../shared/catalog/publication/variants';
import { compareByOrder, orderOf } from '../../../shared/catalog/sorting';
import { listSortModeSchema, type Visibility } from '../../../shared/catalog/vocabulary';
import { cases, SEED } from '../../support/long';
import { NOW_MS, publicationKeys, type Sold, soldOf } from './catalog-documents';
import { ReadWorld } from './read-world';
import { idOf, minute, sampleListing, samplePublication, sampleStore } from './sample';

const store = sampleStore('store');
const other = sampleStore('other');
const foreign = sampleListing(other, 'Foreign');
const open = sampleListing(store, 'Open');
const hidden = sampleListing(store, 'Hidden', { visibility: 'private' });

const SIZES = ['S', 'M', 'L'];
const COLORS = ['Red', 'Blue'];
const PRICES = [0, 100, 250, 99_999_999_999];
const price = fc.constantFrom(...PRICES);
const sale_price = fc.constantFrom(null, null, 0, 100);
const stock = fc.constantFrom(0, 3, null);
const variants = fc.uniqueArray(
  fc.record({
    ...{ size: fc.constantFrom(...SIZES), color: fc.constantFrom(...COLORS) },
    ...{ price_amount: price, sale_price_amount: sale_price, quantity_available: stock },
  }),
  { selector: ({ size, color }) => `${size} ${color}`, maxLength: 4 },
);
const [PAST, FUTURE] = [new Date(NOW_MS).toISOString(), new Date(NOW_MS + 1).toISOString()];

/** Few values each, so that ties are frequent. */
const publications = fc.sample(
  fc.record({
    visibility: fc.constantFrom<Visibility>('public', 'public', 'private'),
    listing_id: fc.constantFrom(open.id, hidden.id, null),
    price_amount: price,
    price_active: fc.constantFrom(true, true, false),
    ...{ sale_price_amount: sale_price, variants },
    ...{ sale_from: fc.constantFrom(null, PAST, FUTURE), sale_to: fc.constantFrom(null, null, PAST, FUTURE) },
    title: fc.constantFrom('Ärmel', 'armel', 'Zoë', 'apple', 'Éclair', '帽子'),
    free_shipping: fc.constantFrom(true, false, null),
    quantity_available: stock,
    featured_position: fc.constantFrom(1, 10_000, null, null),
    created_at: fc.constantFrom(minute(1), minute(2), minute(3)),
  }),
  { numRuns: 120, seed: SEED },
);
const items: Publication[] = publications.map(({ variants: all, ...fields }, n) => {
  const sold = all.map(({ size, color, ...one }, index) => ({
    ...(initialValues(variantFields) as unknown as Omit<Variant, 'id'>),
    ...{ ...one, id: `variant-${index}`, option_values: { Size: size, Color: color } },
  }));
  const options = [
    { name: 'Size', values: [...new Set(all.map(({ size }) => size))] },
    { name: 'Color', values: [...new Set(all.map(({ color }) => color))] },
  ];
  const with_variants = sold.length > 0 && { variants: sold, options };
  return samplePublication(store, `#${n}`, { ...fields, ...with_variants });
});

interface Filters {
  visibility: 'public' | 'private' | 'all';
  listing_id?: string | undefined;
  featured?: boolean | undefined;
  free_shipping?: boolean | undefined;
  in_stock?: boolean | undefined;
  min_price?: number | undefined;
  max_price?: number | undefined;
  sizes?: readonly string[] | undefined;
  colors?: readonly string[] | undefined;
}

/** Implements the filters independently of keys, sentinel values and facets. */
function matches(item: Publication, filters: Filters): boolean {
  const hiddenListing = filters.listing_id === hidden.id && filters.visibility === 'public';
  const matchesFlag = (filter: boolean | undefined, value: boolean) =>
    filter === undefined || filter === value;
  const sold = soldOf(item);
  return (
    (filters.visibility === 'all' || filters.visibility === item.visibility) &&
    (filters.listing_id === undefined || (filters.listing_id === item.listing_id && !hiddenListing)) &&
    matchesFlag(filters.featured, item.featured_position !== null) &&
    matchesFlag(filters.free_shipping, item.free_shipping === true) &&
    (filters.in_stock !== false || sold.every(({ in_stock }) => !in_stock)) &&
    sold.some((one) => isWanted(one, filters))
  );
}

/** Whether one variant, or a publication without variants, is what a customer looks for. */
function isWanted({ price, in_stock, values }: Sold, filters: Filters): boolean {
  const { min_price, max_price, sizes, colors } = filters;
  return (
    (min_price === undefined || (price !== undefined && price >= min_price)) &&
    (max_price === undefined || (price !== undefined && price <= max_price)) &&
    (filters.in_stock !== true || in_stock) &&
    (sizes === undefined || sizes.includes(values.Size!)) &&
    (colors === undefined || colors.includes(values.Color!))
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
  sizes: fc.constantFrom(undefined, undefined, ['L'], ['S', 'M']),
  colors: fc.constantFrom(undefined, undefined, ['Red'], ['Blue', 'Pink']),
});

/** Returns the parameters of the request. */
const parametersOf = ({ sizes = [], colors = [], ...others }: Filters): [string, string][] => [
  ...sizes.map((size): [string, string] => ['option.Size', size]),
  ...colors.map((color): [string, string] => ['option.Color', color]),
  ...Object.entries(others).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  ),
];

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
        const pages = Math.max(1, Math.ceil(expected.length / limit));
        const walked: string[] = [];
        let cursor: unknown;
        for (let page = 1; page <= pages; page++) {
          const read = async (start: [string, string]) => {
            const query = new URLSearchParams([
              ...parametersOf(filters),
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

  test('the facets of sizes and prices count what their values find together with the other filters', async () => {
    await fc.assert(
      fc.asyncProperty(filtersOf, async (filters) => {
        const query = new URLSearchParams([...parametersOf(filters), ['facets', 'option.Size,price']]);
        const { meta } = await world.ask('/api/publications', { query: String(query) });
        type Facet = { values: { value: string; count: number }[] };
        const [sizes, prices] = meta!.facets as unknown as [Facet, Facet];
        const count = (more: Partial<Filters>) =>
          items.filter((item) => matches(item, { ...filters, ...more })).length;
        for (const size of SIZES) {
          const { count: counted = 0 } = sizes.values.find(({ value }) => value === size) ?? {};
          expect([size, counted]).toEqual([size, count({ sizes: [size] })]);
        }
        const found = items.filter((item) =>
          matches(item, { ...filters, min_price: undefined, max_price: undefined }),
        );
        const wanted = (item: Publication) =>
          soldOf(item).filter((one) =>
            isWanted(one, { ...filters, min_price: undefined, max_price: undefined }),
          );
        const shown = new Set(found.flatMap(wanted).flatMap(({ price: one }) => one ?? []));
        for (const { value, count: counted } of prices.values) {
          const [min_price, max_price] = value.split('-').map(Number);
          expect([value, counted]).toEqual([value, count({ min_price, max_price })]);
          for (const one of shown) if (one >= min_price! && one <= max_price!) shown.delete(one);
        }
        expect([...shown]).toEqual([]);
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
