import type { Key, StoredDocument } from '../../catalog/documents';
import type {
  MatchingWordsQuery,
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
  checkWord,
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
 * The most matching rows that SQLite looks up one by one and sorts. If more rows match, SQLite builds a set of their row
 * ids and reads the index that has the requested order until the page is full. Because many rows match, the page is full
 * soon.
 */
const LOOKUPS_MAX = 500;

/** The rows that match `terms` and do not match `except`, the terms of the tier before. */
interface Step {
  readonly table: Table;
  readonly tags: readonly string[];
  readonly terms: WordTerms;
  readonly except?: WordTerms;
}

/** Reads a page of the sequence of all tiers. Runs synchronously, so that this process writes nothing between two reads. */
export function searchPage(connection: SqliteConnection, table: Table, query: WordSearch): StoredDocument[] {
  const tags = scopeTags(table, query.scope);
  if (query.limit <= 0 || tags.length === 0 || matchesNothing(query.where)) return [];
  const found: StoredDocument[] = [];
  let skip = query.skip ?? 0;
  for (const [index, terms] of query.tiers.entries()) {
    const except = query.tiers[index - 1];
    const step = { table, tags, terms, ...(except && { except }) };
    const page = readStep(connection, step, { ...query, skip, limit: query.limit - found.length });
    found.push(...page);
    if (found.length === query.limit) break;
    // The page is not full, so this step has no more rows. If the step gave no rows, `skip` covers all of its rows.
    if (page.length > 0) skip = 0;
    else if (skip > 0) skip -= countStep(connection, step, query);
  }
  return found;
}

/** Counts the rows that match the terms. */
export function countMatching(connection: SqliteConnection, table: Table, query: WordCount): number {
  const tags = scopeTags(table, query.scope);
  if (tags.length === 0 || matchesNothing(query.where)) return 0;
  return countStep(connection, { table, tags, terms: query.terms }, query);
}

/** Returns the matches that occur in the scope, with one index lookup per match. */
export function matchingWords(
  connection: SqliteConnection,
  table: Table,
  query: MatchingWordsQuery,
): WordMatch[] {
  const tags = scopeTags(table, query.scope);
  if (tags.length === 0) return [];
  const index = wordsTable(table.name);
  const expressions = query.matches.map((match) => matchExpression(tags, [[match]]));
  const sql = `SELECT requested.key FROM json_each(?) AS requested
    WHERE EXISTS (SELECT 1 FROM ${index} WHERE ${index} MATCH requested.value) LIMIT ?`;
  const rows = connection.all(sql, [JSON.stringify(expressions), query.limit]);
  return rows.map(([key]) => query.matches[Number(key)]!);
}

/** Returns a tag for each combination of the values in the scope. */
function scopeTags(table: Table, scope: WordScope): string[] {
  let combinations: Key[][] = [[]];
  for (const key of wordScope(table)) {
    const condition = scope[key];
    if (condition === undefined)
      throw new Error(`the scope of a word search is incomplete: ${key} is missing`);
    const values = typeof condition === 'object' ? [...new Set(condition.in)] : [condition];
    combinations = combinations.flatMap((combination) => values.map((value) => [...combination, value]));
  }
  return combinations.map(tagOf);
}

function readStep(connection: SqliteConnection, step: Step, query: ViewQuery): StoredDocument[] {
  const matching = matchingRows(connection, step);
  if (!matching) return [];
  const { sql, parameters } = pageQuery(step.table, query, matching);
  const rows = connection.all(sql, parameters);
  return inOrder(toDocuments(step.table, query.parts ?? [], rows), query.order);
}

function countStep(
  connection: SqliteConnection,
  step: Step,
  { scope, where }: Pick<WordSearch, 'scope' | 'where'>,
): number {
  // If `where` repeats only the scope, which the tags already contain, the index alone gives the count.
  const is_scope_only = Object.keys(where).every(
    (key) => Object.hasOwn(scope, key) && where[key] === scope[key],
  );
  if (is_scope_only && step.terms.length > 0)
    return Number(connection.value(`SELECT count(*) FROM (${rowsOf(step)})`, [expressionOf(step)]));
  const matching = matchingRows(connection, step);
  if (!matching) return 0;
  const { sql, parameters } = countQuery(step.table, where, matching);
  return Number(connection.value(sql, parameters));
}

/** Returns the condition that a row belongs to the step; undefined if no row does. */
function matchingRows(connection: SqliteConnection, step: Step): RowCondition | undefined {
  const { table, tags, terms, except } = step;
  if (terms.length > 0) return rowsOfTerms(connection, step);
  if (!except) return { sql: '1', parameters: [] };
  if (except.length === 0) return undefined;
  return { sql: `+rowid NOT IN (${rowsOf({ table })})`, parameters: [matchExpression(tags, except)] };
}

/** Because of the plus in `+rowid`, SQLite reads the ordered index and checks each row, instead of reading the large set. */
function rowsOfTerms(connection: SqliteConnection, step: Step): RowCondition | undefined {
  const rows = connection.all(`${rowsOf(step)} LIMIT ?`, [expressionOf(step), LOOKUPS_MAX + 1]);
  if (rows.length === 0) return undefined;
  if (rows.length > LOOKUPS_MAX)
    return { sql: `+rowid IN (${rowsOf(step)})`, parameters: [expressionOf(step)] };
  const row_ids = JSON.stringify(rows.map(([row_id]) => row_id));
  return { sql: 'rowid IN (SELECT value FROM json_each(?))', parameters: [row_ids], has_row_ids: true };
}

function rowsOf({ table }: Pick<Step, 'table'>): string {
  const index = wordsTable(table.name);
  return `SELECT rowid FROM ${index} WHERE ${index} MATCH ?`;
}

const expressionOf = ({ tags, terms, except }: Step): string => matchExpression(tags, terms, except);

/** Returns the FTS5 expression that matches `terms` and not `except`. Needs at least one term. */
function matchExpression(tags: readonly string[], terms: WordTerms, except?: WordTerms): string {
  const expression = allOf(tags, terms);
  return except ? `(${expression}) NOT (${allOf(tags, except)})` : expression;
}

function allOf(tags: readonly string[], terms: WordTerms): string {
  return terms.map((matches) => `(${anyOf(tags, matches)})`).join(' AND ');
}

function anyOf(tags: readonly string[], matches: readonly WordMatch[]): string {
  // Without matches, no document must be found. A tag alone finds none, because the index has no empty words.
  if (matches.length === 0) return `"${tags[0]}"`;
  return matches.flatMap((match) => tags.map((tag) => matchOne(tag, match))).join(' OR ');
}

function matchOne(tag: string, { word, prefix }: WordMatch): string {
  return `"${tag}${checkWord(word)}"${prefix ? ' *' : ''}`;
}
