/*
 * Plurals of English, Spanish, Portuguese, French and German. A store has no language, so each word gets the
 * forms of all five. The endings are those of folded words, without accents.
 */

/** The endings of a singular and of its plural. */
const ENDINGS: readonly (readonly [singular: string, plural: string])[] = [
  ['', 's'],
  ['', 'es'],
  ['y', 'ies'],
  ['f', 'ves'],
  ['fe', 'ves'],
  ['z', 'ces'],
  ['ao', 'oes'],
  ['ao', 'aes'],
  ['m', 'ns'],
  ['l', 'is'],
  ['', 'x'],
  ['al', 'aux'],
];
/** Endings that only longer words get, because many short words differ by them (`plan`, `plane`). */
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
  const forms = endings.flatMap(([singular, plural]) => [
    ...replaced(token, singular, plural),
    ...replaced(token, plural, singular),
  ]);
  return [...new Set(forms)].filter((form) => form.length >= LENGTH_MIN && form !== token);
}

/** Returns the token with the other ending, in a list, or nothing if it does not have the first one. */
const replaced = (token: string, ending: string, other: string): string[] =>
  token.endsWith(ending) ? [token.slice(0, token.length - ending.length) + other] : [];
