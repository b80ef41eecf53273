import {
  isPlainWord,
  titleBeginning,
  titleWord,
  titleWordsOf,
  wholeTitle,
} from '../../shared/catalog/search/words';
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

/** So many words of the title, and of the description, are compared: it stays a handful of looks into the index. */
const COMPARED_WORDS_MAX = 4;

/** Words that join others say nothing of what a product is; shorter ones are left out anyway. */
const JOINING_WORDS = new Set(
  [
    'all and any are but can for from has her his its not one our out she that the this was were with you your',
    'como con del desde ella entre esta este hay las los mas muy ninguna para pero por que sin sobre sus una unas uno unos',
    'aus bei das dem den der des die ein eine einem einen einer fur ist mit nicht oder sie sind und vom von zum zur',
    'avec dans elle est les mais nos par pas pour que qui sur une vos aux ces ses sont com dos das nao uma umas uns',
  ].flatMap((line) => line.split(' ')),
);

/**
 * Nearest first: what shares the most words of the title, then the most of the description, then everything else.
 * Of both the longest words are compared, which are seldom the commonest. Where a shared word stands in the other
 * publication does not matter.
 */
export function relatedTiers(words: readonly string[]): WordTerms[] {
  const in_title = titleWordsOf(words);
  const title = telling(in_title);
  const description = telling(words.filter((word) => isPlainWord(word) && !in_title.includes(word)));
  return [
    ...fewerAndFewer(title),
    // Whatever shares a word of the title came before, and each tier fits what those before it fit.
    ...fewerAndFewer(description).map((terms) => terms.map((matches) => [...matches, ...title.flat()])),
    [],
  ];
}

/** All of the terms, then all but any one, down to one of them. */
function fewerAndFewer(terms: WordTerms): WordTerms[] {
  return terms.map((_, missing) => atLeast(terms.length - missing, terms));
}

function telling(words: readonly string[]): WordTerms {
  const kept = words.filter((word) => /\p{L}/u.test(word) && isLong(word) && !JOINING_WORDS.has(word));
  const longest = kept.sort((a, b) => b.length - a.length || (a < b ? -1 : 1)).slice(0, COMPARED_WORDS_MAX);
  return longest.map((word) => [{ word }]);
}

/** In scripts without spaces, words are pairs of letters. */
const isLong = (word: string): boolean => word.length >= 3 || /^[^\p{Script=Latin}\d]{2}$/u.test(word);

/** One edit in a shorter word is as likely another word. */
const LETTERS_MIN = 5;

/** Letters that may stand in for another, by script and after folding; in other scripts none is guessed. */
const ALPHABETS: readonly (readonly [RegExp, string])[] = [
  [/\p{Script=Latin}/u, 'abcdefghijklmnopqrstuvwxyz'],
  [/\p{Script=Cyrillic}/u, 'абвгдежзийклмнопрстуфхцчшщъыьэюяієґјљњћџђ'],
  [/\p{Script=Greek}/u, 'αβγδεζηθικλμνξοπρστυφχψω'],
  [/\p{Script=Hebrew}/u, 'אבגדהוזחטיךכלםמןנסעףפץצקרשת'],
  [/\p{Script=Arabic}/u, 'ءابةتثجحخدذرزسشصضطظعغفقكلمنهوىيپچژکگی'],
];

/**
 * Every word one edit away from a folded one: a letter too many, one missing, another one, or two neighbours swapped
 * (decisions §5, "Search"). None of a word of fewer than five letters, nor of one with a digit, for a number that is
 * one off is another number. How many there are depends on the word alone: some hundreds.
 */
export function oneEditAway(word: string): string[] {
  const letters = [...word];
  if (letters.length < LETTERS_MIN || /\p{N}/u.test(word)) return [];
  const found = new Set<string>();
  for (let at = 0; at <= letters.length; at++) {
    const [before, letter, next] = [letters.slice(0, at).join(''), letters[at], letters[at + 1]];
    const from = (index: number): string => letters.slice(index).join('');
    for (const other of alphabetOf(word)) {
      found.add(before + other + from(at));
      if (letter !== undefined) found.add(before + other + from(at + 1));
    }
    if (letter !== undefined) found.add(before + from(at + 1));
    if (letter !== undefined && next !== undefined) found.add(before + next + letter + from(at + 2));
  }
  found.delete(word);
  return [...found];
}

function alphabetOf(word: string): string {
  const alphabets = ALPHABETS.filter(([script]) => script.test(word));
  return alphabets.map(([, letters]) => letters).join('');
}
