/** Letters that have no decomposition, and what a reader looks for them under. */
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
/** Of these letters only the case differs. */
const PLAIN = /^[\x20-\x7e]*$/;
const UNDECOMPOSED = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'g');

/** Case- and accent-insensitive form of a text, stored as a sort key and compared bytewise (decisions §5). */
export function foldText(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase().trim();
  return text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(UNDECOMPOSED, (letter) => LETTERS[letter]!)
    .normalize('NFC')
    .trim();
}
