import { titleBeginning, titleWord, wholeTitle } from '../../shared/catalog/search/words';
import type { WordMatch, WordTerms } from '../../shared/ports/view-store';

/** What a word of a query may be found as: one of these words, or one that begins with one of those. */
export interface Wanted {
  readonly words: readonly string[];
  readonly beginnings: readonly string[];
}

/**
 * A query without mistakes, as it was typed: each word itself, once, the last one also as a beginning. Not where it was
 * typed before, for there it must be a word: `gam gam` does not find _gambit_.
 */
export function wantedWords(typed: readonly string[]): Wanted[] {
  return [...new Set(typed)].map((word) => ({ words: [word], beginnings: begun(typed, word) }));
}

/** The word where it is the last, and typed only there. */
function begun(typed: readonly string[], word: string): string[] {
  return typed.indexOf(word) === typed.length - 1 ? [word] : [];
}

/**
 * A query of which neighbours may be one word, written apart: `t shirt` is also found as `tshirt`, `mac book pr` as
 * `macbook pro`, `yo yo` as `yoyo`. Undefined where it has no neighbours.
 */
export function writtenTogether(typed: readonly string[]): Wanted[] | undefined {
  if (typed.length < 2) return undefined;
  const end = typed.length - 1;
  return typed.map((word, index) => {
    const pairs = [index - 1, index].filter((first) => first >= 0 && first < end);
    const together = (first: number): string => typed[first]! + typed[first + 1]!;
    return {
      words: [word, ...pairs.map(together)],
      beginnings: [...begun(typed, word), ...pairs.filter((first) => first + 1 === end).map(together)],
    };
  });
}

/** Of longer queries it counts whether one word is in the title, not how many: the ways to choose some are too many. */
const COUNTED_WORDS_MAX = 4;

/**
 * Best first (decisions §5): the query is the title; the title begins with it; all of it is in the title; the same two
 * with no more than the beginning of the last word; then the more of it in the title the better; then the last word
 * whole rather than begun; then anything that has every word somewhere. Each tier fits all that those before it fit.
 */
export function searchTiers(typed: readonly string[], wanted: readonly Wanted[]): WordTerms[] {
  const query = [...new Set(typed)];
  const whole_words = wanted.map(({ words }) => ({ words, beginnings: [] }));
  const whole_in_title = whole_words.map((one) => matchesOf(one, titleWord));
  const in_title = wanted.map((one) => matchesOf(one, titleWord));
  const anywhere = wanted.map((one) => matchesOf(one));
  const is_title = { word: wholeTitle(query) };
  const begins_title = { word: titleBeginning(query), prefix: true as const };
  const title_begun = { word: wholeTitle(query), prefix: true as const };
  const last = <Item>(items: readonly Item[]): Item => items[items.length - 1]!;
  return [
    [[is_title]],
    [[is_title, begins_title]],
    whole_in_title,
    [...in_title, [...last(whole_in_title), title_begun]],
    in_title,
    ...counts(wanted.length).map((count) => [...anywhere, ...atLeast(count, in_title)]),
    [...anywhere, [...in_title.flat(), ...matchesOf(last(whole_words))]],
    anywhere,
  ];
}

/** Fits what at least `count` of the terms fit: of any that may be missing and one more, one is there. */
export function atLeast(count: number, terms: WordTerms): WordTerms {
  return choices(terms, terms.length - count + 1).map((some) => some.flat());
}

function counts(words: number): number[] {
  if (words > COUNTED_WORDS_MAX) return [1];
  return Array.from({ length: words - 1 }, (_, missing) => words - 1 - missing);
}

function choices<Item>(items: readonly Item[], size: number): Item[][] {
  if (size === 0) return [[]];
  // The first of a choice leaves enough behind it for the others.
  const firsts = items.slice(0, items.length - size + 1);
  return firsts.flatMap((first, index) =>
    choices(items.slice(index + 1), size - 1).map((rest) => [first, ...rest]),
  );
}

function matchesOf(
  { words, beginnings }: Wanted,
  mark: (word: string) => string = (word) => word,
): WordMatch[] {
  return [
    ...words.map((word) => ({ word: mark(word) })),
    ...beginnings.map((word) => ({ word: mark(word), prefix: true as const })),
  ];
}
