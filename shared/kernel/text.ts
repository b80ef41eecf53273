/** Letters that Unicode normalization does not decompose, and the ASCII letters that replace them. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  ħ: 'h',
  ı: 'i',
  ŋ: 'n',
  þ: 'th',
  ŧ: 't',
};
/** Texts in printable ASCII need no normalization. */
const ASCII = /^[\x20-\x7e]*$/;
const LETTER = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'g');

/**
 * Returns the text without case and accents. Stored as a sort key and compared byte by byte
 * (docs/interface/lists.md#sorting).
 */
export const foldText = (text: string): string => fold(text, (letters) => letters.replace(/\p{M}/gu, ''));

/** Returns the text without case, and its Latin letters without accents. In other scripts, accents make other letters. */
export const foldLatin = (text: string): string =>
  fold(text, (letters) => letters.replace(/(\p{Script=Latin})\p{M}+/gu, '$1'));

/** Folds a text. `withoutAccents` gets the letters with their accents as separate characters. */
export function fold(text: string, withoutAccents: (letters: string) => string): string {
  if (ASCII.test(text)) return text.toLowerCase().trim();
  return withoutAccents(text.normalize('NFKD'))
    .toLowerCase()
    .replace(LETTER, (letter) => LETTERS[letter]!)
    .normalize('NFC')
    .trim();
}

/** Returns the text, or its beginning with an ellipsis if it is longer than `length_max`. */
export const shortenText = (text: string, length_max: number): string =>
  text.length > length_max ? `${text.slice(0, length_max)}…` : text;
