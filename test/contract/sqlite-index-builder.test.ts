import { fork } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'libsql';
import { buildIndexes, buildWords } from '../../shared/adapters/sqlite/build-indexes';
import { SqliteConnection } from '../../shared/adapters/sqlite/connection';
import { addIndexes } from '../../shared/adapters/sqlite/indexes';
import { tablesOf } from '../../shared/adapters/sqlite/tables';
import { SqliteViewStore } from '../../shared/adapters/sqlite/view-store';
import { VERSION_FILE } from '../../shared/adapters/sqlite/view-version';
import type { DocumentWrite, IndexProgress, ViewVersion } from '../../shared/ports/view-store';
import { childrenOf, isRunning } from '../support/children';
import { makeTempDir, type TempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';
import { aPublication, aWrite, idsOf, put } from './some-documents';

const COLORS = ['blue', 'crimson', 'green', 'rosé', '青'];
const ROWS_PER_PUT = 5_000;
/** From so many documents on, a version is indexed in other processes. */
const MANY = 20_001;
const never = new AbortController().signal;

/** Publications of two stores, in an order that differs from that of their rows. */
function somePublications(count: number): DocumentWrite[] {
  return Array.from({ length: count }, (_, n) => {
    const minute = (n * 7_919) % count;
    const keys = {
      store_id: `store-${n % 2}`,
      visibility: n % 5 === 0 ? 'private' : 'public',
      created_at: new Date(1_750_000_000_000 + 60_000 * minute).toISOString(),
      price_up: n % 97,
      price_down: n % 97,
      featured_rank: n % 50 === 0 ? n : 1_000_000,
    };
    const words = n % 10 === 0 ? [] : [COLORS[n % COLORS.length]!, `word${n % 300}`];
    return aWrite('publications', `p${n}`, BigInt(n + 1), { ...aPublication(keys), words });
  });
}

describe('the processes that create the indexes of a version on SQLite', () => {
  const folders: TempDir[] = [];
  const opened: SqliteViewStore[] = [];

  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
    for (const folder of folders.splice(0)) folder.remove();
  });
  /** Closed stores with so many publications. */
  const made = new Map<number, TempDir>();
  afterAll(() => {
    for (const folder of made.values()) folder.remove();
  });

  async function make(count: number): Promise<TempDir> {
    const folder = makeTempDir();
    const store = await SqliteViewStore.open({ folder: folder.path });
    const version = await store.open((await store.createVersion(1)).version);
    const writes = somePublications(count);
    while (writes.length > 0) await put(version, ...writes.splice(0, ROWS_PER_PUT));
    await store.close();
    made.set(count, folder);
    return folder;
  }

  async function build(
    count: number,
  ): Promise<{ store: SqliteViewStore; version: ViewVersion; file: string }> {
    const folder = makeTempDir();
    folders.push(folder);
    cpSync((made.get(count) ?? (await make(count))).path, folder.path, { recursive: true });
    const store = await SqliteViewStore.open({ folder: folder.path });
    opened.push(store);
    const version = await store.open(1);
    return { store, version, file: join(folder.path, 'views-v1.sqlite') };
  }

  /** Returns the rows of all tables and the names of all indexes. */
  function contentOf(file: string): Record<string, unknown> {
    const database = new Database(file, { readonly: true });
    try {
      const named = database
        .prepare("SELECT type, name FROM sqlite_master WHERE sql <> '' ORDER BY name")
        .all();
      return Object.fromEntries(
        (named as { type: string; name: string }[]).map(({ type, name }) => {
          const is_read = type === 'table' && !name.endsWith('_terms');
          return [name, is_read && database.prepare(`SELECT * FROM ${name} ORDER BY 1, 2`).raw().all()];
        }),
      );
    } finally {
      database.close();
    }
  }

  const wordFiles = (file: string): string[] =>
    readdirSync(dirname(file)).filter((name) => name.includes('-words'));

  const search = async (version: ViewVersion, word: string): Promise<string[]> => {
    const scope = { store_id: 'store-1', visibility: 'public' };
    const query = { scope, where: scope, tiers: [[[{ word }]]], limit: 9, order: [['id', 'asc']] } as const;
    return idsOf((await version.search('publications', query)).documents);
  };

  test('create the same indexes, buckets and words as a single process', async () => {
    const one = await build(1_200);
    const other = await build(1_200);
    const progress: IndexProgress[] = [];
    await buildIndexes(one.file, { onProgress: (step) => progress.push(step), signal: never });
    await other.version.createIndexes!(() => {});
    const content = contentOf(one.file);
    expect(content).toEqual(contentOf(other.file));
    expect(content).toHaveProperty('publications_terms_data');
    expect(progress.map(({ built }) => built)).toEqual(progress.map((_, index) => index));
    expect(progress.at(-1)).toMatchObject({ name: 'publications_terms', total: progress.length });
    // Searches and writes of a process that opened the file before go on with these indexes.
    expect(await search(one.version, 'word7')).toEqual(await search(other.version, 'word7'));
    const mug = { ...aPublication({ store_id: 'store-1' }), words: ['mug'] };
    await put(one.version, aWrite('publications', 'new', 5_000n, mug));
    expect(await search(one.version, 'mug')).toEqual(['new']);
  });

  test('work for a large version, and leave it complete also if they are killed', async () => {
    const { version, store, file } = await build(MANY);
    let killed = 0;
    await version.createIndexes!(() => {
      if (killed > 0) return;
      for (const pid of childrenOf(process.pid, 'index-builder.js')) {
        process.kill(pid, 'SIGKILL');
        killed++;
      }
    });
    expect(killed).toBe(1);
    await store.setStatus(version.version, 'following');
    expect(contentOf(file)).toHaveProperty('publications_terms');
    expect(contentOf(file)).toHaveProperty('publications_ranked_5');
    expect(await search(version, 'word7')).toHaveLength(9);
    await waitFor(() => wordFiles(file).length === 0);
  });

  test('copy no words of documents that another process has changed meanwhile', async () => {
    const { version, file } = await build(100);
    const words_file = `${file}-words-1`;
    const built = await buildWords(file, words_file, never);
    expect(built).toBe(words_file);
    const mug = { ...aPublication({ store_id: 'store-1' }), words: ['mug'] };
    await put(version, aWrite('publications', 'new', 5_000n, mug));
    const connection = await SqliteConnection.open(file, VERSION_FILE);
    await addIndexes(connection, tablesOf(), { words_file: Promise.resolve(built) });
    connection.close();
    expect(await search(version, 'mug')).toEqual(['new']);
    expect(await search(version, 'word7')).toEqual(['p7']);
  });

  test('end when the caller stops, who then creates no index either', async () => {
    const { version, file } = await build(MANY);
    const stop = new AbortController();
    const begun: number[] = [];
    const onProgress = ({ built }: IndexProgress): void => {
      begun.push(built);
      stop.abort();
    };
    await version.createIndexes!(onProgress, stop.signal);
    expect(begun).toEqual([0]);
    expect(childrenOf(process.pid, 'index-builder.js')).toEqual([]);
    expect(contentOf(file)).not.toHaveProperty('publications_terms');
    await waitFor(() => wordFiles(file).length === 0);
    await version.createIndexes!(() => {}, stop.signal);
    expect(contentOf(file)).not.toHaveProperty('publications_terms');
    await version.createIndexes!(() => {});
    expect(await search(version, 'word7')).toHaveLength(9);
  });

  test('are not ended by signals that reach all processes, as from a terminal', async () => {
    const { version } = await build(MANY);
    const begun: string[] = [];
    await version.createIndexes!(({ name }) => {
      begun.push(name);
      if (begun.length > 1) return;
      const [builder] = childrenOf(process.pid, 'index-builder.js');
      for (const signal of ['SIGINT', 'SIGTERM']) process.kill(builder!, signal);
    });
    // Otherwise this process would have begun again.
    expect(begun).toEqual([...new Set(begun)]);
    expect(await search(version, 'word7')).toHaveLength(9);
  });

  test('end with the process that started them', async () => {
    const { file } = await build(MANY);
    const words_file = `${file}-words-1`;
    const builder = fork(require.resolve('../../shared/adapters/sqlite/index-builder'), [file, words_file]);
    const words = await waitFor(() => childrenOf(builder.pid!, 'word-builder.js')[0]);
    const ended = once(builder, 'exit');
    builder.disconnect();
    await ended;
    await waitFor(() => !isRunning(words));
    expect(wordFiles(file)).toEqual([]);
  });

  test('do not touch the words of another build, and leave none behind', async () => {
    const { version, store, file } = await build(MANY);
    writeFileSync(`${file}-words-of-a-crash`, '');
    const stop = new AbortController();
    const stopped = buildIndexes(file, { onProgress: () => {}, signal: stop.signal });
    const [earlier] = await waitFor(() => wordFiles(file).length > 0 && wordFiles(file));
    stop.abort();
    await stopped;
    const indexed = version.createIndexes!(() => {});
    const [later] = await waitFor(() => wordFiles(file).length > 0 && wordFiles(file));
    expect(later).not.toBe(earlier);
    await indexed;
    expect(wordFiles(file)).toEqual([]);
    expect(await search(version, 'word7')).toHaveLength(9);
    writeFileSync(`${file}-words-of-a-crash`, '');
    await store.drop(version.version);
    expect(readdirSync(dirname(file)).filter((name) => name.startsWith('views-v'))).toEqual([]);
  });
});
