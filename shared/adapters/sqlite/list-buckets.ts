import type { Key } from '../../catalog/documents';
import type { SqlInput, SqliteConnection, SqlValue } from './connection';
import { column, inVariant, type List, scopeValue, type Table, type TableLists } from './tables';

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
  const { source, scope: scope_column } = table.lists!;
  return {
    sql: `FROM ${source} AS l INDEXED BY ${list.name} WHERE l.${scope_column} = ? AND l.${list.key} IS NOT NULL ${sql}`,
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
    ...(start ? [`AND (l.${list.key}, l.id) ${start.is_behind ? '>' : '>='} (?, ?)`] : []),
    ...(to ? [`AND (l.${list.key}, l.id) ${to.is_behind ? '<=' : '<'} (?, ?)`] : []),
  ];
  return {
    sql: bounds.join(' '),
    parameters: [start, to].flatMap((place) => (place ? [place.key, place.id] : [])),
  };
}

interface Bucket extends Place {
  readonly size: number;
}

/** The row of the source of lists for one document in the lists of one scope, by column. */
type Entry = Readonly<Record<string, SqlValue>>;

/**
 * Keeps the source of a table's lists and their buckets in step with the documents. Must run in the transaction that writes
 * the documents.
 */
export class ListWriter {
  private readonly connection: SqliteConnection;
  private readonly table: Table;
  private readonly lists: TableLists;
  /** False if the buckets are created later. */
  private readonly has_buckets: boolean;
  private readonly name: string;
  private readonly find_sql: string;

  constructor(connection: SqliteConnection, table: Table, has_buckets: boolean) {
    this.connection = connection;
    this.table = table;
    this.lists = table.lists!;
    this.has_buckets = has_buckets;
    this.name = bucketsTable(table.name);
    this.find_sql = `SELECT first_key, first_id, ${countsOf(this.lists).join(' + ')} FROM ${this.name}
      WHERE list = ? AND scope = ? AND (first_key, first_id) <= (?, ?) ORDER BY first_key DESC, first_id DESC LIMIT 1`;
  }

  /** Returns what a stored document has in its lists. Returns none if it is not stored or in no list. */
  entriesOf(id: string): Entry[] {
    const { name, keys, columns } = this.table;
    const found = this.connection.first(`SELECT rowid, ${columns.join(', ')} FROM ${name} WHERE id = ?`, [
      id,
    ]);
    if (!found) return [];
    const [row, ...values] = found;
    const stored = Object.fromEntries(keys.map((key, n) => [key, values[n] as Key]));
    return this.listsOf(stored).map(([scope, keys_there, is_shared]) =>
      this.toEntry({ scope, id, row: row!, is_shared: Number(is_shared) }, keys_there),
    );
  }

  /** Returns the lists of a document by scope, with its keys there. */
  private listsOf(
    keys: Record<string, Key>,
  ): [scope: string, keys: Record<string, Key>, is_shared: boolean][] {
    const { scopes, shared, variants } = this.lists;
    const lists = scopes.flatMap((scope_key): [string, Record<string, Key>, boolean][] => {
      if (scope_key !== shared?.scope) {
        const value = keys[scope_key];
        return typeof value === 'string' ? [[scopeValue(this.lists, scope_key, value), keys, false]] : [];
      }
      const ranks = shared.ranksOf(keys);
      return [...ranks].map(([value, rank]) => [
        scopeValue(this.lists, scope_key, value),
        { ...keys, [shared.rank]: rank },
        ranks.size > 1,
      ]);
    });
    const in_variants = (variants ?? []).flatMap((kind) => [...kind.valuesOf(keys)]);
    // So that a variant takes no space in the indexes of the orders that it does not change.
    const none = Object.fromEntries(this.lists.keys.map((key) => [key, null]));
    return [
      ...lists,
      ...in_variants.flatMap(([variant, values]) =>
        lists.map(([scope, keys_there, is_shared]): (typeof lists)[number] => [
          inVariant(scope, variant),
          { ...keys_there, ...none, ...values },
          is_shared,
        ]),
      ),
    ];
  }

  private toEntry(
    { scope, ...values }: Readonly<Record<'scope' | 'id' | 'row' | 'is_shared', SqlValue>>,
    keys: Record<string, Key>,
  ): Entry {
    const facet = this.lists.facets.of(keys);
    const of_keys = Object.entries(keys).map(([key, value]) => [column(this.table, key), value]);
    return { ...Object.fromEntries(of_keys), ...values, facet, [this.lists.scope]: scope };
  }

  /** Moves a document from its old to its new places. */
  move(before: readonly Entry[], after: readonly Entry[]): void {
    const { scope } = this.lists;
    const old_entries = new Map(before.map((entry) => [entry[scope], entry]));
    for (const entry of after) {
      this.change(old_entries.get(entry[scope]), entry);
      old_entries.delete(entry[scope]);
    }
    for (const entry of old_entries.values()) this.change(entry, undefined);
  }

  private change(before: Entry | undefined, after: Entry | undefined): void {
    if (this.lists.shared) this.changeSource(before, after);
    if (!this.has_buckets) return;
    for (const list of this.lists.all) {
      const has_moved = before?.[list.key] !== after?.[list.key] || before?.facet !== after?.facet;
      if (!has_moved) continue;
      if (before && before[list.key] !== null) this.add(list, before, -1);
      if (after && after[list.key] !== null) this.add(list, after, 1);
    }
  }

  private changeSource(before: Entry | undefined, after: Entry | undefined): void {
    const { source, columns } = this.lists;
    if (!after) {
      this.connection.run(`DELETE FROM ${source} WHERE scope = ? AND id = ?`, [before!.scope!, before!.id!]);
      return;
    }
    const changed = columns.filter((name) => before?.[name] !== after[name]);
    const values = changed.map((name) => after[name]!);
    if (!before) {
      const places = columns.map(() => '?').join(', ');
      this.connection.run(`INSERT INTO ${source} (${columns.join(', ')}) VALUES (${places})`, values);
    } else if (changed.length > 0) {
      const assignments = changed.map((name) => `${name} = ?`).join(', ');
      const sql = `UPDATE ${source} SET ${assignments} WHERE scope = ? AND id = ?`;
      this.connection.run(sql, [...values, after.scope!, after.id!]);
    }
  }

  private add(list: List, entry: Entry, change: 1 | -1): void {
    const scope = entry[this.lists.scope]!;
    const place = { key: entry[list.key]!, id: entry.id! };
    const bucket = this.find(list, scope, place) ?? this.create(list, scope);
    this.connection.run(
      `UPDATE ${this.name} SET c${entry.facet} = c${entry.facet} + ?
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
      `SELECT l.${list.key}, l.id ${sql} ORDER BY l.${list.key}, l.id LIMIT 1 OFFSET ?`,
      [...parameters, count],
    );
    return row && { key: row[0]!, id: row[1]! };
  }

  /** Counts the entries of a bucket, and stores it. */
  private count(list: List, scope: SqlValue, from: Place, to: Place | undefined): void {
    const { sql, parameters } = entriesSql(this.table, list, scope, { from, to });
    const counts = new Array<number>(this.lists.facets.count).fill(0);
    for (const [facet, count] of this.connection.all(
      `SELECT l.facet, count(*) ${sql} GROUP BY l.facet`,
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
    const { source, scope: name } = this.lists;
    const nextScope = `SELECT min(${name}) FROM ${source} INDEXED BY ${list.name} WHERE ${name} > ? AND ${list.key} IS NOT NULL`;
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
