import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { pageQuery, type RowCondition } from '../../shared/adapters/sqlite/documents';
import { tablesOf } from '../../shared/adapters/sqlite/tables';
import { SqliteViewStore } from '../../shared/adapters/sqlite/view-store';
import type { CollectionName } from '../../shared/catalog/documents';
import { featuredFirst, orderOf, type SortOrder } from '../../shared/catalog/sorting';
import { sortModeSchema } from '../../shared/catalog/vocabulary';
import type { ViewQuery, ViewVersion } from '../../shared/ports/view-store';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';
import { aBatch, aPublication, aWrite, idsOf, put } from './some-documents';

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

  // Only Linux tells a process that ended from one that runs while nobody has asked for its end.
  (process.platform === 'linux' ? describe : describe.skip)('the lease of a killed process', () => {
    const TTL_MS = 600_000;

    test('is free at once, also while who started it has not asked for its end', async () => {
      const store = await open();
      // The shell becomes a program that starts nothing, and so asks for no end of what the shell has started.
      const parent = spawn('sh', ['-c', 'sleep 600 & echo $!; exec sleep 600']);
      try {
        const [line] = (await once(parent.stdout, 'data')) as [Buffer];
        const pid = Number(line);
        expect(await store.lease('verify', `pid:${pid}:one`, TTL_MS)).toBe(true);
        expect(await store.lease('verify', 'two', TTL_MS)).toBe(false);
        process.kill(pid, 'SIGKILL');
        await waitFor(() => store.lease('verify', 'two', TTL_MS), { what: 'the lease' });
        // Still there, then: its end was not what freed it.
        expect(process.kill(pid, 0)).toBe(true);
      } finally {
        parent.kill('SIGKILL');
      }
    });
  });

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

  describe('the index of words', () => {
    const words = (...given: string[]) => ({ ...aPublication(), words: given });
    const order = [['id', 'asc']] as const;
    const scope = { store_id: 'store-1', visibility: 'public' };
    const find = async (version: ViewVersion, word: string): Promise<string[]> =>
      idsOf(
        await version.search('publications', {
          ...{ scope, where: scope, order, limit: 9, tiers: [[[{ word }]]] },
        }),
      );

    test('agrees with the documents after inserts, changes, ends and a VACUUM', async () => {
      const store = await open();
      const { version } = await store.createVersion(1);
      const view = await store.open(version);
      for (const [n, id] of ['a', 'b', 'c', 'd'].entries())
        await put(view, aWrite('publications', id, BigInt(n + 1), words(id, 'all')));
      // Here the index is made of what is there; from here on it is kept.
      await store.setStatus(version, 'following');
      await put(view, aWrite('publications', 'e', 9n, words('e')));
      await put(view, aWrite('publications', 'b', 10n, null, 2n));
      await put(view, aWrite('publications', 'c', 11n, words('changed', 'all'), 3n));
      await store.close();
      const database = new Database(fileOf(version));
      database.exec(
        "VACUUM; INSERT INTO publications_words (publications_words, rank) VALUES ('integrity-check', 1)",
      );
      database.close();
      const reopened = await (await open()).open(version);
      expect(await find(reopened, 'all')).toEqual(['a', 'c', 'd']);
      expect(await find(reopened, 'changed')).toEqual(['c']);
    });

    test('refuses what its tokenizer would take apart', async () => {
      const store = await open();
      const view = await store.open((await store.createVersion(1)).version);
      for (const word of ['two words', 'UPPER', 'a"b', 'a*', '', 'a\u0000b'])
        await expect(put(view, aWrite('publications', 'p', 1n, words(word)))).rejects.toThrow('a word is');
      await expect(find(view, 'a" OR "b')).rejects.toThrow('a word is');
    });

    test('comes to a file that was made without one, whose documents stay readable', async () => {
      const store = await open();
      const { version } = await store.createVersion(1);
      const view = await store.open(version);
      await put(view, aWrite('publications', 'p', 1n, words('mug')));
      await store.setStatus(version, 'following');
      await store.close();
      const database = new Database(fileOf(version));
      database.exec(`DROP TRIGGER publications_words_insert; DROP TRIGGER publications_words_update;
        DROP TABLE publications_words; DROP VIEW publications_text;
        ALTER TABLE publications DROP COLUMN words; ALTER TABLE publications DROP COLUMN words_scope;
        DROP TABLE media; DROP TABLE media_uses;
        PRAGMA user_version = 1`);
      database.close();
      const upgraded = await (await open()).open(version);
      expect((await upgraded.get('publications', 'p'))?.document?.body).toEqual(aPublication().body);
      expect(await find(upgraded, 'mug')).toEqual([]);
      await put(upgraded, aWrite('publications', 'p', 2n, words('mug'), 1n));
      expect(await find(upgraded, 'mug')).toEqual(['p']);
    });
  });

  describe('a page is read from an index', () => {
    let database: Database.Database;

    beforeEach(async () => {
      const store = await open();
      const version = await store.open((await store.createVersion(1)).version);
      await put(version, aWrite('publications', 'p', 1n, aPublication()));
      await store.setStatus(version.version, 'following');
      database = new Database(fileOf(version.version));
    });
    afterEach(() => database.close());

    /** How SQLite goes about the selection of a page, without the look-ups of its documents. */
    function plan(collection: CollectionName, query: ViewQuery, besides?: RowCondition): string[] {
      const { sql, parameters } = pageQuery(tablesOf()[collection]!, query, besides);
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

    test('a few rows of a search are looked up, many are met on a walk of the order’s index', () => {
      const query = { where: one_store, order: orderOf('created_at_desc'), limit: 20 };
      const filtered = { ...query, where: { ...one_store, price_up: { gte: 1 }, listing_id: { not: 'l' } } };
      const rows = 'rowid IN (SELECT value FROM json_each(?))';
      for (const one of [query, filtered]) {
        const few = plan('publications', one, { sql: rows, parameters: ['[1]'], by_row: true }).join('\n');
        expect(few).toContain('SEARCH publications USING INTEGER PRIMARY KEY (rowid=?)');
        const many = plan('publications', one, { sql: `+${rows}`, parameters: ['[1]'] }).join('\n');
        expect(many).toContain('SEARCH publications USING COVERING INDEX publications_0');
        expect(many).not.toContain('TEMP B-TREE');
      }
    });

    test('a key is looked up by its hash in an index', () => {
      const steps = plan('api_keys', { where: { key_hash: 'h' }, order: [['id', 'asc']], limit: 1 });
      expect(steps.join('\n')).toContain('api_keys_key_hash');
    });
  });
});
