import fc from 'fast-check';
import type { Key, ViewDocument } from '../../shared/catalog/documents';
import { NOT_FEATURED } from '../../shared/catalog/publication/document';
import {
  compareByOrder,
  featuredFirst,
  isAfter,
  orderOf,
  type SortOrder,
  sortKeysOf,
} from '../../shared/catalog/sorting';
import { listSortModeSchema } from '../../shared/catalog/vocabulary';
import type { KeyCondition, OutsideCondition, ViewQuery, ViewVersion } from '../../shared/ports/view-store';
import { anyText } from '../support/any-text';
import { cases, IS_LONG, SEED } from '../support/long';
import { within } from '../support/wait-for';
import { aPublication, aWrite, idsOf, put } from './some-documents';
import type { ViewStoreUnderTest } from './view-store.contract';

/** Tests of pages, counts and scans of a collection. */
export function viewPagesContract(name: string, open: () => Promise<ViewStoreUnderTest>): void {
  describe(`pages on ${name}`, () => {
    let under_test: ViewStoreUnderTest;
    let view: ViewVersion;

    beforeEach(async () => {
      under_test = await open();
      view = await under_test.store.open((await under_test.store.createVersion(1)).version);
    });
    afterEach(() => within(under_test.dispose(), 'everything under test to close'));

    async function publications(...all: Record<string, Key>[]): Promise<void> {
      await put(
        view,
        ...all.map((keys, n) =>
          aWrite('publications', String(keys.id ?? `p${n}`), 1n, aPublication(without(keys, 'id'))),
        ),
      );
    }
    const find = async (query: Partial<ViewQuery>): Promise<string[]> =>
      idsOf(await view.find('publications', { where: {}, order: [['id', 'asc']], limit: 100, ...query }));

    describe('find', () => {
      test('returns the documents that match every condition', async () => {
        await publications(
          { id: 'a', store_id: 's1', visibility: 'public', price_up: 5, listing_id: 'l1' },
          { id: 'b', store_id: 's1', visibility: 'private', price_up: 10, listing_id: null },
          { id: 'c', store_id: 's1', visibility: 'public', price_up: 15, listing_id: 'l2' },
          { id: 'd', store_id: 's2', visibility: 'public', price_up: 10, listing_id: null },
        );
        expect(await find({ where: { store_id: 's1' } })).toEqual(['a', 'b', 'c']);
        expect(await find({ where: { store_id: 's1', visibility: 'public' } })).toEqual(['a', 'c']);
        expect(await find({ where: { price_up: { gte: 10 } } })).toEqual(['b', 'c', 'd']);
        expect(await find({ where: { price_up: { lte: 10 } } })).toEqual(['a', 'b', 'd']);
        expect(await find({ where: { price_up: { gte: 6, lte: 14 }, store_id: 's1' } })).toEqual(['b']);
        expect(await find({ where: { listing_id: null } })).toEqual(['b', 'd']);
        expect(await find({ where: { listing_id: { in: ['l1', null] } } })).toEqual(['a', 'b', 'd']);
        expect(await find({ where: { price_up: { in: [5, 15, 15, 99] } } })).toEqual(['a', 'c']);
        expect(await find({ where: { visibility: { in: ['public', 'private'] }, store_id: 's1' } })).toEqual([
          'a',
          'b',
          'c',
        ]);
        expect(await find({ where: { id: { in: ['d', 'a'] } } })).toEqual(['a', 'd']);
        expect(await find({ where: { visibility: { in: [] } } })).toEqual([]);
        expect(await find({ where: { store_id: "s1' OR '1" } })).toEqual([]);
      });

      test('returns a page of `limit` documents after `skip`', async () => {
        await publications(
          ...Array.from({ length: 12 }, (_, n) => ({ id: `p${String(n).padStart(2, '0')}` })),
        );
        const all = await find({});
        expect(await find({ limit: 5 })).toEqual(all.slice(0, 5));
        expect(await find({ limit: 5, skip: 10 })).toEqual(all.slice(10));
        expect(await find({ limit: 5, skip: 12 })).toEqual([]);
        expect(await find({ limit: 0 })).toEqual([]);
      });

      test('returns the requested parts', async () => {
        await publications({ id: 'a' });
        const query = { where: {}, order: [['id', 'asc']], limit: 1 } as const;
        const { state, expansions, ...rest } = aPublication();
        const [bare] = await view.find('publications', query);
        expect(bare?.document).toEqual({ ...rest, state: {}, expansions: {} });
        const [whole] = await view.find('publications', { ...query, parts: ['state', 'expansions'] });
        expect(whole?.document).toEqual({ ...rest, state, expansions });
      });

      test('breaks ties by id, in either direction', async () => {
        const same = { created_at: '2026-01-31T12:00:00.000Z' };
        await publications({ id: 'b', ...same }, { id: 'c', ...same }, { id: 'a', ...same });
        const where = { store_id: 'store-1', visibility: 'public' };
        expect(await find({ where, order: orderOf('created_at_asc') })).toEqual(['a', 'b', 'c']);
        expect(await find({ where, order: orderOf('created_at_desc') })).toEqual(['c', 'b', 'a']);
      });

      test('sorts featured documents first, then the others by the mode', async () => {
        await publications(
          { id: 'old', created_at: '2026-01' },
          { id: 'second', created_at: '2026-02', featured_rank: 2 },
          { id: 'new', created_at: '2026-03' },
          { id: 'first', created_at: '2026-01', featured_rank: 1 },
        );
        const where = { listing_id: 'listing-1', visibility: 'public' };
        expect(await find({ where, order: featuredFirst('created_at_desc') })).toEqual([
          'first',
          'second',
          'new',
          'old',
        ]);
      });

      test('rejects a key that the collection does not declare', async () => {
        await expect(find({ where: { colour: 'red' } })).rejects.toThrow();
        await expect(find({ order: [['colour', 'asc']] })).rejects.toThrow();
      });
    });

    test('pages and counts of a long list are exact at any depth, while its documents change', async () => {
      let seed = SEED;
      const random = (below: number): number => {
        seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
        return Math.floor((seed / 2_147_483_648) * below);
      };
      const stored = new Map<string, { position: bigint; keys: Record<string, Key> | null }>();
      const randomPrice = (): string[] => {
        const lowest = random(400);
        return random(3) === 0 ? [] : [`EUR=${lowest},${lowest + random(2) * 50},${random(2)}`];
      };
      const randomName = (): string[] => (random(3) === 0 ? [`de:${random(300)}\u00a0${random(2)}`] : []);
      const randomKeys = (): Record<string, Key> => {
        const price = random(20) === 0 ? null : random(400);
        const listing_id = random(3) === 0 ? null : `listing-${random(2)}`;
        const others = ['listing-0', 'listing-1', 'listing-2'].filter(
          (one) => one !== listing_id && !random(5),
        );
        const places = others.map((one) => `${one}=${random(9) === 0 ? random(9) + 1 : ''}`);
        return {
          store_id: random(10) === 0 ? 'small' : 'large',
          ...{ listing_id, places: [...places, ...randomPrice(), ...randomName()].join(' ') || null },
          visibility: random(4) === 0 ? 'private' : 'public',
          featured_rank: random(50) === 0 ? random(9) + 1 : NOT_FEATURED,
          created_at: new Date(1_700_000_000_000 + random(3_000)).toISOString(),
          price_up: price ?? 1_000_000_000_000,
          price_down: price ?? -1,
          name_fold: `${random(900)}`,
          rating_rank: random(6) * 100 * 2 ** 44 + 1_700_000_000_000 + random(300),
          free_shipping: random(500) === 0 ? 1 : 0,
          in_stock: random(2),
          has_media: random(2),
        };
      };
      const change = async (
        ids: readonly string[],
        toKeys: () => Record<string, Key> | null,
      ): Promise<void> => {
        const writes = ids.map((id) => {
          const before = stored.get(id);
          const keys = toKeys();
          const position = (before?.position ?? 0n) + 1n;
          stored.set(id, { position, keys });
          return aWrite('publications', id, position, keys && aPublication(keys));
        });
        for (let start = 0; start < writes.length; start += 500)
          await put(view, ...writes.slice(start, start + 500));
      };
      /** Asks a third of the queries. Each order and each filter is in every third. */
      const expectExact = async (third: number): Promise<void> => {
        const all = [...stored].flatMap(([id, { keys }]) => (keys ? [{ id, keys }] : []));
        const sorted = new Map<string, typeof all>();
        for (const { where, order } of queriesOfLists().filter((_, n) => IS_LONG || n % 3 === third)) {
          const { listing_id, currency, language, ...others } = where;
          const name = JSON.stringify([order, listing_id, currency, language]);
          if (!sorted.has(name))
            sorted.set(
              name,
              all
                .flatMap((item) => seenIn(listing_id, item))
                .flatMap((item) => pricedIn(currency, item))
                .flatMap((item) => namedIn(language, item))
                .sort((a, b) => compareByOrder(order, a, b)),
            );
          const conditions = Object.entries(others);
          const matchingItems = sorted
            .get(name)!
            .filter(({ id, keys }) =>
              conditions.every(([key, one]) => isMatch(key === 'id' ? id : (keys[key] ?? null), one)),
            );
          const matching = matchingItems.map(({ id }) => id);
          expect(await view.count('publications', where)).toBe(matching.length);
          const { length } = matching;
          for (const skip of [0, length >> 1, length - 3, length - 40, random(length + 1), length + 5])
            expect(await find({ where, order, limit: 20, skip: Math.max(0, skip) })).toEqual(
              matching.slice(Math.max(0, skip), Math.max(0, skip) + 20),
            );
          // The place may be that of a document that does not match, or not any more.
          const keys_there = stored.get(ids[random(ids.length)]!)?.keys ?? randomKeys();
          const there = { id: ids[random(ids.length)]!, keys: keys_there };
          const [place] = pricedIn(currency, there).flatMap((item) => namedIn(language, item));
          for (const after of [matchingItems[length >> 1], place]) {
            const keys = after && (sortKeysOf(order, after) as ViewQuery['after']);
            if (!keys) continue;
            const rest = matchingItems.filter((one) => isAfter(order, one, keys)).map(({ id }) => id);
            expect(await find({ where, order, limit: 20, after: keys })).toEqual(rest.slice(0, 20));
          }
        }
      };

      const { list_length: length = 3_200 } = under_test;
      const ids = Array.from({ length }, (_, n) => `p${String(n).padStart(5, '0')}`);
      await change(ids.slice(0, length * 0.375), randomKeys);
      // The version is complete from here on, so every later write changes the lists.
      await view.createIndexes?.(() => {});
      await expectExact(0);
      await change(ids.slice(length / 4), randomKeys);
      await expectExact(1);
      await change(
        ids.filter((_, n) => n % 3 === 0),
        () => null,
      );
      await expectExact(2);
    });

    test('count agrees with find', async () => {
      await publications({ visibility: 'public' }, { visibility: 'private' }, { visibility: 'public' });
      expect(await view.count('publications', {})).toBe(3);
      expect(await view.count('publications', { visibility: 'public' })).toBe(2);
      expect(await view.count('publications', { visibility: { in: ['public', 'private'] } })).toBe(3);
      expect(await view.count('publications', { visibility: { in: [] } })).toBe(0);
      expect(await view.count('publications', { price_up: { gte: 2_000 } })).toBe(0);
    });

    test('scan reads all or the matching documents by id, page by page', async () => {
      const ids = Array.from({ length: 25 }, (_, n) => `p${String(n).padStart(2, '0')}`);
      await publications(...ids.map((id, n) => ({ id, listing_id: n % 2 ? 'odd' : 'even' })));
      await put(view, aWrite('publications', 'p11', 2n, null));
      expect(await walk(view)).toEqual(ids);
      expect(await walk(view, { listing_id: 'odd' })).toEqual(
        ids.filter((id, n) => n % 2 === 1 && id !== 'p11'),
      );
      const [whole] = await view.scan('publications', { limit: 1 });
      expect(whole?.document?.state).toEqual(aPublication().state);
    });

    const sortable = (text: string): string =>
      under_test.text_order === 'code_unit' ? text.replace(/[\u{10000}-\u{10ffff}]/gu, '') : text;

    describe('the order of pages is that of compareByOrder', () => {
      const orders: SortOrder[] = listSortModeSchema.options.flatMap((mode) => [
        orderOf(mode),
        featuredFirst(mode),
      ]);
      const text = fc.oneof(
        anyText({ maxLength: 4 }),
        fc.constantFrom('', 'a', 'ab', 'Z', 'é', 'e\u0301', '\uffff', '😀', 'a\u0000b', 'a\u0000'),
      );
      const amount = fc.oneof(
        fc.integer({ min: -1, max: 3 }),
        fc.constantFrom(99_999_999_999, 1_000_000_000_000),
      );
      const keys = fc.record({
        visibility: fc.constantFrom('public', 'private'),
        featured_rank: fc.constantFrom(1, 2, 1_000_000),
        created_at: fc.constantFrom('2026-01-31T12:00:00.000Z', '2026-01-31T12:00:00.001Z'),
        price_up: amount,
        price_down: amount,
        rating_rank: fc.integer({ min: 0, max: 3 }).map((rank) => rank * 2 ** 51),
        name_fold: text,
      });

      test('for every sort mode, complete or in pages, of one visibility or both', async () => {
        let run = 0;
        await fc.assert(
          fc.asyncProperty(
            fc.array(keys, { minLength: 1, maxLength: 15 }),
            fc.constantFrom(...orders),
            fc.constantFrom<Key[]>(['public'], ['private', 'public']),
            fc.integer({ min: 1, max: 6 }),
            async (rows, order, visibilities, page) => {
              const store_id = `store-${++run}`;
              const all = rows.map((row, n) => ({
                id: `${store_id}-${n}`,
                keys: { ...row, store_id, name_fold: sortable(row.name_fold) },
              }));
              await publications(...all.map(({ id, keys }) => ({ id, ...keys })));
              const expected = all
                .filter((one) => visibilities.includes(one.keys.visibility))
                .sort((a, b) => compareByOrder(order, a, b));
              const where = { store_id, visibility: { in: visibilities } };
              for (const [n, one] of expected.entries()) {
                const after = sortKeysOf(order, one) as ViewQuery['after'] & {};
                const rest = expected.slice(n + 1, n + 1 + page).map(({ id }) => id);
                expect(await find({ where, order, after, limit: page })).toEqual(rest);
              }
              const pages: string[] = [];
              for (let skip = 0; skip < all.length; skip += page)
                pages.push(...(await find({ where, order, skip, limit: page })));
              expect(pages).toEqual(expected.map(({ id }) => id));
              expect(await find({ where, order })).toEqual(pages);
            },
          ),
          cases(20, 200),
        );
      });
    });
  });
}

/** Returns queries of lists: each order, with filters that match many or few documents. */
function queriesOfLists(): Pick<ViewQuery, 'where' | 'order'>[] {
  const filters: ViewQuery['where'][] = [
    { visibility: 'public' },
    { visibility: { in: ['public', 'private'] }, in_stock: 1 },
    { visibility: 'public', free_shipping: 1, in_stock: 0 },
    { visibility: 'public', has_media: 0 },
    { visibility: 'public', featured_rank: { lte: NOT_FEATURED - 1 } },
  ];
  const ranges: ViewQuery['where'][] = [
    { price_up: { gte: 100, lte: 300 } },
    { price_up: { gte: 300, lte: 100 } },
    { price_up: { gte: 399, lte: 99_999_999_999 }, in_stock: 1 },
    { price_down: { gte: 0, lte: 200 }, visibility: 'public' },
    { price_up: { gte: 0, lte: 350 }, visibility: 'public', id: { not: 'p00007' } },
    { price_up: { gte: 200, lte: 350 }, visibility: 'public', id: { not: 'p00009' } },
    { visibility: { in: ['public', 'private'] }, id: { not: 'p00008' } },
    { visibility: 'public', id: { after: 'p00007' } },
    { name_fold: { after: 'name 1' } },
  ];
  const in_currency: ViewQuery['where'][] = [
    { visibility: 'public', currency: 'EUR' },
    { currency: 'EUR', price_up: { gte: 0, lte: 300 }, price_max: { gte: 200 }, visibility: 'public' },
    { currency: 'EUR', has_discount: 1, has_media: 1, visibility: { in: ['public', 'private'] } },
    { currency: { outside: 'EUR', or_without: { has_discount: 1 } }, id: { not: 'p00008' } },
    { currency: { outside: 'USD' }, price_up: { gte: 100, lte: 300 }, in_stock: 1 },
  ];
  const in_language: ViewQuery['where'][] = [
    { language: 'de', visibility: 'public' },
    { language: { outside: 'de' }, visibility: { in: ['public', 'private'] }, has_media: 1 },
    { language: 'de', price_up: { gte: 100, lte: 300 }, visibility: 'public' },
    { language: 'de', currency: 'EUR', price_up: { gte: 0, lte: 300 }, visibility: 'public' },
    { language: 'de', currency: { outside: 'EUR', or_without: { has_discount: 1 } }, in_stock: 1 },
    { language: { outside: 'de' }, currency: 'EUR', has_discount: 1 },
  ];
  const scopes = [
    { store_id: 'large' },
    { listing_id: 'listing-1' },
    { listing_id: { in: ['listing-1', 'listing-0', 'no-listing', 'listing-1'] } },
  ];
  return scopes.flatMap((scope) =>
    listSortModeSchema.options.flatMap((mode) => [
      ...[
        ...[...filters, ...ranges, ...in_currency],
        // In other orders, a query that names a currency sorts by the prices in it.
        ...(/^(name|created)/.test(mode) ? in_language : []),
      ].map((filter) => ({
        where: { ...scope, ...filter },
        order: orderOf(mode),
      })),
      { where: { ...scope, visibility: 'public' }, order: featuredFirst(mode) },
      ...('listing_id' in scope
        ? [NOT_FEATURED, { lte: NOT_FEATURED - 1 }].map((featured_rank) => ({
            where: { ...scope, visibility: 'public', featured_rank },
            order: featuredFirst(mode),
          }))
        : []),
      ...[
        { currency: 'EUR' },
        { currency: { outside: 'EUR' } },
        ...(mode.startsWith('name') ? [{ language: 'de' }, { language: { outside: 'de' } }] : []),
      ].flatMap((inside) => [
        { where: { ...scope, visibility: 'public', ...inside }, order: featuredFirst(mode) },
        ...[NOT_FEATURED, { lte: NOT_FEATURED - 1 }].map((featured_rank) => ({
          where: { ...scope, visibility: 'public', ...inside, featured_rank },
          order: featuredFirst(mode),
        })),
      ]),
    ]),
  );
}

/** Returns the item as the publications of these listings show it: none if it is in none, with its lowest rank there. */
function seenIn(listings: KeyCondition | undefined, item: { id: string; keys: Record<string, Key> }) {
  if (listings === undefined) return [item];
  const { listing_id, places, featured_rank } = item.keys;
  const ranks = String(places ?? '')
    .split(' ')
    .map((place) => place.split('='))
    .concat([[String(listing_id), String(featured_rank)]])
    .flatMap(([id, rank]) => (isMatch(id!, listings) ? Number(rank || NOT_FEATURED) : []));
  return ranks.length === 0 ? [] : [{ ...item, keys: { ...item.keys, featured_rank: Math.min(...ranks) } }];
}

/** Returns the item as the publications inside or outside a currency show it: none if it is not one of them. */
function pricedIn(currency: KeyCondition | undefined, item: { id: string; keys: Record<string, Key> }) {
  if (currency === undefined) return [item];
  const { outside, or_without = {} } = (
    typeof currency === 'string' ? { outside: currency } : currency
  ) as OutsideCondition;
  const place = String(item.keys.places ?? '')
    .split(' ')
    .find((one) => one.startsWith(`${outside}=`));
  const [lowest = 0, price_max = 0, has_discount = 0] = place?.slice(4).split(',').map(Number) ?? [];
  const values = { price_up: lowest, price_max, has_discount };
  if (typeof currency === 'string') return place ? [{ ...item, keys: { ...item.keys, ...values } }] : [];
  const isOther = ([key, value]: [string, Key]) => values[key as keyof typeof values] !== value;
  return !place || Object.entries(or_without).some(isOther) ? [item] : [];
}

/** Returns the item with its keys in the language. Returns nothing if the item is not inside, or outside, as asked. */
function namedIn(language: KeyCondition | undefined, item: { id: string; keys: Record<string, Key> }) {
  const name = /de:([^ ]*)/.exec(String(item.keys.places))?.[1]?.replace('\u00a0', ' ');
  if (language === undefined) return [item];
  if (typeof language !== 'string') return name === undefined ? [item] : [];
  return name === undefined ? [] : [{ ...item, keys: { ...item.keys, name_fold: name } }];
}

function isMatch(key: Key, condition: KeyCondition): boolean {
  if (condition === null || typeof condition !== 'object') return key === condition;
  if ('in' in condition) return condition.in.includes(key);
  if ('not' in condition) return key !== condition.not;
  if ('after' in condition) return String(key) > condition.after;
  if ('unit' in condition || 'outside' in condition) throw new Error('no key is a unit');
  const { gte = Number.NEGATIVE_INFINITY, lte = Number.POSITIVE_INFINITY } = condition;
  return typeof key === 'number' && key >= gte && key <= lte;
}

async function walk(view: ViewVersion, where?: ViewQuery['where']): Promise<string[]> {
  const seen: string[] = [];
  for (;;) {
    const after = seen.at(-1);
    const piece = await view.scan('publications', {
      limit: 4,
      ...(where && { where }),
      ...(after !== undefined && { after_id: after }),
    });
    seen.push(...idsOf(piece));
    if (piece.length < 4) return seen;
  }
}

function without(keys: Record<string, Key>, name: string): ViewDocument['keys'] {
  const { [name]: _, ...rest } = keys;
  return rest;
}
