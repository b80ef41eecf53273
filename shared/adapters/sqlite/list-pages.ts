import type { Key } from '../../catalog/documents';
import { compareByOrder, type SortDirection, type SortOrder } from '../../catalog/sorting';
import { endLongTurn } from '../../kernel/async';
import { isUnitCondition, type KeyCondition, type ViewQuery } from '../../ports/view-store';
import { variantOf, variantsIn } from '../key-conditions';
import type { SqlInput, SqliteConnection, SqlRow, SqlValue } from './connection';
import {
  afterSql,
  allOf,
  conditionSql,
  conditionTerms,
  pageQuery,
  type Query,
  selectionOf,
} from './documents';
import { sharedIndex } from './indexes';
import { type Bounds, boundsSql, bucketsTable, entriesSql, type Place } from './list-buckets';
import { column, inVariant, KEY_COLUMN, type List, type RankedIndex, scopeValue, type Table } from './tables';

/** A page that ends within this many entries of the start of its list is looked for without reading the buckets. */
const SCANNED_MAX = 2_000;
/** If at most this many documents match a range that the list is not sorted by, they are all read and sorted. */
const SORTED_MAX = 2_000;

type Where = ViewQuery['where'];

/** The entries of a list that match a query. */
interface Entries extends Bounds {
  readonly list: List;
  readonly scope: SqlValue;
  readonly facets: readonly number[];
}

/** A run of entries of one list, in one direction: a page is made of the segments of its sequence. */
interface Segment extends Entries {
  /** The scope of the list. Differs from `scope` if the entries belong to a variant of the list. */
  readonly container: string;
  readonly direction: SortDirection;
  /** Set if the segment has the ranked rows only, in the order of this index. */
  readonly ranked?: RankedIndex;
  /** Of ranked rows: where the page begins. */
  readonly after?: ViewQuery['after'];
  /** Conditions that neither the facet nor the order expresses. */
  readonly others: Where;
  /** The conditions of the query that name lists whose values `others` means. Empty if these are the values of the list. */
  readonly names: Where;
}

/** The row ids of a page, in order. */
type RowIds = SqlValue[];

/**
 * Reads pages and counts of the lists that tables declare (`ListsSpec`). A page at any depth reads the counts of the
 * buckets, a few buckets' worth of index entries, and the documents of the page.
 */
export class ListReader {
  private readonly connection: SqliteConnection;

  constructor(connection: SqliteConnection) {
    this.connection = connection;
  }

  /**
   * Returns the rows of a page in order. Undefined if the query is not one of a list. Reads one moment of the file, except
   * if the list is filtered by something that buckets do not count, such as prices in a list by name. Then it reads bucket
   * by bucket and lets other work of the process run in between; the documents match the conditions at the end.
   */
  async page(table: Table, query: ViewQuery): Promise<SqlRow[] | undefined> {
    const scopes = scopesOf(table, query.where);
    if (scopes) return this.mergedPage(table, query, scopes);
    const segments = segmentsOf(table, query);
    if (!segments) return undefined;
    if (segments.length === 0) return [];
    if (hasAny(segments[0]!.others) && !segments[0]!.ranked) {
      const row_ids = await this.filteredPage(table, segments[0]!, query);
      return this.connection.attempt(() => this.documents(table, query, row_ids));
    }
    return this.snapshot(() =>
      this.documents(
        table,
        query,
        this.shallowRows(table, segments, query) ?? this.rowsOfSegments(table, segments, query),
      ),
    );
  }

  /**
   * Merges the lists of several scopes. Reads each of them to the end of the page at most, and lets other work of the
   * process run in between. A document that is in several of them has its first place. Returns undefined if a
   * list has conditions that its facets and its order do not express.
   */
  private async mergedPage(
    table: Table,
    query: ViewQuery,
    scopes: readonly Where[],
  ): Promise<SqlRow[] | undefined> {
    const { order, skip = 0, limit } = query;
    const { source, scope, shared } = table.lists!;
    const is_ranked = shared && (query.where[shared.rank] !== undefined || order[0]?.[0] === shared.rank);
    // From a place on, a list may have documents again that have a lower rank, before the place, in another list.
    if (is_ranked && (query.where[shared.rank] !== undefined || query.after)) return undefined;
    const keys = order.map(([key]) => `l.${column(table, key)}`);
    const sql = `SELECT page.value, ${keys.join(', ')} FROM json_each(?) AS page
      CROSS JOIN ${table.name} AS d ON d.rowid = page.value
      CROSS JOIN ${source} AS l ON l.${scope} = ? AND l.id = d.id`;
    let first: { row_id: SqlValue; id: string; keys: Record<string, Key> }[] = [];
    for (const where of scopes) {
      const segments = segmentsOf(table, { ...query, where });
      if (!segments || hasAny(segments[0]!.others)) return undefined;
      await endLongTurn();
      const rows = await this.snapshot(() => {
        const row_ids = this.rowsOfSegments(table, segments, { ...query, skip: 0, limit: skip + limit });
        return this.connection.all(sql, [JSON.stringify(row_ids), segments[0]!.scope]);
      });
      for (const [row_id, ...values] of rows) {
        const found = Object.fromEntries(order.map(([key], n) => [key, values[n]!]));
        first.push({ row_id: row_id!, id: String(found.id), keys: found });
      }
      const seen = new Set<string>();
      first = first
        .sort((a, b) => compareByOrder(order, a, b))
        .filter(({ id }) => !seen.has(id) && seen.add(id))
        .slice(0, skip + limit);
    }
    const page = first.slice(skip).map(({ row_id }) => row_id);
    return this.connection.attempt(() => this.documents(table, query, page));
  }

  /** Returns the row ids of a page in order. Throws if the query is not one of a list. */
  async rowIds(table: Table, query: ViewQuery): Promise<RowIds> {
    const segment = segmentOf(table, query.where, query.order);
    if (!segment) throw new Error(`no list of ${table.name} has these conditions and this order`);
    if (hasAny(segment.others)) return this.filteredPage(table, segment, query);
    return this.snapshot(
      () => this.shallowRows(table, [segment], query) ?? this.rowsOfSegments(table, [segment], query),
    );
  }

  /**
   * Counts the matching documents. Undefined if no list has them. If buckets do not count all conditions, reads bucket by bucket
   * like `page`.
   */
  async count(table: Table, where: Where): Promise<number | undefined> {
    const scopes = scopesOf(table, where) ?? [where];
    const { shared } = table.lists!;
    if (scopes.length > 1 && shared && where[shared.rank] !== undefined) return undefined;
    const othersOf = ([segment]: readonly Segment[]): number => Object.keys(segment!.others).length;
    const [segments] = table
      .lists!.all.map(({ key }) => scopes.flatMap((one) => segmentOf(table, one, orderByColumn(key)) ?? []))
      .filter(({ length }) => length === scopes.length)
      .sort((a, b) => othersOf(a) - othersOf(b));
    const [segment] = segments ?? [];
    if (!segment) return undefined;
    if (!hasAny(segment.others)) return this.snapshot(() => this.sizeTogether(table, segments!));
    if (scopes.length > 1) return undefined;
    let count = 0;
    for await (const [row] of this.inBuckets(table, segment, 'count(*)')) count += Number(row?.[0]);
    return count;
  }

  /** Returns the number of documents in these lists of one order. */
  private sizeTogether(table: Table, segments: readonly Segment[]): number {
    const sum = segments.reduce((total, segment) => total + this.size(table, segment), 0);
    const [first] = segments;
    if (!first || segments.length === 1 || !table.lists!.shared) return sum;
    const { source } = table.lists!;
    const { sql, parameters } = boundsSql(first.list, first);
    const repeated = this.connection.value(
      `SELECT count(*) - count(DISTINCT l.row) FROM ${source} AS l INDEXED BY ${sharedIndex(table.lists!)}
        WHERE l.scope IN (SELECT value FROM json_each(?)) AND l.is_shared = 1 AND ${facetIn(first)} ${sql}`,
      [JSON.stringify(segments.map(({ scope }) => scope)), ...parameters],
    );
    return sum - Number(repeated);
  }

  /** Returns the rows of a page in order, of documents that are in no list or in lists that are not complete yet. */
  otherPage(table: Table, query: ViewQuery): Promise<SqlRow[]> {
    const { sql, parameters } = pageQuery(table, query);
    return this.snapshot(() => this.documents(table, query, this.rows(sql, parameters)));
  }

  private snapshot<Result>(read: () => Result): Promise<Result> {
    return this.connection.attempt(() => this.connection.snapshot(read));
  }

  private documents(table: Table, { where, parts }: ViewQuery, row_ids: RowIds): SqlRow[] {
    if (row_ids.length === 0) return [];
    const condition = conditionSql(table, where, 'd');
    return this.connection.all(
      `SELECT ${selectionOf(table, parts).columns}
        FROM json_each(?) AS page CROSS JOIN ${table.name} AS d ON d.rowid = page.value
        WHERE ${condition.sql} ORDER BY page.key`,
      [JSON.stringify(row_ids), ...condition.parameters],
    );
  }

  private rows(sql: string, parameters: readonly SqlInput[]): RowIds {
    return this.connection.all(sql, parameters).map(([row_id]) => row_id!);
  }

  /** Returns the page if it is found near the start of the first segment, without reading the buckets. */
  private shallowRows(table: Table, [segment]: readonly Segment[], query: ViewQuery): RowIds | undefined {
    const { skip = 0, limit } = query;
    if (!segment || segment.ranked || skip + limit > SCANNED_MAX) return undefined;
    const { sql, parameters } = entriesSql(table, segment.list, segment.scope, segment);
    const { row } = table.lists!;
    const first = `SELECT l.${row} AS row_id, l.facet ${sql} ${orderOf(segment.list, segment.direction)} LIMIT ${SCANNED_MAX}`;
    const rows = this.rows(`SELECT row_id FROM (${first}) AS l WHERE ${facetIn(segment)} LIMIT ? OFFSET ?`, [
      ...parameters,
      ...[limit, skip],
    ]);
    return rows.length === limit ? rows : undefined;
  }

  private rowsOfSegments(table: Table, segments: readonly Segment[], { skip = 0, limit }: ViewQuery): RowIds {
    const found: RowIds = [];
    let to_skip = skip;
    for (const segment of segments) {
      const row_ids = this.rowsOf(table, segment, to_skip, limit - found.length);
      found.push(...row_ids);
      if (found.length === limit) break;
      to_skip = row_ids.length > 0 ? 0 : Math.max(0, to_skip - this.size(table, segment));
    }
    return found;
  }

  private rowsOf(table: Table, segment: Segment, skip: number, limit: number): RowIds {
    if (segment.facets.length === 0) return [];
    if (segment.ranked) return this.rankedRows(table, segment, segment.ranked, skip, limit);
    const { start, end } = this.bounds(table, segment);
    if (segment.direction === 'asc')
      return this.between(table, segment, start + skip, Math.min(end, start + skip + limit));
    return this.between(table, segment, Math.max(start, end - skip - limit), end - skip).reverse();
  }

  private rankedRows(
    table: Table,
    segment: Segment,
    ranked: RankedIndex,
    skip: number,
    limit: number,
  ): RowIds {
    const { source, scope, row } = table.lists!;
    const { name, rank, key, descending } = ranked;
    const columns = [rank, key, 'id'].map((one) => `l.${one}`);
    const within = boundsSql(segment.list, segment);
    const others = listConditionSql(table, segment);
    const after = afterSql(columns, ['asc', segment.direction, segment.direction], segment.after);
    const direction = descending ? 'DESC' : 'ASC';
    const sql = `SELECT l.${row} FROM ${source} AS l INDEXED BY ${name}
      WHERE l.${scope} = ? AND l.${rank} < ${ranked.limit} AND l.${key} IS NOT NULL AND ${facetIn(segment)} AND ${after.sql}
        AND ${others.sql} ${within.sql}
      ORDER BY l.${rank}, l.${key} ${direction}, l.id ${direction} LIMIT ? OFFSET ?`;
    const conditions = [...after.parameters, ...others.parameters, ...within.parameters];
    return this.rows(sql, [segment.scope, ...conditions, limit, skip]);
  }

  /** Returns the number of matching entries. */
  private size(table: Table, entries: Entries): number {
    if (entries.facets.length === 0) return 0;
    const { start, end } = this.bounds(table, entries);
    return Math.max(0, end - start);
  }

  /** Returns how many entries of the list with these facets are before `from`, and before `to`. */
  private bounds(table: Table, entries: Entries): { start: number; end: number } {
    const { list, scope, from, to } = entries;
    const total = (): number =>
      Number(
        this.connection.value(
          `SELECT sum(${countOf(entries)}) FROM ${bucketsTable(table.name)} WHERE list = ? AND scope = ?`,
          [list.number, scope],
        ) ?? 0,
      );
    return {
      start: from ? this.numberBefore(table, entries, from) : 0,
      end: to ? this.numberBefore(table, entries, to) : total(),
    };
  }

  private numberBefore(table: Table, entries: Entries, place: Place): number {
    const [bucket] = this.buckets(table, entries, {
      condition: '(first_key, first_id) <= (?, ?)',
      parameters: [place.key, place.id],
      order: 'first_key DESC, first_id DESC LIMIT 1',
    });
    if (!bucket) return 0;
    const { sql, parameters } = entriesSql(table, entries.list, entries.scope, { from: bucket, to: place });
    return (
      bucket.before +
      Number(this.connection.value(`SELECT count(*) ${sql} AND ${facetIn(entries)}`, parameters))
    );
  }

  /** Returns the entries with these facets from number `first` up to but not including `last`, in ascending order. */
  private between(table: Table, entries: Entries, first: number, last: number): RowIds {
    if (first >= last) return [];
    const found: RowIds = [];
    const buckets = this.buckets(table, entries, {
      condition: 'before + size > ? AND before < ? AND size > 0',
      parameters: [first, last],
      order: 'before',
    });
    for (const bucket of buckets) {
      const { sql, parameters } = entriesSql(table, entries.list, entries.scope, { from: bucket });
      const skip = Math.max(0, first - bucket.before);
      found.push(
        ...this.rows(
          `SELECT l.${table.lists!.row} ${sql} AND ${facetIn(entries)} ${orderOf(entries.list, 'asc')} LIMIT ? OFFSET ?`,
          [...parameters, Math.min(bucket.size, last - bucket.before) - skip, skip],
        ),
      );
    }
    return found;
  }

  /** Returns buckets with the number of their entries of these facets, and of all entries before them. */
  private buckets(
    table: Table,
    entries: Entries,
    { condition, parameters, order }: { condition: string; parameters: readonly SqlInput[]; order: string },
  ): (Place & { readonly size: number; readonly before: number })[] {
    const rows = this.connection.all(
      `SELECT first_key, first_id, size, before FROM (
        SELECT first_key, first_id, ${countOf(entries)} AS size,
          sum(${countOf(entries)}) OVER (ORDER BY first_key, first_id) - (${countOf(entries)}) AS before
        FROM ${bucketsTable(table.name)} WHERE list = ? AND scope = ?)
      WHERE ${condition} ORDER BY ${order}`,
      [entries.list.number, entries.scope, ...parameters],
    );
    return rows.map(([key, id, size, before]) => ({
      ...{ key: key!, id: id! },
      ...{ size: Number(size), before: Number(before) },
    }));
  }

  private async filteredPage(table: Table, segment: Segment, query: ViewQuery): Promise<RowIds> {
    const few = await this.snapshot(() => this.fewRows(table, segment, query));
    return few ?? this.filteredRows(table, segment, query);
  }

  /**
   * If at most `SORTED_MAX` documents match a range by which another list is sorted, reads them all, sorts them and returns the
   * page. Otherwise returns undefined.
   */
  private fewRows(table: Table, segment: Segment, { skip = 0, limit }: ViewQuery): RowIds | undefined {
    const range = rangeEntries(table, segment);
    const total = range && this.size(table, range);
    if (range === undefined || total! > SORTED_MAX) return undefined;
    if (skip >= total!) return [];
    const { sql, parameters } = entriesSql(table, range.list, range.scope, range);
    const within = boundsSql(segment.list, segment);
    const { source, row } = table.lists!;
    const is_there = range.scope === segment.scope;
    const others = listConditionSql(table, is_there ? range : segment);
    const from = is_there
      ? `${sql} AND`
      : `FROM (SELECT l.id AS found ${sql}) CROSS JOIN ${source} AS l ON l.scope = ? AND l.id = found WHERE`;
    const order = `${orderOf(segment.list, segment.direction)} LIMIT ? OFFSET ?`;
    return this.rows(`SELECT l.${row} ${from} ${facetIn(segment)} AND ${others.sql} ${within.sql} ${order}`, [
      ...[...parameters, ...(is_there ? [] : [segment.scope])],
      ...[...others.parameters, ...within.parameters, limit, skip],
    ]);
  }

  /** Looks for the page bucket by bucket, because buckets do not count the entries that match all conditions. */
  private async filteredRows(
    table: Table,
    segment: Segment,
    { skip = 0, limit }: ViewQuery,
  ): Promise<RowIds> {
    const found = new Set<SqlValue>();
    let to_skip = skip;
    for await (const rows of this.inBuckets(
      table,
      segment,
      `l.${table.lists!.row}`,
      orderOf(segment.list, segment.direction),
    )) {
      for (const [row_id] of rows.slice(to_skip, to_skip + limit - found.size)) found.add(row_id!);
      to_skip = Math.max(0, to_skip - rows.length);
      if (found.size === limit) break;
    }
    return [...found];
  }

  /** Selects from the matching entries of each bucket, in their order, and lets other work of the process run in between. */
  private async *inBuckets(
    table: Table,
    segment: Segment,
    columns: string,
    order = '',
  ): AsyncGenerator<SqlRow[]> {
    const buckets = await this.connection.attempt(() =>
      this.buckets(table, segment, { condition: 'true', parameters: [], order: 'first_key, first_id' }),
    );
    const spans = buckets.map((from, index) => ({ from, to: buckets[index + 1] }));
    const others = listConditionSql(table, segment);
    const within = boundsSql(segment.list, segment);
    for (const span of segment.direction === 'asc' ? spans : spans.reverse()) {
      if (span.from.size === 0) continue;
      await endLongTurn();
      const { sql, parameters } = entriesSql(table, segment.list, segment.scope, span);
      const matching = `SELECT ${columns} ${sql} AND ${facetIn(segment)} AND ${others.sql} ${within.sql} ${order}`;
      yield await this.connection.attempt(() =>
        this.connection.all(matching, [...parameters, ...others.parameters, ...within.parameters]),
      );
    }
  }
}

/** Returns the conditions of each list if the query is for the lists of several scopes. */
function scopesOf(table: Table, where: Where): Where[] | undefined {
  for (const scope of table.lists?.scopes ?? []) {
    const condition = where[scope];
    if (condition === null || typeof condition !== 'object' || !('in' in condition)) continue;
    return [...new Set(condition.in)].map((value) => ({ ...where, [scope]: value }));
  }
  return undefined;
}

/**
 * Returns the conditions on documents for a statement that reads the source of lists as `l`. Only a condition on a key that
 * the source does not have reads the document.
 */
function listConditionSql(table: Table, { others: where, names }: Segment): Query {
  const { columns, row, shared, variants } = table.lists!;
  const isInSource = ([key, condition]: readonly [string, KeyCondition]): boolean =>
    isUnitCondition(condition) ||
    key === shared?.scope ||
    variants?.some(({ name }) => name === key) ||
    columns.includes(column(table, key));
  const conditions = Object.entries(where);
  const of_source = Object.fromEntries(conditions.filter(isInSource));
  const of_document = Object.fromEntries(conditions.filter((one) => !isInSource(one)));
  const all = { ...names, ...where };
  const terms: Query[] = conditionTerms(table, of_source, 'l', all);
  if (hasAny(of_document)) {
    const { sql, parameters } = conditionSql(table, of_document, 'd', all);
    const document = `SELECT 1 FROM ${table.name} AS d WHERE d.rowid = l.${row} AND ${sql}`;
    terms.push({ sql: `EXISTS (${document})`, parameters });
  }
  return terms.length === 0 ? { sql: 'true', parameters: [] } : allOf(terms);
}

/**
 * Returns the lists that the sequence of a query consists of, none if it ends before its place. Undefined if the query is
 * not one of lists.
 */
function segmentsOf(table: Table, { where, order, after }: ViewQuery): readonly Segment[] | undefined {
  const segment = segmentOf(table, where, order);
  if (segment) return [after ? segmentAfter(segment, after) : segment];
  const segments = rankedSegments(table, where, order);
  if (!segments || !after) return segments;
  const [rank, ...place] = after;
  return segments.flatMap((one) => {
    if (one.ranked) return Number(rank) < one.ranked.limit ? { ...one, after } : [];
    return Number(rank) < table.lists!.shared!.rank_max ? one : segmentAfter(one, place);
  });
}

/** Narrows the segment to the entries after the one with this key and this id. Bounds that it has are numbers. */
function segmentAfter(segment: Segment, after: NonNullable<ViewQuery['after']>): Segment {
  const place = { key: after[0]!, id: after.at(-1)! };
  const { direction, from, to } = segment;
  if (direction === 'asc')
    return from && place.key < from.key! ? segment : { ...segment, from: { ...place, is_behind: true } };
  return to && place.key >= to.key! ? segment : { ...segment, to: place };
}

function segmentOf(table: Table, where: Where, order: SortOrder): Segment | undefined {
  const key = listKeyOf(order);
  const scope_key = table.lists?.scopes.find((name) => typeof where[name] === 'string');
  if (key === undefined || scope_key === undefined) return undefined;
  const { [scope_key]: scope, ...conditions } = where;
  const named = variantsIn(table.lists!.variants, where);
  const order_variant = variantOf(named, key.name);
  // Entries of a variant have no values of the other keys.
  const isOther = (one: string): boolean => where[one] !== undefined && !variantOf(named, one);
  if (order_variant && table.lists!.keys.some(isOther)) return undefined;
  // All entries of the variant fulfil its condition.
  const filters = order_variant ? without(conditions, order_variant.kind.name) : conditions;
  const list = table.lists!.all.find((one) => one.key === column(table, key.name));
  if (!list) return undefined;
  const { facets, others } = table.lists!.facets.split(filters);
  const { [key.name]: range, ...rest } = others;
  const bounds = range === undefined ? {} : boundsOf(range);
  const container = scopeValue(table.lists!, scope_key, String(scope));
  return {
    ...{ list, container, facets },
    scope: order_variant ? inVariant(container, order_variant.variant) : container,
    ...{ direction: key.direction, ...bounds, others: bounds ? rest : others },
    names: named.some((one) => one !== order_variant) ? where : {},
  };
}

/** Returns the ranked rows and then all others, as far as the query asks for them, if that is the order. */
function rankedSegments(table: Table, where: Where, [first, ...rest]: SortOrder): Segment[] | undefined {
  const key = listKeyOf(rest);
  if (!first || !key || first[1] !== 'asc' || first[0] !== table.lists?.shared?.rank) return undefined;
  const { [first[0]]: condition, ...others } = where;
  const index = table.lists.ranked.find(
    (one) => one.key === column(table, key.name) && one.descending === (key.direction === 'desc'),
  );
  if (!index) return undefined;
  const below: KeyCondition = { lte: index.limit - 1 };
  const is_one = condition !== undefined;
  const ranked = segmentOf(table, { ...others, [first[0]]: is_one ? condition : below }, rest);
  const unranked = segmentOf(table, { ...others, [first[0]]: index.limit }, rest);
  if (!ranked || !unranked) return undefined;
  const has_ranked_only = is_one && condition !== index.limit;
  if (hasAny(ranked.others) && !has_ranked_only) return undefined;
  if (condition === index.limit) return [unranked];
  return [{ ...ranked, ranked: index }, ...(is_one ? [] : [unranked])];
}

/** Returns the key that the order sorts by before the id. Undefined if the order is no order of a list. */
function listKeyOf(order: SortOrder): { name: string; direction: SortDirection } | undefined {
  const [first, second, ...rest] = order;
  if (!first || rest.length > 0) return undefined;
  const [name, direction] = first;
  if (second === undefined) return name === 'id' ? { name, direction } : undefined;
  return second[0] === 'id' && second[1] === direction ? { name, direction } : undefined;
}

function without(where: Where, key: string): Where {
  const { [key]: _, ...others } = where;
  return others;
}

const hasAny = (where: Where): boolean => Object.keys(where).length > 0;

/** Returns the bounds of a range of integers; undefined for another condition. */
function boundsOf(condition: KeyCondition): Pick<Entries, 'from' | 'to'> | undefined {
  if (condition === null || typeof condition !== 'object' || 'in' in condition || 'not' in condition)
    return undefined;
  if ('after' in condition || 'unit' in condition || 'outside' in condition) return undefined;
  const { gte, lte } = condition;
  return {
    ...(gte !== undefined && { from: { key: gte, id: '' } }),
    ...(lte !== undefined && { to: { key: lte + 1, id: '' } }),
  };
}

/** Returns the entries of a list that is sorted by one of the other conditions of the segment, if one is such a range. */
function rangeEntries(table: Table, segment: Segment): Segment | undefined {
  const named = variantsIn(table.lists!.variants, segment.names);
  for (const list of table.lists!.all) {
    const key = list.key.slice(KEY_COLUMN.length);
    const { [key]: range, ...others } = segment.others;
    const bounds = range !== undefined && boundsOf(range);
    const variant = variantOf(named, key);
    const scope = variant ? inVariant(segment.container, variant.variant) : segment.scope;
    if (bounds) return { ...segment, list, scope, from: bounds.from, to: bounds.to, others };
  }
  return undefined;
}

/** Returns the order of the lists that are sorted by this column. */
function orderByColumn(name: string): SortOrder {
  const by_id = ['id', 'asc'] as const;
  return name === 'id' ? [by_id] : [[name.slice(KEY_COLUMN.length), 'asc'], by_id];
}

/** Names no column twice, because SQLite would then sort. */
function orderOf(list: List, direction: SortDirection): string {
  return list.key === 'id'
    ? `ORDER BY l.id ${direction}`
    : `ORDER BY l.${list.key} ${direction}, l.id ${direction}`;
}

/** The numbers are few and small, so they are part of the SQL. */
const facetIn = ({ facets }: Pick<Entries, 'facets'>): string => `l.facet IN (${facets.join(', ')})`;
const countOf = ({ facets }: Pick<Entries, 'facets'>): string =>
  facets.map((facet) => `c${facet}`).join(' + ');
