import { join } from 'node:path';
import Database from 'libsql';
import { SqliteConnection } from '../../shared/adapters/sqlite/connection';
import { ListReader } from '../../shared/adapters/sqlite/list-pages';
import { NumberedTexts } from '../../shared/adapters/sqlite/numbered-texts';
import { type Table, tablesOf } from '../../shared/adapters/sqlite/tables';
import { SqliteViewStore } from '../../shared/adapters/sqlite/view-store';
import { VERSION_FILE } from '../../shared/adapters/sqlite/view-version';
import type { Key } from '../../shared/catalog/documents';
import { NOT_FEATURED } from '../../shared/catalog/publication/document';
import { compareByOrder, orderOf } from '../../shared/catalog/sorting';
import type { KeyCondition, ViewQuery, ViewVersion } from '../../shared/ports/view-store';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { aPublication, aWrite, put } from './some-documents';

const { facets } = tablesOf().publications!.lists!;
const PRICE_MAX = 99_999_999_999;

type Keys = Readonly<Record<string, Key>>;
type Query = Pick<ViewQuery, 'where' | 'order'>;

describe('long lists on SQLite', () => {
  let folder: TempDir;
  let store: SqliteViewStore;
  let view: ViewVersion;
  let connection: SqliteConnection;
  let table: Table;

  beforeEach(async () => {
    folder = makeTempDir();
    store = await SqliteViewStore.open({ folder: folder.path });
    view = await store.open((await store.createVersion(1)).version);
    connection = await SqliteConnection.open(fileOf(view), VERSION_FILE);
    table = tablesOf({ texts: new NumberedTexts(connection) }).publications!;
  });
  afterEach(async () => {
    connection.close();
    await store.close();
    folder.remove();
  });

  const fileOf = ({ version }: ViewVersion): string => join(folder.path, `views-v${version}.sqlite`);
  const idsOf = (reader: ListReader, query: ViewQuery): string[] =>
    (reader.page(table, query) ?? []).map(([id]) => String(id));

  test('pages with a range of prices, or without one document, are exact while the documents change', async () => {
    const random = randomFrom(11);
    const stored = new Map<string, { position: bigint; keys: Keys | null }>();
    const change = async (ids: readonly string[], toKeys: (age: number) => Keys | null): Promise<void> => {
      const writes = ids.map((id) => {
        const before = stored.get(id);
        const position = (before?.position ?? 0n) + 1n;
        const keys = toKeys(Number(id.slice(1)));
        stored.set(id, { position, keys });
        return aWrite('publications', id, position, keys && aPublication(keys), before?.position ?? null);
      });
      for (let start = 0; start < writes.length; start += 500)
        await put(view, ...writes.slice(start, start + 500));
    };
    const anyKeys = (age: number): Keys => randomKeys(random, age);
    /** Every range has more matches than are sorted, so that the values of buckets are used. */
    const reader = new ListReader(connection, { sorted_with_values_max: 0 });
    const expectExact = (): void => {
      const all = [...stored].flatMap(([id, { keys }]) => (keys ? [{ id, keys }] : []));
      for (const { where, order } of queries(all[random(all.length)]!.id)) {
        const matching = all
          .filter(({ id, keys }) =>
            Object.entries(where).every(([key, one]) =>
              isMatch(key === 'id' ? id : (keys[key] ?? null), one),
            ),
          )
          .sort((a, b) => compareByOrder(order, a, b))
          .map(({ id }) => id);
        const { length } = matching;
        for (const skip of [0, 7, length >> 1, length - 25, random(length + 1), length + 5]) {
          const start = Math.max(0, skip);
          const page = { where, order, limit: 20, skip: start };
          expect(idsOf(reader, page)).toEqual(matching.slice(start, start + 20));
        }
      }
    };

    const ids = Array.from({ length: 4_000 }, (_, n) => `p${String(n).padStart(5, '0')}`);
    await change(ids.slice(0, 1_500), anyKeys);
    // The version is complete from here on, so every later write changes the lists.
    await view.createIndexes?.(() => {});
    expectExact();
    await change(ids.slice(1_000), anyKeys);
    expectExact();
    const changed = ids.filter((_, n) => n % 3 === 0);
    await change(changed, (age) =>
      age % 2 === 0 ? null : { ...stored.get(idOf(age))!.keys, price_up: random(90) },
    );
    expectExact();
    // Whole buckets become empty, and are filled again.
    await change(ids.slice(2_000), () => null);
    expectExact();
    await change(ids.slice(2_000, 2_300), anyKeys);
    expectExact();
    // A file that was made without values of buckets.
    connection.write('DROP TABLE publications_bucket_values');
    await change(ids.slice(2_300, 2_400), anyKeys);
    expectExact();
  }, 120_000);

  describe('of which the oldest publications are the cheapest', () => {
    const COUNT = 60_000;
    const CHEAP = 6_000;
    const facetOf = (visibility: string): number =>
      facets.of({ visibility, featured_rank: NOT_FEATURED, free_shipping: 0, in_stock: 1 });

    beforeEach(async () => {
      const database = new Database(fileOf(view));
      // Two classes of prices above the range, and one that the range shares with publications above it.
      database.exec("INSERT INTO numbered_texts (number, text) VALUES (1, 'store-1')");
      database.exec(`WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ${COUNT})
        INSERT INTO publications (id, position, key_store_id, key_visibility, key_featured_rank, key_created_at,
          key_price_up, key_price_down, key_name_fold, key_free_shipping, key_in_stock, facet, body, state, expansions)
        SELECT printf('p%07d', n), n + 1, 1, iif(is_private, 'private', 'public'), ${NOT_FEATURED},
          printf('%07d', n), price, price, printf('%07d', ${COUNT} - n), 0, 1,
          iif(is_private, ${facetOf('private')}, ${facetOf('public')}), '{}', '{}', '{}'
        FROM (SELECT n, n % 5000 = 3 AS is_private, iif(n < ${CHEAP}, n % 101, 101 + n % 200) AS price FROM numbers)`);
      database.close();
      await view.createIndexes?.(() => {});
    }, 60_000);

    /** Returns the number of steps that SQLite takes; about ten for an entry of an index. */
    function stepsOf(work: () => void): number {
      const total = (): number => Number(connection.value('SELECT sum(nstep) FROM sqlite_stmt'));
      work();
      const before = total();
      work();
      return total() - before;
    }

    test.each([
      ['created_at_desc', 60],
      ['created_at_desc', 100],
      ['name_asc', 60],
      ['name_asc', 100],
    ] as const)('by %s up to a price of %i, a page reads few entries', (mode, lte) => {
      const reader = new ListReader(connection);
      const where = { store_id: 'store-1', visibility: 'public', price_up: { gte: 0, lte } };
      const query = { where, order: orderOf(mode), limit: 20 };
      const first = idsOf(reader, query);
      expect(first).toHaveLength(20);
      for (const id of first) expect(Number(id.slice(1))).toBeLessThan(CHEAP);
      for (const skip of [0, 980])
        expect(stepsOf(() => idsOf(reader, { ...query, skip }))).toBeLessThan(COUNT / 2);
    });

    test('the few private publications without one of them are found by few steps', () => {
      const reader = new ListReader(connection);
      const where = { store_id: 'store-1', visibility: 'private', id: { not: 'p0005003' } };
      const query = { where, order: orderOf('created_at_desc'), limit: 20 };
      const others = Array.from({ length: COUNT / 5_000 }, (_, n) => idOf(n * 5_000 + 3, 7));
      expect(idsOf(reader, query)).toEqual(others.filter((id) => id !== 'p0005003').reverse());
      expect(stepsOf(() => idsOf(reader, query))).toBeLessThan(5 * COUNT);
    });

    test('changes of another store leave the buckets of a store in memory', async () => {
      const reader = new ListReader(connection);
      const where = { store_id: 'store-1', visibility: 'public' };
      const deep = { where, order: orderOf('created_at_desc'), limit: 20, skip: 30_000 };
      const readBuckets = (): number =>
        Number(
          connection.value(
            "SELECT ifnull(sum(run), 0) FROM sqlite_stmt WHERE sql LIKE 'SELECT first_key, first_id, c%FROM publications_buckets%' AND sql NOT LIKE '%LIMIT%'",
          ),
        );
      const page = idsOf(reader, deep);
      const before = readBuckets();
      expect(before).toBeGreaterThan(0);
      const elsewhere = { store_id: 'store-2', listing_id: null };
      await put(view, aWrite('publications', 'other', 100_000n, aPublication(elsewhere)));
      expect(idsOf(reader, deep)).toEqual(page);
      expect(readBuckets()).toBe(before);
      await put(
        view,
        aWrite('publications', 'new', 100_001n, aPublication({ listing_id: null, created_at: '9' })),
      );
      expect(idsOf(reader, { ...deep, skip: 30_001 })).toEqual(page);
      expect(readBuckets()).toBeGreaterThan(before);
    });
  });
});

const idOf = (age: number, digits = 5): string => `p${String(age).padStart(digits, '0')}`;

/** Returns a generator with a fixed seed, so that a failure can be repeated. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

/** Returns keys whose price grows with the age of the id; some are equal, null, inactive or very high. */
function randomKeys(random: (below: number) => number, age: number): Keys {
  const usual = Math.floor(age / 10) + random(30);
  const price = [null, 1_000_000_000_000, PRICE_MAX, 5_000_000_000 + random(9), 0, 150][random(60)];
  return {
    store_id: random(10) === 0 ? 'small' : 'large',
    listing_id: random(3) === 0 ? null : `listing-${random(2)}`,
    visibility: random(5) === 0 ? 'private' : 'public',
    featured_rank: random(50) === 0 ? random(9) + 1 : NOT_FEATURED,
    created_at: random(40) === 0 ? null : `${10_000 + age - random(50)}`,
    price_up: price === undefined ? usual : price,
    price_down: price === undefined ? usual : price,
    name_fold: random(30) === 0 ? null : `${random(900)}`,
    free_shipping: random(400) === 0 ? 1 : 0,
    in_stock: random(2),
  };
}

function queries(id: string): Query[] {
  const ranges: ViewQuery['where'][] = [
    { visibility: 'public', price_up: { gte: 0, lte: 60 } },
    { visibility: { in: ['public', 'private'] }, price_up: { gte: 100, lte: 180 } },
    { visibility: 'public', free_shipping: 1, price_up: { gte: 50, lte: PRICE_MAX } },
    { visibility: 'private', in_stock: 0, price_up: { gte: 150, lte: 150 } },
    { visibility: 'public', price_up: { gte: 5_000_000_003, lte: 5_000_000_006 } },
    { visibility: 'public', price_up: { gte: 0, lte: 0 } },
    { visibility: 'public', price_up: { gte: 0, lte: 200 }, id: { not: id } },
    { visibility: 'public', id: { not: id } },
    { visibility: 'private', id: { not: id } },
  ];
  const scopes = [{ store_id: 'large' }, { listing_id: 'listing-1' }];
  const modes = ['created_at_desc', 'created_at_asc', 'name_asc', 'name_desc'] as const;
  return scopes.flatMap((scope) =>
    modes.flatMap((mode) => ranges.map((range) => ({ where: { ...scope, ...range }, order: orderOf(mode) }))),
  );
}

function isMatch(key: Key, condition: KeyCondition): boolean {
  if (condition === null || typeof condition !== 'object') return key === condition;
  if ('in' in condition) return condition.in.includes(key);
  if ('not' in condition) return key !== condition.not;
  const { gte = Number.NEGATIVE_INFINITY, lte = Number.POSITIVE_INFINITY } = condition;
  return typeof key === 'number' && key >= gte && key <= lte;
}
