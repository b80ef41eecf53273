import type { Key, StoredDocument } from '../../catalog/documents';
import { compareByOrder, type SortOrder } from '../../catalog/sorting';
import { LRUCache } from '../../kernel/cache';
import type { KeyCondition, ViewQuery } from '../../ports/view-store';
import { column, selected, type Table } from './documents';
import type { SqlInput } from './statement-cache';

export interface Query {
  readonly sql: string;
  readonly parameters: readonly SqlInput[];
}

export interface RowCondition extends Query {
  /** It names a few rows, which are looked up one by one. */
  readonly by_row?: true;
}

/** How many arms of an `in` are read side by side in index order, rather than sorted. */
const ARMS_MAX = 8;

type Where = ViewQuery['where'];

/**
 * A page of documents. The inner select walks index entries alone, so that skipping reads no document; a condition
 * such as `visibility in (public, private)` becomes one arm per value, merged in the order of the index.
 * `besides` is one more condition on the row.
 */
export function pageQuery(table: Table, query: ViewQuery, besides: RowCondition = ANYTHING): Query {
  const values = Object.values(query.where);
  if (besides !== ANYTHING || values.length === 0 || !values.every(isValue))
    return buildPageQuery(table, query, besides);
  const name = [table.name, Object.keys(query.where), query.order, query.parts ?? []].join(' ');
  let sql = pageSql.get(name);
  if (sql === undefined) {
    sql = buildPageQuery(table, query, besides).sql;
    pageSql.set(name, sql);
  }
  return { sql, parameters: [...values, query.limit, query.skip ?? 0] };
}

/** Of pages by plain values, whose SQL does not depend on them: storefronts ask for few others. */
const pageSql = new LRUCache<string, string>({ max: 1_000 });

const isValue = (condition: KeyCondition): condition is Exclude<Key, null> =>
  condition !== null && typeof condition !== 'object';

function buildPageQuery(table: Table, query: ViewQuery, besides: RowCondition): Query {
  const order = query.order.map(([key, direction]) => ({ name: column(table, key), direction }));
  const arms = armsOf(query.where).map((where) => {
    const condition = both(conditionSql(table, where), besides);
    const columns = ['rowid AS found', ...order.map(({ name }) => name)];
    return {
      ...condition,
      sql: `SELECT ${columns.join(', ')} FROM ${from(table, besides)} WHERE ${condition.sql}`,
    };
  });
  const terms = order.map(({ direction }, index) => `${index + 2} ${direction.toUpperCase()}`);
  const sorted = `${arms.map(({ sql }) => sql).join(' UNION ALL ')} ORDER BY ${terms.join(', ')}`;
  return {
    sql: `SELECT ${selected(table, query.parts ?? [])}
      FROM (${sorted} LIMIT ? OFFSET ?) AS page CROSS JOIN ${table.name} AS d ON d.rowid = page.found`,
    parameters: [...arms.flatMap(({ parameters }) => parameters), query.limit, query.skip ?? 0],
  };
}

export function countQuery(table: Table, where: Where, besides: RowCondition = ANYTHING): Query {
  const { sql, parameters } = both(conditionSql(table, where), besides);
  return { sql: `SELECT count(*) FROM ${from(table, besides)} WHERE ${sql}`, parameters };
}

const ANYTHING: RowCondition = { sql: '', parameters: [] };

/** What SQLite would not choose by itself: it takes any list of rows for a long one. */
const from = ({ name }: Table, { by_row }: RowCondition): string => (by_row ? `${name} NOT INDEXED` : name);

function both(one: Query, other: Query): Query {
  if (other === ANYTHING) return one;
  return { sql: `${one.sql} AND ${other.sql}`, parameters: [...one.parameters, ...other.parameters] };
}

/** Documents by id, all parts; tombstones too where nothing is asked of the keys. */
export function scanQuery(
  table: Table,
  options: { where?: Where; after_id?: string; limit: number },
  parts: Parameters<typeof selected>[1],
): Query {
  const where = options.where ?? {};
  const condition = isEmpty(where) ? { sql: '1', parameters: [] } : conditionSql(table, where);
  return {
    sql: `SELECT ${selected(table, parts)}
      FROM (SELECT rowid AS found, id FROM ${table.name} WHERE id > ? AND ${condition.sql} ORDER BY id LIMIT ?) AS page
      CROSS JOIN ${table.name} AS d ON d.rowid = page.found`,
    parameters: [options.after_id ?? '', ...condition.parameters, options.limit],
  };
}

const isEmpty = (where: Where): boolean => Object.keys(where).length === 0;

/** True where no document can match, such as an `in` of nothing. */
export function matchesNothing(where: Where): boolean {
  return Object.values(where).some((condition) => inList(condition)?.length === 0);
}

/** The same question with every short `in` taken apart; the answers are disjoint. */
function armsOf(where: Where): Where[] {
  let arms: Record<string, KeyCondition>[] = [{ ...where }];
  for (const [key, condition] of Object.entries(where)) {
    const values = inList(condition);
    if (!values || arms.length * values.length > ARMS_MAX) continue;
    arms = arms.flatMap((arm) => values.map((value) => ({ ...arm, [key]: value })));
  }
  return arms;
}

function inList(condition: KeyCondition): readonly Key[] | undefined {
  const is_list = condition !== null && typeof condition === 'object' && 'in' in condition;
  return is_list ? [...new Set(condition.in)] : undefined;
}

function conditionSql(table: Table, where: Where): Query {
  const terms = Object.entries(where).flatMap(([key, condition]) => keyTerms(column(table, key), condition));
  // A tombstone has no keys: only a question that nulls can answer has to leave it out by name.
  if (terms.every((term) => term.finds_null)) terms.push({ sql: 'body IS NOT NULL', parameters: [] });
  return {
    sql: terms.map(({ sql }) => sql).join(' AND '),
    parameters: terms.flatMap(({ parameters }) => parameters),
  };
}

type Term = Query & { readonly finds_null?: boolean };

function keyTerms(name: string, condition: KeyCondition): Term[] {
  if (condition === null) return [{ sql: `${name} IS NULL`, parameters: [], finds_null: true }];
  if (typeof condition !== 'object') return [{ sql: `${name} = ?`, parameters: [condition] }];
  if ('in' in condition) return [inTerm(name, condition.in)];
  if ('not' in condition) return [notTerm(name, condition.not)];
  const terms: Term[] = [];
  if (condition.gte !== undefined) terms.push({ sql: `${name} >= ?`, parameters: [condition.gte] });
  if (condition.lte !== undefined) terms.push({ sql: `${name} <= ?`, parameters: [condition.lte] });
  return terms;
}

function notTerm(name: string, value: Key): Term {
  if (value === null) return { sql: `${name} IS NOT NULL`, parameters: [] };
  return { sql: `${name} IS NOT ?`, parameters: [value], finds_null: true };
}

/** A list of any length as one parameter, so that its length does not make another statement. */
function inTerm(name: string, values: readonly Key[]): Term {
  const listed = `${name} IN (SELECT value FROM json_each(?))`;
  const parameters = [JSON.stringify(values.filter((value) => value !== null))];
  if (!values.includes(null)) return { sql: listed, parameters };
  return { sql: `(${listed} OR ${name} IS NULL)`, parameters, finds_null: true };
}

/** SQL promises no order of a join's rows, so the page is put in order here; as a rule it is already. */
export function inOrder(documents: StoredDocument[], order: SortOrder): StoredDocument[] {
  const sortable = documents.map((stored) => ({
    stored,
    id: stored.id,
    keys: stored.document?.keys ?? {},
  }));
  return sortable.sort((a, b) => compareByOrder(order, a, b)).map(({ stored }) => stored);
}
