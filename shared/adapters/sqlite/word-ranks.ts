import { endLongTurn } from '../../kernel/async';

/*
 * A search finds documents by their ranks in the index of words: the newer the document, the higher its rank. Lists of
 * ranks are read from the newest on, in chunks, only as far as the search needs them. No statement reads more than a chunk,
 * and other work of the process runs between two statements.
 */

/**
 * Ranks in a first chunk. Each further chunk of a list has four times as many, at most `CHUNK_MAX`: about 0.5 ms. A statement
 * takes 0.05 to 0.1 ms even if it reads one rank.
 */
const CHUNK_MIN = 256;
const CHUNK_MAX = 4_096;
/** So many look-ups are made before other work of the process may run: less than 1 ms. */
const LOOKUPS_AT_ONCE = 4_096;

/** So many matches are checked at once: about 1 ms. */
const CHECKED_AT_ONCE = 500;

/** Returns those of the ranks whose documents fulfil a condition that no list expresses, in the same order. */
export type Check = (ranks: readonly number[]) => Promise<readonly number[]>;

/** A limit for the entries that one search reads, so that its cost has a bound however frequent the words are. */
export class Budget {
  private entries: number;

  constructor(entries: number) {
    this.entries = entries;
  }

  get is_spent(): boolean {
    return this.entries <= 0;
  }

  charge(entries: number): void {
    this.entries -= entries;
  }
}

/** The ranks of a list from `highest` down to, but not including, `below`, in descending order. */
interface Chunk {
  readonly highest: number;
  readonly ranks: readonly number[];
  /** The highest rank that may be on the list and was not read; 0 at the end of the list. */
  readonly below: number;
}

/**
 * Reads a chunk of about `size` ranks, or of a part of the index with about so many documents. `entries`: how many entries of
 * the index it may have read.
 */
export type ReadChunk = (
  highest: number,
  size: number,
) => Promise<Pick<Chunk, 'ranks' | 'below'> & { readonly entries: number }>;

/** The ranks that a search has read of one list, such as those of the documents that have a word. */
export class RankList {
  private readonly readChunk: ReadChunk;
  private readonly chunks: Chunk[] = [];
  private size: number;

  /** `size`: ranks in the first chunk. */
  constructor(readChunk: ReadChunk, size = CHUNK_MIN) {
    this.readChunk = readChunk;
    this.size = size;
  }

  /** Returns the highest rank of the list at or below `rank`; 0 if there is none, and undefined if it was not read yet. */
  find(rank: number): number | undefined {
    for (let highest = rank; ; ) {
      const chunk = this.chunkAt(highest);
      if (!chunk) return undefined;
      const found = firstAtOrBelow(chunk.ranks, highest);
      if (found !== undefined) return found;
      if (chunk.below === 0) return 0;
      highest = chunk.below;
    }
  }

  /** Reads the next chunk that `find` needs to answer for `rank`. Returns how many entries it may have read. */
  async read(rank: number): Promise<number> {
    let highest = rank;
    for (let chunk = this.chunkAt(highest); chunk; chunk = this.chunkAt(highest)) highest = chunk.below;
    const { entries, ...chunk } = await this.readChunk(highest, this.size);
    // First in the array, because searches go on from here.
    this.chunks.unshift({ highest, ...chunk });
    this.size = Math.min(4 * this.size, CHUNK_MAX);
    return entries;
  }

  private chunkAt(rank: number): Chunk | undefined {
    for (const chunk of this.chunks) if (rank <= chunk.highest && rank > chunk.below) return chunk;
    return undefined;
  }
}

function firstAtOrBelow(ranks: readonly number[], rank: number): number | undefined {
  let low = 0;
  let high = ranks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranks[middle]! <= rank) high = middle;
    else low = middle + 1;
  }
  return ranks[low];
}

/** Finds the ranks that are in all of some lists, in none of some others and pass the check, from the highest one on. */
export class Intersection {
  /** True if the budget ended before the lists did. Older documents may match, too. */
  is_cut = false;
  private readonly all: readonly RankList[];
  private readonly none: readonly RankList[];
  private readonly budget: Budget;
  private readonly check: Check | undefined;
  private readonly found: number[] = [];
  /** How many of the found ranks were checked. */
  private checked = 0;
  /** The highest rank that was not looked at; 0 at the end. */
  private next = Number.MAX_SAFE_INTEGER;

  constructor(all: readonly RankList[], none: readonly RankList[], budget: Budget, check?: Check) {
    this.all = all;
    this.none = none;
    this.budget = budget;
    this.check = check;
  }

  /** Returns the highest matching ranks, at most `limit`. */
  async highest(limit: number): Promise<readonly number[]> {
    while (this.found.length < limit && this.next > 0 && !this.is_cut) {
      await endLongTurn();
      const end = this.check ? Math.min(limit, this.checked + CHECKED_AT_ONCE) : limit;
      const list = this.advance(end);
      this.is_cut = list !== undefined && this.budget.is_spent;
      const is_end = this.found.length >= end || this.is_cut || this.next === 0;
      if (this.check && is_end) await this.checkFound(this.check);
      if (list && !this.is_cut) this.budget.charge(await list.read(this.next));
    }
    return this.found.slice(0, limit);
  }

  private async checkFound(check: Check): Promise<void> {
    this.found.push(...(await check(this.found.splice(this.checked))));
    this.checked = this.found.length;
  }

  /**
   * Goes on until there are `limit` ranks, or for `LOOKUPS_AT_ONCE`. Returns the list that must be read at `next` before, if
   * there is one.
   */
  private advance(limit: number): RankList | undefined {
    let lookups = 0;
    while (this.found.length < limit && this.next > 0) {
      for (let n = 0, agreed = 0; agreed < this.all.length && this.next > 0; n = (n + 1) % this.all.length) {
        if (lookups++ === LOOKUPS_AT_ONCE) return undefined;
        const rank = this.all[n]!.find(this.next);
        if (rank === undefined) return this.all[n];
        agreed = rank === this.next ? agreed + 1 : 1;
        this.next = rank;
      }
      let is_excluded = this.next === 0;
      for (const list of this.none) {
        const rank = this.next > 0 ? list.find(this.next) : 0;
        if (rank === undefined) return list;
        is_excluded ||= rank === this.next;
      }
      if (!is_excluded) this.found.push(this.next);
      this.next = Math.max(0, this.next - 1);
    }
    return undefined;
  }
}
