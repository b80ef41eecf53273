import { join } from 'node:path';
import Database from 'libsql';
import { SqliteConnection } from '../../shared/adapters/sqlite/connection';
import { scopeHash } from '../../shared/adapters/sqlite/documents';
import { SqliteViewVersion } from '../../shared/adapters/sqlite/view-version';
import { listedIn } from '../../shared/catalog/search/words';
import { orderOf } from '../../shared/catalog/sorting';
import type { WordSearch, WordTerms } from '../../shared/ports/view-store';
import { makeTempDir, type TempDir } from '../support/temp-dir';

const DOCUMENTS = 20_000;
/** Document n has all of these words but one, so no document has all of them. */
const FREQUENT = Array.from({ length: 10 }, (_, n) => `frequent${n}`);
const SCOPE = { store_id: 'store-1', visibility: 'public' };

const idOf = (n: number): string => String(n).padStart(6, '0');
const isInList = (n: number): boolean => n % 3 !== 0;
const allOf = (words: readonly string[]): WordTerms => words.map((word) => [{ word }]);

describe('the entries that a search on SQLite reads', () => {
  let folder: TempDir;
  let view: SqliteViewVersion;

  beforeAll(async () => {
    folder = makeTempDir('catalog-search-bounds-');
    const file = join(folder.path, 'views.sqlite');
    view = await SqliteViewVersion.open(1, file, 8);
    writeDocuments(file);
    await view.createIndexes();
  });
  afterAll(() => {
    view.close();
    folder.remove();
  });
  afterEach(() => jest.restoreAllMocks());

  /**
   * Writes documents with SQL, because there are many. Every second one has `half`, every thousandth one `rare`. The oldest one has all words, and
   * another price. Two of three are in the listing `long`.
   */
  function writeDocuments(file: string): void {
    const database = new Database(file);
    const insert =
      database.prepare(`INSERT INTO publications (id, position, key_store_id, key_listing_id, key_visibility,
      key_created_at, key_price_up, key_price_down, key_name_fold, key_rating_rank, body, state, expansions, words_scope, words)
      VALUES (?, 1, 'store-1', ?, 'public', ?, ?, ?, 'n', 0, '{}', '{}', '{}', ?, ?)`);
    const list =
      database.prepare(`INSERT INTO publications_lists (scope, id, row, facet, is_shared, key_featured_rank,
      key_created_at, key_price_up, key_price_down, key_name_fold, key_rating_rank)
      VALUES (?, ?, ?, 0, 0, 0, ?, ?, ?, 'n', 0)`);
    const hash = scopeHash(Object.values(SCOPE));
    database.transaction(() => {
      for (let n = 0; n < DOCUMENTS; n++) {
        const id = idOf(n);
        const frequent = n === 0 ? FREQUENT : FREQUENT.filter((_, m) => m !== n % FREQUENT.length);
        const title = n === 0 ? ['=oldest='] : [];
        const words = [
          ...title,
          ...frequent,
          ...(n % 2 === 0 ? ['half'] : []),
          ...(n % 1_000 === 0 ? ['rare'] : []),
          ...(isInList(n) ? [listedIn('long')] : []),
        ];
        const price = n === 0 ? 9 : 5;
        const values = [id, isInList(n) ? 'long' : null, id, price, price, hash, words.join(' ')];
        const { lastInsertRowid } = insert.run(values);
        for (const scope of ['1store-1', ...(isInList(n) ? ['0long'] : [])])
          list.run([scope, id, lastInsertRowid, id, price, price]);
      }
    })();
    database.close();
  }

  const search = async (
    tiers: readonly WordTerms[],
    skip = 0,
    limit = 20,
    query: Partial<Pick<WordSearch, 'where' | 'order' | 'is_exhaustive'>> = {},
  ) =>
    view.search('publications', {
      ...{ scope: SCOPE, where: SCOPE, order: orderOf('created_at_desc'), tiers, skip, limit },
      ...(query.is_exhaustive ? {} : { total_max: 5_000 }),
      ...query,
    });

  test('are read in chunks, and are limited if the words are frequent and never meet', async () => {
    const value = jest.spyOn(SqliteConnection.prototype, 'value');
    expect(await search([allOf(FREQUENT)])).toMatchObject({ documents: [], total: 0, is_complete: false });
    const chunks = value.mock.calls.flatMap(([, parameters]) =>
      String(parameters?.[0]).includes('frequent') ? [Number(parameters?.[2])] : [],
    );
    expect(chunks.length).toBeGreaterThan(FREQUENT.length);
    expect(Math.max(...chunks)).toBeLessThan(10_000);
    expect(chunks.reduce((sum, one) => sum + one, 0)).toBeLessThan(DOCUMENTS * FREQUENT.length * 0.7);
  });

  test('are enough for a rare word beside frequent ones', async () => {
    const found = await search([allOf(['rare', FREQUENT[1]!, FREQUENT[2]!])]);
    expect(found).toMatchObject({ total: 20, is_complete: true });
  });

  test('do not hide the only document with that title, also with a range of prices', async () => {
    const only = { documents: [{ id: '000000' }], total: 1, is_complete: false };
    const tiers = [[[{ word: '=oldest=' }]], allOf(FREQUENT)];
    expect(await search(tiers)).toMatchObject(only);
    const where = { ...SCOPE, price_up: { gte: 9, lte: 9 } };
    expect(await search(tiers, 0, 20, { where })).toMatchObject({ ...only, is_complete: true });
  });

  test('include all matches of a word if they are filtered or sorted by price', async () => {
    const word = allOf(['half']);
    const where = { ...SCOPE, price_up: { gte: 9, lte: 9 } };
    const only = { documents: [{ id: '000000' }], total: 1, is_complete: true };
    expect(await search([word], 0, 20, { where })).toMatchObject(only);
    expect(await search([word], 0, 20, { where, order: orderOf('price_asc') })).toMatchObject(only);
    const dearest = await search([word], 0, 2, { order: orderOf('price_desc') });
    expect(dearest).toMatchObject({
      ...{ documents: [{ id: '000000' }, { id: '019998' }], total: 5_000, is_complete: true },
    });
  });

  test('have no limit in an exhaustive search', async () => {
    const exhaustive = { is_exhaustive: true } as const;
    const only = { documents: [{ id: '000000' }], total: 1, is_complete: true };
    for (const order of [orderOf('created_at_desc'), orderOf('price_asc')])
      expect(await search([allOf(FREQUENT)], 0, 20, { ...exhaustive, order })).toMatchObject(only);
    const half = await search([allOf(['half'])], DOCUMENTS / 2 - 1, 20, exhaustive);
    expect(half).toMatchObject({ ...only, total: DOCUMENTS / 2 });
  });

  test('are the same for every page', async () => {
    const tiers = [allOf(FREQUENT.slice(0, 9)), allOf(FREQUENT.slice(0, 8)), allOf(FREQUENT.slice(0, 6))];
    const whole = await search(tiers, 0, 5_000);
    expect(whole.documents).toHaveLength(whole.total);
    const ids = whole.documents.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const skip of [0, 20, 60, 1_480, whole.total - 10]) {
      const page = await search(tiers, skip);
      expect(page.total).toBe(whole.total);
      expect(page.documents.map(({ id }) => id)).toEqual(ids.slice(skip, skip + 20));
    }
  });

  test.each([
    ['in a store', SCOPE, () => true],
    ['in a listing', { listing_id: 'long', visibility: 'public' }, isInList],
    ['outside of a listing', { ...SCOPE, listing_id: { not: 'long' } }, (n: number) => !isInList(n)],
  ] as const)(
    'to compare words are those of the newest 1,000 documents with each word, %s',
    async (_, keys, isListed) => {
      const where = { ...keys, id: { not: idOf(17_000) } };
      const word = FREQUENT[1]!;
      const hasFrequent = (n: number): boolean => n === 0 || n % FREQUENT.length !== 1;
      const numbers = Array.from({ length: DOCUMENTS }, (_, n) => DOCUMENTS - 1 - n).filter(
        (n) => isListed(n) && n !== 17_000,
      );
      const compared_from = numbers.filter(hasFrequent)[1_000 - 1]!;
      const sharedBy = (n: number): number =>
        Number(n % 1_000 === 0) + Number(hasFrequent(n) && n >= compared_from);
      const expected = numbers.toSorted((a, b) => sharedBy(b) - sharedBy(a) || b - a).map(idOf);
      for (const [skip, limit] of [
        [0, 20],
        [60, 40],
        [1_030, 50],
      ] as const) {
        const asked = {
          scope: SCOPE,
          where,
          order: orderOf('created_at_desc'),
          words: ['rare', word],
          skip,
          limit,
        };
        const found = await view.related('publications', asked);
        expect(found.map(({ id }) => id)).toEqual(expected.slice(skip, skip + limit));
      }
    },
  );

  test('a count by labels ends after the label at which nobody waits for it any more', async () => {
    let checks = 0;
    const assertAwaited = (): void => {
      if (++checks === 3) throw new Error('nobody waits');
    };
    const asked = {
      scope: SCOPE,
      where: SCOPE,
      terms: [],
      limit: 9,
      documents_max: DOCUMENTS,
      assertAwaited,
    };
    await expect(view.countWords('publications', { ...asked, prefixes: ['frequent'] })).rejects.toThrow(
      'nobody waits',
    );
    expect(checks).toBe(3);
  });
});
