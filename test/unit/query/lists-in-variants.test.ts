import fc from 'fast-check';
import type { JsonObject } from '../../../shared/catalog/events/envelope';
import { initialValues } from '../../../shared/catalog/fields';
import { type CurrencyPrice, pricesWith } from '../../../shared/catalog/publication/currency-prices';
import type { Publication } from '../../../shared/catalog/publication/publication';
import { type Variant, variantFields } from '../../../shared/catalog/publication/variants';
import type { Visibility } from '../../../shared/catalog/vocabulary';
import { cases, SEED } from '../../support/long';
import { NOW_MS } from './catalog-documents';
import { ReadWorld } from './read-world';
import { minute, sampleListing, samplePublication, sampleStore } from './sample';

const store = sampleStore('store', {
  currencies: ['PEN', 'EUR', 'USD'],
  locales: ['es', 'sv', 'sv-FI', 'es-PE'],
});
const parent = sampleListing(store, 'Parent', { default_sort_mode: 'price_asc' });
const child = sampleListing(store, 'Child', { parent_id: parent.id, default_sort_mode: 'price_desc' });
const named = sampleListing(store, 'Named', { default_sort_mode: 'name_desc' });
const LISTINGS = [parent.id, child.id];

const [PAST, FUTURE] = [new Date(NOW_MS).toISOString(), new Date(NOW_MS + 1).toISOString()];
const amount = fc.constantFrom(0, 100, 250, 400);
const priceIn = (has_dates: boolean) =>
  fc.record(
    {
      ...{ price_amount: amount, compare_at_amount: amount, sale_price_amount: fc.constantFrom(0, 100) },
      ...(has_dates && { sale_from: fc.constantFrom(PAST, FUTURE), sale_to: fc.constantFrom(PAST, FUTURE) }),
    },
    { requiredKeys: ['price_amount'] },
  ) as fc.Arbitrary<CurrencyPrice>;
const currencies = ['EUR', 'USD', 'PEN'] as const;
const pricesOf = (has_dates: boolean) =>
  fc.dictionary(fc.constantFrom('EUR', 'EUR', 'USD'), priceIn(has_dates), { maxKeys: 2 });
const stock = fc.constantFrom(0, 3, null);
const sold = fc.record({
  ...{ size: fc.constantFrom('S', 'M', 'L'), price_amount: amount, quantity_available: stock },
  ...{ prices: fc.option(pricesOf(false), { nil: undefined }) },
});
const publications = fc.sample(
  fc.record({
    visibility: fc.constantFrom<Visibility>('public', 'public', 'private'),
    place: fc.constantFrom(
      ...[
        [],
        [parent.id],
        [child.id],
        [parent.id, child.id, named.id],
        [child.id, parent.id],
        [named.id],
      ].map((ids) => ids),
    ),
    ...{ price_amount: amount, price_active: fc.constantFrom(true, true, true, false) },
    price_currency: fc.constantFrom('PEN', 'PEN', 'PEN', 'EUR'),
    prices: fc.option(pricesOf(true), { nil: undefined }),
    variants: fc.uniqueArray(sold, { selector: ({ size }) => size, maxLength: 3 }),
    title: fc.constantFrom('Red tea', 'Green tea', 'Tea'),
    sv: fc.constantFrom(undefined, 'Ängen', 'Åsna', 'Öl', 'zon', 'älv Äng', 'ALV'),
    fi: fc.constantFrom(undefined, undefined, 'Ä', 'Yxa'),
    ...{ free_shipping: fc.constantFrom(true, false), quantity_available: stock },
    ...{
      featured_position: fc.constantFrom(1, 2, null, null, null),
      position: fc.constantFrom(1, 2, null, null),
    },
    created_at: fc.constantFrom(minute(1), minute(2), minute(3)),
  }),
  { numRuns: 150, seed: SEED },
);

/** Returns the prices without that in the own currency, undefined if there are none. */
function others<Price>(prices: Record<string, Price> | undefined, own: string) {
  const found = Object.entries(prices ?? {}).filter(([currency]) => currency !== own);
  return found.length === 0 ? {} : { prices: Object.fromEntries(found) };
}
const items: Publication[] = publications.map(({ place, position, sv, fi, variants: all, ...fields }, n) => {
  const own = fields.price_currency;
  const variants = all.map(({ size, prices, ...one }, index) => ({
    ...(initialValues(variantFields) as unknown as Omit<Variant, 'id'>),
    ...{ ...one, id: `variant-${index}`, option_values: { Size: size }, ...others(prices, own) },
  }));
  const { prices: _, ...rest } = fields;
  const { prices } = others(fields.prices, own) as Pick<Publication, 'prices'>;
  const all_prices = pricesWith(prices, variants);
  const [listing_id = null, ...listing_ids] = place;
  return samplePublication(store, `#${n}`, {
    ...{ ...rest, listing_id, listing_ids },
    featured_position: listing_id === null ? null : fields.featured_position,
    featured_positions: Object.fromEntries(listing_ids.flatMap((id) => (position ? [[id, position]] : []))),
    // Without prices in other currencies, a publication with another own currency is only in lists of its own prices.
    price_currency: all_prices ? own : 'PEN',
    ...(variants.length > 0 && {
      variants,
      options: [{ name: 'Size', values: all.map(({ size }) => size) }],
    }),
    ...(all_prices && { prices: all_prices }),
    ...((sv ?? fi) && {
      translations: { ...(fi && { 'sv-FI': { title: fi } }), sv: sv ? { title: sv } : { description: 'te' } },
    }),
  });
});

interface Offer {
  readonly price: number;
  readonly in_stock: boolean;
  readonly size: string | undefined;
}
type Amounts = Pick<Variant, 'price_amount' | 'compare_at_amount' | 'sale_price_amount'>;

/** Returns what customers can buy in the currency, and whether it costs less. Implemented apart from documents. */
function offersIn(item: Publication, currency: string): { offers: Offer[]; has_discount: boolean } {
  const own = item.price_currency === currency;
  const price = own ? item : item.prices?.[currency];
  if (!item.price_active || !price) return { offers: [], has_discount: false };
  const is_sale = (price.sale_from ?? '') <= PAST && (price.sale_to == null || price.sale_to > PAST);
  const sold = item.variants.length > 0 ? item.variants : [item];
  const amounts = sold.flatMap(
    (one): [Partial<Amounts> & { price_amount: number }, Publication | Variant][] => {
      const there = own ? one : one.prices?.[currency];
      return there ? [[there as Amounts, one]] : [];
    },
  );
  const saleOf = (one: Partial<Amounts> & { price_amount: number }) =>
    Math.min(one.price_amount, one.sale_price_amount ?? price.sale_price_amount ?? one.price_amount);
  const all = [price as Amounts, ...amounts.map(([one]) => one)];
  return {
    offers: amounts.map(([there, one]) => ({
      price: is_sale ? saleOf(there) : there.price_amount,
      ...stockOf(one),
    })),
    has_discount: all.some(
      (one) => (one.compare_at_amount ?? 0) > one.price_amount || (is_sale && saleOf(one) < one.price_amount),
    ),
  };
}
const stockOf = (one: Publication | Variant) => ({
  in_stock: one.quantity_available !== 0,
  size: 'option_values' in one ? one.option_values.Size : undefined,
});

interface Filters {
  visibility: 'public' | 'private' | 'all';
  listing_id?: string | undefined;
  featured?: boolean | undefined;
  free_shipping?: boolean | undefined;
  in_stock?: boolean | undefined;
  min_price?: number | undefined;
  max_price?: number | undefined;
  has_price?: boolean | undefined;
  has_discount?: boolean | undefined;
  priced?: true | undefined;
  size?: string | undefined;
}
const optional = <Value>(...values: Value[]) => fc.constantFrom(undefined, undefined, undefined, ...values);
const filtersOf: fc.Arbitrary<Filters> = fc
  .record({
    visibility: fc.constantFrom<Filters['visibility']>('public', 'private', 'all'),
    listing_id: optional(...LISTINGS),
    featured: optional(true, false),
    free_shipping: optional(true, false),
    in_stock: optional(true, false),
    min_price: optional(0, 100, 250),
    max_price: optional(100, 250, 400),
    has_price: optional(true, false),
    has_discount: optional(true, false),
    priced: optional(true as const),
    size: optional('S', 'L'),
  })
  // A lowest price above the highest one is refused.
  .map(({ max_price, ...one }) => (max_price! < one.min_price! ? one : { ...one, max_price }));

function matches(item: Publication, filters: Filters, currency: string): boolean {
  const { min_price, max_price, size, in_stock } = filters;
  const has_range = min_price !== undefined || max_price !== undefined;
  const { offers, has_discount } = offersIn(item, currency);
  const all = item.variants.length > 0 ? item.variants.map(stockOf) : [stockOf(item)];
  const isWanted = ({ price, ...one }: Partial<Offer>) =>
    (!has_range || (price! >= (min_price ?? 0) && price! <= (max_price ?? 1e9))) &&
    (in_stock !== true || one.in_stock) &&
    (size === undefined || one.size === size);
  const isFlag = (wanted: boolean | undefined, value: boolean) => wanted === undefined || wanted === value;
  return (
    (filters.visibility === 'all' || filters.visibility === item.visibility) &&
    (filters.listing_id === undefined || placesOf(item).has(filters.listing_id)) &&
    isFlag(filters.featured, rankIn(item, filters.listing_id) < 1e6) &&
    isFlag(filters.free_shipping, item.free_shipping === true) &&
    isFlag(filters.priced ?? filters.has_price, offers.length > 0) &&
    isFlag(filters.has_discount, has_discount) &&
    (in_stock !== false || all.every((one) => !one.in_stock)) &&
    (has_range ? offers : all).some(isWanted)
  );
}

/** Returns the position in each listing. */
const placesOf = (item: Publication): Map<string, number> =>
  new Map([
    ...(item.listing_id ? [[item.listing_id, item.featured_position ?? 1e6] as const] : []),
    ...item.listing_ids.map((id) => [id, item.featured_positions[id] ?? 1e6] as const),
  ]);
const rankIn = (item: Publication, listing?: string): number =>
  listing ? placesOf(item).get(listing)! : (item.featured_position ?? 1e6);

/** Sorts by the price in the currency. Publications without one come last, sorted by their own price. */
function byPrice(currency: string, direction: 'asc' | 'desc') {
  const sign = direction === 'asc' ? 1 : -1;
  const keyOf = (item: Publication): number[] => {
    const lowest = (of: string) => {
      const { offers } = offersIn(item, of);
      return offers.length === 0 ? 1e9 : sign * Math.min(...offers.map(({ price }) => price));
    };
    return [lowest(currency), lowest(item.price_currency)];
  };
  return (a: Publication, b: Publication): number => {
    const [left, right] = [keyOf(a), keyOf(b)];
    const n = left.findIndex((value, index) => value !== right[index]);
    // Two that have the same price in the currency are sorted by id.
    if (n === 0 || (n === 1 && left[0] === 1e9)) return left[n]! - right[n]!;
    return sign * (a.id < b.id ? -1 : Number(a.id > b.id));
  };
}

const collator = new Intl.Collator('sv', { sensitivity: 'base' });

/** Sorts by the title in Swedish. Publications without one come last, sorted by their own title. */
function byName(direction: 'asc' | 'desc') {
  const sign = direction === 'asc' ? 1 : -1;
  const nameOf = ({ translations }: Publication) => translations?.sv?.title ?? translations?.['sv-FI']?.title;
  return (a: Publication, b: Publication): number => {
    const [left, right] = [nameOf(a), nameOf(b)];
    const compared = collator.compare(String(left ?? a.title), String(right ?? b.title));
    const is_last = Number(left === undefined) - Number(right === undefined);
    return is_last || sign * (compared || (a.id < b.id ? -1 : Number(a.id > b.id)));
  };
}

const parametersOf = ({ size, ...more }: Filters): [string, string][] =>
  Object.entries({ ...more, ...(size && { 'option.Size': size }) }).flatMap(
    ([name, value]): [string, string][] => (value === undefined ? [] : [[name, String(value)]]),
  );

describe('lists in a currency and a language', () => {
  let world: ReadWorld;
  beforeAll(async () => {
    world = await ReadWorld.open([store.id]);
    await world.fill({ store, listings: [parent, child, named], publications: items });
  });
  afterAll(() => world.close());

  const idsIn = (data: unknown) => (data as { id: string }[]).map(({ id }) => id);
  const currency = fc.constantFrom(...currencies.filter((one) => one !== 'PEN'));
  const direction = fc.constantFrom('asc' as const, 'desc' as const);

  /** Walks all pages by number and by cursor, and returns the ids. */
  async function walk(path: string, parameters: [string, string][], limit: number, id?: string) {
    const walked: string[] = [];
    let cursor: unknown;
    for (let page = 1; ; page++) {
      const read = async (start: [string, string]) => {
        const query = String(new URLSearchParams([...parameters, ['limit', String(limit)], start]));
        const answer = await world.ask(path, { query, ...(id && { id }) });
        const data = answer.data as { featured?: object[]; others?: object[]; meta?: JsonObject };
        const { pagination } = (id ? data.meta : answer.meta) as { pagination: JsonObject };
        const ids = id ? idsIn([...data.featured!, ...data.others!]) : idsIn(data);
        return { ids, pagination };
      };
      const { ids, pagination } = await read(['page', String(page)]);
      if (cursor !== undefined) expect((await read(['cursor', String(cursor)])).ids).toEqual(ids);
      walked.push(...ids);
      cursor = pagination.next_cursor;
      if (cursor !== undefined) continue;
      const { total_items = pagination.total } = pagination;
      expect(total_items).toBe(walked.length);
      return walked;
    }
  }

  test('have every matching publication once and in order, with any filter and sort', async () => {
    await fc.assert(
      fc.asyncProperty(
        ...[
          filtersOf,
          currency,
          direction,
          fc.constantFrom('price', 'created_at', 'name'),
          fc.constantFrom(3, 17, 50),
        ],
        async (filters, one, order, sort, limit) => {
          const byTime = (a: Publication, b: Publication) =>
            (order === 'asc' ? 1 : -1) * (`${a.created_at} ${a.id}` < `${b.created_at} ${b.id}` ? -1 : 1);
          const expected = items
            .filter((item) => matches(item, filters, one))
            .sort(sort === 'price' ? byPrice(one, order) : sort === 'name' ? byName(order) : byTime)
            .map(({ id }) => id as string);
          const parameters = Object.entries({ currency: one, sort, order, locale: 'sv' });
          const asked = [...parametersOf(filters), ...parameters];
          expect(await walk('/api/publications', asked, limit)).toEqual(expected);
          const found = await world.ask('/api/store/search', {
            query: String(new URLSearchParams([...asked, ['q', 'tea'], ['limit', '50']])),
          });
          expect([found.meta!.item_count, idsIn(found.data)]).toEqual([
            expected.length,
            expected.slice(0, 50),
          ]);
        },
      ),
      cases(80),
    );
  });

  test('of a listing and a tree have featured publications first', async () => {
    await fc.assert(
      fc.asyncProperty(
        ...[
          filtersOf,
          currency,
          direction,
          fc.constantFrom('price', 'name'),
          fc.constantFrom(...LISTINGS),
          fc.boolean(),
          fc.constantFrom(3, 17),
        ],
        async ({ listing_id: _, ...filters }, one, order, sort, listing, is_tree, limit) => {
          const within = is_tree && listing === parent.id ? LISTINGS : [listing];
          const rankOf = (item: Publication) =>
            Math.min(...within.map((id) => placesOf(item).get(id) ?? 1e6));
          const { featured, ...rest } = filters;
          const compare = sort === 'price' ? byPrice(one, order) : byName(order);
          const expected = items
            .filter((item) => within.some((id) => placesOf(item).has(id)) && matches(item, rest, one))
            .filter((item) => featured === undefined || featured === rankOf(item) < 1e6)
            .sort((a, b) => rankOf(a) - rankOf(b) || compare(a, b))
            .map(({ id }) => id as string);
          const asked = Object.entries({ currency: one, sort, order, locale: 'sv-FI' });
          if (is_tree) asked.push(['include_descendants', 'true']);
          const path = '/api/listing/:id/publications';
          expect(await walk(path, [...parametersOf(filters), ...asked], limit, listing)).toEqual(expected);
        },
      ),
      cases(80),
    );
  });

  test('of a listing that is sorted by name are so in every language', async () => {
    const path = '/api/listing/:id/publications';
    const inOrder = (compare: (a: Publication, b: Publication) => number) =>
      items
        .filter((item) => placesOf(item).has(named.id) && item.visibility === 'public')
        .sort((a, b) => rankIn(a, named.id) - rankIn(b, named.id) || compare(a, b))
        .map(({ id }) => id as string);
    expect(await walk(path, [['locale', 'sv']], 10, named.id)).toEqual(inOrder(byName('desc')));
    // Spanish of Peru is no other language than Spanish.
    const byOwn = (a: Publication, b: Publication) =>
      collator.compare(b.title, a.title) || (a.id < b.id ? 1 : -1);
    for (const locale of ['es', 'es-PE'])
      expect(await walk(path, [['locale', locale]], 10, named.id)).toEqual(inOrder(byOwn));
  });

  test('of a listing that is sorted by price are so in every currency', async () => {
    for (const [listing, order] of [
      [parent, 'asc'],
      [child, 'desc'],
    ] as const) {
      const compare = byPrice('EUR', order);
      const expected = items
        .filter((item) => placesOf(item).has(listing.id) && item.visibility === 'public')
        .sort((a, b) => rankIn(a, listing.id) - rankIn(b, listing.id) || compare(a, b))
        .map(({ id }) => id as string);
      const path = '/api/listing/:id/publications';
      expect(await walk(path, [['currency', 'EUR']], 10, listing.id)).toEqual(expected);
    }
  });

  test('facets count what their values find', async () => {
    await fc.assert(
      fc.asyncProperty(filtersOf, currency, async (filters, one) => {
        const query = new URLSearchParams([
          ...parametersOf(filters),
          ...Object.entries({ currency: one, facets: 'price,has_price,has_discount,option.Size' }),
        ]);
        const { meta } = await world.ask('/api/publications', { query: String(query) });
        type Facet = { values: { value: string; count: number }[] };
        const [prices, has_price, has_discount, sizes] = meta!.facets as unknown as Facet[];
        const count = (more: Partial<Filters>) =>
          items.filter((item) => matches(item, { ...filters, ...more }, one)).length;
        const flags = (of: Facet | undefined) =>
          ['true', 'false'].map((name) => of!.values.find(({ value }) => value === name)?.count ?? 0);
        if (!filters.priced)
          expect(flags(has_price)).toEqual([count({ has_price: true }), count({ has_price: false })]);
        expect(flags(has_discount)).toEqual([count({ has_discount: true }), count({ has_discount: false })]);
        for (const size of ['S', 'M', 'L']) {
          const { count: counted = 0 } = sizes!.values.find(({ value }) => value === size) ?? {};
          expect([size, counted]).toEqual([size, count({ size })]);
        }
        const shown = new Set<number>();
        for (const { value, count: counted } of prices!.values) {
          const [min_price, max_price] = value.split('-').map(Number) as [number, number];
          expect([value, counted]).toEqual([value, count({ min_price, max_price })]);
          for (const each of [0, 100, 250, 400]) if (each >= min_price && each <= max_price) shown.add(each);
        }
        for (const each of [0, 100, 250, 400])
          if (!shown.has(each)) expect(count({ min_price: each, max_price: each })).toBe(0);
      }),
      cases(60),
    );
  });
});
