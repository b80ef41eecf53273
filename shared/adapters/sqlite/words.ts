import type { Key, StoredDocument } from '../../catalog/documents';
import type { SortOrder } from '../../catalog/sorting';
import type {
  KeyCondition,
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
  conditionSql,
  inOrder,
  matchesNothing,
  type Query,
  scopeHash,
  selectionOf,
  toDocuments,
} from './documents';
import { column, type Table } from './tables';
import {
  everyTerm,
  filterTerm,
  INDEXED_PREFIX_MAX,
  type IndexTables,
  indexTables,
  readEntry,
  splitTerm,
  tagText,
} from './word-index';

/** The most matches of the words whose keys a search checks or sorts by. The newest ones come first. */
const CHECKED_MAX = 5_000;
/** Up to this number of matches, a search reads the words of all matches and sorts them by tier. */
const SCORED_MAX = 200;
/**
 * The most words that a prefix stands for, in alphabetical order. A prefix of up to `INDEXED_PREFIX_MAX` characters with
 * more words is looked up in the index of prefixes instead, and stands for all of them.
 */
const PREFIX_WORDS_MAX = 32;
/**
 * After this time, a search in a large index passes over the tiers that remain before the last one, which has all
 * matches. In a small index, every tier is fast.
 */
const TIERS_MS_MAX = 10;
/** The highest rank of a small index: about 100,000 documents. */
const SMALL_INDEX_RANKS = 1_600_000;

/** Reads a page of the sequence of all tiers. Runs synchronously, so that this process writes nothing between two reads. */
export function searchPage(connection: SqliteConnection, table: Table, query: WordSearch): StoredDocument[] {
  const index = WordReader.open(connection, table, query);
  if (!index || query.limit <= 0 || matchesNothing(query.where)) return [];
  const { tiers, skip = 0, limit } = query;
  const last = tiers.at(-1);
  if (!last) return [];
  if (!isNewestFirst(table, query.order)) {
    if (tiers.length > 1) throw new Error('a search with several tiers returns the newest documents first');
    return index.sorted(last, query);
  }
  const matches = index.newest(last, SCORED_MAX + 1);
  const ranks =
    matches.length <= SCORED_MAX
      ? index.byTier(matches, tiers).slice(skip, skip + limit)
      : index.page(tiers, skip, limit);
  return index.documents(ranks, query);
}

/** Counts the documents that match the terms, at most `limit`. */
export function countMatching(connection: SqliteConnection, table: Table, query: WordCount): number {
  const index = WordReader.open(connection, table, query);
  return !index || matchesNothing(query.where) ? 0 : index.count(query.terms, query.limit);
}

/** Returns the matches that occur in the scope, with one look-up in the vocabulary per match. */
export function matchingWords(
  connection: SqliteConnection,
  table: Table,
  query: MatchingWordsQuery,
): WordMatch[] {
  const index = WordReader.open(connection, table, { scope: query.scope, where: query.scope });
  return index?.existing(query.matches, query.limit) ?? [];
}

function isNewestFirst(table: Table, order: SortOrder): boolean {
  const [first, second, third] = order;
  const by_age = first?.[0] === table.spec.words?.newest_by && first?.[1] === 'desc';
  return by_age && second?.[0] === 'id' && second[1] === 'desc' && third === undefined;
}

/** The conditions of a search: those that the index has terms for, and the others. */
interface Conditions {
  readonly all: readonly string[];
  readonly none: readonly string[];
  /** The rank of a document that the search leaves out; 0 if there is none. */
  readonly without_rank: number;
  readonly rest: ViewQuery['where'];
}

/** Reads the index of a table for one search. */
class WordReader {
  private readonly connection: SqliteConnection;
  private readonly table: Table;
  private readonly names: IndexTables;
  private readonly tags: readonly number[];
  private readonly conditions: Conditions;
  private readonly expanded = new Map<string, WordMatch[]>();
  private readonly checked = new Map<string, number[]>();
  private readonly deadline_ms = performance.now() + TIERS_MS_MAX;

  private constructor(
    connection: SqliteConnection,
    table: Table,
    tags: readonly number[],
    conditions: Conditions,
  ) {
    this.connection = connection;
    this.table = table;
    this.names = indexTables(table);
    this.tags = tags;
    this.conditions = conditions;
  }

  /** Returns undefined if the index has no documents of the scope. */
  static open(
    connection: SqliteConnection,
    table: Table,
    { scope, where }: Pick<WordSearch, 'scope' | 'where'>,
  ): WordReader | undefined {
    const hashes = JSON.stringify(scopesOf(table, scope));
    const sql = `SELECT tag FROM ${indexTables(table).scopes} WHERE scope IN (SELECT value FROM json_each(?))`;
    const tags = connection.all(sql, [hashes]).map(([tag]) => Number(tag));
    if (tags.length === 0) return undefined;
    return new WordReader(connection, table, tags, conditionsOf(connection, table, scope, where));
  }

  /** Returns the ranks of the newest documents that match the terms and the conditions, the newest first. */
  newest(terms: WordTerms, limit: number): number[] {
    const expression = this.expressionOf(terms);
    if (!this.has_rest) return this.matching(expression, limit);
    let checked = this.checked.get(expression);
    if (!checked) {
      checked = this.check(this.matching(expression, CHECKED_MAX));
      this.checked.set(expression, checked);
    }
    return checked.slice(0, limit);
  }

  private get has_rest(): boolean {
    return Object.keys(this.conditions.rest).length > 0;
  }

  /** Returns the newest ranks of an expression. Reads them as one text, because thousands of rows are slow to convert. */
  private matching(expression: string, limit: number): number[] {
    const { sql, parameters } = this.newestQuery(expression, limit);
    const text = this.connection.value(`SELECT json_group_array(rowid) FROM (${sql})`, parameters);
    return (JSON.parse(String(text)) as number[]).sort((a, b) => b - a);
  }

  count(terms: WordTerms, limit: number): number {
    if (this.has_rest) return this.newest(terms, limit).length;
    const { sql, parameters } = this.newestQuery(this.expressionOf(terms), limit);
    return Number(this.connection.value(`SELECT count(*) FROM (${sql})`, parameters));
  }

  private newestQuery(expression: string, limit: number): Query {
    const { terms } = this.names;
    return {
      sql: `SELECT rowid FROM ${terms} WHERE ${terms} MATCH ? AND rowid <> ? ORDER BY rowid DESC LIMIT ?`,
      parameters: [expression, this.conditions.without_rank, limit],
    };
  }

  /** Returns those of the ranks whose documents fulfil the conditions that the index has no terms for. */
  private check(ranks: readonly number[]): number[] {
    const { entries } = this.names;
    const { rest } = this.conditions;
    const { ranges } = this.table.spec.words!;
    const in_entries = Object.keys(rest).every((key) => ranges.includes(key));
    const rows = in_entries
      ? `${entries} AS e ON e.rank = m.value`
      : `(SELECT rank, row FROM ${entries}) AS e ON e.rank = m.value
         CROSS JOIN ${this.table.name} AS d ON d.rowid = e.row`;
    const { sql, parameters } = conditionSql(this.table, rest);
    const text = this.connection.value(
      `SELECT json_group_array(m.value) FROM json_each(?) AS m CROSS JOIN ${rows} WHERE ${sql}`,
      [JSON.stringify(ranks), ...parameters],
    );
    return (JSON.parse(String(text)) as number[]).sort((a, b) => b - a);
  }

  /** Returns a page of the sequence of all tiers. Reads each tier only as far as the page needs it. */
  page(tiers: readonly WordTerms[], skip: number, limit: number): number[] {
    const checked = this.has_rest ? new Set(this.newest(tiers.at(-1)!, CHECKED_MAX)) : undefined;
    const page: number[] = [];
    let to_skip = skip;
    let before: WordTerms | undefined;
    for (const [index, terms] of tiers.entries()) {
      if (index < tiers.length - 1 && this.isLate()) continue;
      const expression = this.expressionOf(terms, before);
      before = terms;
      const wanted = checked ? CHECKED_MAX : to_skip + limit - page.length;
      const matching = this.matching(expression, wanted);
      const ranks = checked ? matching.filter((rank) => checked.has(rank)) : matching;
      page.push(...ranks.slice(to_skip));
      to_skip = Math.max(0, to_skip - ranks.length);
      if (page.length >= limit) break;
    }
    return page.slice(0, limit);
  }

  private isLate(): boolean {
    if (performance.now() < this.deadline_ms) return false;
    const newest = this.connection.value(`SELECT max(rank) FROM ${this.names.entries}`);
    return Number(newest) > SMALL_INDEX_RANKS;
  }

  /** Sorts matches by the first tier that they match. Keeps their order within a tier. */
  byTier(matches: readonly number[], tiers: readonly WordTerms[]): number[] {
    if (tiers.length === 1) return [...matches];
    const sql = `SELECT e.rank, d.words FROM json_each(?) AS page
      CROSS JOIN ${this.names.entries} AS e ON e.rank = page.value
      CROSS JOIN ${this.table.name} AS d ON d.rowid = e.row`;
    const rows = this.connection.all(sql, [JSON.stringify(matches)]);
    const tierOf = tierFinder(tiers);
    const tier_of = new Map(rows.map(([rank, words]) => [Number(rank), tierOf(String(words))]));
    return [...matches].sort((a, b) => tier_of.get(a)! - tier_of.get(b)!);
  }

  /** Returns a page of the newest matches in another order. */
  sorted(terms: WordTerms, query: ViewQuery): StoredDocument[] {
    const ranks = JSON.stringify(this.newest(terms, CHECKED_MAX));
    const keys = query.order.map(([key, direction]) => ({ name: column(this.table, key), direction }));
    const { ranges } = this.table.spec.words!;
    const in_entries = query.order.every(([key]) => key === 'id' || ranges.includes(key));
    const from = in_entries ? 'e' : 'd';
    const columns = keys.map(({ name }) => `${name === 'id' ? 'd' : from}.${name}`);
    const terms_of_order = keys.map(({ direction }, n) => `${n + 2} ${direction.toUpperCase()}`);
    const { columns: selected } = selectionOf(this.table, query.parts);
    const sql = `SELECT ${selected} FROM (
        SELECT e.row AS row, ${columns.join(', ')} FROM json_each(?) AS m
        CROSS JOIN ${this.names.entries} AS e ON e.rank = m.value
        CROSS JOIN ${this.table.name} AS d ON d.rowid = e.row
        ORDER BY ${terms_of_order.join(', ')} LIMIT ? OFFSET ?) AS page
      CROSS JOIN ${this.table.name} AS d ON d.rowid = page.row`;
    const rows = this.connection.all(sql, [ranks, query.limit, query.skip ?? 0]);
    return inOrder(toDocuments(this.table, query.parts ?? [], rows), query.order);
  }

  /** Reads the documents at these ranks, in this order. */
  documents(ranks: readonly number[], { parts = [] }: ViewQuery): StoredDocument[] {
    const sql = `SELECT ${selectionOf(this.table, parts).columns}, e.rank FROM json_each(?) AS page
      CROSS JOIN ${this.names.entries} AS e ON e.rank = page.value
      CROSS JOIN ${this.table.name} AS d ON d.rowid = e.row`;
    const rows = this.connection.all(sql, [JSON.stringify(ranks)]);
    const places = new Map(ranks.map((rank, place) => [rank, place]));
    const ordered = [...rows].sort((a, b) => places.get(Number(a.at(-1)))! - places.get(Number(b.at(-1)))!);
    return toDocuments(this.table, parts, ordered);
  }

  /** Returns the matches that some document of the scope has. The vocabulary may also have words of former documents. */
  existing(matches: readonly WordMatch[], limit: number): WordMatch[] {
    const { vocabulary } = this.names;
    const candidates = new Set<number>();
    for (const tag of this.tags)
      for (const prefix of [false, true]) {
        const asked = matches
          .map((match, n) => ({ match, n }))
          .filter(({ match }) => match.prefix === (prefix || undefined));
        const words = JSON.stringify(asked.map(({ match }) => splitTerm(match.word).word));
        const found = prefix ? 'word >= m.value AND word < m.value || char(1114111)' : 'word = m.value';
        const sql = `SELECT m.key FROM json_each(?) AS m
          WHERE EXISTS (SELECT 1 FROM ${vocabulary} WHERE tag = ? AND ${found})`;
        for (const [key] of this.connection.all(sql, [words, tag])) candidates.add(asked[Number(key)]!.n);
      }
    const existing: WordMatch[] = [];
    for (const n of [...candidates].sort((a, b) => a - b)) {
      if (existing.length === limit) break;
      if (this.newest([[matches[n]!]], 1).length > 0) existing.push(matches[n]!);
    }
    return existing;
  }

  /** Returns the FTS5 expression that matches `terms`, the conditions, and not `except`. */
  private expressionOf(terms: WordTerms, except?: WordTerms): string {
    const { all, none } = this.conditions;
    const groups = [
      ...terms.map((matches) => this.anyOf(matches)),
      ...all.map((term) => this.inAnyTag(term)),
    ];
    const wanted = groups.length > 0 ? groups : [this.inAnyTag(everyTerm())];
    const unwanted = [
      ...none.map((term) => this.inAnyTag(term)),
      ...(except
        ? [except.map((matches) => `(${this.anyOf(matches)})`).join(' AND ') || this.inAnyTag(everyTerm())]
        : []),
    ];
    const expression = wanted.map((group) => `(${group})`).join(' AND ');
    return unwanted.reduce((text, group) => `(${text}) NOT (${group})`, expression);
  }

  private anyOf(matches: readonly WordMatch[]): string {
    const terms = new Set(this.tags.flatMap((tag) => matches.flatMap((match) => this.termsOf(tag, match))));
    // Without matches, no document must be found. A tag alone finds none, because no term is empty.
    return terms.size === 0 ? `"${tagText(this.tags[0]!)}"` : [...terms].join(' OR ');
  }

  private inAnyTag(term: string): string {
    return this.tags.map((tag) => `"${tagText(tag)}${term}"`).join(' OR ');
  }

  private termsOf(tag: number, match: WordMatch): string[] {
    const quoted = ({ word, prefix }: WordMatch) => `"${tagText(tag)}${word}"${prefix ? ' *' : ''}`;
    return (match.prefix ? this.expand(tag, match) : [match]).map((one) => {
      checkWord(one.word);
      return quoted(one);
    });
  }

  /** Returns the words that begin with a prefix, or the prefix itself if there are many and it is short. */
  private expand(tag: number, match: WordMatch): WordMatch[] {
    const name = `${tag} ${match.word}`;
    const cached = this.expanded.get(name);
    if (cached) return cached;
    const { marker, word } = splitTerm(checkWord(match.word));
    const sql = `SELECT word FROM ${this.names.vocabulary}
      WHERE tag = ? AND word >= ? AND word < ? || char(1114111) ORDER BY word LIMIT ?`;
    const rows = this.connection.all(sql, [tag, word, word, PREFIX_WORDS_MAX + 1]);
    const is_short = [...match.word].length <= INDEXED_PREFIX_MAX;
    const expanded =
      rows.length > PREFIX_WORDS_MAX && is_short
        ? [match]
        : rows.slice(0, PREFIX_WORDS_MAX).map(([one]) => ({ word: marker + String(one) }));
    this.expanded.set(name, expanded);
    return expanded;
  }
}

/** Returns a hash for each combination of the values in the scope. */
function scopesOf(table: Table, scope: WordScope): string[] {
  let combinations: Key[][] = [[]];
  for (const key of wordScope(table)) {
    const condition = scope[key];
    if (condition === undefined)
      throw new Error(`the scope of a word search is incomplete: ${key} is missing`);
    const values = typeof condition === 'object' ? [...new Set(condition.in)] : [condition];
    combinations = combinations.flatMap((combination) => values.map((value) => [...combination, value]));
  }
  return combinations.map(scopeHash);
}

function conditionsOf(
  connection: SqliteConnection,
  table: Table,
  scope: WordScope,
  where: ViewQuery['where'],
): Conditions {
  const { filters } = table.spec.words!;
  const all: string[] = [];
  const none: string[] = [];
  let without_rank = 0;
  const rest: Record<string, KeyCondition> = {};
  for (const [key, condition] of Object.entries(where)) {
    const n = filters.indexOf(key);
    const excluded = excludedValue(condition);
    if (Object.hasOwn(scope, key) && isSame(scope[key], condition)) continue;
    if (n >= 0 && condition !== null && typeof condition !== 'object') all.push(filterTerm(n, condition));
    else if (n >= 0 && excluded !== null) none.push(filterTerm(n, excluded));
    else if (key === 'id' && excluded !== null)
      without_rank = readEntry(connection, table, String(excluded))?.rank ?? 0;
    else rest[key] = condition;
  }
  return { all, none, without_rank, rest };
}

function excludedValue(condition: KeyCondition): Key {
  return condition !== null && typeof condition === 'object' && 'not' in condition ? condition.not : null;
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Returns a function that returns the index of the first tier that a document with these words matches. */
function tierFinder(tiers: readonly WordTerms[]): (words: string) => number {
  // Searches in the text are faster than a set of its words. Each one is done at most once per document.
  const numbers = new Map<string, number>();
  const numberOf = ({ word, prefix }: WordMatch): number => {
    const text = prefix ? ` ${word}` : ` ${word} `;
    if (!numbers.has(text)) numbers.set(text, numbers.size);
    return numbers.get(text)!;
  };
  const numbered = tiers.map((terms) => terms.map((matches) => matches.map(numberOf)));
  const texts = [...numbers.keys()];
  return (words) => {
    const text = ` ${words} `;
    const found: (boolean | undefined)[] = [];
    const has = (number: number): boolean => (found[number] ??= text.includes(texts[number]!));
    return numbered.findIndex((terms) => terms.every((matches) => matches.some(has)));
  };
}
