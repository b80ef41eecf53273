import {
  fullTitle,
  isPlainWord,
  TITLE_START_MAX,
  termsOfTexts,
  titleStart,
  titleWord,
  titleWordsOf,
} from '../../shared/catalog/search/words';
import type { WordMatch, WordTerms } from '../../shared/ports/view-store';
import { inflectionsOf } from './inflections';

/** The alternatives for one token of a query: a document must have one of `words`, or a word with one of `prefixes`. */
export interface QueryToken {
  readonly words: readonly string[];
  readonly prefixes: readonly string[];
}

/**
 * Returns the distinct tokens of a query, without alternatives. The last token also matches as a prefix, unless it
 * occurs earlier in the query: `gam gam` does not match _gambit_.
 */
export function exactTokens(tokens: readonly string[]): QueryToken[] {
  return [...new Set(tokens)].map((token) => ({ words: [token], prefixes: prefixesOf(tokens, token) }));
}

/** Returns the token if it is the last one and does not occur earlier. */
function prefixesOf(tokens: readonly string[], token: string): string[] {
  return tokens.indexOf(token) === tokens.length - 1 ? [token] : [];
}

/**
 * Returns the tokens, each with the concatenations with its neighbours as alternatives: `t shirt` also matches
 * `tshirt`, `mac book pr` matches `macbook pro`, `yo yo` matches `yoyo`. Returns undefined for a single token.
 */
export function joinedTokens(tokens: readonly string[]): QueryToken[] | undefined {
  if (tokens.length < 2) return undefined;
  const end = tokens.length - 1;
  return tokens.map((token, index) => {
    const pairs = [index - 1, index].filter((first) => first >= 0 && first < end);
    const joined = (first: number): string => tokens[first]! + tokens[first + 1]!;
    return {
      words: [token, ...pairs.map(joined)],
      prefixes: [...prefixesOf(tokens, token), ...pairs.filter((first) => first + 1 === end).map(joined)],
    };
  });
}

/** The shortest part of a token that is taken for a word. */
const PART_LENGTH_MIN = 2;

/** Returns the two parts of a token at each place where it may be split, the most equal parts first. */
export function partsOf(token: string): [left: string, right: string][] {
  const letters = [...token];
  const ends = letters.map((_, end) => end).slice(PART_LENGTH_MIN, 1 - PART_LENGTH_MIN);
  return ends
    .sort((a, b) => Math.abs(2 * a - letters.length) - Math.abs(2 * b - letters.length))
    .map((end) => [letters.slice(0, end).join(''), letters.slice(end).join('')]);
}

/**
 * For a query with more tokens, only whether a token is in the title affects the rank, not how many are. To count them,
 * `atLeast` needs all combinations of tokens, whose number grows too fast.
 */
const COUNTED_TOKENS_MAX = 4;

/**
 * Returns the relevance tiers of a query, the best first (docs/interface/search.md). Each tier matches everything that
 * the tiers before it match:
 *
 * 1. the title is the query,
 * 2. the title begins with the query (with its first `TITLE_START_MAX` tokens, and it has the others as full words),
 * 3. the same, the last token possibly as a prefix,
 * 4. the title has all tokens, and the last one is a full word or the title begins with the query,
 * 5. the same, a token possibly with another ending (`endingsOf`),
 * 6. the title has all tokens, the last one possibly as a prefix,
 * 7. all tokens are somewhere (with another ending only in the title), and the title has at least n − 1 of them, then n − 2, and so on down to 1 (for long
 *    queries only 1, see `COUNTED_TOKENS_MAX`),
 * 8. the same, and the last one is a full word or a token is in the title,
 * 9. the same,
 * 10. all tokens are somewhere, possibly with another ending,
 * 11. with `labels`: the same, or a token names a listing of the document.
 *
 * `endingsOf` returns the other forms of a token. `labels`: for each token, the labels of the listings that the token names.
 * `languages`: what the terms in the language of the request begin with (`wordsIn`). Each word may then be in this language or
 * in the default locale. The tiers with titles in the language come first, for documents with a token in a text of it. All others
 * follow in tiers with titles in the default locale.
 */
export function searchTiers(
  tokens: readonly string[],
  alternatives: readonly QueryToken[],
  labels?: readonly (readonly WordMatch[])[],
  endingsOf: (token: string) => readonly string[] = inflectionsOf,
  languages: readonly string[] = [],
): WordTerms[] {
  const endings = alternatives.map(({ words }) => endingsOf(words[0]!));
  const query = { tokens: [...new Set(tokens)], alternatives, labels, endings };
  const anywhere = [...languages, DEFAULT_LANGUAGE];
  const tiers = tiersIn([DEFAULT_LANGUAGE], anywhere, query);
  if (languages.length === 0) return tiers;
  const all = tiers.pop()!;
  const in_language = alternatives.flatMap(({ words, prefixes }, index) =>
    matchesOf({ words: [...words, ...endings[index]!], prefixes }, languages),
  );
  const titles = tiersIn(languages, anywhere, query).map((terms) => [...terms, in_language]);
  const others = tiers.map((terms) => [...all, ...terms.map((matches) => [...matches, ...in_language])]);
  return [...titles, ...others, all];
}

/** What the terms in the default locale begin with. */
export const DEFAULT_LANGUAGE = '';

interface TierQuery {
  readonly tokens: readonly string[];
  readonly alternatives: readonly QueryToken[];
  readonly labels: readonly (readonly WordMatch[])[] | undefined;
  /** For each token. */
  readonly endings: readonly (readonly string[])[];
}

/** Returns the tiers of `searchTiers` with titles in some languages, and words somewhere in others, too. */
function tiersIn(
  titles: readonly string[],
  languages: readonly string[],
  { tokens: query, alternatives, labels, endings }: TierQuery,
): WordTerms[] {
  const full_words = alternatives.map(({ words }) => ({ words, prefixes: [] }));
  const full_words_in_title = full_words.map((token) => matchesOf(token, titles, titleWord));
  const full_in_title = alternatives.map((token) => matchesOf(token, titles, titleWord));
  const other_in_title = endings.map((words) => matchesOf({ words, prefixes: [] }, titles, titleWord));
  const in_title = full_in_title.map((matches, index) => [...matches, ...other_in_title[index]!]);
  const anywhere = alternatives.map((token, index) => [
    ...matchesOf(token, languages),
    ...other_in_title[index]!,
  ]);
  const is_long = query.length > TITLE_START_MAX;
  const starts = titles.map((title) => ({ word: title + titleStart(query.slice(0, TITLE_START_MAX)) }));
  const starts_with_text = is_long ? starts : starts.map((start) => ({ ...start, prefix: true as const }));
  const inflected = alternatives.map(({ words, prefixes }, index) =>
    matchesOf({ words: [...words, ...endings[index]!], prefixes }, languages),
  );
  const last = <Item>(items: readonly Item[]): Item => items[items.length - 1]!;
  return [
    [titles.map((title) => ({ word: title + fullTitle(query) }))],
    [starts, ...(is_long ? full_words_in_title : [])],
    [starts_with_text, ...full_in_title],
    [...full_in_title, [...last(full_words_in_title), ...starts_with_text]],
    [...in_title, [...last(full_words_in_title), ...last(other_in_title), ...starts_with_text]],
    in_title,
    ...titleCounts(alternatives.length).map((count) => [...anywhere, ...atLeast(count, in_title)]),
    [...anywhere, [...in_title.flat(), ...matchesOf(last(full_words), languages)]],
    anywhere,
    inflected,
    ...(labels ? [inflected.map((matches, index) => [...matches, ...labels[index]!])] : []),
  ];
}

/** Consecutive tokens of a query, and the names of listings that they may be, without case and accents. */
export interface NamePhrase {
  readonly first: number;
  readonly end: number;
  readonly names: readonly string[];
}

/** The most words of a listing's name that a query finds. */
const NAME_WORDS_MAX = 3;

/** Returns the phrases of one to `NAME_WORDS_MAX` tokens. The last token of each may have another ending. */
export function namePhrases(tokens: readonly string[]): NamePhrase[] {
  return tokens.flatMap((_, first) =>
    tokens.slice(first, first + NAME_WORDS_MAX).map((last, index) => {
      const end = first + index + 1;
      const before = tokens.slice(first, end - 1);
      const names = [last, ...inflectionsOf(last)].map((form) => [...before, form].join(' '));
      return { first, end, names };
    }),
  );
}

/**
 * Returns terms that match a document if at least `count` of the given terms match it. They require a match in every
 * combination of `terms.length - count + 1` terms. If `count` terms match, at most `terms.length - count` do not, which
 * are too few to fill a combination; so every combination has a match.
 */
export function atLeast(count: number, terms: WordTerms): WordTerms {
  return combinations(terms, terms.length - count + 1).map((combination) => combination.flat());
}

function titleCounts(tokens: number): number[] {
  if (tokens > COUNTED_TOKENS_MAX) return [1];
  return Array.from({ length: tokens - 1 }, (_, missing) => tokens - 1 - missing);
}

function combinations<Item>(items: readonly Item[], size: number): Item[][] {
  if (size === 0) return [[]];
  // The first item of a combination must have at least `size - 1` items after it.
  const firsts = items.slice(0, items.length - size + 1);
  return firsts.flatMap((first, index) =>
    combinations(items.slice(index + 1), size - 1).map((rest) => [first, ...rest]),
  );
}

function matchesOf(
  { words, prefixes }: QueryToken,
  languages: readonly string[],
  termOf: (word: string) => string = (word) => word,
): WordMatch[] {
  const termsOf = (word: string) => languages.map((language) => language + termOf(word));
  return [
    ...words.flatMap(termsOf).map((word) => ({ word })),
    ...prefixes.flatMap(termsOf).map((word) => ({ word, prefix: true as const })),
  ];
}

/** Maximum number of words to compare of the title, and of the description. Bounds the number of index look-ups. */
const COMPARED_TERMS_MAX = 4;

/**
 * Stop words of English, Spanish, German, French and Portuguese, with three or more letters: shorter words are excluded
 * anyway.
 */
const STOP_WORDS = new Set(
  [
    'all and any are but can for from has her his its not one our out she that the this was were with you your',
    'como con del desde ella entre esta este hay las los mas muy ninguna para pero por que sin sobre sus una unas uno unos',
    'aus bei das dem den der des die ein eine einem einen einer fur ist mit nicht oder sie sind und vom von zum zur',
    'avec dans elle est les mais nos par pas pour que qui sur une vos aux ces ses sont com dos das nao uma umas uns',
  ].flatMap((line) => line.split(' ')),
);

/**
 * Returns the words by which a publication with these terms is compared with others: the longest ones of its title and of
 * its description, because long words are rarely frequent.
 */
export function comparedWords(words: readonly string[]): string[] {
  const in_title = titleWordsOf(words);
  const in_description = termsOfTexts(words).filter((word) => isPlainWord(word) && !in_title.includes(word));
  return [...longestOf(in_title), ...longestOf(in_description)];
}

/** Returns the longest terms that contain a letter, are long enough and are not stop words. */
function longestOf(words: readonly string[]): string[] {
  return words
    .filter((word) => /\p{L}/u.test(word) && isLong(word) && !STOP_WORDS.has(word))
    .sort((a, b) => b.length - a.length || (a < b ? -1 : 1))
    .slice(0, COMPARED_TERMS_MAX);
}

/** At least three characters, or two in a script without spaces, whose terms are pairs of letters. */
const isLong = (word: string): boolean => word.length >= 3 || /^[^\p{Script=Latin}\d]{2}$/u.test(word);
