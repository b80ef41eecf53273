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
/** The list number of the row that counts changes. */
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

/** Returns the statements that create the table of the buckets of all lists of a table. */
export function bucketsSchema(table: string, facet_count: number): string[] {
  const counts = Array.from({ length: facet_count }, (_, facet) => `c${facet} INTEGER NOT NULL DEFAULT 0`);
  return [
    `CREATE TABLE ${bucketsTable(table)} (list INTEGER NOT NULL, scope ANY NOT NULL, first_key ANY NOT NULL,
      first_id ANY NOT NULL, ${counts.join(', ')}, PRIMARY KEY (list, scope, first_key, first_id)) STRICT, WITHOUT ROWID`,
    `INSERT INTO ${bucketsTable(table)} (list, scope, first_key, first_id) VALUES (${CHANGES}, '', 0, '')`,
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

/** The buckets of one list and scope, in order. */
export class Buckets {
  readonly places: readonly (Place | 'first' | 'no_key')[];
  private readonly counts: readonly (readonly number[])[];
  private readonly sums = new Map<string, Float64Array>();

  constructor(rows: readonly SqlRow[]) {
    this.places = rows.map(([key, id]) =>
      key === FIRST ? 'first' : key === NO_KEY ? 'no_key' : { key: key!, id: id! },
    );
    this.counts = rows.map((row) => row.slice(2).map(Number));
  }

  /** Returns the number of entries with these facets before each bucket, and after the last one. */
  sumsOf(facets: readonly number[]): Float64Array {
    const name = facets.join();
    const cached = this.sums.get(name);
    if (cached) return cached;
    const sums = new Float64Array(this.counts.length + 1);
    for (const [index, counts] of this.counts.entries()) {
      let count = 0;
      for (const facet of facets) count += counts[facet]!;
      sums[index + 1] = sums[index]! + count;
    }
    this.sums.set(name, sums);
    return sums;
  }
}

/** Reads the buckets of a list and scope. Entries without a key come first. */
export function readBuckets(
  connection: SqliteConnection,
  table: Table,
  list: List,
  scope: SqlValue,
): Buckets {
  const { facets } = table.lists!;
  const rows = connection.all(
    `SELECT first_key, first_id, ${countsOf(facets.count).join(', ')} FROM ${bucketsTable(table.name)}
      WHERE list = ? AND scope = ? ORDER BY first_key, first_id`,
    [list.number, scope],
  );
  return new Buckets(rows[1]?.[0] === NO_KEY ? [rows[1], rows[0]!, ...rows.slice(2)] : rows);
}

/** Returns a number that each change of buckets increases. */
export function readChanges(connection: SqliteConnection, table: Table): number {
  return Number(
    connection.value(
      `SELECT c0 FROM ${bucketsTable(table.name)} WHERE list = ${CHANGES} AND scope = '' AND first_key = 0 AND first_id = ''`,
    ),
  );
}

const countsOf = (facet_count: number): string[] =>
  Array.from({ length: facet_count }, (_, facet) => `c${facet}`);

/** Numbers are bound as floating-point numbers, which a column of any type would store as such. */
const exact = (value: SqlValue): SqlInput => (typeof value === 'number' ? BigInt(value) : value);

interface Bucket extends Place {
  readonly size: number;
}

/** Keeps the buckets of one table in step with its rows. Must run in the transaction that writes the rows. */
export class BucketWriter {
  private readonly connection: SqliteConnection;
  private readonly table: Table;
  private readonly lists: TableLists;
  private readonly name: string;
  private changed = false;

  constructor(connection: SqliteConnection, table: Table) {
    this.connection = connection;
    this.table = table;
    this.lists = table.lists!;
    this.name = bucketsTable(table.name);
  }

  /** Reads what places the row in its lists. Undefined if there is no such row. */
  entryOf(id: SqlInput): SqlRow | undefined {
    return this.connection.first(this.lists.entry_sql, [id]);
  }

  /** Moves the entries of a row from their old to their new places. */
  move(id: string, before: SqlRow | undefined, after: SqlRow | undefined): void {
    for (const list of this.lists.all) {
      const [old_scope, old_key] = list.columns_in_entry.map((index) => before?.[index] ?? null);
      const [scope, key] = list.columns_in_entry.map((index) => after?.[index] ?? null);
      const is_same_place = old_scope === scope && old_key === key;
      if (is_same_place && before?.[0] === after?.[0]) continue;
      if (is_same_place && scope === null) continue;
      this.changed = true;
      if (old_scope !== null) this.add(list, old_scope!, { key: old_key!, id }, Number(before![0]), -1);
      if (scope !== null) this.add(list, scope!, { key: key!, id }, Number(after![0]), 1);
    }
  }

  private add(list: List, scope: SqlValue, place: Place, facet: number, change: 1 | -1): void {
    const bucket = this.find(list, scope, place) ?? this.create(list, scope, place);
    this.connection.run(
      `UPDATE ${this.name} SET c${facet} = c${facet} + ${change}
        WHERE list = ? AND scope = ? AND first_key = ? AND first_id = ?`,
      [list.number, scope, exact(bucket.key), bucket.id],
    );
    if (change === 1 && bucket.size >= ENTRIES_MAX && place.key !== null) this.divide(list, scope, bucket);
  }

  /** Returns the bucket that the place is in. */
  private find(list: List, scope: SqlValue, { key, id }: Place): Bucket | undefined {
    const size = countsOf(this.lists.facets.count).join(' + ');
    const [is_before, parameters] =
      key === null
        ? ['= (?, ?)', [BigInt(NO_KEY), '']]
        : [`<= (?, ?) AND first_key <> ${NO_KEY}`, [exact(key), id]];
    const row = this.connection.first(
      `SELECT first_key, first_id, ${size} FROM ${this.name}
        WHERE list = ? AND scope = ? AND (first_key, first_id) ${is_before}
        ORDER BY first_key DESC, first_id DESC LIMIT 1`,
      [list.number, scope, ...parameters],
    );
    return row && { key: row[0]!, id: row[1]!, size: Number(row[2]) };
  }

  private create(list: List, scope: SqlValue, { key }: Place): Bucket {
    const bucket = { key: key === null ? NO_KEY : FIRST, id: '', size: 0 };
    this.store(list, scope, bucket, []);
    return bucket;
  }

  private store(list: List, scope: SqlValue, { key, id }: Place, rows: readonly SqlRow[]): void {
    const counts = new Array<number>(this.lists.facets.count).fill(0);
    for (const [facet, count] of rows) counts[Number(facet)]! += Number(count);
    this.connection.run(
      `INSERT OR REPLACE INTO ${this.name} (list, scope, first_key, first_id, ${countsOf(counts.length).join(', ')})
        VALUES (?, ?, ?, ?${', ?'.repeat(counts.length)})`,
      [list.number, scope, exact(key), id, ...counts],
    );
  }

  /** Divides a bucket at the entry in its middle, and counts both halves again. */
  private divide(list: List, scope: SqlValue, { key, id, size }: Bucket): void {
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
    this.store(list, scope, { key, id }, this.countFacets(list, scope, { from, to: middle }));
    this.store(list, scope, middle, this.countFacets(list, scope, { from: middle, to }));
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

  private countFacets(list: List, scope: SqlValue, span: Span): SqlRow[] {
    const { sql, parameters } = spanCondition(list, span);
    return this.connection.all(
      `SELECT facet, count(*) FROM ${this.table.name} INDEXED BY ${list.name} WHERE ${list.scope} = ?${sql} GROUP BY facet`,
      [scope, ...parameters],
    );
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
    }
    this.changed = true;
  }

  private fillScope(list: List, scope: SqlValue): void {
    if (list.has_nulls) {
      const without_key = this.countFacets(list, scope, { no_key: true });
      if (without_key.length > 0) this.store(list, scope, { key: NO_KEY, id: '' }, without_key);
    }
    for (let from: Place | undefined, is_first = true; from || is_first; is_first = false) {
      const to = this.placeAfter(list, scope, from, ENTRIES_AT_START);
      this.store(list, scope, from ?? { key: FIRST, id: '' }, this.countFacets(list, scope, { from, to }));
      from = to;
    }
  }

  /** Counts the change of this transaction, if there was one. */
  finish(): void {
    if (!this.changed) return;
    this.connection.run(
      `UPDATE ${this.name} SET c0 = c0 + 1 WHERE list = ${CHANGES} AND scope = '' AND first_key = 0 AND first_id = ''`,
    );
  }
}
