import { foldText } from '../../kernel/text';

/**
 * The words that a document is searched by (decisions §5, "Search"): folded, no stems, no stop words. Stored with the
 * documents, so that what is a word here is a storage format.
 *
 * A word of the title stands there twice, as itself and behind `TITLE`; the title as a whole stands behind `WHOLE`.
 * Every view store then finds all of it in one plain index of words.
 */
const TITLE = ':';
const WHOLE = '=';

/** Nobody types more; what is longer is cut on both sides. */
const WORD_LENGTH_MAX = 40;

export const titleWord = (word: string): string => TITLE + word;
export const wholeTitle = (words: readonly string[]): string => WHOLE + words.join(WHOLE);
/** What the whole of a longer title begins with. */
export const titleBeginning = (words: readonly string[]): string => wholeTitle(words) + WHOLE;
/** Whether it is a word as it stands in the text. */
export const isPlainWord = (word: string): boolean => !word.startsWith(TITLE) && !word.startsWith(WHOLE);
/** Those of the title among a document's words, as they stand in the text. */
export const titleWordsOf = (words: readonly string[]): string[] =>
  words.filter((word) => word.startsWith(TITLE)).map((word) => word.slice(TITLE.length));

export interface SearchedText {
  readonly title: string;
  readonly description: string;
  readonly description_html: string | null;
}

/** All words of a publication, each once, in the text's order: the title's, then the description's. */
export function publicationWords({ title, description, description_html }: SearchedText): string[] {
  const in_title = [...new Set(indexedWords(title))];
  const plain = [...in_title, ...indexedWords(description), ...indexedWords(textOf(description_html ?? ''))];
  const whole = queryWords(title);
  return [...(whole.length > 0 ? [wholeTitle(whole)] : []), ...in_title.map(titleWord), ...new Set(plain)];
}

/** The words of what somebody types, in its order: `Men’s T-shirts` gives `mens`, `t`, `shirts`. */
export function typedWords(text: string): string[] {
  const parts = compounds(text).flatMap((compound) => compound.split(HYPHEN));
  return parts.flatMap((part) => unspaced(part.replace(APOSTROPHES, ''), false)).map(cut);
}

/** The same, each once. */
export const queryWords = (text: string): string[] => [...new Set(typedWords(text))];

/** As many words as a query may mean by it: `T-shirt` is found as `t shirt` and `tshirt`, `men’s` as `men` and `mens`. */
function indexedWords(text: string): string[] {
  const forms = new Set<string>();
  for (const compound of new Set(compounds(text)))
    if (JOINT.test(compound)) for (const form of jointForms(compound)) forms.add(form);
    else forms.add(compound);
  const words: string[] = [];
  for (const form of forms)
    if (MAYBE_UNSPACED.test(form)) words.push(...unspaced(form, true).map(cut));
    else if (form !== '') words.push(cut(form));
  return words;
}

function jointForms(compound: string): string[] {
  const parts = compound.split(HYPHEN);
  const joined = parts.map((part) => part.replace(APOSTROPHES, ''));
  return [...parts.flatMap((part) => part.split(APOSTROPHE)), ...joined, joined.join('')];
}

const COMPOUND = /[\p{L}\p{N}]+(?:['’ʼ‐-][\p{L}\p{N}]+)*/gu;
const APOSTROPHE = /['’ʼ]/;
const APOSTROPHES = /['’ʼ]/g;
const HYPHEN = /[‐-]/;
const JOINT = /['’ʼ‐-]/;

const compounds = (text: string): string[] => foldWords(text).match(COMPOUND) ?? [];

/** Letters that no accent makes, as who has no such key types them. */
const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  ...{ ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', æ: 'ae', œ: 'oe', ħ: 'h', ı: 'i', ŋ: 'n', ς: 'σ' },
};

function foldWords(text: string): string {
  return foldText(text).replace(/[øłđðþæœħıŋς]/g, (letter) => PLAIN_LETTERS[letter]!);
}

const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu;

/** All of them lie beyond the letters of Europe and the Near East, which is told faster. */
const MAYBE_UNSPACED = /[\u0e00-\uffff]/;

/** Scripts without spaces between words are searched by pairs of letters; `indexed` adds each letter alone. */
function unspaced(word: string, indexed: boolean): string[] {
  if (!MAYBE_UNSPACED.test(word)) return word === '' ? [] : [word];
  const spaced = word.split(UNSPACED).filter((part) => part !== '');
  const runs = (word.match(UNSPACED) ?? []).map((run) => [...run]);
  return [...spaced, ...runs.flatMap((run) => [...pairs(run), ...(indexed || run.length === 1 ? run : [])])];
}

function pairs(letters: readonly string[]): string[] {
  return letters.slice(1).map((letter, index) => letters[index]! + letter);
}

const cut = (word: string): string =>
  word.length <= WORD_LENGTH_MAX ? word : [...word].slice(0, WORD_LENGTH_MAX).join('');

const INLINE_TAG =
  /<\/?(?:a|abbr|b|bdi|bdo|cite|code|del|em|i|ins|kbd|mark|q|s|small|span|strong|sub|sup|u|wbr)(?:\s[^>]*)?>/gi;

/** What a sanitised description says: a tag within a line does not end a word, any other does. */
function textOf(html: string): string {
  return html
    .replace(INLINE_TAG, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&[#\w]+;/g, ' ');
}
