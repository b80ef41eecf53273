import { COLLECTION_NAMES, type CollectionName } from '../../catalog/documents';
import type { ListVariants, SharedLists } from '../../catalog/stored-document';
import type { StoredPart } from '../../ports/view-store';
import { assertKey, type StoredCollection, type StoredKeys, storedCollection } from '../stored-collections';
import type { SqliteConnection } from './connection';
import { Facets } from './facets';
import { unitsSchema } from './units';

/**
 * The table of a collection. Its columns are `id, position, key_<key>…, exact_keys, body, state, expansions`, and also
 * `words_scope, words` if the collection has search words, and `facet` if the table itself is the source of its lists. In a
 * tombstone all columns except the first two are null.
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

/** The lists of one order: one list for each value of a scope. */
export interface List {
  readonly number: number;
  /** The name of its index. */
  readonly name: string;
  /** The column of the key by which it is sorted, or `id`. */
  readonly key: string;
  /** Further columns of its index. */
  readonly also: readonly string[];
}

/**
 * The lists of a table. Their source has a row for each pair of a document and a list that it is in. If a document is in one
 * list, the source is the table itself. If a collection has `SharedLists`, the source is a table with the columns `scope,
 * id, row, facet, is_shared, key_<rank>`, and those of the orders. `row` is the row id of the document. In a
 * row of a variant, the keys of orders that the variant does not change are null, and no index of these orders has the row.
 */
export interface TableLists {
  readonly facets: Facets;
  /** The keys by which lists are scoped. */
  readonly scopes: readonly string[];
  readonly all: readonly List[];
  /** The keys by which lists are sorted. */
  readonly keys: readonly string[];
  readonly source: string;
  /** The column of the source that has the value of the scope. */
  readonly scope: string;
  /** The column of the source that has the row id of the document. */
  readonly row: string;
  /** The columns of the source. */
  readonly columns: readonly string[];
  readonly shared: SharedLists | undefined;
  readonly variants: readonly ListVariants[] | undefined;
  /** The indexes of the ranked rows, in the orders that begin with the rank. */
  readonly ranked: readonly RankedIndex[];
}

/** An index of the few rows whose `rank` is below the limit, such as the featured publications of a listing. */
export interface RankedIndex {
  readonly name: string;
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
  const { scopes, filters, orders, shared, variants } = spec.lists;
  const toColumn = (key: string): string => (key === 'id' ? 'id' : keyColumn(key));
  const all = orders.map(({ key, also = [] }, number) => ({
    number,
    name: `${name}_list_${number}`,
    key: toColumn(key),
    also: also.map(toColumn),
  }));
  const common = {
    facets: new Facets(filters),
    ...{ scopes, all, shared, variants },
    keys: [...new Set(orders.map(({ key }) => key))].filter((key) => key !== 'id'),
  };
  if (!shared) {
    const scope = keyColumn(scopes[0]!);
    const columns = ['id', 'facet', ...Object.keys(spec.keys).map(keyColumn)];
    return { ...common, source: name, scope, row: 'rowid', columns, ranked: [] };
  }
  const rank = keyColumn(shared.rank);
  const sorted = new Set(all.flatMap(({ key, also }) => [key, ...also]).filter((key) => key !== 'id'));
  return {
    ...{ ...common, source: `${name}_lists`, scope: 'scope', row: 'row' },
    columns: ['scope', 'id', 'row', 'facet', 'is_shared', rank, ...sorted],
    ranked: all.flatMap(({ number, key }) =>
      [false, true].map((descending) => ({
        name: `${name}_ranked_${number}${descending ? '_down' : ''}`,
        ...{ rank, limit: shared.rank_max, key, descending },
      })),
    ),
  };
}

/** Returns the value of the scope column for a value of a scope key. Two scope keys may have the same values. */
export function scopeValue(
  { scopes, shared }: TableLists,
  key: string,
  value: string,
  variant?: string,
): string {
  const scope = shared ? `${scopes.indexOf(key)}${value}` : value;
  return variant === undefined ? scope : inVariant(scope, variant);
}

/** Returns the value of the scope column for a variant of the list. */
export const inVariant = (scope: string, variant: string): string => `${scope}|${variant}`;

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
  return tables.flatMap((table) => [toDdl(table), ...sourceDdl(table)]).join(';\n');
}

/** Returns the DDL of the source of the lists, if it is a table of its own. */
function sourceDdl({ spec, lists }: Table): string[] {
  if (!lists?.shared) return [];
  const types = {
    ...{ scope: 'TEXT NOT NULL', id: 'TEXT NOT NULL', row: 'INTEGER NOT NULL' },
    ...{ facet: 'INTEGER NOT NULL', is_shared: 'INTEGER NOT NULL' },
  };
  const typeOf = (name: string): string =>
    (types as Record<string, string>)[name] ?? spec.keys[name.slice(KEY_COLUMN.length)]!.toUpperCase();
  const columns = lists.columns.map((name) => `${name} ${typeOf(name)}`);
  return [
    `CREATE TABLE ${lists.source} (${columns.join(', ')}, PRIMARY KEY (scope, id)) STRICT, WITHOUT ROWID`,
  ];
}

function toDdl({ name, spec, lists }: Table): string {
  const keys = Object.entries(spec.keys).map(([key, kind]) => {
    return `${keyColumn(key)} ${kind.toUpperCase()},`;
  });
  const units = spec.units ? `;\n${unitsSchema(name)}` : '';
  return `CREATE TABLE ${name} (id TEXT PRIMARY KEY NOT NULL, position INTEGER NOT NULL, ${keys.join(' ')}
     ${lists && !lists.shared ? 'facet INTEGER, ' : ''}exact_keys TEXT, body TEXT, state TEXT, expansions TEXT${spec.words ? ', words_scope TEXT, words TEXT' : ''}) STRICT${units}`;
}
