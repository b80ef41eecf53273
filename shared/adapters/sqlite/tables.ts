import { setImmediate as nextTurn } from 'node:timers/promises';
import { COLLECTION_NAMES, type CollectionName } from '../../catalog/documents';
import { LRUCache } from '../../kernel/cache';
import type { StoredPart } from '../../ports/view-store';
import { assertKey, type StoredCollection, type StoredKeys, storedCollection } from '../stored-collections';
import type { SqliteConnection } from './connection';

/**
 * A collection's table: `id, position, key_<key>…, exact_keys, body, state, expansions`, and `words_scope, words`
 * where it is searched; a tombstone has but the first two.
 */
export interface Table extends StoredCollection {
  readonly keys: readonly string[];
  /** Of the keys, in their order. */
  readonly columns: readonly string[];
  /** Columns of keys that some index holds: an update that assigns none of them leaves all indexes alone. */
  readonly indexed: readonly string[];
  /** By the parts that were asked for. */
  readonly selections: Map<string, Selection>;
  /** The SQL of pages by plain values, which does not depend on them: storefronts ask for few others. */
  readonly page_sql: LRUCache<string, string>;
}

/** What a SELECT reads of a table. */
export interface Selection {
  readonly columns: string;
  /** Where each part stands among the columns; 0 where it was not asked for or is not there. */
  readonly places: Readonly<Record<StoredPart, number>>;
  /** The statement that reads one document by its id. */
  readonly by_id: string;
}

export type Tables = Readonly<Partial<Record<CollectionName, Table>>>;

/** The tables of a version whose documents are stored with these keys, by default as they are declared. */
export function tablesOf(stored?: StoredKeys): Tables {
  const names = COLLECTION_NAMES.filter((name) => stored === undefined || stored[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, toTable(storedCollection(name, stored))]));
}

function toTable(collection: StoredCollection): Table {
  const { indexes, unique = [] } = collection.spec;
  const keys = Object.keys(collection.spec.keys);
  const parts = [...indexes, unique].flat().map(toPart);
  const indexed = keys.filter((key) => parts.some((part) => part.key === key)).map(keyColumn);
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

function toPart(part: string): { key: string; direction: 'ASC' | 'DESC' } {
  return part.startsWith('-') ? { key: part.slice(1), direction: 'DESC' } : { key: part, direction: 'ASC' };
}

const KEY_COLUMN = 'key_';

/** Keys have a name space of their own: one of them may be called `position`. */
const keyColumn = (key: string): string => `${KEY_COLUMN}${key}`;

/** A key's column, or the id's. Throws where the table has none. */
export function column(table: Table, key: string): string {
  assertKey(table, key);
  return key === 'id' ? 'id' : keyColumn(key);
}

/** Reads back from a file how its documents are stored. */
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

/** Creates the tables of these collections. Keys stand first, so that a filter need not read past them. */
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
  /** The first of the keys that it is sorted by. */
  readonly first: string;
  readonly ddl: string;
}

export function indexesOf(table: Table): Index[] {
  const { indexes, unique = [] } = table.spec;
  return [
    ...indexes.map((parts, index): Index => {
      const columns = parts.map(toPart).map(({ key, direction }) => `${column(table, key)} ${direction}`);
      const name = `${table.name}_${index}`;
      const ddl = `CREATE INDEX IF NOT EXISTS ${name} ON ${table.name} (${columns.join(', ')})`;
      return { name, table, first: toPart(parts[0]!).key, ddl };
    }),
    ...unique.map((key): Index => {
      const name = `${table.name}_${key}`;
      const ddl = `CREATE UNIQUE INDEX IF NOT EXISTS ${name} ON ${table.name} (${column(table, key)})`;
      return { name, table, first: key, ddl };
    }),
  ];
}

/*
 * To put a publication into a dozen indexes one at a time takes longer than to fold it, and a sort of all of them at
 * the end a moment. So a version that is being made has but what its making asks for; the rest comes before it is read.
 */

/** The large collections; of the others, all is indexed from the start. */
const LATE: ReadonlySet<CollectionName> = new Set(['publications', 'reviews']);
/** By this a listing's publications are found that its change concerns, or that move up in it. */
const PARENT = 'listing_id';

const isEarly = (index: Index): boolean =>
  !LATE.has(index.table.name) ||
  index.name === indexesOf(index.table).find(({ first }) => first === PARENT)?.name;

/** What a version begins with: these tables, and the indexes that its making asks for. */
export function earlySchema(tables: readonly Table[]): string {
  const early = tables.flatMap(indexesOf).filter(isEarly);
  return `${tablesSchema(tables)};\n${early.map(({ ddl }) => ddl).join(';\n')}`;
}

/** One index, or what finds a table's documents by words. */
interface IndexStep {
  /** Of what is there in the end, among the file's tables and indexes. */
  readonly name: string;
  readonly statements: readonly string[];
}

function lateSteps(tables: Tables): IndexStep[] {
  const all = Object.values(tables);
  const searched = all.filter(({ spec }) => spec.words !== undefined).map(({ name }) => name);
  return [
    ...all
      .flatMap(indexesOf)
      .filter((index) => !isEarly(index))
      .map(({ name, ddl }) => ({ name, statements: [ddl] })),
    ...searched.map((name) => ({
      name: wordsTable(name),
      statements: [
        ...wordsSchema(name),
        `INSERT INTO ${wordsTable(name)} (${wordsTable(name)}) VALUES ('rebuild')`,
      ],
    })),
  ];
}

/** Whether the file has all indexes that reads ask for. */
export function isIndexed(connection: SqliteConnection, tables: Tables): boolean {
  const names = new Set(connection.all('SELECT name FROM sqlite_master').map(([name]) => name));
  return lateSteps(tables).every(({ name }) => names.has(name));
}

/** Makes what is missing, each index in a transaction of its own; others of the process get their turn in between. */
export async function addIndexes(connection: SqliteConnection, tables: Tables): Promise<void> {
  for (const { name, statements } of lateSteps(tables)) {
    await connection.attempt(() =>
      connection.transaction(() => {
        if (connection.value('SELECT 1 FROM sqlite_master WHERE name = ?', [name]) !== undefined) return;
        for (const statement of statements) connection.run(statement);
      }),
    );
    await nextTurn();
  }
}

/** Hexadecimal digits of a tag, which stands before each word in the index. */
export const TAG_LENGTH = 20;

export const wordsTable = (table: string): string => `${table}_words`;

/**
 * The index of a searched table: FTS5 over a view of it, kept by triggers in the writing statement itself, so that
 * documents and index cannot differ. It stores no text and no positions. Rows are never deleted, so the row ids that
 * it refers to run without gaps and survive a VACUUM.
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

/** Makes a table that was not searched before one that is: nothing is found until its documents are written again. */
export function searchableSchema(table: string): string {
  return `
    ALTER TABLE ${table} ADD COLUMN words_scope TEXT;
    ALTER TABLE ${table} ADD COLUMN words TEXT;
    ${wordsSchema(table).join(';')}`;
}
