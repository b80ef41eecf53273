import { COLLECTION_NAMES, type CollectionName } from '../../catalog/documents';
import type { StoredPart } from '../../ports/view-store';
import { assertKey, type StoredCollection, type StoredKeys, storedCollection } from '../stored-collections';
import type { SqliteConnection } from './connection';
import { Facets } from './facets';

/**
 * The table of a collection. Its columns are `id, position, key_<key>…, exact_keys, body, state, expansions`, and also
 * `words_scope, words` if the collection has search words, and `facet` if it has lists. In a tombstone all columns except
 * the first two are null.
 */
export interface Table extends StoredCollection {
  readonly keys: readonly string[];
  /** The columns of the keys, in the same order. */
  readonly columns: readonly string[];
  /** Undefined if the collection has no lists. */
  readonly lists: TableLists | undefined;
  /** Cached selections, by the requested parts. */
  readonly selections: Map<string, Selection>;
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
  /** Further columns of its index. */
  readonly also: readonly string[];
  /** The indexes of the scope and of the key in a row of `entry_sql`. */
  readonly columns_in_entry: readonly [number, number];
}

export interface TableLists {
  readonly facets: Facets;
  /** The keys by which lists are scoped. */
  readonly scopes: readonly string[];
  readonly all: readonly List[];
  /** The keys by which lists are sorted. */
  readonly keys: readonly string[];
  /** Reads the facet, the scopes and the keys of a row by its id. */
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

/** Returns the tables of a version whose documents are stored with the keys `stored`; by default the declared ones. */
export function tablesOf(stored?: StoredKeys): Tables {
  const names = COLLECTION_NAMES.filter((name) => stored === undefined || stored[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, toTable(storedCollection(name, stored))]));
}

function toTable(collection: StoredCollection): Table {
  const keys = Object.keys(collection.spec.keys);
  return {
    ...collection,
    keys,
    columns: keys.map(keyColumn),
    lists: listsOf(collection),
    selections: new Map(),
  };
}

function listsOf({ name, spec }: StoredCollection): TableLists | undefined {
  if (!spec.lists) return undefined;
  const { filters, orders } = spec.lists;
  const toColumn = (key: string): string => (key === 'id' ? 'id' : keyColumn(key));
  const entry_columns = [
    ...new Set(['facet', ...orders.flatMap(({ scope, key }) => [scope, key].map(toColumn))]),
  ];
  return {
    facets: new Facets(filters),
    scopes: [...new Set(orders.map(({ scope }) => scope))],
    keys: [...new Set(orders.map(({ key }) => key))].filter((key) => key !== 'id'),
    all: orders.map(({ scope, key, also = [] }, number) => ({
      number,
      name: `${name}_list_${number}`,
      scope: toColumn(scope),
      key: toColumn(key),
      also: also.map(toColumn),
      columns_in_entry: [entry_columns.indexOf(toColumn(scope)), entry_columns.indexOf(toColumn(key))],
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

/** Returns the DDL of the tables. Key columns come before the large columns, so that a filter does not read those. */
export function tablesSchema(tables: readonly Table[]): string {
  return tables.map(toDdl).join(';\n');
}

function toDdl({ name, spec, lists }: Table): string {
  const keys = Object.entries(spec.keys).map(([key, kind]) => {
    return `${keyColumn(key)} ${kind.toUpperCase()},`;
  });
  return `CREATE TABLE ${name} (id TEXT PRIMARY KEY NOT NULL, position INTEGER NOT NULL, ${keys.join(' ')}
     ${lists ? 'facet INTEGER, ' : ''}exact_keys TEXT, body TEXT, state TEXT, expansions TEXT${spec.words ? ', words_scope TEXT, words TEXT' : ''}) STRICT`;
}
