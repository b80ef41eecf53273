import { LRUCache } from './cache';
import { fold, foldText } from './text';

/*
 * Sort keys of names in a language. View stores compare keys byte by byte, and `Intl.Collator` makes no such keys. So a key is the
 * text as `foldText` folds it, except for the letters that the collator of the language tells apart: in Spanish `Ñ` sorts after
 * `nz`, in Swedish `Å` after `z`. Keys are stored, so each release of Node.js must make the same ones. Node.js 20 and 24 do.
 */

/** Sorts after all letters. */
const HIGHEST = '\u{10ffff}';
const PLAIN = [...'abcdefghijklmnopqrstuvwxyz'];
const PAIRS = PLAIN.flatMap((first) => PLAIN.map((second) => first + second));
/** The code points of Latin letters with accents, and of letters that only some languages have. */
const BLOCKS = [
  [0xdf, 0x2af],
  [0x1e00, 0x1eff],
] as const;
/** A character with its accents. The group is the character alone. */
const ACCENTED = /(\P{M})\p{M}+/gu;
/** The rules of a language take about 10 kB. */
const LANGUAGES_MAX = 100;

interface Rules {
  readonly compare: Intl.Collator['compare'];
  /** The keys of single letters, and of pairs that are one letter in the language, such as `ch` in Czech. */
  readonly keys: ReadonlyMap<string, string>;
  readonly keyed: RegExp;
}

const known_rules = new LRUCache<string, Rules>({ max: LANGUAGES_MAX, memoMethod: rulesOf });

/** Returns the sort key of a name in a language, such as `sv` or `zh-Hant`. */
export function nameKey(name: string, language: string): string {
  const { compare, keys, keyed } = known_rules.memo(language);
  const text = name.toLocaleLowerCase(language).normalize('NFC');
  return fold(
    text.replace(keyed, (letter) => keys.get(letter)!),
    (letters) =>
      letters.replace(ACCENTED, (accented, letter: string) =>
        compare(accented, letter) === 0 ? letter : accented,
      ),
  );
}

/** Returns the rules of a language. English, which has the default rules of Unicode, stands in for a language without own rules. */
function rulesOf(language: string): Rules {
  const { compare } = new Intl.Collator([language, 'en'], { sensitivity: 'base' });
  const sorted = PLAIN.toSorted(compare);
  /** Whether the letter is not at its place in the English alphabet: `z` in Estonian is before `t`. */
  const isMoved = (letter: string, n: number): boolean => letter > (sorted[n + 1] ?? letter);
  /** The letters whose own bytes are their keys. */
  const plain = sorted.filter((letter, n) => !isMoved(letter, n));
  const isApart = (letter: string): boolean => {
    const base = foldText(letter);
    return base === letter || compare(letter, base) !== 0;
  };
  // A pair is one letter if it is after all other pairs with its first letter, or before that letter, as `ng` in Welsh.
  const isOneLetter = ([first, second]: readonly string[]): boolean =>
    (second !== plain.at(-1) && compare(`${first}${second}`, `${first}${plain.at(-1)}`) > 0) ||
    compare(`${first}${second}`, first!) < 0;
  const apart = [
    ...sorted.filter(isMoved),
    ...latinLetters().filter(isApart),
    ...PAIRS.filter((pair) => isOneLetter([...pair])),
  ].sort(compare);

  const keys = new Map<string, string>();
  let last = { letter: '', before: '', number: 0 };
  for (const letter of apart) {
    const same = plain.find((one) => compare(one, letter) === 0);
    const before = plain.findLast((one) => compare(one, letter) < 0) ?? '';
    // Letters after the same plain letter are numbered. Letters that the language does not tell apart have one number.
    const step = compare(letter, last.letter) === 0 ? 0 : 1;
    last = { letter, before, number: before === last.before ? last.number + step : 0 };
    keys.set(letter, same ?? `${before}${HIGHEST}${last.number.toString(36).padStart(2, '0')}`);
  }
  return { compare, keys, keyed: new RegExp([...keys.keys()].join('|'), 'g') };
}

const latinLetters = (): string[] =>
  BLOCKS.flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, n) => String.fromCodePoint(first + n)),
  ).filter((letter) => /^\p{Lowercase_Letter}$/u.test(letter));
