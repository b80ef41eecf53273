import fc from 'fast-check';
import type { Key, ViewDocument } from '../../shared/catalog/documents';
import { compareByOrder, featuredFirst, orderOf, type SortOrder } from '../../shared/catalog/sorting';
import { sortModeSchema } from '../../shared/catalog/vocabulary';
import type { ViewQuery, ViewVersion } from '../../shared/ports/view-store';
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
      await put(view, aWrite('publications', 'p11', 2n, null, 1n));
      expect(await walk(view)).toEqual(ids);
      expect(await walk(view, { listing_id: 'odd' })).toEqual(
        ids.filter((id, n) => n % 2 === 1 && id !== 'p11'),
      );
      const [whole] = await view.scan('publications', { limit: 1 });
      expect(whole?.document?.state).toEqual(aPublication().state);
    });

    const sortable = (text: string | null): string | null =>
      under_test.text_order === 'code_unit' ? (text?.replace(/[\u{10000}-\u{10ffff}]/gu, '') ?? null) : text;

    describe('the order of pages is that of compareByOrder', () => {
      const orders: SortOrder[] = sortModeSchema.options.flatMap((mode) => [
        orderOf(mode),
        featuredFirst(mode),
      ]);
      const text = fc.oneof(
        fc.string({ unit: 'binary', maxLength: 4 }),
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
        name_fold: fc.option(text),
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
              const pages: string[] = [];
              for (let skip = 0; skip < all.length; skip += page)
                pages.push(...(await find({ where, order, skip, limit: page })));
              expect(pages).toEqual(expected.map(({ id }) => id));
              expect(await find({ where, order })).toEqual(pages);
            },
          ),
          { numRuns: 60 },
        );
      });
    });
  });
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
