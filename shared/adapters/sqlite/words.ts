import type { Key, StoredDocument } from '../../catalog/documents';
import { compareByOrder, type SortDirection, type SortOrder } from '../../catalog/sorting';
import type {
  KeyCondition,
  MatchingWordsQuery,
  ViewQuery,
  WordMatch,
  WordScope,
  WordSearch,
  WordSearchResult,
  WordTerms,
} from '../../ports/view-store';
import { wordScope } from '../stored-collections';
import { COMPARED_WORDS_MAX, firstByTier, type Ranks, stagesOf, union } from './compared-words';
import type { SqliteConnection, SqlRow } from './connection';
import { checkWord, conditionSql, matchesNothing, scopeHash, selectionOf, toDocuments } from './documents';
import { column, type Table } from './tables';
import type { KeptEntries } from './word-entries';
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
import { Budget, EntryReader, type Expression, type Group, inTurn, Scan } from './word-scan';

/** The most matches of the words whose keys a search checks or sorts by. The newest ones come first. */
const CHECKED_MAX = 5_000;
/** So many of them are checked or sorted by one statement. */
const CHECKED_AT_ONCE = 250;
/** Up to this number of matches, a search reads the words of all matches and sorts them by tier. */
const SCORED_MAX = 200;
/** So many of them are read by one statement. Each may be on a page that is not in memory yet. */
const SCORED_AT_ONCE = 40;
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
/** The most entries that a search reads to find its matches, estimated (docs/interface.md#limits-of-a-search). */
const MATCH_ENTRIES = 400_000;
/** The most entries that it reads to find the better tiers among them. */
const TIER_ENTRIES = 150_000;

/** So many entries of each compared word are read for related documents (docs/interface.md#limits-of-a-search). */
const COMPARED_ENTRIES = 5_000;
/**
 * A list with fewer documents is read as a whole, to compare only those in it or outside. For a longer one, the keys of
 * the best `CHECKED_MAX` documents are checked.
 */
const LIST_ENTRIES = 20_000;

/** Reads a page of the sequence of all tiers, and counts the sequence. */
export async function searchPage(
  connection: SqliteConnection,
  table: Table,
  query: WordSearch,
  kept: KeptEntries,
): Promise<WordSearchResult> {
  const is_empty = query.tiers.length === 0 || matchesNothing(query.where);
  const index = is_empty ? undefined : await WordReader.open(connection, table, query);
  if (!index) return { documents: [], total: 0, is_complete: true };
  if (isByAge(table, query.order, 'desc')) return index.bestFirst(query, kept);
  if (query.tiers.length === 1) return index.sorted(query);
  throw new Error('a search with several tiers returns the newest documents first');
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

function isByAge(table: Table, order: SortOrder, direction: SortDirection): boolean {
  const [first, second, third] = order;
  const by_age = first?.[0] === table.spec.words?.newest_by && first?.[1] === direction;
  return by_age && second?.[0] === 'id' && second[1] === direction && third === undefined;
}

/** The conditions of a search: those that the index has terms for, and the others. */
interface Conditions {
  readonly all: readonly string[];
  readonly none: readonly string[];
  /** The rank of a document that the search leaves out; 0 if there is none. */
  readonly without_rank: number;
  /** The conditions of `all` and `none`. */
  readonly filters: ViewQuery['where'];
  readonly rest: ViewQuery['where'];
}

/** The matches of a search. */
interface Matches {
  /** The number of matches. Infinite if nobody asked for it. */
  readonly total: number;
  /** False if there may be more matches, which the search did not look for. */
  readonly is_complete: boolean;
  /** The matches that were found, if they had to be read because of conditions that the index has no terms for. */
  readonly checked?: ReadonlySet<number>;
  /** Returns the newest matches. */
  newest(limit: number): Promise<readonly number[]>;
}

/** Reads the index of a table for one search. */
class WordReader {
  private readonly connection: SqliteConnection;
  private readonly table: Table;
  private readonly names: IndexTables;
  private readonly tags: readonly number[];
  private readonly conditions: Conditions;
  private readonly entries: EntryReader;
  private readonly expanded = new Map<string, WordMatch[]>();

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
    this.entries = new EntryReader(connection, this.names, tags, conditions.without_rank);
  }

  /** Returns undefined if the index has no documents of the scope. */
  static async open(
    connection: SqliteConnection,
    table: Table,
    { scope, where }: Pick<WordSearch, 'scope' | 'where'>,
  ): Promise<WordReader | undefined> {
    const hashes = JSON.stringify(scopesOf(table, scope));
    const sql = `SELECT tag FROM ${indexTables(table).scopes} WHERE scope IN (SELECT value FROM json_each(?))`;
    const read = () => {
      const tags = connection.all(sql, [hashes]).map(([tag]) => Number(tag));
      if (tags.length === 0) return undefined;
      return new WordReader(connection, table, tags, conditionsOf(connection, table, scope, where));
    };
    return inTurn(() => connection.attempt(read));
  }

  /** Returns a page of the sequence of all tiers, each with its newest documents first. */
  async bestFirst(query: WordSearch, kept: KeptEntries): Promise<WordSearchResult> {
    const { tiers, skip = 0, limit, total_max } = query;
    const compared = total_max === undefined && (await this.mostShared(query, kept));
    if (compared) {
      const documents = await this.documents(compared.slice(skip), query);
      return { documents, total: Number.POSITIVE_INFINITY, is_complete: true };
    }
    const matches = await this.matchesOf(tiers.at(-1)!, total_max);
    const { is_complete } = matches;
    // If the search did not look at all documents, better tiers may have older matches, which count as well.
    const end = is_complete ? Math.min(skip + limit, matches.total) : total_max!;
    const sequence = is_complete && skip >= end ? [] : await this.sequence(matches, tiers, end);
    const documents = await this.documents(sequence.slice(skip, Math.min(skip + limit, end)), query);
    return { documents, total: is_complete ? matches.total : sequence.length, is_complete };
  }

  /** Returns the newest matches in another order. */
  async sorted(query: WordSearch): Promise<WordSearchResult> {
    const { order, skip = 0, limit, total_max = CHECKED_MAX } = query;
    const matches = await this.matchesOf(query.tiers[0]!, Math.min(total_max, CHECKED_MAX));
    const newest = await matches.newest(CHECKED_MAX);
    const is_oldest_first = isByAge(this.table, order, 'asc');
    const ranks = is_oldest_first ? newest.toReversed() : await this.sortBy(newest, order, skip + limit);
    const documents = await this.documents(ranks.slice(skip, skip + limit), query);
    return { documents, total: matches.total, is_complete: matches.is_complete };
  }

  /** Finds the matches. Counts them up to `total_max`, if it is given. */
  private async matchesOf(terms: WordTerms, total_max: number | undefined): Promise<Matches> {
    const scan = new Scan(this.entries, this.expressionOf(terms), new Budget(MATCH_ENTRIES));
    const isComplete = (): boolean => total_max === undefined || !scan.is_cut;
    if (Object.keys(this.conditions.rest).length > 0) {
      const unchecked = await scan.newest(CHECKED_MAX);
      const checked = await this.check(unchecked);
      // If none of them fulfils the conditions, an older one may.
      const is_open = total_max !== undefined && checked.length === 0 && unchecked.length === CHECKED_MAX;
      const newest = async (limit: number) => checked.slice(0, limit);
      const total = Math.min(checked.length, total_max ?? CHECKED_MAX);
      return { total, is_complete: isComplete() && !is_open, checked: new Set(checked), newest };
    }
    const total = total_max === undefined ? Number.POSITIVE_INFINITY : await scan.count(total_max);
    return { total, is_complete: isComplete(), newest: (limit) => scan.newest(limit) };
  }

  /** Returns the first `count` ranks of the sequence of all tiers. */
  private async sequence(
    matches: Matches,
    tiers: readonly WordTerms[],
    count: number,
  ): Promise<readonly number[]> {
    if (tiers.length === 1) return matches.newest(count);
    const few = await this.fewOf(matches);
    if (few) return this.byTier(few, tiers);
    const sequence = new Set<number>();
    const budget = new Budget(TIER_ENTRIES);
    const limit = matches.checked ? CHECKED_MAX : count;
    for (const terms of tiers.slice(0, -1)) {
      if (sequence.size >= count || budget.is_spent) break;
      const scan = new Scan(this.entries, this.expressionOf(terms), budget);
      for (const rank of await this.amongMatches(matches, await scan.newest(limit))) sequence.add(rank);
    }
    if (sequence.size < count) for (const rank of await matches.newest(count)) sequence.add(rank);
    return [...sequence].slice(0, count);
  }

  /**
   * Returns the ranks up to the end of the page, found by the newest entries of each word. Reads the words of worse tiers
   * only if the better ones do not fill the page. Undefined if there are conditions that the index has no terms for.
   */
  private async mostShared(query: WordSearch, kept: KeptEntries): Promise<readonly number[] | undefined> {
    const { tiers, scope, skip = 0, limit } = query;
    const { rest, filters, without_rank } = this.conditions;
    if (typeof scope.store_id !== 'string' || Object.keys(rest).length > 0) return undefined;
    // A tier without terms has all documents.
    const last = tiers.findIndex((terms) => terms.length === 0);
    const stages = stagesOf(last === -1 ? tiers : tiers.slice(0, last));
    if (stages.some(({ matches }) => matches.length > COMPARED_WORDS_MAX)) return undefined;
    const readOrKept = kept.ofStore(scope.store_id);
    const ranksOf = async (group: Group, most: number): Promise<Ranks> => {
      const ofTerm = (term: string) =>
        readOrKept(`${this.names.terms} ${term}`, () => this.entries.ranksOf(term, most));
      return union(await Promise.all(group.map(ofTerm)));
    };
    const ofFilters = (terms: readonly string[]): Promise<Ranks[]> =>
      Promise.all(terms.map((term) => ranksOf(this.entries.inAnyTag(term), LIST_ENTRIES)));
    const all = await ofFilters(this.conditions.all);
    const none = await ofFilters(this.conditions.none);
    const is_long = [...all, ...none].some(({ length }) => length >= LIST_ENTRIES);
    const lists = is_long ? { all: [], none: [] } : { all, none };
    const count = skip + limit;
    const words: Ranks[] = [];
    let found: readonly number[] = [];
    for (const stage of stages) {
      for (const match of stage.matches.slice(words.length))
        words.push(await ranksOf(this.anyOf([match]), COMPARED_ENTRIES));
      const compared = { words, ...lists, without_rank };
      const most = is_long ? CHECKED_MAX : count;
      const first = await inTurn(() => firstByTier(compared, stage, most));
      found = is_long ? await this.firstWith(filters, first, count) : first;
      if (found.length === count) return found;
    }
    if (last === -1) return found;
    const others = new Scan(this.entries, this.expressionOf([]), new Budget(MATCH_ENTRIES));
    return [...new Set([...found, ...(await others.newest(count))])].slice(0, count);
  }

  /** Returns the first `count` of the ranks whose documents fulfil the conditions. */
  private async firstWith(
    conditions: ViewQuery['where'],
    ranks: readonly number[],
    count: number,
  ): Promise<readonly number[]> {
    const found: number[] = [];
    for (const some of inChunks(ranks, CHECKED_AT_ONCE)) {
      const checked = new Set(await this.check(some, conditions));
      found.push(...some.filter((rank) => checked.has(rank)));
      if (found.length >= count) break;
    }
    return found.slice(0, count);
  }

  /** Returns those of a tier's ranks that belong to the matches. */
  private async amongMatches(
    { checked, is_complete }: Matches,
    ranks: readonly number[],
  ): Promise<readonly number[]> {
    if (!checked) return ranks;
    // If the search did not look at all documents, the tier may have older matches, which are not checked yet.
    return is_complete ? ranks.filter((rank) => checked.has(rank)) : this.check(ranks);
  }

  /** Returns all matches if they are few. */
  private async fewOf({ total, is_complete, newest }: Matches): Promise<readonly number[] | undefined> {
    const is_known_large = Number.isFinite(total) && total > SCORED_MAX;
    if (!is_complete || is_known_large) return undefined;
    const ranks = await newest(SCORED_MAX + 1);
    return ranks.length <= SCORED_MAX ? ranks : undefined;
  }

  /** Returns those of the ranks whose documents fulfil the conditions: by default those that the index has no terms for. */
  private async check(
    ranks: readonly number[],
    conditions = this.conditions.rest,
  ): Promise<readonly number[]> {
    const { entries } = this.names;
    const { ranges } = this.table.spec.words!;
    const in_entries = Object.keys(conditions).every((key) => ranges.includes(key));
    const rows = in_entries
      ? `${entries} AS e ON e.rank = m.value`
      : `(SELECT rank, row FROM ${entries}) AS e ON e.rank = m.value
         CROSS JOIN ${this.table.name} AS d ON d.rowid = e.row`;
    const { sql, parameters } = conditionSql(this.table, conditions);
    const statement = `SELECT json_group_array(m.value) FROM json_each(?) AS m CROSS JOIN ${rows} WHERE ${sql}`;
    const checked: number[] = [];
    for (const some of inChunks(ranks, CHECKED_AT_ONCE)) {
      const read = () => this.connection.value(statement, [JSON.stringify(some), ...parameters]);
      checked.push(...(JSON.parse(String(await this.entries.run(read))) as number[]));
    }
    return checked.sort((a, b) => b - a);
  }

  /** Returns the first `count` of the ranks in the order. */
  private async sortBy(ranks: readonly number[], order: SortOrder, count: number): Promise<number[]> {
    const { ranges } = this.table.spec.words!;
    const columns = order.map(([key]) => `${ranges.includes(key) ? 'e' : 'd'}.${column(this.table, key)}`);
    const terms = order.map(([, direction], n) => `${n + 2} ${direction.toUpperCase()}`);
    const sql = `SELECT m.value, ${columns.join(', ')} FROM json_each(?) AS m
      CROSS JOIN ${this.names.entries} AS e ON e.rank = m.value
      CROSS JOIN ${this.table.name} AS d ON d.rowid = e.row ORDER BY ${terms.join(', ')} LIMIT ?`;
    const first: { rank: number; id: string; keys: Record<string, Key> }[] = [];
    for (const some of inChunks(ranks, CHECKED_AT_ONCE)) {
      const rows = await this.entries.run(() => this.connection.all(sql, [JSON.stringify(some), count]));
      for (const [rank, ...values] of rows) {
        const keys = Object.fromEntries(order.map(([key], n) => [key, values[n]!]));
        first.push({ rank: Number(rank), id: String(keys.id), keys });
      }
    }
    first.sort((a, b) => compareByOrder(order, a, b));
    return first.slice(0, count).map(({ rank }) => rank);
  }

  /** Sorts matches by the first tier that they match. Keeps their order within a tier. */
  private async byTier(matches: readonly number[], tiers: readonly WordTerms[]): Promise<number[]> {
    const sql = `SELECT e.rank, d.words FROM json_each(?) AS page
      CROSS JOIN ${this.names.entries} AS e ON e.rank = page.value
      CROSS JOIN ${this.table.name} AS d ON d.rowid = e.row`;
    const tierOf = tierFinder(tiers);
    const tier_of = new Map<number, number>();
    for (const some of inChunks(matches, SCORED_AT_ONCE)) {
      const rows = await this.entries.run(() => this.connection.all(sql, [JSON.stringify(some)]));
      for (const [rank, words] of rows) tier_of.set(Number(rank), tierOf(String(words)));
    }
    // A match that has just been deleted has no tier.
    const order = (rank: number): number => tier_of.get(rank) ?? tiers.length;
    return [...matches].sort((a, b) => order(a) - order(b));
  }

  /**
   * Reads the documents at these ranks, in this order. Checks the conditions on keys again: another process may have
   * written since the ranks were read, and a document that is now private, or of another store, must not be shown.
   */
  private async documents(
    ranks: readonly number[],
    { parts = [], where }: WordSearch,
  ): Promise<StoredDocument[]> {
    if (ranks.length === 0) return [];
    const condition = conditionSql(this.table, where, 'd');
    const sql = `SELECT ${selectionOf(this.table, parts).columns}, e.rank FROM json_each(?) AS page
      CROSS JOIN ${this.names.entries} AS e ON e.rank = page.value
      CROSS JOIN ${this.table.name} AS d ON d.rowid = e.row WHERE ${condition.sql}`;
    const parameters = [JSON.stringify(ranks), ...condition.parameters];
    const places = new Map(ranks.map((rank, place) => [rank, place]));
    const placeOf = (row: SqlRow): number => places.get(Number(row.at(-1)))!;
    return this.entries.run(() => {
      const rows = this.connection.all(sql, parameters);
      return toDocuments(
        this.table,
        parts,
        rows.sort((a, b) => placeOf(a) - placeOf(b)),
      );
    });
  }

  /**
   * Returns the matches that some document of the scope has. The vocabulary may also have words of former documents, but
   * rarely: a write removes those that no document has any more, except some of a very long text.
   */
  async existing(matches: readonly WordMatch[], limit: number): Promise<WordMatch[]> {
    const candidates = await this.entries.run(() => this.inVocabulary(matches));
    const existing: WordMatch[] = [];
    for (const match of candidates) {
      if (existing.length === limit) break;
      if (await this.entries.exists(this.anyOf([match]))) existing.push(match);
    }
    return existing;
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

  /** Returns the expression that matches `terms` and the conditions. */
  private expressionOf(terms: WordTerms): Expression {
    const { all, none } = this.conditions;
    const groups = [
      ...terms.map((matches) => this.anyOf(matches)),
      ...all.map((term) => this.entries.inAnyTag(term)),
    ];
    return {
      all: groups.length > 0 ? groups : [this.entries.inAnyTag(everyTerm())],
      none: none.map((term) => this.entries.inAnyTag(term)),
    };
  }

  private anyOf(matches: readonly WordMatch[]): Group {
    const terms = this.tags.flatMap((tag) => {
      const of_scope = new Set(matches.flatMap((match) => this.termsOf(tag, match)));
      return [...of_scope].slice(0, GROUP_WORDS_MAX);
    });
    // Without matches, no document must be found. A tag alone finds none, because no term is empty.
    return terms.length === 0 ? [`"${tagText(this.tags[0]!)}"`] : terms;
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
  const by_terms: Record<string, KeyCondition> = {};
  const rest: Record<string, KeyCondition> = {};
  for (const [key, condition] of Object.entries(where)) {
    const n = filters.indexOf(key);
    const excluded = excludedValue(condition);
    if (Object.hasOwn(scope, key) && isSame(scope[key], condition)) continue;
    const is_one = condition !== null && typeof condition !== 'object';
    if (n >= 0 && (is_one || excluded !== null)) by_terms[key] = condition;
    if (n >= 0 && is_one) all.push(filterTerm(n, condition));
    else if (n >= 0 && excluded !== null) none.push(filterTerm(n, excluded));
    else if (key === 'id' && excluded !== null)
      without_rank = readEntry(connection, table, String(excluded))?.rank ?? 0;
    else rest[key] = condition;
  }
  return { all, none, without_rank, filters: by_terms, rest };
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
