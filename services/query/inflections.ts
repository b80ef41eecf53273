/*
 * Plurals of English, Spanish, Portuguese, French and German. Stores do not say their language, so a word has the forms of
 * all of them. The endings are those of folded words, without accents.
 */

/** The endings of a singular and of its plural. */
const ENDINGS: readonly (readonly [singular: string, plural: string])[] = [
  ...([
    ['', 's'],
    ['', 'es'],
    ['y', 'ies'],
    ['f', 'ves'],
    ['fe', 'ves'],
  ] as const),
  ...([
    ['z', 'ces'],
    ['ao', 'oes'],
    ['ao', 'aes'],
    ['m', 'ns'],
    ['l', 'is'],
  ] as const),
  ...([
    ['', 'x'],
    ['al', 'aux'],
  ] as const),
];
/** Endings that many other words have, too. */
const OF_LONG_WORDS: typeof ENDINGS = [
  ['', 'e'],
  ['', 'n'],
  ['', 'en'],
];

const LENGTH_MIN = 3;
const LONG = 5;

/** Returns the other forms of a token: the plurals if it may be a singular, and the singulars if it may be a plural. */
export function inflectionsOf(token: string): string[] {
  if (!/^[a-z]+$/.test(token)) return [];
  const endings = token.length < LONG ? ENDINGS : [...ENDINGS, ...OF_LONG_WORDS];
  const forms = endings.flatMap((pair) => [
    ...replaced(token, ...pair),
    ...replaced(token, ...([...pair].reverse() as [string, string])),
  ]);
  return [...new Set(forms)].filter((form) => form.length >= LENGTH_MIN && form !== token);
}

const replaced = (token: string, ending: string, other: string): string[] =>
  token.endsWith(ending) ? [token.slice(0, token.length - ending.length) + other] : [];
