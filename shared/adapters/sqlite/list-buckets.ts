import type { SqlInput, SqliteConnection, SqlRow, SqlValue } from './connection';
import type { List, Table, TableLists } from './tables';

/*
 * A list is divided into buckets: runs of consecutive entries. For each bucket a row stores where it begins and how many
 * of its entries have each facet. The row changes in the transaction that changes the entries, so the sums of the rows are
 * exact at any time. The bucket that contains the n-th entry is found from the sums, and the entry is found in it.
 */

/** A bucket with more entries is divided into two. */
const ENTRIES_MAX = 1_024;
/** Number of entries of the buckets of a new list. Leaves room for more. */
const ENTRIES_AT_START = 512;

/** The place of an entry in a list. */
export interface Place {
  readonly key: SqlValue;
  readonly id: SqlValue;
  /** Whether the place is right behind the entry, instead of right before it. */
  readonly is_behind?: boolean;
}

/** Where the first bucket of a list begins: in the table of buckets, before all numbers and texts. */
const FIRST: Place = { key: -(2 ** 53) + 1, id: '' };

export const bucketsTable = (table: string): string => `${table}_buckets`;

/** Returns the statement that creates the table with the buckets of all lists of a table. */
export function bucketsSchema({ name, lists }: Table): string {
  const counts = countsOf(lists!).map((count) => `${count} INTEGER NOT NULL DEFAULT 0`);
  return `CREATE TABLE ${bucketsTable(name)} (list INTEGER NOT NULL, scope TEXT NOT NULL, first_key ANY NOT NULL,
    first_id TEXT NOT NULL, ${counts.join(', ')}, PRIMARY KEY (list, scope, first_key, first_id)) STRICT, WITHOUT ROWID`;
}

const countsOf = ({ facets }: TableLists): string[] =>
  Array.from({ length: facets.count }, (_, facet) => `c${facet}`);

/** Returns the entries of a list and scope from `from` up to but not including `to`, as the end of a SELECT. */
export function entriesSql(
  table: Table,
  list: List,
  scope: SqlValue,
  bounds: Bounds,
): { sql: string; parameters: SqlInput[] } {
  const { sql, parameters } = boundsSql(list, bounds);
  return {
    sql: `FROM ${table.name} INDEXED BY ${list.name} WHERE ${list.scope} = ? ${sql}`,
    parameters: [scope, ...parameters],
  };
}

export interface Bounds {
  readonly from?: Place | undefined;
  readonly to?: Place | undefined;
}

/** Returns the conditions for the entries of a list within the bounds. Each begins with `AND`. */
export function boundsSql(list: List, { from, to }: Bounds): { sql: string; parameters: SqlInput[] } {
  const start = from && from.key !== FIRST.key ? from : undefined;
  const bounds = [
    ...(start ? [`AND (${list.key}, id) ${start.is_behind ? '>' : '>='} (?, ?)`] : []),
    ...(to ? [`AND (${list.key}, id) ${to.is_behind ? '<=' : '<'} (?, ?)`] : []),
  ];
  return {
    sql: bounds.join(' '),
    parameters: [start, to].flatMap((place) => (place ? [place.key, place.id] : [])),
  };
}

interface Bucket extends Place {
  readonly size: number;
}

/** What places a row in a list, and what its bucket counts. `scope` is null if the row is not in the list. */
interface Entry {
  readonly scope: SqlValue;
  readonly key: SqlValue;
  readonly facet: number;
}

/** Keeps the buckets of one table in step with its rows. Must run in the transaction that writes the rows. */
export class BucketWriter {
  private readonly connection: SqliteConnection;
  private readonly table: Table;
  private readonly lists: TableLists;
  private readonly name: string;
  private readonly find_sql: string;

  constructor(connection: SqliteConnection, table: Table) {
    this.connection = connection;
    this.table = table;
    this.lists = table.lists!;
    this.name = bucketsTable(table.name);
    this.find_sql = `SELECT first_key, first_id, ${countsOf(this.lists).join(' + ')} FROM ${this.name}
      WHERE list = ? AND scope = ? AND (first_key, first_id) <= (?, ?) ORDER BY first_key DESC, first_id DESC LIMIT 1`;
  }

  /** Reads what places the row in its lists. Undefined if there is no such row. */
  entryOf(id: string): SqlRow | undefined {
    return this.connection.first(this.lists.entry_sql, [id]);
  }

  /** Moves the entries of a row from their old to their new places. */
  move(id: string, before: SqlRow | undefined, after: SqlRow | undefined): void {
    for (const list of this.lists.all) {
      const old_entry = entryIn(list, before);
      const entry = entryIn(list, after);
      const { scope, key, facet } = entry;
      if (old_entry.scope === scope && old_entry.key === key && old_entry.facet === facet) continue;
      if (old_entry.scope !== null) this.add(list, id, old_entry, -1);
      if (scope !== null) this.add(list, id, entry, 1);
    }
  }

  private add(list: List, id: string, { scope, key, facet }: Entry, change: 1 | -1): void {
    const bucket = this.find(list, scope, { key, id }) ?? this.create(list, scope);
    this.connection.run(
      `UPDATE ${this.name} SET c${facet} = c${facet} + ?
        WHERE list = ? AND scope = ? AND first_key = ? AND first_id = ?`,
      [change, list.number, scope, bucket.key, bucket.id],
    );
    if (change === 1 && bucket.size >= ENTRIES_MAX) this.divide(list, scope, bucket);
  }

  /** Returns the bucket that the place is in. */
  private find(list: List, scope: SqlValue, { key, id }: Place): Bucket | undefined {
    const row = this.connection.first(this.find_sql, [list.number, scope, key, id]);
    return row && { key: row[0]!, id: row[1]!, size: Number(row[2]) };
  }

  private create(list: List, scope: SqlValue): Bucket {
    this.connection.run(`INSERT INTO ${this.name} (list, scope, first_key, first_id) VALUES (?, ?, ?, ?)`, [
      list.number,
      scope,
      FIRST.key,
      FIRST.id,
    ]);
    return { ...FIRST, size: 0 };
  }

  /** Divides a bucket at the entry in its middle, and counts both halves again. */
  private divide(list: List, scope: SqlValue, bucket: Bucket): void {
    const next = this.connection.first(
      `SELECT first_key, first_id FROM ${this.name}
        WHERE list = ? AND scope = ? AND (first_key, first_id) > (?, ?) ORDER BY first_key, first_id LIMIT 1`,
      [list.number, scope, bucket.key, bucket.id],
    );
    const middle = this.placeAfter(list, scope, bucket, bucket.size >> 1);
    if (!middle) return;
    this.count(list, scope, bucket, middle);
    this.count(list, scope, middle, next && { key: next[0]!, id: next[1]! });
  }

  /** Returns the place `count` entries after `from`. */
  private placeAfter(list: List, scope: SqlValue, from: Place, count: number): Place | undefined {
    const { sql, parameters } = entriesSql(this.table, list, scope, { from });
    const row = this.connection.first(
      `SELECT ${list.key}, id ${sql} ORDER BY ${list.key}, id LIMIT 1 OFFSET ?`,
      [...parameters, count],
    );
    return row && { key: row[0]!, id: row[1]! };
  }

  /** Counts the entries of a bucket, and stores it. */
  private count(list: List, scope: SqlValue, from: Place, to: Place | undefined): void {
    const { sql, parameters } = entriesSql(this.table, list, scope, { from, to });
    const counts = new Array<number>(this.lists.facets.count).fill(0);
    for (const [facet, count] of this.connection.all(
      `SELECT facet, count(*) ${sql} GROUP BY facet`,
      parameters,
    ))
      counts[Number(facet)] = Number(count);
    this.connection.run(
      `INSERT OR REPLACE INTO ${this.name} VALUES (?, ?, ?, ?${', ?'.repeat(counts.length)})`,
      [list.number, scope, from.key, from.id, ...counts],
    );
  }

  /** Makes the buckets of a list whose index has just been created. */
  fill(list: List): void {
    const nextScope = `SELECT min(${list.scope}) FROM ${this.table.name} INDEXED BY ${list.name} WHERE ${list.scope} > ?`;
    for (let scope: SqlValue = ''; ; ) {
      scope = this.connection.value(nextScope, [scope]) ?? null;
      if (scope === null) return;
      for (let from: Place | undefined = FIRST; from; ) {
        const to = this.placeAfter(list, scope, from, ENTRIES_AT_START);
        this.count(list, scope, from, to);
        from = to;
      }
    }
  }
}

function entryIn(list: List, row: SqlRow | undefined): Entry {
  const [scope, key] = list.columns_in_entry.map((index) => row?.[index] ?? null);
  return { scope: scope!, key: key!, facet: Number(row?.[0] ?? -1) };
}
