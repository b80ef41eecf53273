import fc from 'fast-check';
import type { Key } from '../../shared/catalog/documents';
import { PARTITION_COUNT, partitionOf } from '../../shared/catalog/events/partitions';
import { NOT_FEATURED } from '../../shared/catalog/publication/document';
import { listedIn } from '../../shared/catalog/search/words';
import { compareByOrder, featuredFirst, isAfter, orderOf, sortKeysOf } from '../../shared/catalog/sorting';
import type { Unit } from '../../shared/catalog/stored-document';
import type {
  RelatedQuery,
  UnitCondition,
  ViewVersion,
  WordCountsQuery,
  WordMatch,
  WordScope,
  WordSearch,
  WordTerms,
} from '../../shared/ports/view-store';
import { cases } from '../support/long';
import { within } from '../support/wait-for';
import { aBatch, aPublication, aWrite, idsOf, put, putIn } from './some-documents';
import type { ViewStoreUnderTest } from './view-store.contract';

interface Item {
  readonly id: string;
  readonly words: readonly string[];
  readonly keys?: Record<string, Key>;
}

const word = (text: string): WordMatch => ({ word: text });
const starts = (text: string): WordMatch => ({ word: text, prefix: true });
const STOREFRONT: WordScope = { store_id: 'store-1', visibility: 'public' };
const BOTH: WordScope = { store_id: 'store-1', visibility: { in: ['public', 'private'] } };

const ALL_TAGS = { prefixes: ['==tag='], limit: 1_000, documents_max: 100_000, assertAwaited: () => {} };

/** Tests of searches by words. */
export function viewSearchContract(name: string, open: () => Promise<ViewStoreUnderTest>): void {
  describe(`search on ${name}`, () => {
    let under_test: ViewStoreUnderTest;
    let view: ViewVersion;

    beforeEach(async () => {
      under_test = await open();
      view = await under_test.store.open((await under_test.store.createVersion(1)).version);
    });
    afterEach(() => within(under_test.dispose(), 'everything under test to close'));

    const written = ({ id, words, keys }: Item) =>
      aWrite('publications', id, 1n, { ...aPublication(keys), words: [...words, ...wordsOfLists(keys)] });
    const publications = (...items: Item[]): Promise<void> => put(view, ...items.map(written));
    const search = async (
      tiers: readonly WordTerms[],
      query: Partial<WordSearch> = {},
    ): Promise<string[]> => {
      const scope = query.scope ?? STOREFRONT;
      const asked = { scope, where: scope, order: orderOf('created_at_desc'), limit: 50, tiers, ...query };
      return idsOf((await view.search('publications', asked)).documents);
    };
    const related = async (query: Pick<RelatedQuery, 'scope' | 'where'> & Partial<RelatedQuery>) => {
      const asked = { words: ['a', 'b', 'c', 'd'], order: orderOf('created_at_desc'), limit: 50, ...query };
      return idsOf(await view.related('publications', asked));
    };
    const count = async (terms: WordTerms, scope = STOREFRONT, where: WordSearch['where'] = scope) => {
      const order = orderOf('created_at_desc');
      const asked = { scope, where, order, limit: 0, tiers: [terms], total_max: 5_000 };
      return (await view.search('publications', asked)).total;
    };

    test('finds documents by all words, by alternatives, and by a prefix', async () => {
      await publications(
        { id: 'a', words: ['red', 'shirt'] },
        { id: 'b', words: ['blue', 'shirt'] },
        { id: 'c', words: ['blue', 'shoes'] },
        { id: 'd', words: [] },
      );
      expect((await search([[[word('shirt')]]])).sort()).toEqual(['a', 'b']);
      expect(await search([[[word('blue')], [word('shirt')]]])).toEqual(['b']);
      expect(await search([[[word('red'), word('blue')], [starts('sho')]]])).toEqual(['c']);
      expect((await search([[[starts('sh')]]])).sort()).toEqual(['a', 'b', 'c']);
      expect(await search([[[word('sh')]]])).toEqual([]);
      expect(await search([[[]]])).toEqual([]);
      expect(await search([[[starts('sh')]]], { limit: 0 })).toEqual([]);
      expect((await search([[]])).sort()).toEqual(['a', 'b', 'c', 'd']);
      expect(await count([[starts('sh')]])).toBe(3);
      expect(await count([[word('blue')], [starts('sh')]])).toBe(2);
      expect(await count([])).toBe(4);
      await publications(
        { id: 'e', words: ['hemd', '==in=de=hand', '==in=de=:hand'] },
        { id: 'f', words: ['==in=de=hemd', '==in=en=hend', '==in=de==hemd=blau='] },
      );
      expect((await search([[[starts('==in=de=h')]]])).sort()).toEqual(['e', 'f']);
      expect(await search([[[starts('==in=de=he')]]])).toEqual(['f']);
      expect(await search([[[starts('==in=de=:h')]]])).toEqual(['e']);
      expect(await search([[[starts('==in=de==hemd=b')]]])).toEqual(['f']);
    });

    test('finds words of any script, with marks and of any length', async () => {
      const scripts = ['ceramica', '茶碗', 'שלום', 'чай', '𐐷', 'w'.repeat(300), '9'];
      const all = [...scripts, ':title', '=a=title', '==in=de=hemd', '==in=de=:hemd', '==in=de==a=hemd'];
      await publications({ id: 'a', words: all }, { id: 'b', words: ['title', 'a'] });
      for (const one of all) {
        expect(await search([[[word(one)]]])).toEqual(['a']);
        expect(await search([[[starts(one)]]])).toEqual(['a']);
        expect(await view.matchingWords('publications', queryFor([word(one)]))).toEqual([word(one)]);
      }
      const [stored] = await view.getMany('publications', ['a'], ['words']);
      expect(stored?.document?.words).toEqual(all);
    });

    test('returns the words of a document only on request', async () => {
      await publications({ id: 'a', words: ['red'] }, { id: 'b', words: [] });
      const [bare] = await view.find('publications', { where: {}, order: [['id', 'asc']], limit: 1 });
      expect(bare?.document).not.toHaveProperty('words');
      const { documents: whole } = await view.search('publications', {
        ...{ scope: STOREFRONT, where: STOREFRONT, order: [['id', 'asc']], limit: 2, tiers: [[]] },
        parts: ['state', 'expansions', 'words'],
      });
      expect(whole[0]?.document).toEqual({ ...aPublication(), words: ['red'] });
      expect(whole[1]?.document?.words).toEqual([]);
    });

    test('a document is in the first tier that it matches, and pages divide the sequence of all tiers', async () => {
      const day = (n: number) => ({ created_at: `2026-01-0${n}` });
      await publications(
        { id: 'title-old', words: [':mug', 'mug'], keys: day(1) },
        { id: 'text-new', words: ['mug'], keys: day(9) },
        { id: 'title-new', words: [':mug', 'mug'], keys: day(2) },
        { id: 'text-old', words: ['mug'], keys: day(3) },
        { id: 'other-new', words: ['cup'], keys: day(8) },
        { id: 'other-old', words: ['cup'], keys: day(4) },
      );
      const tiers = [[[word(':mug')]], [[word('mug')]], []];
      const all = ['title-new', 'title-old', 'text-new', 'text-old', 'other-new', 'other-old'];
      expect(await search(tiers)).toEqual(all);
      for (let limit = 1; limit <= 6; limit++)
        for (let skip = 0; skip <= 7; skip++)
          expect(await search(tiers, { skip, limit })).toEqual(all.slice(skip, skip + limit));
      expect(await search(tiers.slice(1, 2), { order: orderOf('created_at_asc') })).toEqual([
        ...['title-old', 'title-new', 'text-old', 'text-new'],
      ]);
    });

    test('a page of one tier begins after the place of a document, which need not exist', async () => {
      const mugs = Array.from({ length: 12 }, (_, n) => ({
        id: `p${n}`,
        keys: {
          ...{
            created_at: `2026-01-0${1 + (n % 4)}`,
            price_up: n % 3,
            name_fold: `mug ${n % 5}`,
            rating_rank: n % 4,
          },
          featured_rank: n % 6 === 0 ? 1 + (n % 5) : NOT_FEATURED,
        },
      }));
      await publications(...mugs.map((one) => ({ ...one, words: ['mug'] })), { id: 'cup', words: ['cup'] });
      const modes = ['created_at_desc', 'created_at_asc', 'price_asc', 'name_desc', 'rating_desc'] as const;
      for (const order of modes.flatMap((mode) => [orderOf(mode), featuredFirst(mode)])) {
        const sorted = mugs.toSorted((a, b) => compareByOrder(order, a, b));
        for (const place of [...mugs, { id: 'p5+', keys: mugs[5]!.keys }]) {
          const after = sortKeysOf(order, place) as WordSearch['after'] & {};
          const rest = sorted.filter((one) => isAfter(order, one, after)).map(({ id }) => id);
          const asked = { order, after, limit: 5, is_exhaustive: true } as const;
          expect(await search([[[word('mug')]]], asked)).toEqual(rest.slice(0, 5));
        }
      }
    });

    test('finds only documents of the scope', async () => {
      await publications(
        { id: 'a', words: ['mug'] },
        { id: 'b', words: ['mug'], keys: { visibility: 'private' } },
        { id: 'c', words: ['mug', 'mugs'], keys: { store_id: 'store-2' } },
      );
      const mug = [[word('mug')]];
      expect(await search([mug])).toEqual(['a']);
      expect((await search([mug], { scope: BOTH })).sort()).toEqual(['a', 'b']);
      expect(await search([mug], { scope: { ...STOREFRONT, visibility: 'private' } })).toEqual(['b']);
      expect(await search([mug], { scope: { ...STOREFRONT, visibility: { in: [] } } })).toEqual([]);
      expect([await count(mug), await count(mug, BOTH)]).toEqual([1, 2]);
      expect(await view.matchingWords('publications', queryFor([word('mugs')]))).toEqual([]);
      await expect(search([mug], { scope: { store_id: 'store-1' } })).rejects.toThrow();
    });

    test('combines words with conditions on keys', async () => {
      await publications(
        { id: 'a', words: ['mug'], keys: { price_up: 5, listing_id: 'l1' } },
        { id: 'b', words: ['mug'], keys: { price_up: 10, listing_id: 'l2' } },
        { id: 'c', words: ['mug'], keys: { price_up: 15, listing_id: null } },
      );
      const mug = [[word('mug')]];
      const where = (keys: WordSearch['where']) => ({ where: { ...STOREFRONT, ...keys } });
      expect(await search([mug], where({ price_up: { gte: 6 } }))).toEqual(['c', 'b']);
      expect(await count(mug, STOREFRONT, { ...STOREFRONT, price_up: { gte: 6 } })).toBe(2);
      expect(await search([mug], where({ listing_id: 'l1' }))).toEqual(['a']);
      expect(await search([mug], { where: { listing_id: 'l1', visibility: 'public' } })).toEqual(['a']);
      expect(await search([mug], where({ listing_id: { not: 'l1' }, id: { not: 'b' } }))).toEqual(['c']);
      expect(await search([[]], where({ listing_id: { not: null } }))).toEqual(['b', 'a']);
      expect(await search([mug], where({ listing_id: { in: [] } }))).toEqual([]);
      expect(await count(mug, STOREFRONT, { ...STOREFRONT, listing_id: { in: [] } })).toBe(0);
    });

    test('leaves out documents with a word', async () => {
      await publications(
        { id: 'a', words: ['mug', 'x'] },
        { id: 'b', words: ['mug'], keys: { price_up: 10 } },
        { id: 'c', words: ['mug', 'y'], keys: { price_up: 5 } },
        { id: 'd', words: [], keys: { price_up: 20 } },
        { id: 'e', words: ['xy'], keys: { visibility: 'private' } },
      );
      const asked = { scope: STOREFRONT, where: STOREFRONT, order: orderOf('price_asc'), limit: 50 };
      const found = async (excluded: string[], terms: WordTerms = []) => {
        const query = { ...asked, tiers: [terms], excluded, is_exhaustive: true } as const;
        const { documents, total } = await view.search('publications', query);
        return [idsOf(documents).join(''), total];
      };
      expect(await found(['x'])).toEqual(['cbd', 3]);
      expect(await found(['x', 'y'])).toEqual(['bd', 2]);
      expect(await found(['x'], [[word('mug')]])).toEqual(['cb', 2]);
      expect(await found(['z'])).toEqual([expect.stringContaining('cbd'), 4]);
      expect((await search([[[word('mug')]]], { excluded: ['y'] })).sort()).toEqual(['a', 'b']);
      expect((await search([[]], { scope: BOTH, where: BOTH, excluded: ['mug'] })).sort()).toEqual([
        'd',
        'e',
      ]);
    });

    test('counts all results if it is exhaustive', async () => {
      await publications(...['a', 'b', 'c'].map((id) => ({ id, words: ['==tag=:41=', `==tag=${id}=`] })));
      const asked = { scope: STOREFRONT, where: STOREFRONT, order: orderOf('price_asc'), limit: 1 };
      const tiers = [[[word('==tag=:41='), word('==tag=b=')]]];
      const found = await view.search('publications', { ...asked, tiers, skip: 1, is_exhaustive: true });
      expect([idsOf(found.documents), found.total, found.is_complete]).toEqual([['b'], 3, true]);
    });

    test('countWords counts the matching documents by their labels with a prefix', async () => {
      await publications(
        { id: 'a', words: ['mug', '==tag=a=', '==tag=é=', '==tags=a='], keys: { price_up: 5 } },
        { id: 'b', words: ['mug', '==tag=a='], keys: { listing_id: 'l2' } },
        { id: 'c', words: ['==tag=a=', '==vendor=a='], keys: { visibility: 'private' } },
        { id: 'd', words: ['mug', '==tag=b='], keys: { store_id: 'store-2' } },
      );
      const counts = async (
        terms: WordTerms = [],
        scope: WordScope = STOREFRONT,
        where: WordSearch['where'] = scope,
      ) => {
        const [found] = await view.countWords('publications', { ...ALL_TAGS, scope, where, terms });
        if (!found) throw new Error('the prefix has no counts');
        expect(found.is_complete).toBe(true);
        return Object.fromEntries(found.counts.map(({ word: one, count: of_word }) => [one, of_word]));
      };
      expect(await counts()).toEqual({ '==tag=a=': 2, '==tag=é=': 1 });
      expect(await counts([], BOTH)).toEqual({ '==tag=a=': 3, '==tag=é=': 1 });
      expect(await counts([[word('mug')]], BOTH)).toEqual({ '==tag=a=': 2, '==tag=é=': 1 });
      expect(await counts([[word('==vendor=a=')]], BOTH)).toEqual({ '==tag=a=': 1 });
      expect(await counts([], STOREFRONT, { ...STOREFRONT, price_up: { lte: 5 } })).toEqual({
        '==tag=a=': 1,
        '==tag=é=': 1,
      });
      const listed = { listing_id: 'l2', visibility: 'public' };
      expect(await counts([], STOREFRONT, listed)).toEqual({ '==tag=a=': 1 });
      expect(await counts([], { store_id: 'store-3', visibility: 'public' })).toEqual({});
      await put(view, aWrite('publications', 'a', 2n, null));
      expect(await counts()).toEqual({ '==tag=a=': 1 });
    });

    describe('a condition for units', () => {
      const [small, medium, large] = ['==size=s=', '==size=m=', '==size=l='];
      const [red, blue] = ['==color=red=', '==color=blue='];
      const words = [small, medium, large, red, blue, '==size=s=extra'];
      const SHIRT: readonly Unit[] = [
        { price: 1_000, in_stock: true, labels: [small, red] },
        { price: 3_000, in_stock: true, labels: [medium, blue] },
        { price: 5_000, in_stock: false, labels: [large, blue] },
      ];
      const write = (id: string, position: bigint, units: readonly Unit[], keys: Record<string, Key> = {}) =>
        put(
          view,
          aWrite('publications', id, position, {
            ...{ ...aPublication(keys), units },
            words: [...words, ...wordsOfLists(keys)],
          }),
        );
      beforeEach(async () => {
        await write('shirt', 1n, SHIRT, { listing_id: 'l1' });
        await write('cup', 1n, [{ price: 2_500, in_stock: true, labels: [] }]);
        await write('gift', 1n, [{ price: null, in_stock: true, labels: [small] }]);
      });
      const unitOf = (
        labels: readonly (readonly string[])[],
        more: Partial<UnitCondition['unit']> = {},
      ): UnitCondition => ({ unit: { labels: labels.map((all) => all.map(word)), ...more } });
      const price = (gte: number, lte: number) => ({ price: { gte, lte } });

      /** Returns what the condition finds with every method. Checks that they find the same. */
      const found = async (units: UnitCondition, keys: WordSearch['where'] = {}): Promise<string[]> => {
        const where = { ...STOREFRONT, ...keys, units };
        const ids = (await search([[]], { where })).sort();
        for (const order of [orderOf('price_asc'), orderOf('created_at_desc')]) {
          const asked = { where, order, limit: 50 };
          expect(idsOf(await view.find('publications', asked)).sort()).toEqual(ids);
          const tiers = [[[word(small)]]];
          const one = { ...asked, scope: STOREFRONT, tiers, is_exhaustive: true, limit: 1 } as const;
          expect((await view.search('publications', one)).total).toBe(ids.length);
          const all = idsOf(await view.find('publications', asked));
          expect(idsOf(await view.find('publications', { ...asked, skip: 1, limit: 1 }))).toEqual(
            all.slice(1, 2),
          );
        }
        expect(await view.count('publications', where)).toBe(ids.length);
        expect(await count([], STOREFRONT, where)).toBe(ids.length);
        return ids;
      };

      test('holds for one unit of a document', async () => {
        expect(await found(unitOf([[large], [red]]))).toEqual([]);
        expect(await found(unitOf([[large], [red, blue]]))).toEqual(['shirt']);
        expect(await found(unitOf([[large]], { in_stock: true }))).toEqual([]);
        expect(await found(unitOf([[large]], price(0, 2_000)))).toEqual([]);
        expect(await found(unitOf([], price(1_100, 2_900)))).toEqual(['cup']);
        expect(await found(unitOf([], price(1_000, 3_000)))).toEqual(['cup', 'shirt']);
        expect(await found(unitOf([], { ...price(4_000, 6_000), in_stock: true }))).toEqual([]);
        expect(await found(unitOf([], price(4_000, 6_000)), { price_up: { lte: 6_000 } })).toEqual(['shirt']);
        expect(await found(unitOf([], price(-1, 2_000)))).toEqual(['shirt']);
        expect(await found(unitOf([[small]]))).toEqual(['gift', 'shirt']);
        expect(await found(unitOf([['==size=s']]))).toEqual([]);
        expect(await found(unitOf([[large]]), { listing_id: 'l1' })).toEqual(['shirt']);
        expect(await found(unitOf([[large]]), { listing_id: 'l2' })).toEqual([]);
      });

      test('follows every change of a document', async () => {
        const sold_out = SHIRT.map((unit) => ({ ...unit, in_stock: false }));
        await write('shirt', 2n, [...sold_out.slice(1), { price: 7, in_stock: true, labels: [large, red] }]);
        expect(await found(unitOf([[small]]))).toEqual(['gift']);
        expect(await found(unitOf([[blue]], { in_stock: true }))).toEqual([]);
        expect(await found(unitOf([[large], [red]], { in_stock: true, ...price(7, 7) }))).toEqual(['shirt']);
        await put(view, aWrite('publications', 'shirt', 3n, null));
        expect(await found(unitOf([[large]]))).toEqual([]);
        await write('shirt', 4n, SHIRT);
        expect(await found(unitOf([[large]]))).toEqual(['shirt']);
      });

      test('selects the units whose labels countWords counts', async () => {
        const sizes = async (units: UnitCondition) => {
          const where = { ...STOREFRONT, units };
          const query = { ...ALL_TAGS, scope: STOREFRONT, where, terms: [], of_units: true };
          const [of_size, of_color] = await view.countWords('publications', {
            ...query,
            prefixes: ['==size=', '==color='],
          });
          const toCounts = (all: typeof of_size) => all!.counts.map(({ word: one, count: n }) => [one, n]);
          return Object.fromEntries([...toCounts(of_size), ...toCounts(of_color)]);
        };
        expect(await sizes(unitOf([], { in_stock: true }))).toEqual({
          ...{ [small]: 2, [medium]: 1, [red]: 1, [blue]: 1 },
        });
        expect(await sizes(unitOf([[blue]]))).toEqual({ [medium]: 1, [large]: 1, [blue]: 1 });
        expect(await sizes(unitOf([], price(0, 3_000)))).toEqual({
          [small]: 1,
          [medium]: 1,
          [red]: 1,
          [blue]: 1,
        });
      });

      test('looks at the units that are read back', async () => {
        const inOrder = (units: readonly Unit[] = []) => units.map((unit) => JSON.stringify(unit)).sort();
        const [stored] = await view.getMany('publications', ['shirt'], ['units']);
        expect(inOrder(stored?.document?.units)).toEqual(inOrder(SHIRT));
        expect((await view.get('publications', 'shirt'))?.document).not.toHaveProperty('units');
        await put(view, aWrite('publications', 'bare', 1n, aPublication()));
        expect((await view.get('publications', 'bare', ['units']))?.document).not.toHaveProperty('units');
      });
    });

    test('countWords returns the most frequent ones of many labels, in the order of their texts', async () => {
      const own = (n: number) => `==tag=${String(n).padStart(4, '0')}=`;
      const items = Array.from({ length: 1_300 }, (_, n): Item => {
        const others = n % 2 ? ['==tag=odd=', '==tags=odd='] : ['==tag=é='];
        return { id: `p${n}`, words: ['mug', '==tag', own(n), ...others], keys: { price_up: n } };
      });
      await publications(...items, { id: 'none', words: ['mug'] });
      const ask = async (asked: Partial<WordCountsQuery> = {}) => {
        const query = { ...ALL_TAGS, scope: STOREFRONT, where: STOREFRONT, terms: [], limit: 4, ...asked };
        const [found] = await view.countWords('publications', query);
        return found?.counts.map(({ word: one, count: of_word }) => [one, of_word]);
      };
      expect(await ask()).toEqual([
        ['==tag=odd=', 650],
        ['==tag=é=', 650],
        [own(0), 1],
        [own(1), 1],
      ]);
      expect(await ask({ terms: [[word('==tags=odd=')]], limit: 2 })).toEqual([
        ['==tag=odd=', 650],
        [own(1), 1],
      ]);
      const where = { ...STOREFRONT, price_up: { gte: 1_297 } };
      expect(await ask({ where, limit: 9 })).toEqual([
        ['==tag=odd=', 2],
        ...[1_297, 1_298, 1_299].map((n) => [own(n), 1]),
        ['==tag=é=', 1],
      ]);
      // A store may count all documents in spite of `documents_max`, and says which it has done.
      const few = {
        ...ALL_TAGS,
        scope: STOREFRONT,
        where: STOREFRONT,
        terms: [],
        limit: 1,
        documents_max: 10,
      };
      const [found] = await view.countWords('publications', few);
      expect(found?.counts).toEqual([{ word: '==tag=odd=', count: found?.is_complete ? 650 : 5 }]);
      const both = { ...few, documents_max: 2_000, prefixes: ['==none=', '==tags=', '==tag='] };
      expect((await view.countWords('publications', both)).map(({ counts }) => counts)).toEqual([
        [],
        [{ word: '==tags=odd=', count: 650 }],
        [{ word: '==tag=odd=', count: 650 }],
      ]);
    });

    test('follows every change of a document, including its deletion', async () => {
      const has = async (): Promise<unknown> => [
        await search([[[word('old')]]]),
        await search([[[starts('new')]]]),
        await count([[word('old'), starts('new')]]),
        await view.matchingWords('publications', queryFor([word('old'), starts('new')])),
      ];
      const next = (position: bigint, document: Parameters<typeof aWrite>[3]) =>
        put(view, aWrite('publications', 'a', position, document));
      await publications({ id: 'a', words: ['old', 'same'] });
      expect(await has()).toEqual([['a'], [], 1, [word('old')]]);
      await next(2n, { ...aPublication({ price_up: 3 }), words: ['old', 'same'] });
      expect(await has()).toEqual([['a'], [], 1, [word('old')]]);
      await next(3n, { ...aPublication(), words: ['newer', 'same'] });
      expect(await has()).toEqual([[], ['a'], 1, [starts('new')]]);
      await next(4n, { ...aPublication({ visibility: 'private' }), words: ['newer', 'same'] });
      expect(await has()).toEqual([[], [], 0, []]);
      await next(5n, { ...aPublication(), words: ['newer', 'same'] });
      expect(await has()).toEqual([[], ['a'], 1, [starts('new')]]);
      await next(6n, null);
      expect(await has()).toEqual([[], [], 0, []]);
      expect(await count([[word('same')]])).toBe(0);
    });

    test('a batch that lost its race does not change the words', async () => {
      await publications({ id: 'a', words: ['old'] });
      const writes = [aWrite('publications', 'a', 9n, { ...aPublication(), words: ['new'] })];
      expect(await view.apply(aBatch({ checkpoint: 9n, writes }))).toBe('lost_race');
      expect(await search([[[word('old')]]])).toEqual(['a']);
      expect(await search([[[word('new')]]])).toEqual([]);
    });

    test('matchingWords returns the existing words in the requested order, at most `limit`', async () => {
      await publications({ id: 'a', words: ['cotton', 'cover', 'red'] });
      const matches = [word('rot'), word('red'), word('cot'), starts('cot'), word('cover')];
      const known = [word('red'), starts('cot'), word('cover')];
      expect(await view.matchingWords('publications', queryFor(matches))).toEqual(known);
      expect(await view.matchingWords('publications', { ...queryFor(matches), limit: 2 })).toEqual(
        known.slice(0, 2),
      );
    });

    test('rejects a collection without words', async () => {
      const query = { scope: {}, where: {}, order: orderOf('created_at_desc'), limit: 1, tiers: [[]] };
      await expect(view.search('accounts', query)).rejects.toThrow();
    });

    test('pages a word that more than a few hundred documents have', async () => {
      const items = Array.from({ length: 1_300 }, (_, n): Item => {
        const keys = { created_at: `2026-01-${String(10 + (n % 17))}`, price_up: n };
        const words = ['mug', ...(n % 2 ? ['odd'] : []), ...(n % 400 === 0 ? [':mug'] : [])];
        return { id: `p${String(n).padStart(4, '0')}`, words, keys };
      });
      await publications(...items);
      const tiers = [[[word(':mug')]], [[word('odd')], [word('mug')]], [[starts('mu')]]];
      const order = orderOf('created_at_desc');
      const rank = ({ words }: Item) => (words.includes(':mug') ? 0 : words.includes('odd') ? 1 : 2);
      const keyed = (item: Item) => ({ id: item.id, keys: item.keys ?? {} });
      const sorted = (list: readonly Item[]) =>
        [...list].sort((a, b) => rank(a) - rank(b) || compareByOrder(order, keyed(a), keyed(b)));
      const ids = (list: readonly Item[]) => list.map(({ id }) => id);
      // Each tier matches everything that the tier before it matches.
      const nested = [tiers[0]!, [[word(':mug'), word('odd')], [word('mug')]], tiers[2]!];
      for (const skip of [0, 3, 20, 640, 1_280]) {
        expect(await search(nested, { skip, limit: 30 })).toEqual(ids(sorted(items).slice(skip, skip + 30)));
        const cheap = items.filter(({ keys }) => (keys!.price_up as number) <= 900);
        const where = { ...STOREFRONT, price_up: { lte: 900 } };
        expect(await search(nested, { skip, limit: 30, where })).toEqual(
          ids(sorted(cheap).slice(skip, skip + 30)),
        );
      }
      expect(await count(tiers[2]!)).toBe(1_300);
      expect(await count(tiers[2]!, STOREFRONT, { ...STOREFRONT, price_up: { lte: 900 } })).toBe(901);
    });

    test('the documents that share the most words are exact after every write, of the same store or another', async () => {
      const ids = Array.from({ length: 14 }, (_, n) => `d${String(n).padStart(2, '0')}`);
      const stores = ['near', 'far'];
      const storeOf = (id: string): string => stores[ids.indexOf(id) % stores.length]!;
      const document = fc.record({
        words: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 4 }),
        listing_id: fc.constantFrom('one', 'two', null),
        visibility: fc.constantFrom('public', 'public', 'private'),
        // Most documents are of the same moment, so that many arrive between two neighbours.
        created_at: fc.constantFrom('2026-01-01', '2026-01-01', '2026-01-01', '2026-01-02'),
      });
      const write = fc.record({ id: fc.constantFrom(...ids), document: fc.option(document, { freq: 6 }) });
      const batch = fc.uniqueArray(write, { selector: ({ id }) => id, minLength: 1, maxLength: 8 });
      let run = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(batch, { minLength: 4, maxLength: 10 }),
          fc.constantFrom(...ids),
          fc.constantFrom(orderOf('created_at_desc'), orderOf('created_at_asc')),
          async (batches, own_id, order) => {
            const suffix = ++run;
            const nameOf = (name: string): string => `${name}-${suffix}`;
            const stored = new Map<
              string,
              { position: bigint; document: (typeof batches)[0][0]['document'] }
            >();
            const writeOf = (id: string, after: (typeof batches)[0][0]['document']) => {
              const position = (stored.get(id)?.position ?? 0n) + 1n;
              stored.set(id, { position, document: after });
              if (!after) return aWrite('publications', nameOf(id), position, null);
              const { words, listing_id, ...others } = after;
              const keys = {
                ...others,
                store_id: nameOf(storeOf(id)),
                listing_id: listing_id && nameOf(listing_id),
              };
              return aWrite('publications', nameOf(id), position, {
                ...aPublication(keys),
                words: [...words, ...wordsOfLists(keys)],
              });
            };
            for (const writes of batches) {
              for (const store of stores) {
                const of_store = writes.filter(({ id }) => storeOf(id) === store);
                const partition = partitionOf(nameOf(store), PARTITION_COUNT);
                await putIn(
                  view,
                  partition,
                  of_store.map(({ id, document: after }) => writeOf(id, after)),
                );
              }
              for (const store of stores)
                for (const is_inside of [true, false]) {
                  const scope = { store_id: nameOf(store), visibility: 'public' };
                  const listing_id = is_inside ? nameOf('one') : { not: nameOf('one') };
                  const where = { ...scope, id: { not: nameOf(own_id) }, listing_id };
                  const expected = [...stored]
                    .flatMap(([id, { document: one }]) =>
                      one ? [{ ...one, id, keys: { created_at: one.created_at } }] : [],
                    )
                    .filter(
                      ({ id, visibility }) =>
                        storeOf(id) === store && visibility === 'public' && id !== own_id,
                    )
                    .filter((one) => (one.listing_id === 'one') === is_inside)
                    .sort((a, b) => sharedIn(b.words) - sharedIn(a.words) || compareByOrder(order, a, b))
                    .map(({ id }) => nameOf(id));
                  expect(await related({ scope, where, order, limit: 4 })).toEqual(expected.slice(0, 4));
                  expect(await related({ scope, where, order, skip: 2 })).toEqual(expected.slice(2));
                }
            }
          },
        ),
        cases(4, 50),
      );
    });

    test('the documents that share the most words are exact while documents of another store arrive between them', async () => {
      const created_at = '2026-01-01';
      const near = { store_id: 'near', visibility: 'public', created_at };
      await publications({ id: 'a', words: ['a'], keys: near }, { id: 'z', words: ['a'], keys: near });
      const scope = { store_id: 'near', visibility: 'public' };
      const where = { ...scope, id: { not: 'other' } };
      for (const id of 'bcdefghijklm') {
        expect(await related({ scope, where })).toEqual(['z', 'a']);
        await publications({ id, words: ['a'], keys: { ...near, store_id: 'far' } });
      }
      expect(await related({ scope, where })).toEqual(['z', 'a']);
    });

    test('returns the same as a check of every document', async () => {
      let run = 0;
      const text = fc.constantFrom('a', 'ab', 'abc', 'b', 'ba', 'é', ':a', ':ab');
      const item = fc.record({
        words: fc.uniqueArray(text, { maxLength: 5 }),
        visibility: fc.constantFrom('public', 'private'),
        price_up: fc.integer({ min: 0, max: 3 }),
        created_at: fc.constantFrom('2026-01-01', '2026-01-02', '2026-01-03'),
      });
      const match = fc
        .record({ word: text, prefix: fc.boolean() })
        .map((one): WordMatch => (one.prefix ? starts(one.word) : word(one.word)));
      const terms = fc.array(fc.array(match, { minLength: 1, maxLength: 3 }), { maxLength: 3 });
      const fits = (words: readonly string[], asked: WordTerms): boolean =>
        asked.every((matches) =>
          matches.some(({ word: one, prefix }) =>
            prefix ? words.some((other) => other.startsWith(one)) : words.includes(one),
          ),
        );
      await fc.assert(
        fc.asyncProperty(
          fc.array(item, { maxLength: 12 }),
          fc.array(terms, { minLength: 1, maxLength: 3 }),
          fc.boolean(),
          fc.option(fc.integer({ min: 0, max: 3 })),
          fc.integer({ min: 1, max: 4 }),
          async (items, asked, both, max_price, limit) => {
            const store_id = `store-${++run}`;
            const all = items.map((one, n) => ({ ...one, id: `${store_id}-${n}` }));
            await publications(
              ...all.map(({ id, words, visibility, price_up, created_at }) => {
                return { id, words, keys: { store_id, visibility, price_up, created_at } };
              }),
            );
            // Each tier has one term fewer, so it matches everything that the tier before it matches.
            const whole = asked.flat();
            const tiers = asked.map((_, n) => whole.slice(0, whole.length - n));
            const scope = { store_id, visibility: both ? { in: ['public', 'private'] } : 'public' };
            const where = { ...scope, ...(max_price === null ? {} : { price_up: { lte: max_price } }) };
            const order = orderOf('created_at_desc');
            const keyed = ({ id, created_at }: (typeof all)[number]) => ({ id, keys: { created_at } });
            const rank = (words: readonly string[]) => tiers.findIndex((tier) => fits(words, tier));
            const expected = all
              .filter((one) => both || one.visibility === 'public')
              .filter((one) => max_price === null || one.price_up <= max_price)
              .filter((one) => rank(one.words) >= 0)
              .sort((a, b) => rank(a.words) - rank(b.words) || compareByOrder(order, keyed(a), keyed(b)))
              .map(({ id }) => id);
            const pages: string[] = [];
            for (let skip = 0; skip < all.length + limit; skip += limit)
              pages.push(...(await search(tiers, { scope, where, skip, limit })));
            expect(pages).toEqual(expected);
            expect(await count(tiers.at(-1)!, scope, where)).toBe(expected.length);
          },
        ),
        cases(30, 200),
      );
    });
  });
}

/** Returns the words by which a search finds the publications of a listing. */
const wordsOfLists = ({ listing_id }: Record<string, Key> = {}): string[] =>
  typeof listing_id === 'string' ? [listedIn(listing_id)] : [];

/** Returns how many of the compared words the document has. */
const sharedIn = (words: readonly string[]): number =>
  ['a', 'b', 'c', 'd'].filter((one) => words.includes(one)).length;

const queryFor = (matches: readonly WordMatch[]) => ({ scope: STOREFRONT, matches, limit: 10 });
