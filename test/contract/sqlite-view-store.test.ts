import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'libsql';
import { type SqlInput, SqliteConnection, type SqlRow } from '../../shared/adapters/sqlite/connection';
import { pageQuery } from '../../shared/adapters/sqlite/documents';
import { indexesOf as declaredIndexes } from '../../shared/adapters/sqlite/indexes';
import { ListReader } from '../../shared/adapters/sqlite/list-pages';
import { tablesOf } from '../../shared/adapters/sqlite/tables';
import { SqliteViewStore, versionFile } from '../../shared/adapters/sqlite/view-store';
import { RANK_STEP } from '../../shared/adapters/sqlite/word-index';
import type { CollectionName } from '../../shared/catalog/documents';
import { compareByOrder, featuredFirst, orderOf, type SortOrder } from '../../shared/catalog/sorting';
import { listSortModeSchema } from '../../shared/catalog/vocabulary';
import type { ViewQuery, ViewVersion, WordTerms } from '../../shared/ports/view-store';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { waitFor, within } from '../support/wait-for';
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
  /** Opens a new version, which is being built. */
  async function openNew() {
    const store = await open();
    return { store, view: await store.open((await store.createVersion(1)).version) };
  }
  /** Opens a new version with all indexes. */
  async function openIndexed() {
    const { store, view } = await openNew();
    await store.setStatus(view.version, 'following');
    return { store, view };
  }
  const fileOf = (version: number): string => join(folder.path, versionFile(version));
  const versionFiles = (): string[] =>
    readdirSync(folder.path).filter((name) => name.startsWith('views.7-v'));

  // Only on Linux does the adapter distinguish a zombie from a running process.
  (process.platform === 'linux' ? describe : describe.skip)('the lease of a killed process', () => {
    const TTL_MS = 600_000;

    test('is free at once, even while the process is a zombie', async () => {
      const store = await open();
      // `exec` replaces the shell by a program that never waits for the child, so the killed child becomes a zombie.
      const parent = spawn('sh', ['-c', 'sleep 600 & echo $!; exec sleep 600']);
      try {
        const [line] = await within(once(parent.stdout, 'data') as Promise<[Buffer]>, 'a process id');
        const pid = Number(line);
        // A shell might wait for a child that ends before the `exec`.
        const nameOf = (id: number) => readFileSync(`/proc/${id}/comm`, 'latin1');
        await waitFor(() => nameOf(parent.pid!) === 'sleep\n', { what: 'the exec' });
        expect(await store.lease('verify', `pid:${pid}:one`, TTL_MS)).toBe(true);
        expect(await store.lease('verify', 'two', TTL_MS)).toBe(false);
        process.kill(pid, 'SIGKILL');
        await waitFor(() => store.lease('verify', 'two', TTL_MS), { what: 'the lease' });
        // The process is still a zombie, so the lease was freed because of its state.
        expect(process.kill(pid, 0)).toBe(true);
      } finally {
        parent.kill('SIGKILL');
      }
    });
  });

  describe('files of versions', () => {
    test('stay if the store is closed while a version is being opened', async () => {
      const creator = await open();
      const { version } = await creator.createVersion(1);
      await creator.activate(version);
      const closed = await SqliteViewStore.open({ folder: folder.path });
      const opening = closed.open(version).then(
        () => 'opened',
        () => 'failed',
      );
      await Promise.all([closed.close(), opening]);
      expect(existsSync(fileOf(version))).toBe(true);
    });

    test('of an earlier release stay for it until nobody has used them for some time', async () => {
      const earlier = ['views.sqlite', 'views-v3.sqlite'];
      for (const name of earlier) writeFileSync(join(folder.path, name), 'documents');
      const store = await open();
      expect(await store.versions()).toEqual([]);
      expect(await store.createVersion(1)).toMatchObject({ version: 4 });
      expect(await store.dropEarlierFormats(Date.now() - 60_000)).toEqual([]);
      await open();
      expect(readdirSync(folder.path)).toEqual(expect.arrayContaining(earlier));
      expect([...(await store.dropEarlierFormats(Date.now() + 60_000))].sort()).toEqual(earlier.sort());
      expect(readdirSync(folder.path)).not.toEqual(expect.arrayContaining(['views.sqlite']));
      await (await store.open(4)).checkpoints();
    });

    test('a dropped version leaves no file, even if a process has it open', async () => {
      const [store, other] = [await open(), await open()];
      const { version } = await store.createVersion(1);
      await other.open(version);
      await store.drop(version);
      expect(versionFiles()).toEqual([]);
    });

    test('calls on a dropped version fail with unavailable', async () => {
      const store = await open();
      const { version } = await store.createVersion(1);
      const dropped = await store.open(version);
      await store.drop(version);
      await expect(dropped.get('publications', 'p')).rejects.toMatchObject({ condition: 'unavailable' });
      await expect(dropped.apply(aBatch({}))).rejects.toMatchObject({ condition: 'unavailable' });
    });

    test('an active version whose file is missing is not opened as an empty one', async () => {
      const store = await open();
      const { version } = await store.createVersion(1);
      await store.activate(version);
      await store.close();
      for (const name of versionFiles()) rmSync(join(folder.path, name));
      await expect((await open()).open(version)).rejects.toMatchObject({ condition: 'unavailable' });
      expect(existsSync(fileOf(version))).toBe(false);
    });

    test('a building version without a file can be opened', async () => {
      const store = await open();
      const { version } = await store.createVersion(1);
      await store.close();
      for (const name of versionFiles()) rmSync(join(folder.path, name));
      const reopened = await (await open()).open(version);
      expect(await reopened.checkpoint(0)).toBe(0n);
    });

    test('files left behind by an interrupted drop are removed', async () => {
      const store = await open();
      const { version } = await store.createVersion(1);
      writeFileSync(fileOf(version + 7), 'left behind');
      writeFileSync(`${fileOf(version + 7)}-wal`, 'left behind');
      await open();
      expect(versionFiles().filter((name) => name.includes(`v${version + 7}`))).toEqual([]);
      expect(existsSync(fileOf(version))).toBe(true);
    });
  });

  test.each(['list', 'search'] as const)(
    'a %s does not show what another process writes while it is read',
    async (kind) => {
      const { store, view } = await openNew();
      const { version } = view;
      const shown = { ...aPublication({}, { title: 'Shown' }), words: ['mug'] };
      await put(view, aWrite('publications', 'p', 1n, shown));
      await store.setStatus(version, 'following');
      const writer = new Database(fileOf(version));
      const { prototype } = SqliteConnection;
      let written = false;
      const hide = (sql: string): void => {
        // After the rows of the page are found, and before the documents are read.
        if (written || !/FROM publications(_terms|_list| AS|\b)/.test(sql)) return;
        written = true;
        writer.exec("UPDATE publications SET body = '{}', key_visibility = 'private'");
      };
      for (const method of ['all', 'value'] as const) {
        const read = prototype[method] as (...args: unknown[]) => never;
        jest.spyOn(prototype, method).mockImplementation(function (this: SqliteConnection, ...args) {
          const found = read.apply(this, args);
          hide(args[0]);
          return found;
        });
      }
      const scope = { store_id: 'store-1', visibility: 'public' };
      const order = orderOf('created_at_desc');
      const found =
        kind === 'list'
          ? await view.find('publications', { where: scope, order, limit: 9 })
          : (
              await view.search('publications', {
                ...{ scope, where: scope, order, limit: 9, tiers: [[[{ word: 'mug' }]]] },
              })
            ).documents;
      jest.restoreAllMocks();
      writer.close();
      expect(written).toBe(true);
      // A list sees one moment. A search checks what it found when it reads the documents.
      const titles = found.map(({ document }) => document?.body.title);
      expect(titles).toEqual(kind === 'list' ? ['Shown'] : []);
    },
  );

  describe('the indexes of a version', () => {
    const ALL = [
      ...Object.values(tablesOf()).flatMap((table) => declaredIndexes(table).map(({ name }) => name)),
      'publications_terms',
      'publications_buckets',
    ].sort();

    function inFile<Result>(version: number, work: (database: Database.Database) => Result): Result {
      const database = new Database(fileOf(version));
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

  describe('the index of words', () => {
    /** Returns random integers below a limit, the same ones for the same seed. */
    const randomFrom = (seed: number) => {
      let state = seed;
      return (below: number): number => {
        state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
        return Math.floor((state / 2 ** 31) * below);
      };
    };
    const words = (...list: string[]) => ({ ...aPublication(), words: list });
    const order = [['id', 'asc']] as const;
    const scope = { store_id: 'store-1', visibility: 'public' };
    const find = async (version: ViewVersion, word: string): Promise<string[]> => {
      const query = { scope, where: scope, order, limit: 9, tiers: [[[{ word }]]] };
      return idsOf((await version.search('publications', query)).documents);
    };

    test('agrees with the documents after inserts, updates, deletes and a VACUUM', async () => {
      const { store, view } = await openNew();
      const { version } = view;
      for (const [n, id] of ['a', 'b', 'c', 'd'].entries())
        await put(view, aWrite('publications', id, BigInt(n + 1), words(id, 'all')));
      // `setStatus` builds the index from the stored documents. Later writes update it.
      await store.setStatus(version, 'following');
      await put(view, aWrite('publications', 'e', 9n, words('e')));
      await put(view, aWrite('publications', 'b', 10n, null));
      await put(view, aWrite('publications', 'c', 11n, words('changed', 'all')));
      await store.close();
      const database = new Database(fileOf(version));
      database.exec(
        `VACUUM; INSERT INTO publications_terms (publications_terms, rank) VALUES ('integrity-check', 0);
         CREATE VIRTUAL TABLE temp.postings USING fts5vocab(main, publications_terms, instance)`,
      );
      const postings = database
        .prepare(
          `SELECT d.id || ' ' || substr(p.term, 7) FROM temp.postings AS p
            JOIN publications_entries AS e ON e.rank = p.doc JOIN publications AS d ON d.rowid = e.row
            WHERE substr(p.term, 7, 1) <> '@' ORDER BY 1`,
        )
        .pluck()
        .all();
      expect(postings).toEqual(['a a', 'a all', 'c all', 'c changed', 'd all', 'd d', 'e e']);
      const every = database.prepare('SELECT count(*) AS n FROM temp.postings').get();
      expect(every).toMatchObject({ n: 7 + 4 });
      // `b` and `c` left with the only documents that had them.
      const vocabulary = database.prepare('SELECT word FROM publications_vocabulary').pluck().all();
      expect(vocabulary).toEqual(['a', 'all', 'changed', 'd', 'e']);
      database.close();
      const reopened = await (await open()).open(version);
      expect(await find(reopened, 'all')).toEqual(['a', 'c', 'd']);
      expect(await find(reopened, 'changed')).toEqual(['c']);
    });

    test('a prefix does not stand for words of deleted documents', async () => {
      const { view } = await openIndexed();
      const ids = Array.from({ length: 40 }, (_, n) => `${1_000 + n}`);
      const models = (id: string) => words(`:model${id}`, `model${id}`);
      await put(view, ...ids.map((id, n) => aWrite('publications', id, BigInt(n + 1), models(id))));
      await put(view, ...ids.map((id, n) => aWrite('publications', id, BigInt(n + 50), null)));
      await put(view, aWrite('publications', 'p', 100n, models('9999')));
      const terms = [[{ word: 'model', prefix: true as const }]];
      const query = { scope, where: scope, order, limit: 9, tiers: [terms] };
      expect(idsOf((await view.search('publications', query)).documents)).toEqual(['p']);
    });

    test('a write that removes very many words looks up some of them', async () => {
      const { view } = await openIndexed();
      const many = Array.from({ length: 5_000 }, (_, n) => `w${n}`);
      await put(view, aWrite('publications', 'p', 1n, words(...many)));
      const value = jest.spyOn(SqliteConnection.prototype, 'value');
      await put(view, aWrite('publications', 'p', 2n, words('short')));
      const lookups = value.mock.calls.filter(([sql]) => sql.includes('MATCH')).length;
      jest.restoreAllMocks();
      expect(lookups).toBeGreaterThan(0);
      expect(lookups).toBeLessThan(1_000);
      expect([await find(view, 'short'), await find(view, 'w4999')]).toEqual([['p'], []]);
    });

    test('rejects words that the tokenizer would split', async () => {
      const { view } = await openNew();
      for (const word of ['two words', 'UPPER', 'a"b', 'a*', '', 'a\u0000b'])
        await expect(put(view, aWrite('publications', 'p', 1n, words(word)))).rejects.toThrow('a word is');
      await put(view, aWrite('publications', 'p', 1n, words('mug')));
      await expect(find(view, 'a" OR "b')).rejects.toThrow('a word is');
    });

    test('keeps documents in order of age, in whatever order they are written', async () => {
      const { view } = await openIndexed();
      const random = randomFrom(7);
      const written: { id: string; created_at: string }[] = [];
      for (let batch = 0; batch < 40; batch++) {
        const items = Array.from({ length: 10 }, (_, n) => ({
          id: `p${random(1_000_000)}-${batch}-${n}`,
          // Many documents arrive late between the same two neighbours.
          created_at: `2026-01-${random(4) === 0 ? '05' : String(10 + random(20))}`,
        }));
        const writes = items.map(({ id, created_at }) =>
          aWrite('publications', id, BigInt(batch + 1), { ...aPublication({ created_at }), words: ['mug'] }),
        );
        await put(view, ...writes);
        written.push(...items);
      }
      const newest_first = orderOf('created_at_desc');
      const { documents: found } = await view.search('publications', {
        ...{ scope, where: scope, order: newest_first, limit: 1_000, tiers: [[[{ word: 'mug' }]]] },
      });
      const sorted = written.map(({ id, created_at }) => ({ id, keys: { created_at } }));
      sorted.sort((a, b) => compareByOrder(newest_first, a, b));
      expect(idsOf(found)).toEqual(sorted.map(({ id }) => id));
    });

    test('appends the documents of one millisecond, in whatever order they are written', async () => {
      const { view } = await openIndexed();
      const random = randomFrom(7);
      const ids = Array.from({ length: 100 }, (_, n) => `p${random(1_000_000)}-${n}`);
      await put(view, ...ids.map((id) => aWrite('publications', id, 1n, words('mug'))));
      const database = new Database(fileOf(view.version));
      const sql =
        'SELECT e.rank, d.id FROM publications_entries AS e JOIN publications AS d ON d.rowid = e.row';
      const ranks = database.prepare(`${sql} ORDER BY e.rank`).raw().all();
      database.close();
      expect(ranks).toEqual(ids.sort().map((id, n) => [(n + 1) * RANK_STEP, id]));
    });

    test('a prefix of up to three characters stands for all words, however many there are', async () => {
      const { view } = await openNew();
      const all = Array.from({ length: 100 }, (_, n) => `mug${n}`);
      await put(view, ...all.map((word, n) => aWrite('publications', `p${n}`, 1n, words(word))));
      const query = { scope, where: scope, order, limit: 0 };
      const count = async (terms: WordTerms, total_max = 1_000) =>
        (await view.search('publications', { ...query, tiers: [terms], total_max })).total;
      const starting = (word: string): WordTerms => [[{ word, prefix: true }]];
      expect(await count(starting('mug'))).toBe(100);
      expect(await count(starting('m'))).toBe(100);
      expect(await count(starting('mug9'))).toBe(11);
      expect(await count([], 42)).toBe(42);
    });

    test('a search of all visibilities finds what a search of each finds, the better tier first', async () => {
      const { view } = await openNew();
      /** Returns publications of 32 words each: as many as the beginning of a word stands for. */
      const models = (visibility: string, name: string, copies: number) =>
        Array.from({ length: 32 * copies }, (_, n) => {
          const word = `${name}${visibility}${10 + (n % 32)}`;
          const document = { ...aPublication({ visibility }), words: [`:${word}`, word] };
          return aWrite('publications', `${word}-${n}`, 1n, document);
        });
      // More publications than a search sorts in memory.
      const [first, second] = [models('public', 'alpha', 4), models('public', 'bravo', 4)];
      const hidden = models('private', 'alpha', 2);
      await put(view, ...first, ...second, ...hidden);
      const starting = (word: string) => ({ word, prefix: true as const });
      const tiers = [[[starting(':alpha')]], [[starting('alpha'), starting('bravo')]]];
      const searchIn = async (...visibilities: string[]) => {
        const scope = { store_id: 'store-1', visibility: { in: visibilities } };
        const newest_first = orderOf('created_at_desc');
        const query = { scope, where: scope, order: newest_first, limit: 1_000, tiers, total_max: 1_000 };
        const { documents, total } = await view.search('publications', query);
        return { ids: idsOf(documents), total };
      };
      const written = (...writes: { readonly id: string }[]) => writes.map(({ id }) => id).sort();
      const [shown, secret] = [await searchIn('public'), await searchIn('private')];
      expect(shown.ids.toSorted()).toEqual(written(...first, ...second));
      expect(secret.ids.toSorted()).toEqual(written(...hidden));
      for (const visibilities of [
        ['public', 'private'],
        ['private', 'public'],
      ]) {
        const { ids, total } = await searchIn(...visibilities);
        expect(ids.toSorted()).toEqual([...shown.ids, ...secret.ids].sort());
        expect(total).toBe(shown.total + secret.total);
        const best = first.length + hidden.length;
        expect(ids.slice(0, best).sort()).toEqual(written(...first, ...hidden));
      }
    });
  });

  describe('a page is read from an index', () => {
    let database: Database.Database;

    beforeEach(async () => {
      const { store, view } = await openNew();
      await put(view, aWrite('publications', 'p', 1n, aPublication()));
      await store.setStatus(view.version, 'following');
      database = new Database(fileOf(view.version));
    });
    afterEach(() => database.close());

    /** Returns SQLite's query plan. */
    function explain(sql: string, parameters: readonly SqlInput[]): string[] {
      const rows = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all([...parameters]);
      return (rows as { detail: string }[]).map(({ detail }) => detail);
    }

    /** Returns the plan of a page that is not one of a list. */
    function plan(collection: CollectionName, query: ViewQuery): string[] {
      const { sql, parameters } = pageQuery(tablesOf()[collection]!, query);
      return explain(sql, parameters);
    }

    /** Returns the plan of each statement that reads a page of a list. */
    async function plansOfList(collection: CollectionName, query: ViewQuery): Promise<string[]> {
      const plans: string[] = [];
      const run = (sql: string, parameters: readonly SqlInput[] = []): SqlRow[] => {
        plans.push(explain(sql, parameters).join('\n'));
        return database
          .prepare(sql)
          .raw()
          .all([...parameters]) as SqlRow[];
      };
      const connection = {
        all: run,
        value: (sql: string, parameters?: readonly SqlInput[]) => run(sql, parameters)[0]?.[0],
        snapshot: (work: () => unknown) => work(),
        attempt: async (work: () => unknown) => work(),
      };
      const reader = new ListReader(connection as unknown as SqliteConnection);
      expect(await reader.page(tablesOf()[collection]!, query)).toBeDefined();
      return plans;
    }

    const one_store = { store_id: 'store-1', visibility: 'public' };
    const one_listing = { listing_id: 'listing-1', visibility: 'public' };
    const modes = listSortModeSchema.options;
    const standard: [string, CollectionName, ViewQuery['where'], SortOrder][] = [
      ...modes.map(
        (mode) => [`a store’s publications, ${mode}`, 'publications', one_store, orderOf(mode)] as const,
      ),
      ...modes.map(
        (mode) => [`a listing’s publications, ${mode}`, 'publications', one_listing, orderOf(mode)] as const,
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
      ['a store’s media by id', 'media', one_store, [['id', 'desc']]],
      ['reviews, newest first', 'reviews', { publication_id: 'p' }, orderOf('created_at_desc')],
    ].map((row) => [...row]) as [string, CollectionName, ViewQuery['where'], SortOrder][];

    test.each(standard)(
      '%s: filters, skips and sorts in an index alone',
      async (_, collection, where, order) => {
        const plans = await plansOfList(collection, { where, order, limit: 20, skip: 0 });
        const of_index = plans.filter(
          (one) => one.includes(`${collection}_list_`) || one.includes('_ranked_'),
        );
        expect(of_index.length).toBeGreaterThan(0);
        for (const one of of_index) {
          expect(one).toContain('USING COVERING INDEX');
          expect(one).not.toContain('TEMP B-TREE');
        }
        expect(plans.join('\n')).not.toContain(`SCAN ${collection}`);
      },
    );

    test('payment methods: no sort', () => {
      const order: SortOrder = [
        ['position', 'asc'],
        ['id', 'asc'],
      ];
      const steps = plan('payment_methods', { where: { store_id: 's' }, order, limit: 20 });
      expect(steps.filter((step) => step.includes('TEMP B-TREE'))).toEqual([]);
    });

    test('an API key is looked up by its hash in an index', () => {
      const steps = plan('api_keys', { where: { key_hash: 'h' }, order: [['id', 'asc']], limit: 1 });
      expect(steps.join('\n')).toContain('api_keys_1 (key_key_hash=');
    });
  });
});
