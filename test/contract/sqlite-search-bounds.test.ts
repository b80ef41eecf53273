import { join } from 'node:path';
import Database from 'libsql';
import { SqliteConnection } from '../../shared/adapters/sqlite/connection';
import { scopeHash } from '../../shared/adapters/sqlite/documents';
import { SqliteViewVersion } from '../../shared/adapters/sqlite/view-version';
import { BLOCK_RANKS, RANK_STEP } from '../../shared/adapters/sqlite/word-index';
import { orderOf } from '../../shared/catalog/sorting';
import type { WordSearch, WordTerms } from '../../shared/ports/view-store';
import { makeTempDir, type TempDir } from '../support/temp-dir';

const DOCUMENTS = 80_000;
const BLOCK_DOCUMENTS = BLOCK_RANKS[0] / RANK_STEP;
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
   * Writes documents with SQL, because there are many. Every thousandth one is `rare`. The oldest one has all words, and
   * another price. Two of three are in the listing `long`.
   */
  function writeDocuments(file: string): void {
    const database = new Database(file);
    const insert =
      database.prepare(`INSERT INTO publications (id, position, key_store_id, key_listing_id, key_visibility,
      key_created_at, key_price_up, key_price_down, facet, body, state, expansions, words_scope, words)
      VALUES (?, 1, 'store-1', ?, 'public', ?, ?, ?, 0, '{}', '{}', '{}', ?, ?)`);
    const hash = scopeHash(Object.values(SCOPE));
    database.transaction(() => {
      for (let n = 0; n < DOCUMENTS; n++) {
        const id = idOf(n);
        const frequent = n === 0 ? FREQUENT : FREQUENT.filter((_, m) => m !== n % FREQUENT.length);
        const title = n === 0 ? ['=oldest='] : [];
        const words = [...title, ...frequent, ...(n % 1_000 === 0 ? ['rare'] : [])];
        const price = n === 0 ? 9 : 5;
        insert.run([id, isInList(n) ? 'long' : null, id, price, price, hash, words.join(' ')]);
      }
    })();
    database.close();
  }

  const search = async (
    tiers: readonly WordTerms[],
    skip = 0,
    limit = 20,
    query: Partial<Pick<WordSearch, 'where' | 'order'>> = {},
  ) =>
    view.search('publications', {
      ...{ scope: SCOPE, where: SCOPE, order: orderOf('created_at_desc'), tiers, skip, limit },
      ...{ total_max: 5_000, ...query },
    });

  /** Returns the blocks that the statements of a search were limited to, and how many were not limited. */
  async function statementsOf(work: () => Promise<unknown>) {
    const value = jest.spyOn(SqliteConnection.prototype, 'value');
    await work();
    const searched = value.mock.calls
      .map(([, parameters]) => String(parameters?.[0]))
      .filter((text) => FREQUENT.every((word) => text.includes(word)));
    const blocks = searched.map((text) => text.match(/@b/g)?.length ?? 0);
    return {
      blocks: blocks.reduce((sum, count) => sum + count, 0),
      unlimited: blocks.filter((n) => n === 0),
    };
  }

  test('are few if the words are frequent and never meet', async () => {
    const tiers = [allOf(FREQUENT)];
    const { blocks, unlimited } = await statementsOf(() => search(tiers));
    expect(unlimited).toEqual([]);
    expect(blocks).toBeGreaterThan(0);
    expect(blocks * BLOCK_DOCUMENTS).toBeLessThanOrEqual(DOCUMENTS * 0.7);
    expect(await search(tiers)).toMatchObject({ documents: [], total: 0, is_complete: false });
  });

  test('are sampled once for the words that several tiers have in common', async () => {
    const first = jest.spyOn(SqliteConnection.prototype, 'first');
    await search([allOf([...FREQUENT, 'rare']), allOf(FREQUENT)]);
    const samples = first.mock.calls
      .filter(([sql]) => sql.startsWith('SELECT max(rank)'))
      .map(([, parameters]) => String(parameters));
    expect(samples.length).toBeGreaterThan(FREQUENT.length);
    expect(samples).toEqual([...new Set(samples)]);
  });

  test('are enough for a rare word beside frequent ones', async () => {
    const found = await search([allOf(['rare', FREQUENT[1]!, FREQUENT[2]!])]);
    expect(found).toMatchObject({ total: 80, is_complete: true });
  });

  test('do not hide the only document with that title', async () => {
    const found = await search([[[{ word: '=oldest=' }]], allOf(FREQUENT)]);
    expect(found).toMatchObject({ documents: [{ id: '000000' }], total: 1, is_complete: false });
  });

  describe('with a range of prices', () => {
    const between = (gte: number, lte: number) => ({ where: { ...SCOPE, price_up: { gte, lte } } });
    const frequent = allOf(FREQUENT.slice(0, 9));
    const titled: WordTerms[] = [[[{ word: '=oldest=' }]], frequent];

    test('may end before a publication with that price, which is not a complete search', async () => {
      const nothing = { documents: [], total: 0, is_complete: false };
      expect(await search([frequent], 0, 20, between(9, 9))).toMatchObject(nothing);
      const cheapest_first = { ...between(9, 9), order: orderOf('price_asc') };
      expect(await search([frequent], 0, 20, cheapest_first)).toMatchObject(nothing);
    });

    test('end after 5,000 matches, which is not a complete search if none of them has that price', async () => {
      const nothing = { documents: [], total: 0, is_complete: false };
      expect(await search([allOf(FREQUENT.slice(0, 1))], 0, 20, between(9, 9))).toMatchObject(nothing);
    });

    test('do not hide the only document with that title and price', async () => {
      const found = await search(titled, 0, 20, between(9, 9));
      expect(found).toMatchObject({ documents: [{ id: '000000' }], total: 1, is_complete: false });
    });

    test('do not find a better match with another price, and are the same for every page', async () => {
      const whole = await search(titled, 0, 5_000, between(5, 5));
      expect(whole.is_complete).toBe(false);
      expect(whole.total).toBeGreaterThan(1_000);
      const ids = whole.documents.map(({ id }) => id);
      expect(new Set(ids).size).toBe(whole.total);
      expect(ids).not.toContain('000000');
      for (const skip of [0, 20, 980, whole.total - 10]) {
        const page = await search(titled, skip, 20, between(5, 5));
        expect(page).toMatchObject({ total: whole.total, is_complete: false });
        expect(page.documents.map(({ id }) => id)).toEqual(ids.slice(skip, skip + 20));
      }
    });
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

  describe('to compare words', () => {
    const numbers = Array.from({ length: DOCUMENTS }, (_, n) => DOCUMENTS - 1 - n);
    const frequent = FREQUENT[1]!;
    const hasFrequent = (n: number): boolean => n === 0 || n % FREQUENT.length !== 1;
    const tiers: WordTerms[] = [allOf(['rare', frequent]), [[{ word: 'rare' }, { word: frequent }]], []];
    /** The oldest document whose frequent word is compared. */
    const compared_from = numbers.filter(hasFrequent)[5_000 - 1]!;
    const sharedBy = (n: number): number =>
      Number(n % 1_000 === 0) + Number(hasFrequent(n) && n >= compared_from);

    const pagesOf = async (where: WordSearch['where'], limit: number): Promise<string[]> => {
      const found: string[] = [];
      for (let skip = 0; skip < 200; skip += limit) {
        const query = { scope: SCOPE, where, order: orderOf('created_at_desc'), tiers, skip, limit };
        found.push(...(await view.search('publications', query)).documents.map(({ id }) => id));
      }
      return found;
    };
    const expected = (isListed: (n: number) => boolean): string[] =>
      numbers
        .filter((n) => isListed(n) && n !== 77_000)
        .sort((a, b) => sharedBy(b) - sharedBy(a) || b - a)
        .slice(0, 200)
        .map(idOf);

    test('are the newest 5,000 of each word, in a store', async () => {
      const where = { ...SCOPE, id: { not: idOf(77_000) } };
      expect(await pagesOf(where, 20)).toEqual(expected(() => true));
      expect(await pagesOf(where, 200)).toEqual(expected(() => true));
    });

    test('are the same in a list that is too long to read', async () => {
      const where = { listing_id: 'long', visibility: 'public', id: { not: idOf(77_000) } };
      expect(await pagesOf(where, 20)).toEqual(expected(isInList));
      expect(await pagesOf(where, 200)).toEqual(expected(isInList));
    });

    test('are the same outside of such a list', async () => {
      const where = { ...SCOPE, listing_id: { not: 'long' }, id: { not: idOf(77_000) } };
      expect(await pagesOf(where, 40)).toEqual(expected((n) => !isInList(n)));
    });
  });
});
