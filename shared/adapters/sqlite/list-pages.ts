import { compareByOrder, type SortDirection, type SortOrder } from '../../catalog/sorting';
import { LRUCache } from '../../kernel/cache';
import type { KeyCondition, ViewQuery } from '../../ports/view-store';
import { type CodeRange, codesOf, matchingEntries, readRowIds } from './bucket-values';
import type { SqlInput, SqliteConnection, SqlRow, SqlValue } from './connection';
import { conditionSql, selectionOf } from './documents';
import {
  type Buckets,
  candidates,
  hasBucketValues,
  type Place,
  readBuckets,
  readChanges,
  type Span,
  spanCondition,
  spanFrom,
} from './list-buckets';
import { column, type List, type RankedIndex, type Table } from './tables';

/** A page that begins within this many entries of the start of its list is looked for without reading the buckets. */
const SCANNED_MAX = 2_000;
/** If at most this many documents match a range that the list is not sorted by, they are all read and sorted. */
const SORTED_MAX = 5_000;
/** The same if the list has the values of its buckets. */
const SORTED_WITH_VALUES_MAX = 2_000;
/** If at most this many entries of a bucket match, their rows are read. Otherwise the entries of the bucket are read. */
const ROWS_MAX = 16;
/** The most buckets in memory. A bucket takes about 300 bytes. */
const CACHED_BUCKETS_MAX = 50_000;

/** The entries of a list that match a query. */
interface Entries {
  readonly list: List;
  readonly scope: SqlValue;
  readonly facets: readonly number[];
  readonly from?: Place | undefined;
  readonly to?: Place | undefined;
}

interface Part extends Entries {
  readonly descending: boolean;
  /** Set if the part has the ranked rows only, in the order of this index. */
  readonly ranked?: RankedIndex;
  /** Conditions that neither the facet nor the order expresses. */
  readonly others: ViewQuery['where'];
}

/** The row ids of a page, in order. */
type RowIds = SqlValue[];

interface CachedBuckets {
  readonly changes: number;
  readonly buckets: Buckets;
}

/**
 * Reads pages and counts of the lists that tables declare. A page at any depth reads a few buckets' worth of index entries
 * and the documents of the page. Each call must run in a snapshot, so that buckets, entries and documents are of the same
 * moment.
 */
export class ListReader {
  private readonly connection: SqliteConnection;
  private readonly sorted_with_values_max: number;
  private readonly cache = new LRUCache<string, CachedBuckets>({
    maxSize: CACHED_BUCKETS_MAX,
    sizeCalculation: ({ buckets }) => buckets.places.length + 1,
  });

  constructor(connection: SqliteConnection, { sorted_with_values_max = SORTED_WITH_VALUES_MAX } = {}) {
    this.connection = connection;
    this.sorted_with_values_max = sorted_with_values_max;
  }

  /** Returns the rows of a page in order, or undefined if the query is not one of a list. */
  page(table: Table, query: ViewQuery): SqlRow[] | undefined {
    const { where, id } = splitExcluded(query.where);
    const parts = partsOf(table, where, query.order);
    if (!parts) return undefined;
    const row_ids =
      id === undefined
        ? this.rowsOfPage(table, parts, query)
        : this.pageWithout(table, parts, { ...query, where }, id);
    if (row_ids.length === 0) return [];
    return this.connection.all(
      `SELECT ${selectionOf(table, query.parts).columns}
        FROM json_each(?) AS page CROSS JOIN ${table.name} AS d ON d.rowid = page.value`,
      [JSON.stringify(row_ids)],
    );
  }

  private rowsOfPage(table: Table, parts: readonly Part[], query: ViewQuery): RowIds {
    return this.shallowPage(table, parts, query) ?? this.deepPage(table, parts, query);
  }

  /** Returns a page of the list without one document: reads one more row, and leaves out this document or the first row. */
  private pageWithout(table: Table, parts: readonly Part[], query: ViewQuery, id: string): RowIds {
    const { where, order, skip = 0, limit } = query;
    const longer = { ...query, limit: limit + 1 };
    const row_ids = this.rowsOfPage(table, parts, longer);
    const others = conditionSql(table, where);
    const sql = `SELECT rowid FROM ${table.name} WHERE id = ? AND ${others.sql}`;
    const excluded = this.connection.value(sql, [id, ...others.parameters]);
    if (excluded === undefined || row_ids.length === 0) return row_ids.slice(0, limit);
    if (row_ids.includes(excluded)) return row_ids.filter((row_id) => row_id !== excluded);
    const is_before = skip > 0 && this.isBefore(table, order, excluded, row_ids[0]!);
    return is_before ? row_ids.slice(1) : row_ids.slice(0, limit);
  }

  /** Returns whether one row comes before another. */
  private isBefore(table: Table, order: SortOrder, row_id: SqlValue, other: SqlValue): boolean {
    const names = order.map(([key]) => key).filter((key) => key !== 'id');
    const columns = names.map((key) => `, ${column(table, key)}`).join('');
    const [a, b] = [row_id, other].map((one) => {
      const row = this.connection.first(`SELECT id${columns} FROM ${table.name} WHERE rowid = ?`, [one]);
      const keys = Object.fromEntries(names.map((key, index) => [key, row![index + 1]!]));
      return { id: String(row![0]), keys };
    });
    return compareByOrder(order, a!, b!) < 0;
  }

  /** Counts the matching documents. Returns undefined if no list has them. */
  count(table: Table, where: ViewQuery['where']): number | undefined {
    const entries = countedEntries(table, where);
    return entries && this.size(table, entries);
  }

  /** Returns the page if it is found near the start of the first part, without reading the buckets. */
  private shallowPage(
    table: Table,
    [part]: readonly Part[],
    { skip = 0, limit }: ViewQuery,
  ): RowIds | undefined {
    if (!part || part.ranked || skip + limit > SCANNED_MAX || hasAny(part.others)) return undefined;
    const { facets } = table.lists!;
    const condition = partCondition(part);
    const entries = `SELECT rowid AS row_id, ${part.list.key} AS list_key, id, facet FROM ${condition.from(table)}
      ${orderOf(part)}`;
    const is_filtered = part.facets.length < facets.count;
    const sql = is_filtered
      ? `SELECT row_id FROM (${entries} LIMIT ${SCANNED_MAX}) WHERE ${facetCondition(part.facets)} LIMIT ? OFFSET ?`
      : `${entries} LIMIT ? OFFSET ?`;
    const row_ids = this.connection.all(sql, [...condition.parameters, limit, skip]).map(([id]) => id!);
    return row_ids.length === limit ? row_ids : undefined;
  }

  private deepPage(table: Table, parts: readonly Part[], { skip = 0, limit }: ViewQuery): RowIds {
    const found: RowIds = [];
    let to_skip = skip;
    for (const part of parts) {
      const wanted = limit - found.length;
      if (wanted === 0) break;
      const row_ids = this.rowsOf(table, part, to_skip, wanted);
      found.push(...row_ids);
      if (row_ids.length > 0) to_skip = 0;
      else if (to_skip > 0) to_skip = Math.max(0, to_skip - this.size(table, part));
    }
    return found;
  }

  private rowsOf(table: Table, part: Part, skip: number, limit: number): RowIds {
    if (part.facets.length === 0) return [];
    if (part.ranked) return this.rankedRows(table, part, part.ranked, skip, limit);
    if (hasAny(part.others)) return this.otherwiseFilteredRows(table, part, skip, limit);
    const { start, end } = this.bounds(table, part);
    const first = part.descending ? Math.max(start, end - skip - limit) : start + skip;
    const last = part.descending ? end - skip : Math.min(end, start + skip + limit);
    const row_ids = first < last ? this.between(table, part, first, last) : [];
    return part.descending ? row_ids.reverse() : row_ids;
  }

  /** Returns the number of entries of the list with these facets before the first and up to the last matching entry. */
  private bounds(table: Table, entries: Entries): { start: number; end: number } {
    const buckets = this.buckets(table, entries);
    const { sums } = buckets;
    const rank = (place: Place): number => {
      const index = bucketAt(buckets, place);
      if (index < 0) return 0;
      const inside = { ...spanOf(buckets, index), to: place };
      return (
        sums[index]! +
        (buckets.places[index] === 'no_key' ? sums[index + 1]! : this.countIn(table, entries, inside))
      );
    };
    // A range includes no entries without a key.
    const unbounded_start = entries.to && buckets.places[0] === 'no_key' ? sums[1]! : 0;
    const start = entries.from ? rank(entries.from) : unbounded_start;
    const end = entries.to ? rank(entries.to) : sums.at(-1)!;
    return { start, end };
  }

  private size(table: Table, entries: Entries): number {
    if (entries.facets.length === 0) return 0;
    const { start, end } = this.bounds(table, entries);
    return end - start;
  }

  private countIn(table: Table, { list, scope, facets }: Entries, span: Span): number {
    const { from, parameters } = bucketCondition({ list, scope }, span);
    const sql = `SELECT count(*) FROM ${from(table)} AND ${facetCondition(facets)}`;
    return Number(this.connection.value(sql, parameters));
  }

  /** Returns the rows of the entries with these facets from number `first` up to but not including `last`. */
  private between(table: Table, entries: Entries, first: number, last: number): RowIds {
    const buckets = this.buckets(table, entries);
    const { sums } = buckets;
    const found: RowIds = [];
    let index = indexAfter(sums, first) - 1;
    let position = first;
    while (position < last) {
      // Buckets without such entries are passed over, and neighbours with such entries are read together.
      while (sums[index + 1]! <= position) index++;
      const begin = index;
      const is_alone = buckets.places[index] === 'no_key';
      while (!is_alone && sums[index + 1]! < last && sums[index + 2]! > sums[index + 1]!) index++;
      const span = { ...spanOf(buckets, begin), to: spanOf(buckets, index).to };
      const { from, parameters } = bucketCondition(entries, span);
      const size = Math.min(last, sums[index + 1]!) - position;
      const sql = `SELECT rowid FROM ${from(table)} AND ${facetCondition(entries.facets)}
        ${orderOf({ ...entries, descending: false })} LIMIT ? OFFSET ?`;
      const rows = this.connection.all(sql, [...parameters, size, position - sums[begin]!]);
      for (const [row_id] of rows) found.push(row_id!);
      position += size;
      index++;
    }
    return found;
  }

  private rankedRows(table: Table, part: Part, ranked: RankedIndex, skip: number, limit: number): RowIds {
    const direction = ranked.descending ? 'DESC' : 'ASC';
    const others = conditionSql(table, part.others);
    const rows = this.connection.all(
      `SELECT rowid FROM ${table.name} INDEXED BY ${ranked.name}
        WHERE ${ranked.scope} = ? AND ${ranked.rank} < ${ranked.limit} AND ${facetCondition(part.facets)}
          ${hasAny(part.others) ? `AND ${others.sql}` : ''}
        ORDER BY ${ranked.rank}, ${ranked.key} ${direction}, id ${direction} LIMIT ? OFFSET ?`,
      [part.scope, ...(hasAny(part.others) ? others.parameters : []), limit, skip],
    );
    return rows.map(([row_id]) => row_id!);
  }

  /**
   * Reads a page whose conditions the order of the list does not express, such as a range of prices in a list by name. If
   * few documents match, it reads them in the order of the range. Otherwise it looks for them in the values of buckets.
   * Without these, it reads the list from its start.
   */
  private otherwiseFilteredRows(table: Table, part: Part, skip: number, limit: number): RowIds {
    const range = rangeEntries(table, part);
    const total = range && this.size(table, range);
    if (total !== undefined && skip >= total) return [];
    const order = `${orderOf(part)} LIMIT ? OFFSET ?`;
    const codes = range && codesOfRange(part, range);
    const has_values = codes && hasBucketValues(this.connection, table);
    if (range && total! <= (has_values ? this.sorted_with_values_max : SORTED_MAX)) {
      const { from, parameters } = partCondition(range);
      const sql = `SELECT rowid FROM ${from(table)} AND ${facetCondition(part.facets)} ${order}`;
      return this.connection.all(sql, [...parameters, limit, skip]).map(([row_id]) => row_id!);
    }
    if (has_values) return this.rowsInRange(table, part, codes, skip, limit);
    const { from, parameters } = partCondition(part);
    const others = conditionSql(table, part.others);
    const sql = `SELECT rowid FROM ${from(table)} AND ${facetCondition(part.facets)} AND ${others.sql} ${order}`;
    const rows = this.connection.all(sql, [...parameters, ...others.parameters, limit, skip]);
    return rows.map(([row_id]) => row_id!);
  }

  /** Reads a page of the entries whose range keys have these codes. */
  private rowsInRange(table: Table, part: Part, codes: CodeRange, skip: number, limit: number): RowIds {
    const found: RowIds = [];
    let to_skip = skip;
    for (const { place, values_id, entries } of candidates(this.connection, table, { ...part, codes })) {
      const matching = matchingEntries(entries, part.facets, codes);
      if (matching.length <= to_skip) {
        to_skip -= matching.length;
        continue;
      }
      const wanted = Math.min(matching.length - to_skip, limit - found.length);
      const first = part.descending ? matching.length - to_skip - wanted : to_skip;
      const row_ids =
        matching.length <= ROWS_MAX
          ? this.sortedRows(table, part, this.rowIdsOf(table, values_id, matching)).slice(
              first,
              first + wanted,
            )
          : this.matchingRows(table, part, spanFrom(place), wanted, first);
      found.push(...(part.descending ? row_ids.reverse() : row_ids));
      if (found.length === limit) break;
      to_skip = 0;
    }
    return found;
  }

  private rowIdsOf(table: Table, values_id: number, indexes: readonly number[]): RowIds {
    const row_ids = readRowIds(this.connection, table, values_id);
    return indexes.map((index) => row_ids[index]!);
  }

  /** Returns the row ids in the ascending order of the list. */
  private sortedRows(table: Table, { list }: Part, row_ids: RowIds): RowIds {
    if (row_ids.length === 1) return row_ids;
    const sql = `SELECT rowid FROM ${table.name} NOT INDEXED WHERE rowid IN (SELECT value FROM json_each(?))
      ${orderOf({ list, descending: false })}`;
    return this.connection.all(sql, [JSON.stringify(row_ids)]).map(([row_id]) => row_id!);
  }

  /** Returns matching rows of a span in the ascending order of the list. */
  private matchingRows(table: Table, part: Part, span: Span, limit: number, skip: number): RowIds {
    const { from, parameters } = bucketCondition(part, span);
    const others = conditionSql(table, part.others);
    const sql = `SELECT rowid FROM ${from(table)} AND ${facetCondition(part.facets)} AND ${others.sql}
      ${orderOf({ ...part, descending: false })} LIMIT ? OFFSET ?`;
    const rows = this.connection.all(sql, [...parameters, ...others.parameters, limit, skip]);
    return rows.map(([row_id]) => row_id!);
  }

  private buckets(table: Table, entries: Entries): Buckets {
    const changes = readChanges(this.connection, table, entries.list, entries.scope);
    const name = `${entries.list.name} ${entries.scope} ${entries.facets.join()}`;
    const cached = this.cache.get(name);
    if (cached?.changes === changes) return cached.buckets;
    const buckets = readBuckets(this.connection, table, entries);
    this.cache.set(name, { changes, buckets });
    return buckets;
  }
}

/** Splits a condition that excludes one document by its id from the others. */
function splitExcluded(where: ViewQuery['where']): { where: ViewQuery['where']; id?: string } {
  const { id: condition, ...others } = where;
  const is_excluded = condition !== null && typeof condition === 'object' && 'not' in condition;
  return is_excluded && typeof condition.not === 'string' ? { where: others, id: condition.not } : { where };
}

/** Returns the lists that the sequence of a query consists of; undefined if there are none. */
function partsOf(table: Table, where: ViewQuery['where'], order: SortOrder): readonly Part[] | undefined {
  const ranked = rankedParts(table, where, order);
  if (ranked) return ranked;
  const part = partOf(table, where, order);
  return part && [part];
}

function partOf(table: Table, where: ViewQuery['where'], order: SortOrder): Part | undefined {
  const key = listKeyOf(order);
  const found = key && findList(table, where, key.name);
  if (!found) return undefined;
  const { list, scope, others, facets } = found;
  const { [key.name]: range, ...rest } = others;
  const bounds = range === undefined ? {} : boundsOf(range);
  const conditions = bounds ? rest : others;
  return { list, scope, facets, ...bounds, descending: key.direction === 'desc', others: conditions };
}

/** Returns the ranked rows and then all others, if that is the order. */
function rankedParts(table: Table, where: ViewQuery['where'], order: SortOrder): Part[] | undefined {
  const [rank, ...rest] = order;
  const key = listKeyOf(rest);
  const index =
    key &&
    table.lists?.ranked.find(
      (one) =>
        one.rank === column(table, rank![0]) &&
        rank![1] === 'asc' &&
        one.key === column(table, key.name) &&
        one.descending === (key.direction === 'desc') &&
        isPlain(where[one.scope.slice('key_'.length)]),
    );
  if (!index || where[rank![0]] !== undefined) return undefined;
  const ranked = partOf(table, { ...where, [rank![0]]: { lte: index.limit - 1 } }, rest);
  const others = partOf(table, { ...where, [rank![0]]: index.limit }, rest);
  return ranked && others && ranked.list.scope === index.scope
    ? [{ ...ranked, ranked: index }, others]
    : undefined;
}

/** Returns the key that the order sorts by before the id. Undefined if the order is no order of a list. */
function listKeyOf(order: SortOrder): { name: string; direction: SortDirection } | undefined {
  const [first, second, ...rest] = order;
  if (!first || rest.length > 0) return undefined;
  const [name, direction] = first;
  if (second === undefined) return name === 'id' ? { name, direction } : undefined;
  return second[0] === 'id' && second[1] === direction ? { name, direction } : undefined;
}

interface FoundList {
  readonly list: List;
  readonly scope: SqlValue;
  readonly facets: readonly number[];
  readonly others: ViewQuery['where'];
}

function findList(table: Table, where: ViewQuery['where'], key: string): FoundList | undefined {
  const scope_key = table.lists?.scopes.find((name) => isPlain(where[name]));
  if (scope_key === undefined) return undefined;
  const { [scope_key]: scope, ...filters } = where;
  const [scope_column, key_column] = [column(table, scope_key), column(table, key)];
  const list = table.lists!.all.find((one) => one.scope === scope_column && one.key === key_column);
  return list && { list, scope: scope as string, ...table.lists!.facets.split(filters) };
}

const isPlain = (condition: KeyCondition | undefined): condition is string => typeof condition === 'string';
const hasAny = (where: ViewQuery['where']): boolean => Object.keys(where).length > 0;

/** Returns the bounds of a range of numbers. */
function boundsOf(condition: KeyCondition): Pick<Entries, 'from' | 'to'> | undefined {
  if (condition === null || typeof condition !== 'object' || 'in' in condition || 'not' in condition)
    return undefined;
  const { gte, lte } = condition;
  return {
    ...(gte !== undefined && { from: { key: gte, id: '' } }),
    ...(lte !== undefined && { to: { key: lte + 1, id: '' } }),
  };
}

/** Returns the entries of the list that is sorted by the one other condition of the part, if it is such a range. */
function rangeEntries(table: Table, part: Part): Entries | undefined {
  const [key, ...more] = Object.keys(part.others);
  const list = table.lists!.all.find(
    (one) => one.scope === part.list.scope && key !== undefined && one.key === column(table, key),
  );
  const bounds = list && more.length === 0 ? boundsOf(part.others[key!]!) : undefined;
  return bounds && list && { list, scope: part.scope, facets: part.facets, ...bounds };
}

/** Returns the codes of the range if the values of the part's buckets are of its key. */
function codesOfRange({ list }: Part, { list: { key }, from, to }: Entries): CodeRange | undefined {
  if (list.range !== key || !from || !to) return undefined;
  return codesOf(Number(from.key), Number(to.key) - 1);
}

function countedEntries(table: Table, where: ViewQuery['where']): Entries | undefined {
  for (const { key } of table.spec.lists?.orders ?? []) {
    const part = partOf(table, where, [[key, 'asc'], ...(key === 'id' ? [] : [['id', 'asc'] as const])]);
    if (part && !hasAny(part.others)) return part;
  }
  return undefined;
}

/** Returns the number of the bucket that the place is in; -1 if there are none. */
function bucketAt({ places }: Buckets, place: Place): number {
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const first = places[middle]!;
    if (typeof first === 'string' || comparePlaces(first, place) <= 0) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Compares places with numeric keys, which are the only ones that ranges are made of. */
function comparePlaces(a: Place, b: Place): number {
  const by_key = Number(a.key) - Number(b.key);
  return by_key !== 0 ? by_key : String(a.id) < String(b.id) ? -1 : Number(a.id !== b.id);
}

/** Returns the index of the first sum that is above `count`. */
function indexAfter(sums: Float64Array, count: number): number {
  let low = 0;
  let high = sums.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sums[middle]! > count) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Returns the entries of a bucket. */
function spanOf({ places }: Buckets, index: number): Span {
  const first = places[index]!;
  if (first === 'no_key') return { no_key: true };
  const next = places[index + 1];
  return {
    from: typeof first === 'string' ? undefined : first,
    to: typeof next === 'object' ? next : undefined,
  };
}

interface ListCondition {
  readonly parameters: readonly SqlInput[];
  from(table: Table): string;
}

/** Returns the condition of the entries of a bucket. */
function bucketCondition({ list, scope }: Pick<Entries, 'list' | 'scope'>, span: Span): ListCondition {
  const { sql, parameters } = spanCondition(list, span);
  return {
    parameters: [scope, ...parameters],
    from: (table) => `${table.name} INDEXED BY ${list.name} WHERE ${list.scope} = ?${sql}`,
  };
}

/** Returns the condition of all entries of the range. Without a range, these include the entries without a key. */
function partCondition(entries: Entries): ListCondition {
  const { list, from, to } = entries;
  return bucketCondition(
    { ...entries, list: from || to ? list : { ...list, has_nulls: false } },
    { from, to },
  );
}

/** Names no column twice, because SQLite would then sort. */
function orderOf({ list, descending }: Pick<Part, 'list' | 'descending'>): string {
  const direction = descending ? 'DESC' : 'ASC';
  return list.key === 'id'
    ? `ORDER BY id ${direction}`
    : `ORDER BY ${list.key} ${direction}, id ${direction}`;
}

/** The numbers are few and small, so they are part of the SQL. */
const facetCondition = (facets: readonly number[]): string => `facet IN (${facets.join(', ')})`;
