import { join } from 'node:path';
import Database from 'libsql';
import { indexesOf as declaredIndexes } from '../../shared/adapters/sqlite/indexes';
import { tablesOf } from '../../shared/adapters/sqlite/tables';
import { SqliteViewStore } from '../../shared/adapters/sqlite/view-store';
import type { ViewVersion } from '../../shared/ports/view-store';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { aPublication, aWrite, idsOf, put } from './some-documents';

const ALL = [
  ...Object.values(tablesOf()).flatMap((table) => declaredIndexes(table).map(({ name }) => name)),
  'publications_terms',
  'publications_buckets',
].sort();

describe('the indexes of a version on SQLite', () => {
  let folder: TempDir;
  const opened: SqliteViewStore[] = [];

  beforeEach(() => {
    folder = makeTempDir();
  });
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
    folder.remove();
  });

  async function open(): Promise<SqliteViewStore> {
    const store = await SqliteViewStore.open({ folder: folder.path });
    opened.push(store);
    return store;
  }

  function inFile<Result>(version: number, work: (database: Database.Database) => Result): Result {
    const database = new Database(join(folder.path, `views-v${version}.sqlite`));
    try {
      return work(database);
    } finally {
      database.close();
    }
  }

  const indexesOf = (version: number): string[] =>
    inFile(version, (database) => {
      const rows = database.prepare('SELECT name FROM sqlite_master').all() as { name: string }[];
      return rows
        .map(({ name }) => name)
        .filter((name) => ALL.includes(name))
        .sort();
    });

  /** Creates a building version with a changed and a deleted document. */
  async function buildVersion(store: SqliteViewStore): Promise<ViewVersion> {
    const version = await store.open((await store.createVersion(1)).version);
    const withWords = (...words: string[]) => ({ ...aPublication(), words });
    await put(
      version,
      aWrite('publications', 'p', 1n, withWords('mug')),
      aWrite('publications', 'q', 1n, withWords()),
    );
    await put(
      version,
      aWrite('publications', 'p', 2n, withWords('cup')),
      aWrite('publications', 'q', 2n, null),
    );
    return version;
  }

  const scope = { store_id: 'store-1', visibility: 'public' };
  const search = async (version: ViewVersion, word: string): Promise<string[]> => {
    const query = { scope, where: scope, tiers: [[[{ word }]]], limit: 9, order: [['id', 'asc']] } as const;
    return idsOf((await version.search('publications', query)).documents);
  };

  test('are few during the build, and complete before the version follows the log or is read', async () => {
    const store = await open();
    const { version } = await buildVersion(store);
    expect(indexesOf(version).length).toBeLessThan(ALL.length / 2);
    await store.setStatus(version, 'following');
    expect(indexesOf(version)).toEqual(ALL);
    const { version: first } = await store.createVersion(1);
    await store.activate(first);
    expect(indexesOf(first)).toEqual(ALL);
  });

  test('contain documents written before and after their creation, in every process', async () => {
    const store = await open();
    const version = await buildVersion(store);
    const other = await (await open()).open(version.version);
    await store.setStatus(version.version, 'following');
    for (const one of [version, other]) {
      expect(await search(one, 'mug')).toEqual([]);
      expect(await search(one, 'cup')).toEqual(['p']);
    }
    const glass = { ...aPublication(), words: ['glass'] };
    await put(other, aWrite('publications', 'p', 3n, glass), aWrite('publications', 'r', 3n, glass));
    expect(await search(version, 'cup')).toEqual([]);
    expect(await search(version, 'glass')).toEqual(['p', 'r']);
  });

  test('are completed by the next process if their creation was interrupted', async () => {
    const store = await open();
    const version = await buildVersion(store);
    await store.setStatus(version.version, 'following');
    await store.close();
    inFile(version.version, (database) => {
      database.exec('DROP INDEX publications_list_0; DROP TABLE publications_buckets');
      for (const part of ['terms', 'entries', 'scopes', 'vocabulary'])
        database.exec(`DROP TABLE publications_${part}`);
    });
    const again = await open();
    await again.setStatus(version.version, 'following');
    expect(indexesOf(version.version)).toEqual(ALL);
    expect(await search(await again.open(version.version), 'cup')).toEqual(['p']);
  });

  test('are created by a search that needs them', async () => {
    const version = await buildVersion(await open());
    expect(await search(version, 'cup')).toEqual(['p']);
    expect(indexesOf(version.version)).toEqual(ALL);
  });
});
