import { setImmediate as nextTurn } from 'node:timers/promises';
import { COLLECTION_NAMES, type CollectionName } from '../../catalog/documents';
import { LRUCache } from '../../kernel/cache';
import type { IndexProgress, StoredPart } from '../../ports/view-store';
import { assertKey, type StoredCollection, type StoredKeys, storedCollection } from '../stored-collections';
import type { SqliteConnection } from './connection';

/**
 * The table of a collection. Its columns are `id, position, key_<key>…, exact_keys, body, state, expansions`, and also
 * `words_scope, words` if the collection has search words. In a tombstone all columns except the first two are null.
 */
export interface Table extends StoredCollection {
  readonly keys: readonly string[];
  /** The columns of the keys, in the same order. */
  readonly columns: readonly string[];
  /** The key columns that are in an index. An update that assigns none of them changes no index. */
  readonly indexed: readonly string[];
  /** Cached selections, by the requested parts. */
  readonly selections: Map<string, Selection>;
  /**
   * Cached SQL of pages whose conditions are all equalities. The SQL does not depend on the values, which are
   * parameters.
   */
  readonly page_sql: LRUCache<string, string>;
}

/** The SQL that reads some parts of a table's documents. */
export interface Selection {
  readonly columns: string;
  /** The index of each part in a row; 0 if it was not requested or the table does not have it. */
  readonly column_indexes: Readonly<Record<StoredPart, number>>;
  /** The statement that reads one document by its id. */
  readonly by_id: string;
}

export type Tables = Readonly<Partial<Record<CollectionName, Table>>>;

/** Returns the tables of a version whose documents are stored with these keys; by default the declared ones. */
export function tablesOf(stored?: StoredKeys): Tables {
  const names = COLLECTION_NAMES.filter((name) => stored === undefined || stored[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, toTable(storedCollection(name, stored))]));
}

function toTable(collection: StoredCollection): Table {
  const { indexes, unique = [] } = collection.spec;
  const keys = Object.keys(collection.spec.keys);
  const index_keys = new Set([...indexes, unique].flat().map((text) => toIndexKey(text).key));
  const indexed = keys.filter((key) => index_keys.has(key)).map(keyColumn);
  const columns = keys.map(keyColumn);
  return {
    ...collection,
    keys,
    columns,
    indexed,
    selections: new Map(),
    page_sql: new LRUCache({ max: 250 }),
  };
}

function toIndexKey(text: string): { key: string; direction: 'ASC' | 'DESC' } {
  return text.startsWith('-') ? { key: text.slice(1), direction: 'DESC' } : { key: text, direction: 'ASC' };
}

const KEY_COLUMN = 'key_';

/** The prefix avoids a conflict with other columns, because a key may be called `position`, too. */
const keyColumn = (key: string): string => `${KEY_COLUMN}${key}`;

/** Returns the column of a key or of the id. Throws if the table does not have the key. */
export function column(table: Table, key: string): string {
  assertKey(table, key);
  return key === 'id' ? 'id' : keyColumn(key);
}

/** Reads the keys that the documents of a file are stored with from its table definitions. */
export function readStoredKeys(connection: Pick<SqliteConnection, 'all'>): StoredKeys {
  const stored: Record<string, { keys: Record<string, 'text' | 'integer'>; words: boolean }> = {};
  const rows = connection.all(
    `SELECT t.name, c.name, c.type FROM sqlite_master AS t, pragma_table_info(t.name) AS c
      WHERE t.type = 'table' AND EXISTS (SELECT 1 FROM pragma_table_info(t.name) WHERE name = 'exact_keys')`,
  );
  for (const [table, column, type] of rows) {
    stored[String(table)] ??= { keys: {}, words: false };
    const collection = stored[String(table)]!;
    if (column === 'words') collection.words = true;
    if (!String(column).startsWith(KEY_COLUMN)) continue;
    const key = String(column).slice(KEY_COLUMN.length);
    collection.keys[key] = type === 'TEXT' ? 'text' : 'integer';
  }
  return stored;
}

/** Returns the DDL of the tables. Key columns come before the large columns, so that a filter does not read those. */
function tablesSchema(tables: readonly Table[]): string {
  return tables.map(toDdl).join(';\n');
}

function toDdl({ name, spec }: Table): string {
  const keys = Object.entries(spec.keys).map(([key, kind]) => `${keyColumn(key)} ${kind.toUpperCase()},`);
  return `CREATE TABLE ${name} (id TEXT PRIMARY KEY NOT NULL, position INTEGER NOT NULL, ${keys.join(' ')}
     exact_keys TEXT, body TEXT, state TEXT, expansions TEXT${spec.words ? ', words_scope TEXT, words TEXT' : ''}) STRICT`;
}

interface Index {
  readonly name: string;
  readonly table: Table;
  readonly first_key: string;
  readonly ddl: string;
}

export function indexesOf(table: Table): Index[] {
  const { indexes, unique = [] } = table.spec;
  return [
    ...indexes.map((keys, index): Index => {
      const columns = keys.map(toIndexKey).map(({ key, direction }) => `${column(table, key)} ${direction}`);
      const name = `${table.name}_${index}`;
      const ddl = `CREATE INDEX IF NOT EXISTS ${name} ON ${table.name} (${columns.join(', ')})`;
      return { name, table, first_key: toIndexKey(keys[0]!).key, ddl };
    }),
    ...unique.map((key): Index => {
      const name = `${table.name}_${key}`;
      const ddl = `CREATE UNIQUE INDEX IF NOT EXISTS ${name} ON ${table.name} (${column(table, key)})`;
      return { name, table, first_key: key, ddl };
    }),
  ];
}

/*
 * Inserting a publication into a dozen indexes takes longer than folding its events. Building the indexes at the end
 * sorts all rows at once, which is much faster. So a version that is being built has only the indexes that the build
 * needs; the others are created before the version is read.
 */

/** The large collections, whose indexes are created late. The others have all indexes from the start. */
const INDEXED_LATE: ReadonlySet<CollectionName> = new Set(['publications', 'reviews']);
/** When a listing changes, the build reads the publications of this listing by this key. */
const PARENT_KEY = 'listing_id';

const isEarly = (index: Index): boolean =>
  !INDEXED_LATE.has(index.table.name) ||
  index.name === indexesOf(index.table).find(({ first_key }) => first_key === PARENT_KEY)?.name;

/** Returns the DDL of a new version: the tables, and the indexes that the build needs. */
export function earlySchema(tables: readonly Table[]): string {
  const early = tables.flatMap(indexesOf).filter(isEarly);
  return `${tablesSchema(tables)};\n${early.map(({ ddl }) => ddl).join(';\n')}`;
}

/** One index, or the full-text index of a table. */
interface IndexStep {
  /** The name that the table or index has in `sqlite_master`. */
  readonly name: string;
  readonly statements: readonly string[];
}

function lateSteps(tables: Tables): IndexStep[] {
  const all = Object.values(tables);
  const with_words = all.filter(({ spec }) => spec.words !== undefined).map(({ name }) => name);
  return [
    ...all
      .flatMap(indexesOf)
      .filter((index) => !isEarly(index))
      .map(({ name, ddl }) => ({ name, statements: [ddl] })),
    ...with_words.map((name) => ({
      name: wordsTable(name),
      statements: [
        ...wordsSchema(name),
        `INSERT INTO ${wordsTable(name)} (${wordsTable(name)}) VALUES ('rebuild')`,
      ],
    })),
  ];
}

/** Returns true if the file has all indexes. */
export function isIndexed(connection: SqliteConnection, tables: Tables): boolean {
  const names = new Set(connection.all('SELECT name FROM sqlite_master').map(([name]) => name));
  return lateSteps(tables).every(({ name }) => names.has(name));
}

/** Creates the missing indexes, each in a transaction of its own. Yields after each one to keep the process responsive. */
export async function addIndexes(
  connection: SqliteConnection,
  tables: Tables,
  onProgress: (progress: IndexProgress) => void = () => {},
): Promise<void> {
  const steps = lateSteps(tables);
  for (const [built, { name, statements }] of steps.entries()) {
    onProgress({ name, built, total: steps.length });
    await connection.attempt(() =>
      connection.transaction(() => {
        if (connection.value('SELECT 1 FROM sqlite_master WHERE name = ?', [name]) !== undefined) return;
        for (const statement of statements) connection.run(statement);
      }),
    );
    await nextTurn();
  }
}

/** Length of a tag in hexadecimal digits. Each word in the index begins with a tag (`tagOf`). */
export const TAG_LENGTH = 20;

export const wordsTable = (table: string): string => `${table}_words`;

/**
 * Returns the statements that create the full-text index of a table: an FTS5 table over a view of it. Triggers update
 * the index in the statement that writes a document, so that documents and index cannot differ. The index stores no text
 * and no positions of words. A VACUUM does not change the row ids, because rows are never deleted and so the row ids have
 * no gaps.
 */
function wordsSchema(table: string): string[] {
  const index = wordsTable(table);
  const text = (row: string): string =>
    `${row}words_scope || replace(${row}words, ' ', ' ' || ${row}words_scope)`;
  return [
    `CREATE VIEW ${table}_text AS SELECT rowid AS row, ${text('')} AS words FROM ${table} WHERE words <> ''`,
    `CREATE VIRTUAL TABLE ${index} USING fts5(words, content = '${table}_text', content_rowid = 'row', detail = none,
      columnsize = 0, prefix = '${TAG_LENGTH + 1}', tokenize = "ascii tokenchars ':='")`,
    `CREATE TRIGGER ${index}_insert AFTER INSERT ON ${table} WHEN new.words <> '' BEGIN
      INSERT INTO ${index} (rowid, words) VALUES (new.rowid, ${text('new.')});
    END`,
    `CREATE TRIGGER ${index}_update AFTER UPDATE OF words_scope, words ON ${table}
      WHEN new.words IS NOT old.words OR new.words_scope IS NOT old.words_scope
    BEGIN
      INSERT INTO ${index} (${index}, rowid, words)
        SELECT 'delete', old.rowid, ${text('old.')} WHERE old.words <> '';
      INSERT INTO ${index} (rowid, words) SELECT new.rowid, ${text('new.')} WHERE new.words <> '';
    END`,
  ];
}

/**
 * Returns the statements that add search words to a table. A search finds only documents that are written afterwards.
 */
export function searchableSchema(table: string): string {
  return `
    ALTER TABLE ${table} ADD COLUMN words_scope TEXT;
    ALTER TABLE ${table} ADD COLUMN words TEXT;
    ${wordsSchema(table).join(';')}`;
}
