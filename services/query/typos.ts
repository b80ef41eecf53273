import type { WordMatch } from '../../shared/ports/view-store';
import type { QueryToken } from './search-terms';

/** Typo tolerance starts at this length. In a shorter word, one edit often makes another word. */
const FUZZY_LETTERS_MIN = 5;

/** Letters to insert or substitute, by script, after folding. Other scripts only get deletions and transpositions. */
const ALPHABETS: readonly (readonly [RegExp, string])[] = [
  [/\p{Script=Latin}/u, 'abcdefghijklmnopqrstuvwxyz'],
  [/\p{Script=Cyrillic}/u, 'абвгдежзийклмнопрстуфхцчшщъыьэюяієґјљњћџђ'],
  [/\p{Script=Greek}/u, 'αβγδεζηθικλμνξοπρστυφχψω'],
  [/\p{Script=Hebrew}/u, 'אבגדהוזחטיךכלםמןנסעףפץצקרשת'],
  [/\p{Script=Arabic}/u, 'ءابةتثجحخدذرزسشصضطظعغفقكلمنهوىيپچژکگی'],
];

/**
 * Returns every word at edit distance 1 (optimal string alignment) from a folded word: one letter inserted, deleted or
 * substituted, or two adjacent letters transposed (docs/interface/search.md). Returns none for a word with fewer than
 * `FUZZY_LETTERS_MIN` letters, or with a digit, because another number is not a typo. Typically returns a few hundred
 * words.
 */
export function oneEditAway(word: string): string[] {
  const letters = [...word];
  if (letters.length < FUZZY_LETTERS_MIN || /\p{N}/u.test(word)) return [];
  const words = new Set<string>();
  const alphabet = alphabetOf(letters);
  for (let index = 0; index <= letters.length; index++) {
    const [before, letter, next] = [letters.slice(0, index).join(''), letters[index], letters[index + 1]];
    const rest = (start: number): string => letters.slice(start).join('');
    for (const other of alphabet) {
      words.add(before + other + rest(index));
      if (letter !== undefined) words.add(before + other + rest(index + 1));
    }
    if (letter !== undefined) words.add(before + rest(index + 1));
    if (letter !== undefined && next !== undefined) words.add(before + next + letter + rest(index + 2));
  }
  words.delete(word);
  return [...words];
}

/**
 * Returns the letters of one script: of the one that most letters of the word belong to. A typo rarely changes the
 * script, and the letters of all scripts in a word would multiply the number of words to look up.
 */
function alphabetOf(letters: readonly string[]): string {
  let [alphabet, most] = ['', 0];
  for (const [script, script_letters] of ALPHABETS) {
    const count = letters.filter((letter) => script.test(letter)).length;
    if (count > most) [alphabet, most] = [script_letters, count];
  }
  return alphabet;
}

/** Tokens of a query for which typo tolerance looks up candidates. */
const FUZZY_TOKENS_MAX = 8;
/** Look-ups for all tokens of a query together. Enough for eight words of ten Latin letters. */
const LOOKUPS_MAX = 6_000;

/** The words to look up for one token of a query. */
export interface Typo {
  /** Index of the token among the distinct tokens. */
  readonly token: number;
  readonly matches: readonly WordMatch[];
}

/**
 * Returns the words to look up for each distinct token: those at edit distance 1, for the last token also as prefixes.
 * Leaves out tokens without typo tolerance, and tokens whose words would exceed `LOOKUPS_MAX` together with those before.
 * `languages`: in how many languages each word is looked up.
 */
export function typosOf(tokens: readonly QueryToken[], languages = 1): Typo[] {
  const typos: Typo[] = [];
  let lookups = 0;
  for (const [token, { words, prefixes }] of tokens.entries()) {
    if (typos.length === FUZZY_TOKENS_MAX) break;
    const similar = words.flatMap(oneEditAway);
    const matches = [
      ...similar.map((word) => ({ word })),
      ...(prefixes.length > 0 ? similar.map((word) => ({ word, prefix: true as const })) : []),
    ];
    const more = matches.length * languages;
    if (more === 0 || lookups + more > LOOKUPS_MAX) continue;
    lookups += more;
    typos.push({ token, matches });
  }
  return typos;
}
