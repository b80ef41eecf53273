import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { tables } from '../../shared/adapters/sqlite/documents';
import { pageQuery } from '../../shared/adapters/sqlite/page-query';
import { SqliteViewStore } from '../../shared/adapters/sqlite/view-store';
import type { CollectionName } from '../../shared/contracts/documents';
import { featuredFirst, orderOf, type SortOrder } from '../../shared/contracts/sorting';
import { sortModeSchema } from '../../shared/contracts/vocabulary';
import type { ViewQuery } from '../../shared/ports/view-store';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { aBatch, aPublication, aWrite, put } from './some-documents';

describe('the view store on SQLite', () => {
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
  const fileOf = (version: number): string => join(folder.path, `views-v${version}.sqlite`);
  const versionFiles = (): string[] => readdirSync(folder.path).filter((name) => name.startsWith('views-v'));

  describe('files of versions', () => {
    test('a dropped version leaves no file behind, whoever has it open', async () => {
      const [store, other] = [await open(), await open()];
      const { version } = await store.createVersion(1);
      await other.open(version);
      await store.drop(version);
      expect(versionFiles()).toEqual([]);
    });

    test('who still holds a version that was dropped is told so', async () => {
      const store = await open();
      const { version } = await store.createVersion(1);
      const held = await store.open(version);
      await store.drop(version);
      await expect(held.get('publications', 'p')).rejects.toMatchObject({ condition: 'unavailable' });
      await expect(held.apply(aBatch({}))).rejects.toMatchObject({ condition: 'unavailable' });
    });

    test('a version in use whose file is gone is not taken for an empty one', async () => {
      const store = await open();
      const { version } = await store.createVersion(1);
      await store.activate(version);
      await store.close();
      for (const name of versionFiles()) rmSync(join(folder.path, name));
      await expect((await open()).open(version)).rejects.toMatchObject({ condition: 'unavailable' });
      expect(existsSync(fileOf(version))).toBe(false);
    });

    test('a version whose maker died before its file was there can be opened by who goes on with it', async () => {
      const store = await open();
      const { version } = await store.createVersion(1);
      await store.close();
      for (const name of versionFiles()) rmSync(join(folder.path, name));
      const reopened = await (await open()).open(version);
      expect(await reopened.checkpoint(0)).toBe(0n);
    });

    test('files that a drop left behind when its process died are removed', async () => {
      const store = await open();
      const { version } = await store.createVersion(1);
      writeFileSync(fileOf(version + 7), 'left behind');
      writeFileSync(`${fileOf(version + 7)}-wal`, 'left behind');
      await open();
      expect(versionFiles().filter((name) => name.includes(`v${version + 7}`))).toEqual([]);
      expect(existsSync(fileOf(version))).toBe(true);
    });
  });

  test('a wait that is under way ends when the store is closed', async () => {
    const store = await open();
    const version = await store.open((await store.createVersion(1)).version);
    const waiting = version.waitFor(0, 5n, 60_000);
    await version.checkpoint(0);
    await store.close();
    await expect(waiting).resolves.toBe(false);
  });

  describe('a page is read from an index', () => {
    let database: Database.Database;

    beforeEach(async () => {
      const store = await open();
      const version = await store.open((await store.createVersion(1)).version);
      await put(version, aWrite('publications', 'p', 1n, aPublication()));
      database = new Database(fileOf(version.version));
    });
    afterEach(() => database.close());

    /** How SQLite goes about the selection of a page, without the look-ups of its documents. */
    function plan(collection: CollectionName, query: ViewQuery): string[] {
      const { sql, parameters } = pageQuery(tables[collection], query);
      const rows = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all([...parameters]);
      return (rows as { detail: string }[]).map(({ detail }) => detail);
    }

    const one_store = { store_id: 's', visibility: 'public' };
    const one_listing = { listing_id: 'l', visibility: 'public' };
    const modes = sortModeSchema.options;
    const standard: [string, CollectionName, ViewQuery['where'], SortOrder][] = [
      ...modes.map(
        (mode) => [`a store’s publications, ${mode}`, 'publications', one_store, orderOf(mode)] as const,
      ),
      ...modes.map(
        (mode) =>
          [
            `a listing’s publications, featured first, ${mode}`,
            'publications',
            one_listing,
            featuredFirst(mode),
          ] as const,
      ),
      ...(['created_at_desc', 'created_at_asc', 'name_asc', 'name_desc'] as const).map(
        (mode) => [`a store’s listings, ${mode}`, 'listings', one_store, orderOf(mode)] as const,
      ),
      [
        'payment methods',
        'payment_methods',
        { store_id: 's' },
        [
          ['position', 'asc'],
          ['id', 'asc'],
        ],
      ],
      ['reviews, newest first', 'reviews', { publication_id: 'p' }, orderOf('created_at_desc')],
    ].map((row) => [...row]) as [string, CollectionName, ViewQuery['where'], SortOrder][];

    test.each(standard)(
      '%s: no sort, and nothing but the index is skipped over',
      (_, collection, where, order) => {
        const steps = plan(collection, { where, order, limit: 20, skip: 1_000 });
        expect(steps.filter((step) => step.includes('TEMP B-TREE'))).toEqual([]);
        expect(steps.filter((step) => /USING COVERING INDEX/.test(step))).toHaveLength(1);
      },
    );

    test.each(standard.filter(([, , where]) => 'visibility' in where))(
      '%s, public and private: two walks of the index, merged',
      (_, collection, where, order) => {
        const both = { ...where, visibility: { in: ['public', 'private'] } };
        const steps = plan(collection, { where: both, order, limit: 20, skip: 1_000 });
        expect(steps.filter((step) => step.includes('TEMP B-TREE'))).toEqual([]);
        expect(steps.filter((step) => /USING COVERING INDEX/.test(step))).toHaveLength(2);
      },
    );

    test('a key is looked up by its hash in an index', () => {
      const steps = plan('api_keys', { where: { key_hash: 'h' }, order: [['id', 'asc']], limit: 1 });
      expect(steps.join('\n')).toContain('api_keys_key_hash');
    });
  });
});
