import { COLLECTION_NAMES, type CollectionName, type Key } from '../../catalog/documents';
import { LRUCache } from '../../kernel/cache';
import type { StoredPart } from '../../ports/view-store';
import { assertKey, type StoredCollection, type StoredKeys, storedCollection } from '../stored-collections';
import type { SqliteConnection } from './connection';
import { Facets } from './facets';
import type { Frames } from './frames';
import type { NumberedTexts } from './numbered-texts';
import type { SharedValues } from './shared-values';

/**
 * The table of a collection. Its columns are `id, position, key_<key>…, exact_keys, body, state, expansions`, and also
 * `words_scope, words` if the collection has search words, and `facet` if it has lists. In a tombstone all columns except
 * the first two are null.
 */
export interface Table extends StoredCollection {
  readonly keys: readonly string[];
  /** The columns of the keys, in the same order. */
  readonly columns: readonly string[];
  /** Undefined if the collection has no lists, or if an earlier release created the table. */
  readonly lists: TableLists | undefined;
  /** Undefined if an earlier release created the file, or if the table is of no file. */
  readonly shared: SharedValues | undefined;
  /** The keys whose columns contain the numbers of their texts. */
  readonly numbered: ReadonlySet<string>;
  readonly texts: NumberedTexts | undefined;
  /** Undefined if the bodies are stored whole. */
  readonly frames: Frames | undefined;
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

/** A list of `CollectionSpec.lists`. Scope and key are columns. */
export interface List {
  readonly number: number;
  /** The name of its index. */
  readonly name: string;
  readonly scope: string;
  readonly key: string;
  /** Whether entries may have no key. */
  readonly has_nulls: boolean;
  readonly also: readonly string[];
  /** The key by whose range the list is filtered. */
  readonly range: string | undefined;
  /** The indexes of the scope, of the key and of the range key in a row of `entry_sql`. */
  readonly columns_in_entry: readonly [number, number, number];
}

export interface TableLists {
  readonly facets: Facets;
  /** The keys by which lists are scoped. */
  readonly scopes: readonly string[];
  readonly all: readonly List[];
  /** Reads the facet, the row id, the scopes and the keys of a row by its id. */
  readonly entry_sql: string;
  /** The indexes of the rows whose value of a filter is below its limit, in the orders that begin with this value. */
  readonly ranked: readonly RankedIndex[];
}

/** An index of the few rows whose `rank` is below a limit, such as the featured publications of a listing. */
export interface RankedIndex {
  readonly name: string;
  readonly scope: string;
  readonly rank: string;
  readonly limit: number;
  readonly key: string;
  readonly descending: boolean;
}

export type Tables = Readonly<Partial<Record<CollectionName, Table>>>;

interface TablesOptions {
  /** The keys that the documents are stored with; by default the declared ones. */
  readonly stored?: StoredKeys;
  /** What the columns of the tables are used for; by default as this release creates them. */
  readonly layout?: StoredLayout;
  readonly shared?: SharedValues | undefined;
  readonly texts?: NumberedTexts | undefined;
  /** The frames of bodies by collection. */
  readonly frames?: ReadonlyMap<string, Frames> | undefined;
}

/** Returns the tables of a version. Without `texts`, conditions on numbered keys are on their numbers. */
export function tablesOf(options: TablesOptions = {}): Tables {
  const { stored } = options;
  const names = COLLECTION_NAMES.filter((name) => stored === undefined || stored[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, toTable(storedCollection(name, stored), options)]));
}

function toTable(collection: StoredCollection, { layout, shared, texts, frames }: TablesOptions): Table {
  const { name, spec } = collection;
  const keys = Object.keys(spec.keys);
  const lists = layout && !layout.listed.has(name) ? undefined : listsOf(collection);
  const columns = keys.map(keyColumn);
  const isNumbered = (key: string): boolean => layout?.numbered.has(`${name}.${keyColumn(key)}`) ?? true;
  return {
    ...collection,
    keys,
    columns,
    lists,
    shared,
    numbered: new Set((spec.numbered ?? []).filter(isNumbered)),
    texts,
    frames: frames?.get(name),
    selections: new Map(),
    page_sql: new LRUCache({ max: 250 }),
  };
}

function listsOf({ name, spec }: StoredCollection): TableLists | undefined {
  if (!spec.lists) return undefined;
  const { filters, orders } = spec.lists;
  const toColumn = (key: string): string => (key === 'id' ? 'id' : keyColumn(key));
  const entry_columns = [
    ...new Set([
      'facet',
      'rowid',
      ...orders.flatMap(({ scope, key, range = key }) => [scope, key, range].map(toColumn)),
    ]),
  ];
  return {
    facets: new Facets(filters),
    scopes: [...new Set(orders.map(({ scope }) => scope))],
    all: orders.map(({ scope, key, also = [], range }, number) => ({
      number,
      name: `${name}_list_${number}`,
      scope: toColumn(scope),
      key: toColumn(key),
      has_nulls: key !== 'id',
      also: [...new Set(range === undefined ? also : [...also, range])].map(toColumn),
      range: range === undefined ? undefined : toColumn(range),
      columns_in_entry: [scope, key, range ?? key].map((one) => entry_columns.indexOf(toColumn(one))) as [
        number,
        number,
        number,
      ],
    })),
    entry_sql: `SELECT ${entry_columns.join(', ')} FROM ${name} WHERE id = ?`,
    ranked: rankedIndexes({ name, spec }),
  };
}

/** Returns the declared indexes `scope, visibility, rank, key, id` as indexes of the ranked rows only. */
function rankedIndexes({ name, spec }: Pick<StoredCollection, 'name' | 'spec'>): RankedIndex[] {
  const filters = Object.entries(spec.lists!.filters);
  return filters.flatMap(([rank, filter]) => {
    if (!('below' in filter!)) return [];
    const { below: limit } = filter;
    const orders = spec.indexes.filter((index) => index[2] === rank && index[3] !== 'id');
    return orders.map((index, number): RankedIndex => {
      const { key, direction } = toIndexKey(index[3]!);
      const columns = { scope: keyColumn(index[0]!), rank: keyColumn(rank), key: keyColumn(key) };
      return { name: `${name}_ranked_${number}`, ...columns, limit, descending: direction === 'DESC' };
    });
  });
}

export function toIndexKey(text: string): { key: string; direction: 'ASC' | 'DESC' } {
  return text.startsWith('-') ? { key: text.slice(1), direction: 'DESC' } : { key: text, direction: 'ASC' };
}

export const KEY_COLUMN = 'key_';

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
    collection.keys[key] = type === 'INTEGER' ? 'integer' : 'text';
  }
  return stored;
}

/** The type of a column with numbers of texts. To SQLite, it means the same as `INTEGER`. */
const NUMBERED = 'INT';

/** What the tables of a file have that those of earlier releases do not. */
interface StoredLayout {
  /** The tables that have the column `facet`. */
  readonly listed: ReadonlySet<string>;
  /** The columns with numbers of texts, each with its table: `publications.key_store_id`. */
  readonly numbered: ReadonlySet<string>;
}

export function readLayout(connection: Pick<SqliteConnection, 'all'>): StoredLayout {
  const rows = connection.all(
    `SELECT t.name, c.name, c.type FROM sqlite_master AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'`,
  );
  const numbered = rows.filter(([, , type]) => type === NUMBERED);
  return {
    listed: new Set(rows.filter(([, name]) => name === 'facet').map(([table]) => String(table))),
    numbered: new Set(numbered.map(([table, name]) => `${table}.${name}`)),
  };
}

/** Returns the value that the column of a key is compared with. */
export function storedKey(
  { numbered, texts }: Table,
  key: string,
  value: Exclude<Key, null>,
): string | number {
  return texts && typeof value === 'string' && numbered.has(key) ? texts.numberOf(value) : value;
}

/** Returns the DDL of the tables. Key columns come before the large columns, so that a filter does not read those. */
export function tablesSchema(tables: readonly Table[]): string {
  return tables.map(toDdl).join(';\n');
}

function toDdl({ name, spec, lists }: Table): string {
  const keys = Object.entries(spec.keys).map(([key, kind]) => {
    const type = spec.numbered?.includes(key) ? NUMBERED : kind.toUpperCase();
    return `${keyColumn(key)} ${type},`;
  });
  return `CREATE TABLE ${name} (id TEXT PRIMARY KEY NOT NULL, position INTEGER NOT NULL, ${keys.join(' ')}
     ${lists ? 'facet INTEGER, ' : ''}exact_keys TEXT, body TEXT, state TEXT, expansions TEXT${spec.words ? ', words_scope TEXT, words TEXT' : ''}) STRICT`;
}

/**
 * Returns the statements that add search words to a table. A search finds only documents that are written afterwards.
 */
export function searchableSchema(table: string): string {
  return `
    ALTER TABLE ${table} ADD COLUMN words_scope TEXT;
    ALTER TABLE ${table} ADD COLUMN words TEXT`;
}
