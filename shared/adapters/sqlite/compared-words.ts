import type { WordMatch, WordTerms } from '../../ports/view-store';

/*
 * Finds the documents that have the most of some words, from lists of the documents that have each word. A search of the
 * index for each combination of the words would read the same entries again and again.
 */

/** Tiers that can be found by the entries of these words. */
export interface Stage {
  readonly tiers: readonly WordTerms[];
  readonly matches: readonly WordMatch[];
}

/** The most words of a search: each is a bit of a number. */
export const COMPARED_WORDS_MAX = 30;

const nameOf = ({ word, prefix }: WordMatch): string => (prefix ? `${word} *` : word);

/** Divides the tiers before those that have further words. Each stage has the tiers and words of the stages before it. */
export function stagesOf(tiers: readonly WordTerms[]): Stage[] {
  const stages: Stage[] = [];
  const known = new Map<string, WordMatch>();
  for (const [n, terms] of tiers.entries()) {
    const count = known.size;
    for (const matches of terms) for (const match of matches) known.set(nameOf(match), match);
    if (known.size === count) stages.pop();
    stages.push({ tiers: tiers.slice(0, n + 1), matches: [...known.values()] });
  }
  return stages;
}

/**
 * Returns a function that returns the index of the first tier that a document matches, or -1. A bit is set for each of
 * these words that the document has.
 */
function tierFinderOf({ tiers, matches }: Stage): (bits: number) => number {
  const bitOf = new Map(matches.map((match, n) => [nameOf(match), 1 << n]));
  const masks = tiers.map((terms) =>
    terms.map((group) => group.reduce((mask, match) => mask | bitOf.get(nameOf(match))!, 0)),
  );
  return (bits) => masks.findIndex((groups) => groups.every((mask) => (mask & bits) !== 0));
}

/** Descending ranks. */
export type Ranks = Uint32Array | Float64Array;

/** Returns descending ranks in half of the memory, unless a rank is too large for that. */
export const ranksFrom = (ranks: readonly number[]): Ranks =>
  (ranks[0] ?? 0) < 2 ** 32 ? Uint32Array.from(ranks) : Float64Array.from(ranks);

/** What `firstByTier` sorts. */
export interface ComparedWords {
  /** For each word of the stage, the documents that have it. */
  readonly words: readonly Ranks[];
  /** A document must be in each of these. */
  readonly all: readonly Ranks[];
  /** It must be in none of these. */
  readonly none: readonly Ranks[];
  readonly without_rank: number;
}

/**
 * Returns the first `count` documents that have one of the stage's words. Those with a lower tier come first, then those
 * with a higher rank.
 */
export function firstByTier(
  { words, all, none, without_rank }: ComparedWords,
  stage: Stage,
  count: number,
): number[] {
  const tierOf = tierFinderOf(stage);
  const lists = words.map((ranks) => none.reduce(withoutThose, all.reduce(onlyThose, ranks)));
  // Local arrays of numbers instead of objects make this loop five times faster.
  const places = new Int32Array(lists.length);
  const heads = Float64Array.from(lists, (ranks) => ranks[0] ?? 0);
  const found = stage.tiers.map((): number[] => []);
  const tiers: number[] = [];
  // A full first tier does not change any more, because the ranks descend.
  while (found[0]!.length < count) {
    let rank = 0;
    for (let n = 0; n < heads.length; n++) if (heads[n]! > rank) rank = heads[n]!;
    if (rank === 0) break;
    let bits = 0;
    for (let n = 0; n < heads.length; n++)
      if (heads[n] === rank) {
        bits |= 1 << n;
        const ranks = lists[n]!;
        const place = ++places[n]!;
        // To read beyond the end of an array is slow.
        heads[n] = place < ranks.length ? ranks[place]! : 0;
      }
    if (rank === without_rank) continue;
    tiers[bits] ??= tierOf(bits);
    const ranks = found[tiers[bits]!];
    if (ranks && ranks.length < count) ranks.push(rank);
  }
  return found.flat().slice(0, count);
}

/** Returns the distinct ranks of all lists. */
export function union(lists: readonly Ranks[]): Ranks {
  if (lists.length === 1) return lists[0]!;
  const distinct = new Set(lists.flatMap((ranks) => [...ranks]));
  return ranksFrom([...distinct].sort((a, b) => b - a));
}

const onlyThose = (ranks: Ranks, those: Ranks): Ranks => selected(ranks, those, true);
const withoutThose = (ranks: Ranks, those: Ranks): Ranks => selected(ranks, those, false);

/** Returns the ranks that are in both lists, or only in the first one. */
function selected(ranks: Ranks, those: Ranks, is_in_both: boolean): Ranks {
  const kept = ranks.slice();
  let end = 0;
  let place = 0;
  for (let n = 0; n < ranks.length; n++) {
    const rank = ranks[n]!;
    while (place < those.length && those[place]! > rank) place++;
    if ((place < those.length && those[place] === rank) === is_in_both) kept[end++] = rank;
  }
  return kept.subarray(0, end);
}
