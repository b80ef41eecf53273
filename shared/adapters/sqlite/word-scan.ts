import { endLongTurn } from '../../kernel/async';
import type { SqliteConnection } from './connection';
import { BLOCK_RANKS, blockTerm, everyTerm, type IndexTables, RANK_STEP, tagText } from './word-index';

/*
 * FTS5 steps through the entries of all words of a query until it finds a document that has all of them. If there is
 * none, it does not stop before the end of the index. So a scan estimates from samples how many entries a query needs,
 * and if these are many it reads one span of blocks at a time, and at most as many entries as its budget allows. All of
 * this depends on the index only: the same search returns the same at any speed.
 */

/** The most entries of a block, estimated: about 3 ms. A smallest block may have more. */
const BLOCK_ENTRIES = 100_000;
/** How many of the newest entries of a group show how frequent it is. */
const SAMPLE_ENTRIES = 100;
/** Where else in the index samples are taken before all of it is read. */
const DEEPER_PARTS = [2 / 3, 1 / 3];
/** To look a term up takes as long as to read so many entries. */
const LOOKUP_ENTRIES = 3_000;
/** Entries on a page of the index. A rarer word makes SQLite read a whole page of a frequent word for each entry. */
const PAGE_ENTRIES = 4_000;
/** So many alternatives make a step twice as long. */
const ALTERNATIVES = 8;

/** Terms of the index, quoted. A document matches the group if it has one of them. */
export type Group = readonly string[];

/** Matches a document that matches each group of `all`, and none of `none`. */
export interface Expression {
  readonly all: readonly Group[];
  readonly none: readonly Group[];
}

const anyOf = (group: Group): string => `(${group.join(' OR ')})`;
const whole = ({ all, none }: Expression): string =>
  none.reduce((text, group) => `(${text}) NOT ${anyOf(group)}`, all.map(anyOf).join(' AND '));

/** A limit for the entries that several scans read together. */
export class Budget {
  private entries: number;

  constructor(entries: number) {
    this.entries = entries;
  }

  get remaining(): number {
    return Math.max(0, this.entries);
  }

  get is_spent(): boolean {
    return this.entries <= 0;
  }

  charge(entries: number): void {
    this.entries -= entries;
  }
}

/** Does a part of a search. Lets other work of the process run before it, if searches have held the event loop for long. */
export async function inTurn<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  await endLongTurn();
  return work();
}

/** Reads the entries of an index for one search. Lets other work of the process run between two statements. */
export class EntryReader {
  private readonly names: IndexTables;
  private readonly connection: SqliteConnection;
  private readonly tags: readonly number[];
  private readonly without_rank: number;
  private readonly samples = new Map<string, Promise<Sample | undefined>>();
  private newest_rank: Promise<number> | undefined;

  /** `without_rank`: the rank of a document that is left out; 0 if there is none. */
  constructor(
    connection: SqliteConnection,
    names: IndexTables,
    tags: readonly number[],
    without_rank: number,
  ) {
    this.connection = connection;
    this.names = names;
    this.tags = tags;
    this.without_rank = without_rank;
  }

  run<Result>(statement: () => Result): Promise<Result> {
    return inTurn(() => this.connection.attempt(statement));
  }

  /** The terms with which a term of the index begins in one of the scope's tags. */
  inAnyTag(term: string): Group {
    return this.tags.map((tag) => `"${tagText(tag)}${term}"`);
  }

  /** Returns the newest ranks of a term, also that of the document that is left out otherwise. */
  ranksOf(term: string, limit: number): Promise<number[]> {
    return this.ranks(term, Number.MAX_SAFE_INTEGER, limit, 0);
  }

  /** Returns the newest matching ranks, the newest first. Reads them as one text, because rows are slow to convert. */
  async ranks(
    text: string,
    highest: number,
    limit: number,
    without_rank = this.without_rank,
  ): Promise<number[]> {
    const sql = `SELECT json_group_array(rowid) FROM (${this.newestSql()})`;
    const parameters = this.parameters(text, highest, limit, without_rank);
    const found = await this.run(() => this.connection.value(sql, parameters));
    return (JSON.parse(String(found)) as number[]).sort((a, b) => b - a);
  }

  async count(text: string, highest: number, limit: number): Promise<number> {
    const sql = `SELECT count(*) FROM (${this.newestSql()})`;
    const parameters = this.parameters(text, highest, limit, this.without_rank);
    return Number(await this.run(() => this.connection.value(sql, parameters)));
  }

  private newestSql(): string {
    const { terms } = this.names;
    return `SELECT rowid FROM ${terms} WHERE ${terms} MATCH ? AND rowid <= ? AND rowid <> ?
      ORDER BY rowid DESC LIMIT ?`;
  }

  /** FTS5 ignores a bound that is a floating-point number, as which the driver binds all numbers. */
  private parameters(text: string, highest: number, limit: number, without_rank: number) {
    return [text, BigInt(highest), without_rank, limit];
  }

  /**
   * Returns the first `SAMPLE_ENTRIES` entries of a group from `highest` on downwards. Undefined if there are none. Reads
   * them once per search, because the tiers of a search have groups in common.
   */
  sample(group: Group, highest: number): Promise<Sample | undefined> {
    const text = anyOf(group);
    const name = `${highest} ${text}`;
    const sample = this.samples.get(name) ?? this.readSample(text, highest);
    this.samples.set(name, sample);
    return sample;
  }

  private async readSample(text: string, highest: number): Promise<Sample | undefined> {
    const { terms } = this.names;
    const sql = `SELECT max(rank), min(rank), count(*) FROM (SELECT rowid AS rank FROM ${terms}
      WHERE ${terms} MATCH ? AND rowid <= ? ORDER BY rowid DESC LIMIT ${SAMPLE_ENTRIES})`;
    const row = await this.run(() => this.connection.first(sql, [text, BigInt(highest)]));
    const [newest, oldest, count] = row!.map(Number);
    return count === 0 ? undefined : { newest: newest!, oldest: oldest!, count: count! };
  }

  /** Returns whether a document has one of the terms. */
  async exists(group: Group): Promise<boolean> {
    return (await this.count(anyOf(group), Number.MAX_SAFE_INTEGER, 1)) > 0;
  }

  /** Returns the highest rank of the scope; 0 if it has no documents. */
  newest(): Promise<number> {
    const every = anyOf(this.inAnyTag(everyTerm()));
    this.newest_rank ??= this.ranks(every, Number.MAX_SAFE_INTEGER, 1).then(([rank = 0]) => rank);
    return this.newest_rank;
  }
}

/** The newest entries of a group. */
interface Sample {
  readonly newest: number;
  readonly oldest: number;
  readonly count: number;
}

/** What a scan reads next. */
interface Span {
  readonly text: string;
  /** The highest rank below the span. */
  readonly below: number;
}

/** Reads the matches of one expression, the newest first. */
export class Scan {
  /** True if the budget ended before the index did. Older documents may match, too. */
  is_cut = false;
  private readonly reader: EntryReader;
  private readonly expression: Expression;
  private readonly budget: Budget;
  private readonly found: number[] = [];
  /** The highest rank that is not read yet; undefined before the first span, 0 at the end. */
  private next: number | undefined;

  constructor(reader: EntryReader, expression: Expression, budget: Budget) {
    this.reader = reader;
    this.expression = expression;
    this.budget = budget;
  }

  /** Returns the newest matches, at most `limit`. */
  async newest(limit: number): Promise<readonly number[]> {
    while (this.found.length < limit && this.next !== 0) {
      const span = await this.nextSpan();
      if (!span) break;
      const wanted = limit - this.found.length;
      const ranks = await this.reader.ranks(span.text, this.next ?? Number.MAX_SAFE_INTEGER, wanted);
      if (this.is_single) this.chargeStatement(ranks.length);
      this.found.push(...ranks);
      this.next = ranks.length === wanted ? ranks.at(-1)! - 1 : span.below;
    }
    return this.found.slice(0, limit);
  }

  /** Counts the matches, at most `limit`. */
  async count(limit: number): Promise<number> {
    if (!this.is_single || this.found.length > 0) return (await this.newest(limit)).length;
    this.chargeStatement(limit);
    return this.reader.count(whole(this.expression), Number.MAX_SAFE_INTEGER, limit);
  }

  /** Whether each entry is a match. */
  private get is_single(): boolean {
    return this.expression.all.length === 1 && this.expression.none.length === 0;
  }

  private get groups(): Group[] {
    return [...this.expression.all, ...this.expression.none];
  }

  private chargeStatement(entries: number): void {
    const terms = this.groups.reduce((sum, group) => sum + group.length, 0);
    this.budget.charge(LOOKUP_ENTRIES * terms + entries);
  }

  /** Returns undefined at the end of the matches or of the budget. */
  private async nextSpan(): Promise<Span | undefined> {
    const rest: Span = { text: whole(this.expression), below: 0 };
    if (this.is_single) return rest;
    this.next ??= await this.reader.newest();
    if (this.budget.is_spent) return this.end(true);
    const most = this.budget.remaining;
    let documents = Math.ceil(this.next / RANK_STEP);
    let per_document = this.groups.length;
    if (documents * per_document > most) {
      const samples = await this.samples(this.next);
      if (!samples) return this.end(false);
      // No document above the newest entry of one of the groups can match.
      this.next = Math.min(...samples.slice(0, this.expression.all.length).map((one) => one!.newest));
      documents = Math.ceil(this.next / RANK_STEP);
      per_document = this.entriesPerDocument(samples);
      // The words may be more frequent among older documents.
      for (const part of DEEPER_PARTS) {
        if (documents * per_document > most) break;
        const deeper = await this.samples(Math.floor(this.next * part));
        if (deeper) per_document = Math.max(per_document, this.entriesPerDocument(deeper));
      }
    }
    if (documents * per_document > most)
      // Each document of a block has an entry of the block.
      return this.block(this.next, per_document + 1);
    this.chargeStatement(documents * per_document);
    return rest;
  }

  private end(is_cut: boolean): undefined {
    this.is_cut = is_cut;
    this.next = 0;
  }

  /** Returns the span from `highest` to the end of the largest block that is not too large. */
  private block(highest: number, per_document: number): Span {
    const entriesIn = (size: number): number => Math.ceil(((highest % size) + 1) / RANK_STEP) * per_document;
    const most = Math.min(this.budget.remaining, BLOCK_ENTRIES);
    const size = BLOCK_RANKS.findLast((ranks) => entriesIn(ranks) <= most) ?? BLOCK_RANKS[0];
    this.chargeStatement(entriesIn(size));
    const { all, none } = this.expression;
    const in_block = this.reader.inAnyTag(blockTerm(highest, size));
    return {
      text: whole({ all: [...all, in_block], none }),
      below: Math.max(0, highest - (highest % size) - 1),
    };
  }

  /** Samples each group. Returns undefined if a wanted group has no entries, so that nothing can match. */
  private async samples(highest: number): Promise<(Sample | undefined)[] | undefined> {
    const samples: (Sample | undefined)[] = [];
    for (const group of this.groups) {
      this.budget.charge(LOOKUP_ENTRIES * group.length + SAMPLE_ENTRIES);
      const sample = await this.reader.sample(group, highest);
      if (!sample && samples.length < this.expression.all.length) return undefined;
      samples.push(sample);
    }
    return samples;
  }

  /** Estimates how many entries are read for each document. */
  private entriesPerDocument(samples: readonly (Sample | undefined)[]): number {
    const frequencies = samples.map((sample) => {
      if (!sample) return 0;
      // If these are all entries, they may be anywhere.
      const oldest = sample.count < SAMPLE_ENTRIES ? 0 : sample.oldest;
      return (sample.count * RANK_STEP) / (sample.newest - oldest + RANK_STEP);
    });
    const rarest = Math.min(...frequencies.slice(0, this.expression.all.length));
    return this.groups.reduce((sum, group, n) => {
      const frequency = Math.min(1, frequencies[n]!, PAGE_ENTRIES * rarest);
      return sum + frequency * (1 + (group.length - 1) / ALTERNATIVES);
    }, 0);
  }
}
