import { LRUCache } from './cache';
import { fold, foldText } from './text';

/*
 * Sort keys of names in a language. Stores compare keys byte by byte, and `Intl.Collator` has no sort keys. So a key is the text as
 * `foldText` folds it, except for what the collator of the language tells apart: `Ñ` of Spanish is after `nz`, `Å` of Swedish
 * after `z`. Keys are stored, so they must not differ between the releases of Node.js: those of 20 and 24 are equal.
 */

/** Above all letters. */
const HIGHEST = '\u{10ffff}';
const PLAIN = [...'abcdefghijklmnopqrstuvwxyz'];
const PAIRS = PLAIN.flatMap((first) => PLAIN.map((second) => first + second));
/** Where Unicode has Latin letters with accents, and letters that only some languages have. */
const BLOCKS = [
  [0xdf, 0x24f],
  [0x1e00, 0x1eff],
] as const;
/** A character with its accents, without which it is the group. */
const ACCENTED = /(\P{M})\p{M}+/gu;
/** About 10 kB each. */
const LANGUAGES_MAX = 100;

interface Rules {
  readonly compare: Intl.Collator['compare'];
  /** The keys of letters, and of pairs of letters that are one letter in the language, such as `ch` in Czech. */
  readonly keys: ReadonlyMap<string, string>;
  readonly units: RegExp;
}

const known_rules = new LRUCache<string, Rules>({ max: LANGUAGES_MAX, memoMethod: rulesOf });

/** Returns the sort key of a name in a language, such as `sv` or `zh-Hant`. */
export function nameKey(name: string, language: string): string {
  const { compare, keys, units } = known_rules.memo(language);
  const text = name.toLocaleLowerCase(language).normalize('NFC');
  return fold(
    text.replace(units, (unit) => keys.get(unit)!),
    (letters) =>
      letters.replace(ACCENTED, (accented, letter: string) =>
        compare(accented, letter) === 0 ? letter : accented,
      ),
  );
}

/** Returns the rules of a language. An unknown one has those of English, which are the rules for all languages without their own. */
function rulesOf(language: string): Rules {
  const { compare } = new Intl.Collator([language, 'en'], { sensitivity: 'base' });
  const sorted = PLAIN.toSorted(compare);
  // Such as `z` in Estonian, which is before `t`.
  const isMoved = (letter: string, n: number): boolean => letter > (sorted[n + 1] ?? letter);
  const plain = sorted.filter((letter, n) => !isMoved(letter, n));
  const isApart = (letter: string): boolean => {
    const base = foldText(letter);
    return base === letter || compare(letter, base) !== 0;
  };
  const isOneLetter = ([first, second]: readonly string[]): boolean =>
    second !== plain.at(-1) && compare(`${first}${second}`, `${first}${plain.at(-1)}`) > 0;
  const apart = [
    ...sorted.filter(isMoved),
    ...latinLetters().filter(isApart),
    ...PAIRS.filter((pair) => isOneLetter([...pair])),
  ].sort(compare);

  const keys = new Map<string, string>();
  let last = { unit: '', before: '', number: 0 };
  for (const unit of apart) {
    const same = plain.find((letter) => compare(letter, unit) === 0);
    const before = plain.findLast((letter) => compare(letter, unit) < 0) ?? '';
    const is_next = before === last.before && compare(unit, last.unit) !== 0;
    last = { unit, before, number: before === last.before ? last.number + Number(is_next) : 0 };
    keys.set(unit, same ?? `${before}${HIGHEST}${last.number.toString(36).padStart(2, '0')}`);
  }
  return { compare, keys, units: new RegExp([...keys.keys()].join('|'), 'g') };
}

const latinLetters = (): string[] =>
  BLOCKS.flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, n) => String.fromCodePoint(first + n)),
  ).filter((letter) => /^\p{Lowercase_Letter}$/u.test(letter));
