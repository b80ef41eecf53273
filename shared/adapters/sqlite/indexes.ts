import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CollectionName } from '../../catalog/documents';
import type { IndexProgress } from '../../ports/view-store';
import type { SqliteConnection } from './connection';
import { bucketsSchema, bucketsTable, ListWriter } from './list-buckets';
import { column, type Table, type TableLists, type Tables, tablesSchema, toIndexKey } from './tables';
import { indexStatements, indexTables } from './word-index';

interface Index {
  readonly name: string;
  readonly table: Table;
  readonly ddl: string;
}

export function indexesOf(table: Table): Index[] {
  const { name, lists, spec } = table;
  return [
    ...(lists ? listIndexes(table, lists) : []),
    ...spec.indexes.flatMap((keys, index): Index | [] => {
      const first_key = toIndexKey(keys[0]!).key;
      if (lists?.scopes.includes(first_key)) return [];
      const columns = keys.map(toIndexKey).map(({ key, direction }) => `${column(table, key)} ${direction}`);
      return indexOn(table, name, `${name}_${index}`, columns, `${column(table, first_key)} IS NOT NULL`);
    }),
  ];
}

/** The index of a list has the facet after the order, so that a filtered page reads no documents but its own. */
function listIndexes(table: Table, lists: TableLists): Index[] {
  const { all, ranked, shared, source, scope } = lists;
  return [
    ...all.map(({ name, key, also }) => {
      const columns = [
        scope,
        ...(key === 'id' ? [] : [key]),
        'id',
        'facet',
        ...also,
        ...(shared ? ['row'] : []),
      ];
      return indexOn(table, source, name, columns, `${shared ? key : scope} IS NOT NULL`);
    }),
    ...ranked.map(({ name, rank, limit, key, descending }) => {
      const direction = descending ? ' DESC' : '';
      const columns = [scope, rank, `${key}${direction}`, `id${direction}`, 'facet', 'row'];
      return indexOn(table, source, name, columns, `${rank} < ${limit} AND ${key} IS NOT NULL`);
    }),
    ...(shared
      ? [indexOn(table, source, sharedIndex(lists), ['scope', 'row', 'facet'], 'is_shared = 1')]
      : []),
  ];
}

/** Returns the name of the index of the documents that are in several lists of the shared scope. */
export const sharedIndex = ({ source }: TableLists): string => `${source}_shared`;

function indexOn(
  table: Table,
  source: string,
  name: string,
  columns: readonly string[],
  where: string,
): Index {
  const ddl = `CREATE INDEX IF NOT EXISTS ${name} ON ${source} (${columns.join(', ')}) WHERE ${where}`;
  return { name, table, ddl };
}

/*
 * Inserting a publication into a dozen indexes takes longer than folding its events. Building the indexes at the end
 * sorts all rows at once, which is much faster. So a version that is being built has only the indexes that the build
 * needs; the others are created before the version is read.
 */

/** The large collections, whose indexes are created late. The others have all indexes from the start. */
const INDEXED_LATE: ReadonlySet<CollectionName> = new Set(['publications', 'reviews']);

const isEarly = ({ table }: Index): boolean => !INDEXED_LATE.has(table.name);

/** Returns the DDL of a new version: the tables, and the indexes that the build needs. */
export function earlySchema(tables: readonly Table[]): string {
  const early = tables.flatMap(indexesOf).filter(isEarly);
  const with_buckets = tables.filter(({ name, lists }) => lists && !INDEXED_LATE.has(name));
  return [tablesSchema(tables), ...early.map(({ ddl }) => ddl), ...with_buckets.map(bucketsSchema)].join(
    ';\n',
  );
}

/** One index, the word index of a table, or the buckets of its lists. */
interface IndexStep {
  /** The name that the table or index has in `sqlite_master`. */
  readonly name: string;
  readonly statements: readonly string[];
  /** Runs after the statements, in the same transaction. */
  readonly fill?: (connection: SqliteConnection) => void;
}

function lateSteps(tables: Tables): IndexStep[] {
  const all = Object.values(tables);
  const with_words = all.filter(({ spec }) => spec.words !== undefined);
  return [
    ...all
      .flatMap(indexesOf)
      .filter((index) => !isEarly(index))
      .map(({ name, ddl }) => ({ name, statements: [ddl] })),
    ...all.filter(({ name, lists }) => lists && INDEXED_LATE.has(name)).map(bucketsStep),
    ...with_words.map(wordsStep),
  ];
}

function wordsStep(table: Table): IndexStep {
  return { name: indexTables(table).terms, statements: indexStatements(table) };
}

function bucketsStep(table: Table): IndexStep {
  const { name, lists } = table;
  return {
    name: bucketsTable(name),
    statements: [bucketsSchema(table)],
    fill: (connection) => {
      const writer = new ListWriter(connection, table, true);
      for (const list of lists!.all) writer.fill(list);
    },
  };
}

/** Returns true if the file has the buckets of the table's lists. */
export function hasBuckets(connection: SqliteConnection, { name }: Table): boolean {
  return hasTable(connection, bucketsTable(name));
}

function hasTable(connection: SqliteConnection, name: string): boolean {
  return connection.value('SELECT 1 FROM sqlite_master WHERE name = ?', [name]) !== undefined;
}

/** Returns the names of the indexes that a new version lacks. */
export const lateIndexesOf = (tables: Tables): string[] => lateSteps(tables).map(({ name }) => name);

/** Returns true if the file has all these indexes. */
export function isIndexed(connection: SqliteConnection, late_indexes: readonly string[]): boolean {
  const sql = 'SELECT count(*) FROM json_each(?) WHERE value IN (SELECT name FROM sqlite_master)';
  return connection.value(sql, [JSON.stringify(late_indexes)]) === late_indexes.length;
}

export interface AddIndexesOptions {
  readonly onProgress?: (progress: IndexProgress) => void;
  /** Ends the work before the next index. */
  readonly signal?: AbortSignal | undefined;
}

/** Creates the missing indexes, each in a transaction of its own. Yields after each one to keep the process responsive. */
export async function addIndexes(
  connection: SqliteConnection,
  tables: Tables,
  { onProgress = () => {}, signal }: AddIndexesOptions = {},
): Promise<void> {
  const steps = lateSteps(tables);
  for (const [built, step] of steps.entries()) {
    if (signal?.aborted) return;
    onProgress({ name: step.name, built, total: steps.length });
    await connection.attempt(() => connection.transaction(() => runStep(connection, step)));
    await nextTurn();
  }
}

function runStep(connection: SqliteConnection, { name, statements, fill }: IndexStep): void {
  if (hasTable(connection, name)) return;
  for (const statement of statements) connection.run(statement);
  fill?.(connection);
}
