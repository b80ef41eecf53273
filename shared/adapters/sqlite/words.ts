import type { Key, StoredDocument } from '../../catalog/documents';
import type {
  KnownWordsQuery,
  ViewQuery,
  WordCount,
  WordMatch,
  WordScope,
  WordSearch,
  WordTerms,
} from '../../ports/view-store';
import { wordScope } from '../stored-collections';
import type { SqliteConnection } from './connection';
import {
  checkedWord,
  countQuery,
  inOrder,
  matchesNothing,
  pageQuery,
  type RowCondition,
  tagOf,
  toDocuments,
} from './documents';
import { type Table, wordsTable } from './tables';

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
export function searchPage(connection: SqliteConnection, table: Table, query: WordSearch): StoredDocument[] {
  const tags = scopeTags(table, query.scope);
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
export function countFitting(connection: SqliteConnection, table: Table, query: WordCount): number {
  const tags = scopeTags(table, query.scope);
  if (tags.length === 0 || matchesNothing(query.where)) return 0;
  return countStep(connection, { table, tags, terms: query.terms }, query);
}

/** One look into the index for each. */
export function knownMatches(
  connection: SqliteConnection,
  table: Table,
  query: KnownWordsQuery,
): WordMatch[] {
  const tags = scopeTags(table, query.scope);
  if (tags.length === 0) return [];
  const index = wordsTable(table.name);
  const expressions = query.matches.map((match) => matchExpression(tags, [[match]]));
  const sql = `SELECT asked.key FROM json_each(?) AS asked
    WHERE EXISTS (SELECT 1 FROM ${index} WHERE ${index} MATCH asked.value) LIMIT ?`;
  const rows = connection.all(sql, [JSON.stringify(expressions), query.limit]);
  return rows.map(([key]) => query.matches[Number(key)]!);
}

/** A tag for each combination of the scope's values. */
function scopeTags(table: Table, scope: WordScope): string[] {
  let combinations: Key[][] = [[]];
  for (const key of wordScope(table)) {
    const condition = scope[key];
    if (condition === undefined) throw new Error(`a search by words names ${key}`);
    const values = typeof condition === 'object' ? [...new Set(condition.in)] : [condition];
    combinations = combinations.flatMap((before) => values.map((value) => [...before, value]));
  }
  return combinations.map(tagOf);
}

function readStep(connection: SqliteConnection, step: Step, query: ViewQuery): StoredDocument[] {
  const fitting = fittingRows(connection, step);
  if (!fitting) return [];
  const { sql, parameters } = pageQuery(step.table, query, fitting);
  const rows = connection.all(sql, parameters);
  return inOrder(toDocuments(step.table, query.parts ?? [], rows), query.order);
}

function countStep(
  connection: SqliteConnection,
  step: Step,
  { scope, where }: Pick<WordSearch, 'scope' | 'where'>,
): number {
  // The index alone knows, where nothing is asked but what each word of it stands for.
  const within_scope = Object.keys(where).every(
    (key) => Object.hasOwn(scope, key) && where[key] === scope[key],
  );
  if (within_scope && step.terms.length > 0)
    return Number(connection.value(`SELECT count(*) FROM (${rowsOf(step)})`, [expressionOf(step)]));
  const fitting = fittingRows(connection, step);
  if (!fitting) return 0;
  const { sql, parameters } = countQuery(step.table, where, fitting);
  return Number(connection.value(sql, parameters));
}

/** The condition that a row fits the step, undefined where none does. */
function fittingRows(connection: SqliteConnection, step: Step): RowCondition | undefined {
  const { table, tags, terms, but } = step;
  if (terms.length > 0) return listedRows(connection, step);
  if (!but) return { sql: '1', parameters: [] };
  if (but.length === 0) return undefined;
  return { sql: `+rowid NOT IN (${rowsOf({ table })})`, parameters: [matchExpression(tags, but)] };
}

/** The plus keeps a large set from being what the walk is led by. */
function listedRows(connection: SqliteConnection, step: Step): RowCondition | undefined {
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

const expressionOf = ({ tags, terms, but }: Step): string => matchExpression(tags, terms, but);

/** An FTS5 expression for terms that fit, and none of the terms `but`. At least one term is needed. */
function matchExpression(tags: readonly string[], terms: WordTerms, but?: WordTerms): string {
  const expression = allOf(tags, terms);
  return but ? `(${expression}) NOT (${allOf(tags, but)})` : expression;
}

function allOf(tags: readonly string[], terms: WordTerms): string {
  return terms.map((matches) => `(${anyOf(tags, matches)})`).join(' AND ');
}

function anyOf(tags: readonly string[], matches: readonly WordMatch[]): string {
  // No word is empty and none without words is indexed, so a tag alone fits nothing.
  if (matches.length === 0) return `"${tags[0]}"`;
  return matches.flatMap((match) => tags.map((tag) => matchOne(tag, match))).join(' OR ');
}

function matchOne(tag: string, { word, prefix }: WordMatch): string {
  return `"${tag}${checkedWord(word)}"${prefix ? ' *' : ''}`;
}
