import {
  type BucketKey,
  BucketValues,
  BucketValuesWriter,
  bucketValuesSchema,
  bucketValuesTable,
  type CodeRange,
  SUMMARY_COLUMNS,
  summaryCondition,
  valuesSql,
} from './bucket-values';
import type { SqlInput, SqliteConnection, SqlRow, SqlValue } from './connection';
import type { List, Table, TableLists } from './tables';

/*
 * A list is divided into buckets: runs of consecutive entries. For each bucket a row stores where it begins and how many
 * of its entries have each facet. The row changes in the transaction that changes the entries, so the sums of the rows are
 * exact at any time. The bucket that contains the n-th entry is found from the sums, and the entry is found in it.
 *
 * An entry without a key sorts before all others. Such entries have a bucket of their own, because SQL compares nothing
 * with null.
 */

/** A bucket with more entries is divided into two. */
const ENTRIES_MAX = 1_024;
/** Number of entries of the buckets of a new list. Leaves room for more. */
const ENTRIES_AT_START = 512;

/** Before all texts, blobs and numbers of keys: where the first bucket of a list begins. */
const FIRST = -(2 ** 53) + 1;
/** Where the bucket of the entries without a key begins. */
const NO_KEY = -(2 ** 53) + 2;
/** The list number of the rows that count changes. Such a row is of one list and scope. */
const CHANGES = -1;

/** The place of an entry in a list. */
export interface Place {
  readonly key: SqlValue;
  readonly id: SqlValue;
}

/** A part of a list: the entries from `from` up to but not including `to`, or all entries without a key. */
export interface Span {
  readonly from?: Place | undefined;
  readonly to?: Place | undefined;
  readonly no_key?: true;
}

export const bucketsTable = (table: string): string => `${table}_buckets`;

/** Returns the statements that create the tables of the buckets of all lists of a table. */
export function bucketsSchema({ name, lists }: Table): string[] {
  const { facets, all } = lists!;
  const counts = Array.from({ length: facets.count }, (_, facet) => `c${facet} INTEGER NOT NULL DEFAULT 0`);
  return [
    `CREATE TABLE ${bucketsTable(name)} (list INTEGER NOT NULL, scope ANY NOT NULL, first_key ANY NOT NULL,
      first_id ANY NOT NULL, ${counts.join(', ')}, ${SUMMARY_COLUMNS.join(', ')},
      values_id INTEGER NOT NULL DEFAULT 0,
      PRIMARY KEY (list, scope, first_key, first_id)) STRICT, WITHOUT ROWID`,
    ...(all.some(({ range }) => range) ? bucketValuesSchema(name) : []),
  ];
}

/** Returns the condition that an entry is in the span. */
export function spanCondition(
  list: List,
  { from, to, no_key }: Span,
): { sql: string; parameters: SqlInput[] } {
  if (no_key) return { sql: ` AND ${list.key} IS NULL`, parameters: [] };
  const terms: string[] = [];
  const parameters: SqlInput[] = [];
  for (const [operator, place] of [
    ['>=', from],
    ['<', to],
  ] as const) {
    if (!place) continue;
    terms.push(` AND (${list.key}, id) ${operator} (?, ?)`);
    parameters.push(place.key, place.id);
  }
  // Without a lower bound, the span begins after the entries without a key.
  if (!from && list.has_nulls) terms.push(` AND ${list.key} IS NOT NULL`);
  return { sql: terms.join(''), parameters };
}

/** The buckets of one list and scope, in order, with the entries of some facets. */
export class Buckets {
  readonly places: readonly (Place | 'first' | 'no_key')[];
  /** The number of entries before each bucket, and after the last one. */
  readonly sums: Float64Array;

  /** `rows`: key and id of the first entry, and the number of entries, of each bucket. */
  constructor(rows: readonly SqlRow[]) {
    this.places = rows.map(([key, id]) =>
      key === FIRST ? 'first' : key === NO_KEY ? 'no_key' : { key: key!, id: id! },
    );
    this.sums = new Float64Array(rows.length + 1);
    for (const [index, [, , count]] of rows.entries())
      this.sums[index + 1] = this.sums[index]! + Number(count);
  }
}

/**
 * Reads the buckets of a list and scope. Entries without a key come first. SQLite adds up the facets, because a large list
 * has thousands of buckets, and each value that is converted takes time.
 */
export function readBuckets(
  connection: SqliteConnection,
  table: Table,
  {
    list,
    scope,
    facets,
  }: { readonly list: List; readonly scope: SqlValue; readonly facets: readonly number[] },
): Buckets {
  const rows = connection.all(
    `SELECT first_key, first_id, ${facets.map((facet) => `c${facet}`).join(' + ')} FROM ${bucketsTable(table.name)}
      WHERE list = ? AND scope = ? ORDER BY first_key, first_id`,
    [list.number, scope],
  );
  return new Buckets(rows[1]?.[0] === NO_KEY ? [rows[1], rows[0]!, ...rows.slice(2)] : rows);
}

/** Numbers of buckets that are read at once. Usually the first ones have the page. */
const CANDIDATES_MIN = 8;
const CANDIDATES_MAX = 128;

/** A bucket that may have matching entries, and the values of its entries. */
export interface Candidate {
  readonly values_id: number;
  readonly place: Place;
  readonly entries: Uint8Array;
}

interface CandidatesQuery {
  readonly list: List;
  readonly scope: SqlValue;
  readonly facets: readonly number[];
  readonly codes: CodeRange;
  readonly descending: boolean;
}

/**
 * Yields the buckets that may have entries with one of the facets and with a code in the range, in the order of the list.
 */
export function* candidates(
  connection: SqliteConnection,
  table: Table,
  { list, scope, facets, codes, descending }: CandidatesQuery,
): Generator<Candidate> {
  const direction = descending ? 'DESC' : 'ASC';
  const summary = summaryCondition(codes);
  const read = (condition: string, parameters: readonly SqlInput[], limit: number): Candidate[] =>
    connection
      .all(
        `SELECT first_key, first_id, values_id, entries
          FROM ${bucketsTable(table.name)} CROSS JOIN ${bucketValuesTable(table.name)} ON id = values_id
          WHERE list = ? AND scope = ? AND ${condition} AND (${facets.map((facet) => `c${facet}`).join(' + ')}) > 0
            AND ${summary.sql}
          ORDER BY first_key ${direction}, first_id ${direction} LIMIT ${limit}`,
        [list.number, scope, ...parameters, ...summary.parameters],
      )
      .map(([key, id, values_id, entries]) => ({
        place: { key: key!, id: id! },
        values_id: Number(values_id),
        entries: entries as unknown as Uint8Array,
      }));
  const without_key = (): Candidate[] => (list.has_nulls ? read(`first_key = ${NO_KEY}`, [], 1) : []);
  if (!descending) yield* without_key();
  let last: Place | undefined;
  for (let limit = CANDIDATES_MIN; ; limit = Math.min(4 * limit, CANDIDATES_MAX)) {
    const [condition, parameters]: [string, SqlInput[]] = last
      ? [`(first_key, first_id) ${descending ? '<' : '>'} (?, ?)`, [exact(last.key), last.id]]
      : ['true', []];
    const found = read(`first_key <> ${NO_KEY} AND ${condition}`, parameters, limit);
    yield* found;
    last = found.at(-1)?.place;
    if (found.length < limit) break;
  }
  if (descending) yield* without_key();
}

/** Returns the span that begins with a bucket. It ends with the list, or with the entries without a key. */
export function spanFrom(place: Place): Span {
  if (place.key === NO_KEY) return { no_key: true };
  return place.key === FIRST ? {} : { from: place };
}

/** Returns a number that each change of the buckets of a list and scope increases. */
export function readChanges(connection: SqliteConnection, table: Table, list: List, scope: SqlValue): number {
  const sql = `SELECT c0 FROM ${bucketsTable(table.name)}
    WHERE list = ${CHANGES} AND scope = ? AND first_key = ? AND first_id = ''`;
  return Number(connection.value(sql, [scope, list.number]) ?? 0);
}

const countsOf = (facet_count: number): string[] =>
  Array.from({ length: facet_count }, (_, facet) => `c${facet}`);

/** Numbers are bound as floating-point numbers, which a column of any type would store as such. */
const exact = (value: SqlValue): SqlInput => (typeof value === 'number' ? BigInt(value) : value);

interface Bucket extends Place {
  readonly size: number;
  /** The id of its values; 0 if it has none. */
  readonly values_id: number;
}

/** What places a row in a list, and what its bucket counts of it. */
interface Entry {
  readonly scope: SqlValue;
  readonly key: SqlValue;
  readonly facet: number;
  readonly row_id: number;
  readonly range: SqlValue;
}

/** Keeps the buckets of one table in step with its rows. Must run in the transaction that writes the rows. */
export class BucketWriter {
  private readonly connection: SqliteConnection;
  private readonly table: Table;
  private readonly lists: TableLists;
  private readonly name: string;
  /** Undefined if the file was made without values of buckets. */
  private readonly values: BucketValuesWriter | undefined;
  /** Find the bucket of a place, by whether it has a key. Made once, because each write runs one of them for each list. */
  private readonly find_sql: { readonly with_key: string; readonly no_key: string };
  /** The scopes with changed counts, by the number of their list. */
  private readonly changed = new Map<number, Set<SqlValue>>();

  constructor(connection: SqliteConnection, table: Table) {
    this.connection = connection;
    this.table = table;
    this.lists = table.lists!;
    this.name = bucketsTable(table.name);
    if (hasBucketValues(connection, table))
      this.values = new BucketValuesWriter(connection, table, this.name);
    const size = countsOf(this.lists.facets.count).join(' + ');
    const findSql = (condition: string): string =>
      `SELECT first_key, first_id, ${size}${this.values ? ', values_id' : ''} FROM ${this.name}
        WHERE list = ? AND scope = ? AND (first_key, first_id) ${condition}
        ORDER BY first_key DESC, first_id DESC LIMIT 1`;
    this.find_sql = {
      with_key: findSql(`<= (?, ?) AND first_key <> ${NO_KEY}`),
      no_key: findSql('= (?, ?)'),
    };
  }

  /** Reads what places the row in its lists. Undefined if there is no such row. */
  entryOf(id: SqlInput): SqlRow | undefined {
    return this.connection.first(this.lists.entry_sql, [id]);
  }

  /** Moves the entries of a row from their old to their new places. */
  move(id: string, before: SqlRow | undefined, after: SqlRow | undefined): void {
    for (const list of this.lists.all) {
      const old_entry = entryIn(list, before);
      const entry = entryIn(list, after);
      const is_same_place = old_entry.scope === entry.scope && old_entry.key === entry.key;
      const is_same = is_same_place && old_entry.facet === entry.facet;
      if (is_same_place && entry.scope === null) continue;
      if (is_same && (!this.valuesOf(list) || old_entry.range === entry.range)) continue;
      if (is_same) {
        this.changeRange(list, id, entry);
        continue;
      }
      if (old_entry.scope !== null) this.add(list, id, old_entry, -1);
      if (entry.scope !== null) this.add(list, id, entry, 1);
    }
  }

  private valuesOf(list: List): BucketValuesWriter | undefined {
    return list.range === undefined ? undefined : this.values;
  }

  private changeRange(list: List, id: string, { scope, key, row_id, facet, range }: Entry): void {
    const bucket = this.find(list, scope, { key, id });
    if (bucket) this.valuesIn(list, scope, bucket)?.set(row_id, facet, range);
  }

  private valuesIn(list: List, scope: SqlValue, bucket: Bucket): BucketValues | undefined {
    return bucket.values_id === 0
      ? undefined
      : this.valuesOf(list)?.of(bucket.values_id, keyOf(list, scope, bucket));
  }

  private add(list: List, id: string, { scope, key, facet, row_id, range }: Entry, change: 1 | -1): void {
    const place = { key, id };
    const bucket = this.find(list, scope, place) ?? this.create(list, scope, key);
    this.noteChange(list, scope);
    this.connection.run(
      `UPDATE ${this.name} SET c${facet} = c${facet} + ${change}
        WHERE list = ? AND scope = ? AND first_key = ? AND first_id = ?`,
      keyOf(list, scope, bucket),
    );
    const values = this.valuesIn(list, scope, bucket);
    if (change === 1) values?.set(row_id, facet, range);
    else values?.remove(row_id);
    if (change === 1 && bucket.size >= ENTRIES_MAX && key !== null) this.divide(list, scope, bucket);
  }

  private noteChange(list: List, scope: SqlValue): void {
    const scopes = this.changed.get(list.number);
    if (scopes) scopes.add(scope);
    else this.changed.set(list.number, new Set([scope]));
  }

  /** Returns the bucket that the place is in. */
  private find(list: List, scope: SqlValue, { key, id }: Place): Bucket | undefined {
    const { with_key, no_key } = this.find_sql;
    const [sql, place]: [string, SqlInput[]] =
      key === null ? [no_key, [BigInt(NO_KEY), '']] : [with_key, [exact(key), id]];
    const row = this.connection.first(sql, [list.number, scope, ...place]);
    return row && { key: row[0]!, id: row[1]!, size: Number(row[2]), values_id: Number(row[3] ?? 0) };
  }

  private create(list: List, scope: SqlValue, key: SqlValue): Bucket {
    const place = { key: key === null ? NO_KEY : FIRST, id: '' };
    return { ...place, size: 0, values_id: this.store(list, scope, place, { counts: this.noCounts() }) };
  }

  /** Stores a bucket. Returns the id of its values: `values_id`, or that of a new row. */
  private store(
    list: List,
    scope: SqlValue,
    place: Place,
    { counts, values }: Content,
    values_id = 0,
  ): number {
    const columns = countsOf(counts.length);
    const key = keyOf(list, scope, place);
    const writer = this.valuesOf(list);
    const id = values_id || (writer?.create() ?? 0);
    if (id !== 0) columns.push('values_id');
    this.connection.run(
      `INSERT OR REPLACE INTO ${this.name} (list, scope, first_key, first_id, ${columns.join(', ')})
        VALUES (?, ?, ?, ?${', ?'.repeat(columns.length)})`,
      [...key, ...counts, ...(id === 0 ? [] : [id])],
    );
    if (values) writer?.replace(id, key, values);
    return id;
  }

  /** Divides a bucket at the entry in its middle, and counts both halves again. */
  private divide(list: List, scope: SqlValue, { key, id, size, values_id }: Bucket): void {
    const next = this.connection.first(
      `SELECT first_key, first_id FROM ${this.name}
        WHERE list = ? AND scope = ? AND (first_key, first_id) > (?, ?) AND first_key <> ${NO_KEY}
        ORDER BY first_key, first_id LIMIT 1`,
      [list.number, scope, exact(key), id],
    );
    const from = key === FIRST ? undefined : { key, id };
    const to = next && { key: next[0]!, id: next[1]! };
    const middle = this.placeAfter(list, scope, from, size >> 1);
    if (!middle) return;
    this.store(list, scope, { key, id }, this.contentOf(list, scope, { from, to: middle }), values_id);
    this.store(list, scope, middle, this.contentOf(list, scope, { from: middle, to }));
  }

  /** Returns the place `count` entries after `from`. */
  private placeAfter(list: List, scope: SqlValue, from: Place | undefined, count: number): Place | undefined {
    const { sql, parameters } = spanCondition(list, { from });
    const row = this.connection.first(
      `SELECT ${list.key}, id FROM ${this.table.name} INDEXED BY ${list.name} WHERE ${list.scope} = ?${sql}
        ORDER BY ${list.key}, id LIMIT 1 OFFSET ${count}`,
      [scope, ...parameters],
    );
    return row && { key: row[0]!, id: row[1]! };
  }

  /** Reads the entries of a span. */
  private contentOf(list: List, scope: SqlValue, span: Span): Content {
    const { sql, parameters } = spanCondition(list, span);
    const from = `FROM ${this.table.name} INDEXED BY ${list.name} WHERE ${list.scope} = ?${sql}`;
    const read = (columns: string, group = ''): SqlRow[] =>
      this.connection.all(`SELECT ${columns} ${from} ${group}`, [scope, ...parameters]);
    const counts = this.noCounts();
    if (this.valuesOf(list)) {
      const rows = read(valuesSql(list));
      for (const [, facet] of rows) counts[Number(facet)]!++;
      return { counts, values: BucketValues.of(rows) };
    }
    for (const [facet, count] of read('facet, count(*)', 'GROUP BY facet'))
      counts[Number(facet)] = Number(count);
    return { counts };
  }

  private noCounts(): number[] {
    return new Array<number>(this.lists.facets.count).fill(0);
  }

  /** Makes the buckets of a list whose index has just been created. */
  fill(list: List): void {
    let scope: SqlValue | undefined;
    for (;;) {
      const after = scope === undefined ? '' : ` AND ${list.scope} > ?`;
      scope = this.connection.value(
        `SELECT ${list.scope} FROM ${this.table.name} INDEXED BY ${list.name}
          WHERE ${list.scope} IS NOT NULL${after} ORDER BY ${list.scope} LIMIT 1`,
        scope === undefined ? [] : [scope],
      );
      if (scope === undefined) break;
      this.fillScope(list, scope);
      this.noteChange(list, scope);
    }
  }

  private fillScope(list: List, scope: SqlValue): void {
    if (list.has_nulls) {
      const without_key = this.contentOf(list, scope, { no_key: true });
      if (without_key.counts.some((count) => count > 0))
        this.store(list, scope, { key: NO_KEY, id: '' }, without_key);
    }
    for (let from: Place | undefined, is_first = true; from || is_first; is_first = false) {
      const to = this.placeAfter(list, scope, from, ENTRIES_AT_START);
      this.store(list, scope, from ?? { key: FIRST, id: '' }, this.contentOf(list, scope, { from, to }));
      from = to;
    }
  }

  /** Writes what waits, and counts the changes of this transaction. */
  finish(): void {
    this.values?.finish();
    for (const [list, scopes] of this.changed)
      for (const scope of scopes)
        this.connection.run(
          `INSERT INTO ${this.name} (list, scope, first_key, first_id, c0) VALUES (${CHANGES}, ?, ?, '', 1)
            ON CONFLICT DO UPDATE SET c0 = c0 + 1`,
          [exact(scope), BigInt(list)],
        );
  }
}

/** The numbers of entries by facet, and the values of the entries if the list has them. */
interface Content {
  readonly counts: readonly number[];
  readonly values?: BucketValues;
}

function entryIn(list: List, row: SqlRow | undefined): Entry {
  const [scope, key, range] = list.columns_in_entry.map((index) => row?.[index] ?? null);
  return { scope: scope!, key: key!, range: range!, facet: Number(row?.[0] ?? -1), row_id: Number(row?.[1]) };
}

const keyOf = (list: List, scope: SqlValue, { key, id }: Place): BucketKey => [
  list.number,
  exact(scope),
  exact(key),
  id,
];

/** Returns whether the file has the values of buckets. An earlier release made it without them. */
export function hasBucketValues(connection: SqliteConnection, { name }: Table): boolean {
  return (
    connection.value('SELECT 1 FROM sqlite_master WHERE name = ?', [bucketValuesTable(name)]) !== undefined
  );
}
