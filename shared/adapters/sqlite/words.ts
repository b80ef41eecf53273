import type { Key, StoredDocument } from '../../catalog/documents';
import { compareByOrder, compareTexts, type SortDirection, type SortOrder } from '../../catalog/sorting';
import { endLongTurn } from '../../kernel/async';
import {
  isUnitCondition,
  type KeyCondition,
  type MatchingWordsQuery,
  type RelatedQuery,
  type UnitCondition,
  type ViewQuery,
  type WordCount,
  type WordCounts,
  type WordCountsQuery,
  type WordMatch,
  type WordScope,
  type WordSearch,
  type WordSearchResult,
  type WordTerms,
} from '../../ports/view-store';
import { excludedValue, type NamedVariant, namedValues, variantOf, variantsIn } from '../key-conditions';
import { wordScope } from '../stored-collections';
import type { SqlInput, SqliteConnection, SqlRow, SqlValue } from './connection';
import {
  afterSql,
  allOf,
  checkWord,
  conditionSql,
  conditionTerms,
  entriesIn,
  lowestOf,
  matchesNothing,
  type Query,
  scopeHash,
  selectionOf,
  toDocuments,
} from './documents';
import type { ListReader } from './list-pages';
import { column, type Table } from './tables';
import { unitSql, unitsTable } from './units';
import {
  EVERY_TERM,
  INDEXED_PREFIX_MAX,
  type IndexTables,
  indexTables,
  RANK_STEP,
  readEntry,
  splitTerm,
  tagText,
} from './word-index';
import { Budget, Intersection, RankList } from './word-ranks';

/**
 * The most entries that a search reads to find its matches (docs/interface/search.md#limits-of-a-search): about 15 ms of CPU
 * for thirty words among 100,000 publications.
 */
const MATCH_ENTRIES = 100_000;
/** The most entries that a search reads to find the better tiers among its matches. */
const TIER_ENTRIES = 40_000;
/**
 * While FTS5 intersects terms, it passes over the entries of these documents in about the time in which this process reads
 * one entry.
 */
const DOCUMENTS_PER_ENTRY = 32;
/** The most matches that a search sorts by a key. */
const SORTED_MAX = 50_000;
/** So many of the sorted matches are read by one statement. */
const SORTED_AT_ONCE = 1_000;
/** Up to this number of matches, a search reads the words of all matches and sorts them by tier. */
const SCORED_MAX = 200;
/** The words of so many matches are read by one statement. Each document may be on a page that is not in memory yet. */
const SCORED_AT_ONCE = 40;
/** So many documents with each word are compared to find related documents (docs/interface/search.md#related). */
const COMPARED_MAX = 1_000;
/** Up to this number of labels are counted one by one. If there are more, the labels of all matches are read and counted. */
const LABELS_MAX = 200;
/** Every label begins with this text. */
const LABEL_START = '==';
/** So many matches have their labels read by one statement: about 1 ms. */
const LABELLED_AT_ONCE = 200;
/**
 * The most words that a prefix stands for, in alphabetical order. A prefix of up to `INDEXED_PREFIX_MAX` characters with
 * more words is looked up in the index of prefixes instead, and stands for all of them.
 */
const PREFIX_WORDS_MAX = 32;
/**
 * The most words of one scope that the alternatives of one term stand for together. A limit for all scopes together would
 * leave few words to the last scope. A document has one scope, so that a tier still contains the tiers before it.
 */
const GROUP_WORDS_MAX = 64;

/** Reads a page of the sequence of all tiers, and counts the sequence. */
export async function searchPage(
  connection: SqliteConnection,
  table: Table,
  query: WordSearch,
): Promise<WordSearchResult> {
  const is_empty = query.tiers.length === 0 || matchesNothing(query.where);
  const index = is_empty ? undefined : await WordReader.open(connection, table, query);
  if (!index) return { documents: [], total: 0, is_complete: true };
  if (isByAge(table, query.order, 'desc') && !query.after) return index.bestFirst(query);
  if (query.tiers.length === 1) return index.sorted(query);
  throw new Error('a search with several tiers returns the newest documents first');
}

/** Reads a page of the documents with the most of some words. `list_reader` finds the documents that have none of them. */
export async function relatedPage(
  connection: SqliteConnection,
  table: Table,
  query: RelatedQuery,
  list_reader: ListReader,
): Promise<StoredDocument[]> {
  const index = await WordReader.open(connection, table, query);
  return index && query.limit > 0 ? index.related(query, list_reader) : [];
}

/** Returns the matches that occur in the scope, with one look-up in the vocabulary per match. */
export async function matchingWords(
  connection: SqliteConnection,
  table: Table,
  query: MatchingWordsQuery,
): Promise<WordMatch[]> {
  const index = await WordReader.open(connection, table, { scope: query.scope, where: query.scope });
  return index?.existing(query.matches, query.limit) ?? [];
}

/** Counts the documents that match, by each of their labels that begins with one of the prefixes. */
export async function countWords(
  connection: SqliteConnection,
  table: Table,
  query: WordCountsQuery,
): Promise<readonly WordCounts[]> {
  const index = matchesNothing(query.where) ? undefined : await WordReader.open(connection, table, query);
  return index?.counts(query) ?? query.prefixes.map(() => ({ counts: [], is_complete: true }));
}

function isByAge(table: Table, order: SortOrder, direction: SortDirection): boolean {
  const [first, second, third] = order;
  const by_age = first?.[0] === table.spec.words?.newest_by && first?.[1] === direction;
  return by_age && second?.[0] === 'id' && second[1] === direction && third === undefined;
}

const entriesOf = ({ is_exhaustive }: WordSearch): number =>
  is_exhaustive ? Number.POSITIVE_INFINITY : MATCH_ENTRIES;

/** Reads the index of a table for one search. */
class WordReader {
  private readonly connection: SqliteConnection;
  private readonly table: Table;
  private readonly names: IndexTables;
  private readonly tags: readonly number[];
  /** The highest rank of all documents. */
  private readonly newest: number;
  /** Expressions for the documents that the conditions on keys demand and exclude, as far as the index has terms for them. */
  private readonly demanded: string[] = [];
  private readonly excluded: string[] = [];
  /** The documents that the other conditions demand and exclude. */
  private readonly all: RankList[] = [];
  private readonly none: RankList[] = [];
  /** What one unit of each document must fulfil. */
  private unit: UnitCondition | undefined;
  /** The condition that is checked for each match, as its documents are few: on its unit, and on its values in a variant. */
  private checked: Query | undefined;
  private readonly lists = new Map<string, RankList>();
  private readonly expanded = new Map<string, WordMatch[]>();

  private constructor(connection: SqliteConnection, table: Table, tags: readonly number[], newest: number) {
    this.connection = connection;
    this.table = table;
    this.names = indexTables(table);
    this.tags = tags;
    this.newest = newest;
  }

  /** Returns undefined if the index has no documents of the scope. */
  static async open(
    connection: SqliteConnection,
    table: Table,
    { scope, where, excluded = [] }: Pick<WordSearch, 'scope' | 'where' | 'excluded'>,
  ): Promise<WordReader | undefined> {
    const hashes = JSON.stringify(scopesOf(table, scope));
    const { scopes, entries } = indexTables(table);
    const sql = `SELECT tag, (SELECT max(rank) FROM ${entries}) FROM ${scopes}
      WHERE scope IN (SELECT value FROM json_each(?))`;
    const rows = await connection.attempt(() => connection.all(sql, [hashes]));
    if (rows.length === 0) return undefined;
    const tags = rows.map(([tag]) => Number(tag));
    const reader = new WordReader(connection, table, tags, Number(rows[0]![1]));
    reader.addConditions(scope, where);
    for (const word of excluded) reader.excluded.push(reader.inAnyTag(word));
    return reader;
  }

  private addConditions(scope: WordScope, where: ViewQuery['where']): void {
    const others: Record<string, KeyCondition> = {};
    const checked: Record<string, KeyCondition> = {};
    const named = variantsIn(this.table.spec.lists?.variants, where);
    for (const [key, condition] of Object.entries(this.addLists(this.addVariants(named, where)))) {
      const excluded = excludedValue(condition);
      if (Object.hasOwn(scope, key) && isSame(scope[key], condition)) continue;
      if (isUnitCondition(condition)) this.unit = condition;
      if (key === 'id' && excluded !== null) this.none.push(this.listOfDocument(String(excluded)));
      else (condition === this.unit || variantOf(named, key) ? checked : others)[key] = condition;
    }
    if (Object.keys(others).length > 0) this.all.push(this.listWhere(others, where));
    if (Object.keys(checked).length > 0)
      this.checked = allOf(conditionTerms(this.table, checked, 'e', where));
  }

  /** Adds what conditions on variants of lists demand or exclude: these are words. Returns the other conditions. */
  private addVariants(named: readonly NamedVariant[], where: ViewQuery['where']): ViewQuery['where'] {
    const others = { ...where };
    for (const { kind, variant, without } of named) {
      if (Object.keys(without ?? {}).length > 0) continue;
      (without ? this.excluded : this.demanded).push(this.inAnyTag(kind.wordOf(variant)));
      delete others[kind.name];
    }
    return others;
  }

  /** Adds what the conditions on `SharedLists` demand and exclude: they are words. Returns the other conditions. */
  private addLists(where: ViewQuery['where']): ViewQuery['where'] {
    const { shared } = this.table.spec.lists ?? {};
    if (!shared || where[shared.scope] === undefined) return where;
    const { [shared.scope]: lists, [shared.rank]: rank, ...others } = where;
    const excluded = excludedValue(lists!);
    const values = excluded === null ? namedValues(lists!) : [excluded];
    const wanted = rank === undefined ? undefined : wantedRanks(rank, shared.rank_max);
    const is_known =
      values?.every((value) => typeof value === 'string') && (rank === undefined || wanted !== undefined);
    if (!is_known || values.length === 0) return where;
    const having = (each: boolean): string =>
      anyTerm(values.map((value) => this.inAnyTag(shared.wordOf(String(value), each))));
    const all = anyTerm([having(true), having(false)]);
    if (excluded !== null) {
      this.excluded.push(all);
      return rank === undefined ? others : { ...others, [shared.rank]: rank };
    }
    this.demanded.push(wanted === 'ranked' ? having(true) : all);
    if (wanted === 'unranked') this.excluded.push(having(true));
    return others;
  }

  private async run<Result>(statement: () => Result): Promise<Result> {
    await endLongTurn();
    return this.connection.attempt(statement);
  }

  /** Returns the expression for the documents that have the term in one of the scope's tags. */
  private inAnyTag(term: string): string {
    return anyTerm(this.tags.map((tag) => `"${tagText(tag)}${term}"`));
  }

  /**
   * Returns the documents that match all of these expressions of FTS5. The number of expressions that are words of the
   * search is `words`. Reads the ranks as one text, because rows are slow to convert.
   */
  private listOf(expressions: readonly string[], words: number, first_size?: number): RankList {
    const { terms } = this.names;
    const sql = `SELECT json_group_array(rowid) FROM (SELECT rowid FROM ${terms}
      WHERE ${terms} MATCH ? AND rowid <= ? ORDER BY rowid DESC LIMIT ?)`;
    const expression = expressions.join(' AND ');
    let list = this.lists.get(expression);
    list ??= new RankList(async (highest, size) => {
      // FTS5 ignores a bound that is a floating-point number, as which the driver binds all numbers.
      const found = await this.connection.attempt(() =>
        this.connection.value(sql, [expression, BigInt(highest), size]),
      );
      const ranks = descending(JSON.parse(String(found)) as number[]);
      const below = ranks.length === size ? ranks.at(-1)! - 1 : 0;
      const documents = (Math.min(highest, this.newest) - below) / RANK_STEP;
      const passed_over = expressions.length > 1 ? documents / DOCUMENTS_PER_ENTRY : 0;
      return { ranks, below, entries: size * words + passed_over };
    }, first_size);
    this.lists.set(expression, list);
    return list;
  }

  private listOfDocument(id: string): RankList {
    return new RankList(async (_, size) => {
      const entry = await this.connection.attempt(() => readEntry(this.connection, this.table, id));
      return { ranks: entry ? [entry.rank] : [], below: 0, entries: size };
    });
  }

  /** Returns the documents that fulfil conditions that the index has no terms for. Reads the keys of all documents. */
  private listWhere(conditions: ViewQuery['where'], all: ViewQuery['where']): RankList {
    const { entries } = this.names;
    const { ranges } = this.table.spec.words!;
    const of_lists = entriesIn(this.table, all)?.keys ?? [];
    const isRange = (key: string): boolean => ranges.includes(key) && !of_lists.includes(key);
    const has_ranges_only = Object.keys(conditions).every(isRange);
    const { sql, parameters } = conditionSql(this.table, conditions, has_ranges_only ? 'e' : 'd', all);
    const rows = has_ranges_only
      ? `FROM ${entries} AS e WHERE`
      : `FROM (SELECT rank, row FROM ${entries}) AS e CROSS JOIN ${this.table.name} AS d ON d.rowid = e.row WHERE`;
    const statement = `SELECT json_group_array(rank) ${rows} rank <= ? AND rank > ? AND ${sql}`;
    return new RankList(async (highest, size) => {
      const from = Math.min(highest, this.newest);
      const below = Math.max(0, from - size * RANK_STEP);
      const found = await this.connection.attempt(() =>
        this.connection.value(statement, [from, below, ...parameters]),
      );
      return { ranks: descending(JSON.parse(String(found)) as number[]), below, entries: size };
    });
  }

  /**
   * Returns the documents that match `terms` and the conditions. FTS5 intersects two terms, and applies the conditions that it
   * has terms for, ten times as fast as this process. It must not intersect all terms, because it reads on until a document
   * has them: if none has, to the end of the index.
   */
  private matchesOf(terms: WordTerms, budget: Budget, first_size?: number): Intersection {
    const [first = this.inAnyTag(EVERY_TERM), ...others] = terms.map((matches) => this.anyOf(matches));
    const groups = [first + this.excluded.map((expression) => ` NOT ${expression}`).join(''), ...others];
    const lists: RankList[] = [];
    for (let n = 0; n < groups.length; n += 2) {
      const pair = groups.slice(n, n + 2);
      const conditions = n === 0 ? this.demanded : [];
      lists.push(this.listOf([...pair, ...conditions], pair.length, first_size));
    }
    const { checked } = this;
    const check = checked && ((ranks: readonly number[]) => this.passing(ranks, checked));
    return new Intersection([...lists, ...this.all], this.none, budget, check);
  }

  /** Returns the ranks of the documents that fulfil the condition, in the same order. */
  private async passing(ranks: readonly number[], { sql, parameters }: Query): Promise<number[]> {
    const statement = `SELECT json_group_array(rank) FROM (SELECT e.rank FROM json_each(?) AS page
      CROSS JOIN ${this.names.entries} AS e ON e.rank = page.value WHERE ${sql} ORDER BY page.key)`;
    const found = await this.run(() =>
      this.connection.value(statement, [JSON.stringify(ranks), ...parameters]),
    );
    return JSON.parse(String(found)) as number[];
  }

  /** Returns a page of the sequence of all tiers, each with its newest documents first. */
  async bestFirst(query: WordSearch): Promise<WordSearchResult> {
    const { tiers, skip = 0, limit, total_max = Number.POSITIVE_INFINITY } = query;
    const matches = this.matchesOf(tiers.at(-1)!, new Budget(entriesOf(query)));
    const newest = await matches.highest(total_max);
    const is_complete = !matches.is_cut;
    // If the search did not look at all documents, the better tiers are searched on their own and may add older matches. The
    // whole sequence is then read, to count it.
    const end = is_complete ? Math.min(skip + limit, newest.length) : total_max;
    const sequence = is_complete && skip >= end ? [] : await this.sequence(newest, is_complete, tiers, end);
    const documents = await this.documents(sequence.slice(skip, Math.min(skip + limit, end)), query);
    return { documents, total: is_complete ? newest.length : sequence.length, is_complete };
  }

  /** Returns the matches in another order. */
  async sorted(query: WordSearch): Promise<WordSearchResult> {
    const sorted_max = query.is_exhaustive ? Number.POSITIVE_INFINITY : SORTED_MAX;
    const { order, skip = 0, limit, total_max = sorted_max } = query;
    const matches = this.matchesOf(query.tiers[0]!, new Budget(entriesOf(query)));
    const newest = await matches.highest(sorted_max);
    const is_complete = !matches.is_cut && newest.length < sorted_max;
    const end = Math.min(skip + limit, total_max);
    const ranks =
      isByAge(this.table, order, 'asc') && !query.after
        ? newest.toReversed()
        : await this.sortBy(skip < newest.length ? newest : [], query, end);
    const documents = await this.documents(ranks.slice(skip, end), query);
    return { documents, total: Math.min(newest.length, total_max), is_complete };
  }

  /** Returns the first `count` ranks of the sequence of all tiers. `newest` are the newest matches of the last one. */
  private async sequence(
    newest: readonly number[],
    is_complete: boolean,
    tiers: readonly WordTerms[],
    count: number,
  ): Promise<readonly number[]> {
    if (tiers.length === 1) return newest.slice(0, count);
    if (is_complete && newest.length <= SCORED_MAX) return this.byTier(newest, tiers);
    const sequence = new Set<number>();
    const budget = new Budget(TIER_ENTRIES);
    for (const terms of tiers.slice(0, -1)) {
      if (sequence.size >= count || budget.is_spent) break;
      for (const rank of await this.matchesOf(terms, budget).highest(count)) sequence.add(rank);
    }
    for (const rank of newest) sequence.add(rank);
    return [...sequence].slice(0, count);
  }

  /** Returns a page of the documents that fulfil the conditions, sorted by how many of the words they have, then by age. */
  async related(query: RelatedQuery, list_reader: ListReader): Promise<StoredDocument[]> {
    const { words, order, skip = 0, limit } = query;
    const budget = new Budget(MATCH_ENTRIES);
    const shared = new Map<number, number>();
    // One more, because the publication itself has all the words.
    const at_once = COMPARED_MAX + 1;
    for (const word of words)
      for (const rank of await this.matchesOf([[{ word }]], budget, at_once).highest(COMPARED_MAX))
        shared.set(rank, (shared.get(rank) ?? 0) + 1);
    const by_age = isByAge(this.table, order, 'asc') ? 1 : -1;
    const nearest = mostShared(shared, words.length, by_age, skip + limit);
    const page = nearest.slice(skip, skip + limit);
    if (page.length < limit) {
      // The documents that share no word come after all others.
      const first = Math.max(0, skip - nearest.length);
      const end = skip + limit - nearest.length;
      const row_ids = await list_reader.rowIds(this.table, {
        ...query,
        skip: 0,
        limit: end + nearest.length,
      });
      const others = (await this.ranksOf(row_ids)).filter((rank) => !shared.has(rank));
      page.push(...others.slice(first, end));
    }
    return this.documents(page, query);
  }

  private async ranksOf(row_ids: readonly SqlValue[]): Promise<number[]> {
    const sql = `SELECT rank FROM json_each(?) AS page CROSS JOIN ${this.names.entries} ON row = page.value ORDER BY page.key`;
    const rows = await this.run(() => this.connection.all(sql, [JSON.stringify(row_ids)]));
    return rows.map(([rank]) => Number(rank));
  }

  /** Returns the first `count` of the ranks in the order, after `after`. */
  private async sortBy(
    ranks: readonly number[],
    query: Pick<ViewQuery, 'order' | 'after' | 'where'>,
    count: number,
  ): Promise<number[]> {
    const { order, where } = query;
    const columns = order.map(([key]) => this.sortedColumn(key, where));
    const names = order.map((_, n) => `sort_${n}`);
    const directions = order.map(([, direction]) => direction);
    const terms = directions.map((direction, n) => `${names[n]} ${direction.toUpperCase()}`);
    const after = afterSql(names, directions, query.after);
    const sql = `SELECT * FROM (
        SELECT m.value, ${columns.map(({ sql }, n) => `${sql} AS ${names[n]}`).join(', ')} FROM json_each(?) AS m
          CROSS JOIN ${this.names.entries} AS e ON e.rank = m.value
          CROSS JOIN ${this.table.name} AS d ON d.rowid = e.row)
      WHERE ${after.sql} ORDER BY ${terms.join(', ')} LIMIT ?`;
    const of_columns = columns.flatMap(({ parameters }) => parameters);
    const first: { rank: number; id: string; keys: Record<string, Key> }[] = [];
    for (const some of inChunks(ranks, SORTED_AT_ONCE)) {
      const rows = await this.run(() =>
        this.connection.all(sql, [...of_columns, JSON.stringify(some), ...after.parameters, count]),
      );
      for (const [rank, ...values] of rows) {
        const keys = Object.fromEntries(order.map(([key], n) => [key, values[n]!]));
        first.push({ rank: Number(rank), id: String(keys.id), keys });
      }
      // After each statement: to sort all of them at the end would hold the process.
      first.sort((a, b) => compareByOrder(order, a, b)).splice(count);
    }
    return first.map(({ rank }) => rank);
  }

  /** Returns what a search sorts by for this key: the value in the lists that the conditions name, or a column. */
  private sortedColumn(key: string, where: ViewQuery['where']): Query {
    const entries = entriesIn(this.table, where);
    if (entries?.keys.includes(key)) return lowestOf(this.table, entries, key, 'd');
    const name = column(this.table, key);
    return { sql: `${this.table.spec.words!.ranges.includes(key) ? 'e' : 'd'}.${name}`, parameters: [] };
  }

  /** Sorts matches by the first tier that they match. Keeps their order within a tier. */
  private async byTier(matches: readonly number[], tiers: readonly WordTerms[]): Promise<number[]> {
    const sql = `SELECT e.rank, d.words FROM json_each(?) AS page
      CROSS JOIN ${this.names.entries} AS e ON e.rank = page.value
      CROSS JOIN ${this.table.name} AS d ON d.rowid = e.row`;
    const tierOf = tierFinder(tiers);
    const tier_of = new Map<number, number>();
    for (const some of inChunks(matches, SCORED_AT_ONCE)) {
      const rows = await this.run(() => this.connection.all(sql, [JSON.stringify(some)]));
      for (const [rank, words] of rows) tier_of.set(Number(rank), tierOf(String(words)));
    }
    // A match that has just been deleted or changed has no tier.
    const order = (rank: number): number => {
      const tier = tier_of.get(rank) ?? -1;
      return tier === -1 ? tiers.length : tier;
    };
    return [...matches].sort((a, b) => order(a) - order(b));
  }

  /**
   * Reads the documents at these ranks, in this order. Checks the conditions on keys again: another process may have
   * written since the ranks were read, and a document that is now private, or of another store, must not be shown.
   */
  private async documents(
    ranks: readonly number[],
    { parts = [], where }: ViewQuery,
  ): Promise<StoredDocument[]> {
    if (ranks.length === 0) return [];
    const condition = conditionSql(this.table, where, 'd');
    const sql = `SELECT ${selectionOf(this.table, parts).columns}, e.rank FROM json_each(?) AS page
      CROSS JOIN ${this.names.entries} AS e ON e.rank = page.value
      CROSS JOIN ${this.table.name} AS d ON d.rowid = e.row WHERE ${condition.sql}`;
    const rows = await this.run(() =>
      this.connection.all(sql, [JSON.stringify(ranks), ...condition.parameters]),
    );
    const places = new Map(ranks.map((rank, place) => [rank, place]));
    const placeOf = (row: SqlRow): number => places.get(Number(row.at(-1)))!;
    return toDocuments(
      this.table,
      parts,
      rows.sort((a, b) => placeOf(a) - placeOf(b)),
    );
  }

  /**
   * Returns the matches that some document of the scope has. The vocabulary may also have words of former documents, but
   * rarely: a write removes those that no document has any more, except some of a very long text.
   */
  async existing(matches: readonly WordMatch[], limit: number): Promise<WordMatch[]> {
    const candidates = await this.run(() => this.inVocabulary(matches));
    const existing: WordMatch[] = [];
    for (const match of candidates) {
      if (existing.length === limit) break;
      const [found] = await this.matchesOf([[match]], new Budget(MATCH_ENTRIES)).highest(1);
      if (found !== undefined) existing.push(match);
    }
    return existing;
  }

  /** Counts the documents of the labels that begin with the prefixes. The vocabulary may also have former labels. */
  async counts(query: WordCountsQuery): Promise<WordCounts[]> {
    const { terms, limit, of_units, assertAwaited } = query;
    const labels_of = new Map<string, readonly string[]>();
    for (const prefix of query.prefixes) labels_of.set(prefix, await this.labelsOf(prefix));
    const isLarge = (prefix: string): boolean => labels_of.get(prefix)!.length > LABELS_MAX;
    const documents_max = query.prefixes.some(isLarge) ? query.documents_max : Number.POSITIVE_INFINITY;
    const read = query.prefixes.filter((prefix) => of_units || isLarge(prefix));
    const all = read.length === 0 ? [] : await this.ranksWith(terms, documents_max + 1);
    const counts_of = await this.labelCounts(all.slice(0, documents_max), read, query);
    const found: WordCounts[] = [];
    for (const [prefix, labels] of labels_of) {
      const counted = counts_of.get(prefix);
      if (counted) {
        const counts = await mostFrequent(counted, limit);
        found.push({ counts, is_complete: all.length <= documents_max });
        continue;
      }
      const counts = new Map<string, number>();
      for (const word of labels) {
        assertAwaited();
        const { length: count } = await this.ranksWith([[{ word }], ...terms], Number.POSITIVE_INFINITY);
        if (count > 0) counts.set(word, count);
      }
      found.push({ counts: await mostFrequent(counts, limit), is_complete: true });
    }
    return found;
  }

  /** Returns the labels that begin with the prefix, at most `LABELS_MAX` and one more. */
  private async labelsOf(prefix: string): Promise<string[]> {
    const sql = `SELECT DISTINCT word FROM ${this.names.vocabulary}
      WHERE tag IN (SELECT value FROM json_each(?)) AND word >= ? AND word < ? || char(1114111) LIMIT ?`;
    const parameters = [JSON.stringify(this.tags), checkWord(prefix), prefix, LABELS_MAX + 1];
    return (await this.run(() => this.connection.all(sql, parameters))).map(([word]) => String(word));
  }

  private ranksWith(terms: WordTerms, max: number): Promise<readonly number[]> {
    return this.matchesOf(terms, new Budget(Number.POSITIVE_INFINITY)).highest(max);
  }

  /** Counts the labels of the documents at these ranks, by prefix. Reads each document once for all prefixes. */
  private async labelCounts(
    ranks: readonly number[],
    prefixes: readonly string[],
    { of_units, assertAwaited }: WordCountsQuery,
  ): Promise<Map<string, Map<string, number>>> {
    const { sql, parameters } = of_units && this.unit ? this.unitLabels(this.unit) : this.documentLabels();
    const counts = new Map(prefixes.map((prefix) => [prefix, new Map<string, number>()]));
    for (const some of inChunks(ranks, LABELLED_AT_ONCE)) {
      assertAwaited();
      const rows = await this.run(() => this.connection.all(sql, [...parameters, JSON.stringify(some)]));
      for (const [words] of rows)
        for (const word of new Set(String(words).split(' ')))
          for (const [prefix, of_prefix] of counts)
            if (word.startsWith(prefix)) of_prefix.set(word, (of_prefix.get(word) ?? 0) + 1);
    }
    return counts;
  }

  /** Returns the statement that reads the labels of each document at some ranks. */
  private documentLabels(): { sql: string; parameters: SqlInput[] } {
    // Labels are after the text, which may be long and is not converted.
    const sql = `SELECT substr(words, at) FROM (
      SELECT ' ' || d.words AS words, instr(' ' || d.words, ?) AS at FROM json_each(?) AS page
        CROSS JOIN ${this.names.entries} AS e ON e.rank = page.value
        CROSS JOIN ${this.table.name} AS d ON d.rowid = e.row) WHERE at > 0`;
    return { sql, parameters: [` ${LABEL_START}`] };
  }

  /** Returns the statement that reads the labels of those units of each document at some ranks that fulfil the condition. */
  private unitLabels({ unit }: UnitCondition): { sql: string; parameters: SqlInput[] } {
    const { sql, parameters } = unitSql(unit);
    const labels = `SELECT group_concat(u.labels, '') FROM ${unitsTable(this.table.name)} AS u WHERE u.row = e.row ${sql}`;
    return {
      sql: `SELECT (${labels}) FROM json_each(?) AS page CROSS JOIN ${this.names.entries} AS e ON e.rank = page.value`,
      parameters,
    };
  }

  private inVocabulary(matches: readonly WordMatch[]): WordMatch[] {
    const { vocabulary } = this.names;
    const candidates = new Set<WordMatch>();
    for (const tag of this.tags)
      for (const prefix of [false, true]) {
        const asked = matches.filter((match) => match.prefix === (prefix || undefined));
        if (asked.length === 0) continue;
        const words = JSON.stringify(asked.map(({ word }) => splitTerm(word).word));
        const found = prefix ? 'word >= m.value AND word < m.value || char(1114111)' : 'word = m.value';
        const sql = `SELECT m.key FROM json_each(?) AS m
          WHERE EXISTS (SELECT 1 FROM ${vocabulary} WHERE tag = ? AND ${found})`;
        for (const [key] of this.connection.all(sql, [words, tag])) candidates.add(asked[Number(key)]!);
      }
    return matches.filter((match) => candidates.has(match));
  }

  /** Returns the expression for the documents that have one of the matches. */
  private anyOf(matches: readonly WordMatch[]): string {
    const given_first = matches.toSorted((a, b) => Number(a.prefix ?? false) - Number(b.prefix ?? false));
    const terms = this.tags.flatMap((tag) => {
      const of_scope = new Set(given_first.flatMap((match) => this.termsOf(tag, match)));
      // Words that are given are never left out, only those that prefixes stand for.
      return [...of_scope].slice(0, Math.max(GROUP_WORDS_MAX, matches.length));
    });
    // Without matches, no document must be found. A tag alone finds none, because no term is empty.
    return anyTerm(terms.length === 0 ? [`"${tagText(this.tags[0]!)}"`] : terms);
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

const anyTerm = (terms: readonly string[]): string => `(${terms.join(' OR ')})`;

/** Returns the ranks in descending order. They are nearly always in this order, which SQL guarantees for no aggregate. */
function descending(ranks: number[]): number[] {
  for (let n = 1; n < ranks.length; n++) if (ranks[n - 1]! < ranks[n]!) return ranks.sort((a, b) => b - a);
  return ranks;
}

/** Returns the most frequent labels, sorted by number, then by label. Sorts a few at a time, so as not to hold the process. */
async function mostFrequent(counts: ReadonlyMap<string, number>, limit: number): Promise<WordCount[]> {
  const first: WordCount[] = [];
  const cut = () => first.sort((a, b) => b.count - a.count || compareTexts(a.word, b.word)).splice(limit);
  for (const [word, count] of counts) {
    if (first.push({ word, count }) < limit + SORTED_AT_ONCE) continue;
    await endLongTurn();
    cut();
  }
  cut();
  return first;
}

/**
 * Returns the ranks that share the most of `words` words, sorted by this number, then by age. Returns at least `count` of
 * them, or all. There may be thousands that share one word, which are then not sorted.
 */
function mostShared(
  shared: ReadonlyMap<number, number>,
  words: number,
  by_age: 1 | -1,
  count: number,
): number[] {
  const by_number: number[][] = Array.from({ length: words + 1 }, () => []);
  for (const [rank, number] of shared) by_number[number]!.push(rank);
  const nearest: number[] = [];
  for (const ranks of by_number.reverse()) {
    if (nearest.length >= count) break;
    nearest.push(...ranks.sort((a, b) => by_age * (a - b)));
  }
  return nearest;
}

function* inChunks(ranks: readonly number[], size: number): Generator<readonly number[]> {
  for (let start = 0; start < ranks.length; start += size) yield ranks.slice(start, start + size);
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

/** Returns whether the condition is for ranks below the limit or for the limit itself. Undefined if it is for others. */
function wantedRanks(condition: KeyCondition, limit: number): 'ranked' | 'unranked' | undefined {
  if (condition === limit) return 'unranked';
  return isSame(condition, { lte: limit - 1 }) ? 'ranked' : undefined;
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
