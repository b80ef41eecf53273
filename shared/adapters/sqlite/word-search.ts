import type { CollectionName, StoredDocument } from '../../catalog/documents';
import type {
  KnownWordsQuery,
  ViewQuery,
  WordCount,
  WordMatch,
  WordSearch,
  WordTerms,
} from '../../ports/view-store';
import type { Connection } from './connection';
import { type Table, tables, toDocuments } from './documents';
import { countQuery, inOrder, matchesNothing, pageQuery, type RowCondition } from './page-query';
import { matchExpression, tagsOf, wordsTable } from './words';

/**
 * Up to so many rows are looked up one by one and sorted. Of more, a set of row ids is made, and the index that has
 * the order is walked until the page is full: where much fits, the walk is short.
 */
const LOOKUPS_MAX = 500;

/** The rows that fit a tier and not the one before it. */
interface Step {
  readonly table: Table;
  readonly tags: readonly string[];
  readonly terms: WordTerms;
  readonly but?: WordTerms;
}

/** A page across the tiers. Runs without a pause, so that within a process it is of one moment. */
export function searchPage(
  connection: Connection,
  collection: CollectionName,
  query: WordSearch,
): StoredDocument[] {
  const table = tables[collection];
  const tags = scopeTags(table, query);
  if (query.limit <= 0 || tags.length === 0 || matchesNothing(query.where)) return [];
  const found: StoredDocument[] = [];
  let skip = query.skip ?? 0;
  for (const [index, terms] of query.tiers.entries()) {
    const but = query.tiers[index - 1];
    const step = { table, tags, terms, ...(but && { but }) };
    const page = readStep(connection, step, { ...query, skip, limit: query.limit - found.length });
    found.push(...page);
    if (found.length === query.limit) break;
    // A page that is not full ends its step; one that is empty may have been skipped over, wholly or in part.
    if (page.length > 0) skip = 0;
    else if (skip > 0) skip -= countStep(connection, step, query);
  }
  return found;
}

/** How many rows fit the terms. */
export function countFitting(connection: Connection, collection: CollectionName, query: WordCount): number {
  const table = tables[collection];
  const tags = scopeTags(table, query);
  if (tags.length === 0 || matchesNothing(query.where)) return 0;
  return countStep(connection, { table, tags, terms: query.terms }, query);
}

/** One look into the index for each. */
export function knownMatches(
  connection: Connection,
  collection: CollectionName,
  query: KnownWordsQuery,
): WordMatch[] {
  const table = tables[collection];
  const tags = scopeTags(table, query);
  if (tags.length === 0) return [];
  const index = wordsTable(table.name);
  const expressions = query.matches.map((match) => matchExpression(tags, [[match]]));
  const sql = `SELECT asked.key FROM json_each(?) AS asked
    WHERE EXISTS (SELECT 1 FROM ${index} WHERE ${index} MATCH asked.value) LIMIT ?`;
  const rows = connection.all(sql, [JSON.stringify(expressions), query.limit]);
  return rows.map(([key]) => query.matches[Number(key)]!);
}

function scopeTags({ name, spec }: Table, { scope }: Pick<WordSearch, 'scope'>): string[] {
  if (!spec.words) throw new Error(`${name} is not searched by words`);
  return tagsOf(spec.words.scope, scope);
}

function readStep(connection: Connection, step: Step, query: ViewQuery): StoredDocument[] {
  const { table } = step;
  const fitting = fittingRows(connection, step);
  if (!fitting) return [];
  const { sql, parameters } = pageQuery(table, query, fitting);
  const parts = query.parts ?? [];
  const rows = connection.all(sql, parameters);
  return inOrder(toDocuments(table, parts, rows), query.order);
}

function countStep(
  connection: Connection,
  step: Step,
  { scope, where }: Pick<WordSearch, 'scope' | 'where'>,
): number {
  const { table, terms } = step;
  // The index alone knows, where nothing is asked but what each word of it stands for.
  const within_scope = Object.keys(where).every(
    (key) => Object.hasOwn(scope, key) && where[key] === scope[key],
  );
  if (within_scope && terms.length > 0)
    return Number(connection.value(`SELECT count(*) FROM (${rowsOf(step)})`, [expressionOf(step)]));
  const fitting = fittingRows(connection, step);
  if (!fitting) return 0;
  const { sql, parameters } = countQuery(table, where, fitting);
  return Number(connection.value(sql, parameters));
}

/** The condition that a row fits the step, undefined where none does. */
function fittingRows(connection: Connection, step: Step): RowCondition | undefined {
  const { table, tags, terms, but } = step;
  if (terms.length > 0) return listedRows(connection, step);
  if (!but) return { sql: '1', parameters: [] };
  if (but.length === 0) return undefined;
  return { sql: `+rowid NOT IN (${rowsOf({ table })})`, parameters: [matchExpression(tags, but)] };
}

/** The plus keeps a large set from being what the walk is led by. */
function listedRows(connection: Connection, step: Step): RowCondition | undefined {
  const some = connection.all(`${rowsOf(step)} LIMIT ?`, [expressionOf(step), LOOKUPS_MAX + 1]);
  if (some.length === 0) return undefined;
  if (some.length > LOOKUPS_MAX)
    return { sql: `+rowid IN (${rowsOf(step)})`, parameters: [expressionOf(step)] };
  const listed = JSON.stringify(some.map(([row]) => row));
  return { sql: 'rowid IN (SELECT value FROM json_each(?))', parameters: [listed], by_row: true };
}

function rowsOf({ table }: Pick<Step, 'table'>): string {
  const index = wordsTable(table.name);
  return `SELECT rowid FROM ${index} WHERE ${index} MATCH ?`;
}

function expressionOf({ tags, terms, but }: Step): string {
  return matchExpression(tags, terms, but);
}
