import { LRUCache } from '../../kernel/cache';
import { foldText } from '../../kernel/text';
import type { JsonObject, JsonValue } from '../events/envelope';
import { type PriceRules, textOfRules } from '../publication/derived-prices';
import { publicationTexts } from '../publication/fields';
import { partOf, type Translated, titlesOf, untranslatedIn } from '../translations';

/**
 * Tokenises publications and queries (docs/interface/search.md). Tokens are folded (lower case, without accents). There
 * is no stemming: a query asks for the other forms of its words. There are no stop words. Documents store their terms, so a
 * change here needs a rebuild.
 *
 * A document has four kinds of terms: each word of its texts, each word of the title again with the prefix `TITLE`, the
 * first one, two and three words of the title with `START` before each word, and the full title, which also ends with
 * `START`. One inverted index over the terms is then enough for every kind of match, in every view store. "Words" are
 * these terms in the API of the view stores.
 *
 * Labels, such as the vendor and the tags, are terms as well (`labelTerm`), by which lists are filtered. The words in them
 * follow, so that the labels show where the terms of the texts end. The terms of texts in other locales come last, each after
 * a label of its locale (`wordsIn`).
 */
const TITLE = ':';
const START = '=';
/**
 * Number of words of a title's start that have a term. A term for every length would be unique to the title in most
 * cases, and with the prefixes of full titles instead, a search would have to read the titles that begin with a word.
 */
export const TITLE_START_MAX = 3;

/** Longer tokens are truncated, in documents and in queries alike. In code points. */
const WORD_LENGTH_MAX = 40;

/** Returns the term for a word of the title. */
export const titleWord = (word: string): string => TITLE + word;
/** Returns the term for a title that begins with these words: one to `TITLE_START_MAX`. */
export const titleStart = (words: readonly string[]): string => START + words.join(START);
/** Returns the term for a title that consists of exactly these words. */
export const fullTitle = (words: readonly string[]): string => titleStart(words) + START;
/** Returns whether the term is a plain word, without `TITLE` or `START`. */
export const isPlainWord = (word: string): boolean => !word.startsWith(TITLE) && !word.startsWith(START);
/** Returns the words of the title, given all terms of a document. */
export const titleWordsOf = (words: readonly string[]): string[] =>
  words.filter((word) => word.startsWith(TITLE)).map((word) => word.slice(TITLE.length));

/**
 * Returns the term of a label: a name and one of its values. Equal labels have equal terms, and others do not. The term
 * begins with `START` twice and ends with `START`, so no word and no title has it or begins it.
 */
export const labelTerm = (name: string, value: string): string => labelPrefix(name) + escaped(value) + START;

/** Returns the text with which the terms of all labels of this name begin, and no others. */
export const labelPrefix = (name: string): string => START + START + escaped(name) + START;

/** Returns the value of the label whose term begins with `prefix`. */
export const labelValue = (term: string, prefix: string): string =>
  term
    .slice(prefix.length, -START.length)
    .replace(/:([0-9a-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

const ESCAPES = Array.from({ length: 128 }, (_, code) => `:${code.toString(16).padStart(2, '0')}`);
/** The names of labels repeat, and so do values of options: a publication may have 2,048 variants with the same ones. */
const escapes = new LRUCache<string, string>({ max: 10_000 });

/** Replaces all ASCII characters other than digits and small letters by their codes: `Acme` becomes `:41cme`. */
function escaped(text: string): string {
  const known = escapes.get(text);
  if (known !== undefined) return known;
  const found = text
    .normalize()
    .replace(/[^a-z0-9\u0080-\u{10ffff}]/gu, (letter) => ESCAPES[letter.charCodeAt(0)]!);
  escapes.set(text, found);
  return found;
}

export interface SearchedText {
  readonly title: string;
  readonly description: string;
  readonly description_html: string | null;
}

/** The fields by which lists are filtered (docs/interface/lists.md#filters). */
export interface Labelled extends Placed, Translated {
  readonly vendor?: string | null;
  readonly product_type?: string | null;
  readonly tags?: readonly string[] | null;
  readonly options?: readonly { readonly name: string; readonly values: readonly string[] }[];
  readonly variants?: readonly (Pick<VariantLabelled, 'sku' | 'barcode'> & Pick<Placed, 'prices'>)[];
  readonly attributes?: Readonly<Record<string, string | number | boolean | readonly string[]>> | null;
}

/** The fields that name the listings of a publication. */
interface Placed {
  readonly listing_id?: string | null;
  readonly listing_ids?: readonly string[];
  readonly featured_position?: number | null;
  readonly featured_positions?: Readonly<Record<string, number>>;
  readonly former_listings?: readonly string[];
  readonly prices?: Readonly<Record<string, unknown>> | undefined;
  readonly price_active?: boolean;
  readonly price_currency?: string;
  readonly price_rules?: PriceRules | undefined;
}

/**
 * Labels of the listings in which a publication is featured, of those in which it is not, and of those in which it was. No
 * filter has these names.
 */
const FEATURED_IN = 'featured_in';
/** Label of the locales in which a publication has all of its texts. No filter has this name. */
const TRANSLATED_IN = 'translated_in';
const LISTED_IN = 'listed_in';
const FORMERLY_IN = 'formerly_in';
/** Label of the currencies in which a publication has a price, if it has prices in other currencies. No filter has this name. */
const PRICED_IN = 'priced_in';
/** Label of the languages in which a publication has a translated title. No filter has this name. */
const TITLED_IN = 'titled_in';
/** Label of the currencies in which variants may have different prices, or none. No filter has this name. */
const VARIES_IN = 'varies_in';
/** The label with the rules by which prices of a publication follow from its price. No filter has this name. */
const PRICED_BY = 'priced_by';

/** Label before each term of the texts in a locale. No filter has this name. */
const WORDS_IN = 'in';

/** Returns the prefix of the terms of texts in a locale. Terms of texts in the default locale have no prefix. */
export const wordsIn = (locale: string): string => labelTerm(WORDS_IN, locale);

export const translatedIn = (locale: string): string => labelTerm(TRANSLATED_IN, locale);
export const titledIn = (language: string): string => labelTerm(TITLED_IN, language);
export const pricedIn = (currency: string): string => labelTerm(PRICED_IN, currency);
export const variesIn = (currency: string): string => labelTerm(VARIES_IN, currency);
export const featuredIn = (listing_id: string): string => labelTerm(FEATURED_IN, listing_id);
export const listedIn = (listing_id: string): string => labelTerm(LISTED_IN, listing_id);
export const pricedBy = (rules: PriceRules): string => labelTerm(PRICED_BY, textOfRules(rules));
export const formerlyIn = (listing_id: string): string => labelTerm(FORMERLY_IN, listing_id);

function placesOf({ listing_id, listing_ids = [], featured_position, featured_positions = {} }: Placed) {
  const all = [...(listing_id ? [listing_id] : []), ...listing_ids];
  const is_featured = (id: string) =>
    id === listing_id ? typeof featured_position === 'number' : featured_positions[id] !== undefined;
  return { [FEATURED_IN]: all.filter(is_featured), [LISTED_IN]: all.filter((id) => !is_featured(id)) };
}

/** Returns the labels of prices. In its own currency, the prices of variants are taken for different ones. */
function pricesOf({
  prices,
  price_active,
  price_currency = '',
  variants = [],
}: Labelled): Record<string, string[]> {
  if (!prices || !price_active) return {};
  const currencies = [price_currency, ...Object.keys(prices)];
  const amountsIn = (currency: string) => variants.map((one) => JSON.stringify(one.prices?.[currency]));
  const isVaried = (currency: string): boolean =>
    variants.length > 1 && (currency === price_currency || new Set(amountsIn(currency)).size > 1);
  return { [PRICED_IN]: currencies, [VARIES_IN]: currencies.filter(isVaried) };
}

function translatedLocales(publication: Labelled): string[] {
  const { translations } = publication;
  if (!translations) return [];
  const names = Object.keys(publicationTexts);
  return Object.keys(translations).filter(
    (locale) => untranslatedIn(names, publication, (translations[locale] ?? {}) as JsonObject).length === 0,
  );
}

/** Name of the labels with the name and the values of an option in a locale. No filter has such a name. */
export const translatedOption = (locale: string, option: string): string =>
  `translated_option.${locale}.${option}`;
/** Separates a value of an option and its translation in a label. The label of the name of the option has no value. */
export const TRANSLATED_AS = '\n';

/** Returns the names and values of options in other languages, which facets show, by the name of the label. */
function translatedOptions({ translations, options = [] }: Labelled): Record<string, string[]> {
  const labels = Object.keys(translations ?? {}).flatMap((locale) =>
    options.map(({ name, values }): [string, string[]] => {
      const texts = optionTexts(translations![locale], name);
      const of_name = partOf(texts, 'name');
      const of_values = values.map((value) => [value, partOf(partOf(texts, 'values'), value)] as const);
      const pairs = [['', of_name] as const, ...of_values].filter(([, text]) => text !== undefined);
      return [translatedOption(locale, name), pairs.map((pair) => pair.join(TRANSLATED_AS))];
    }),
  );
  return Object.fromEntries(labels);
}

const optionTexts = (texts: JsonValue | undefined, name: string) => partOf(partOf(texts, 'options'), name);

/** Returns the labels of a publication, as filters name them. */
function labelsOf(publication: Labelled): [name: string, value: string][] {
  const { vendor, product_type, tags, attributes, options = [], variants = [] } = publication;
  const of_options = Object.fromEntries(options.map(({ name, values }) => [name, values]));
  const all = {
    ...{ vendor, product_type, tag: tags },
    ...{ ...prefixed('attributes.', attributes ?? {}), ...prefixed('option.', of_options) },
    sku: variants.flatMap(({ sku }) => sku ?? []),
    barcode: variants.flatMap(({ barcode }) => barcode ?? []),
    ...placesOf(publication),
    [FORMERLY_IN]: publication.former_listings,
    [TRANSLATED_IN]: translatedLocales(publication),
    [TITLED_IN]: titlesOf(publication).map(([language]) => language),
    ...pricesOf(publication),
    [PRICED_BY]: publication.price_rules && textOfRules(publication.price_rules),
    ...translatedOptions(publication),
  };
  return Object.entries(all).flatMap(([name, values]) =>
    [values ?? []].flat().map((value): [string, string] => [name, String(value)]),
  );
}

/** Whether the label belongs to a variant, and not to the whole publication. */
export const isOfVariant = (name: string): boolean => /^(option\.|(sku|barcode)$)/.test(name);

interface VariantLabelled {
  readonly option_values: Readonly<Record<string, string>>;
  readonly sku: string | null;
  readonly barcode: string | null;
}

/** Returns the terms of the labels that a variant has by itself. */
export function variantLabels({ option_values, sku, barcode }: VariantLabelled): string[] {
  const labels: string[] = [];
  for (const name in option_values) labels.push(labelTerm(`option.${name}`, option_values[name]!));
  if (sku !== null) labels.push(labelTerm('sku', sku));
  if (barcode !== null) labels.push(labelTerm('barcode', barcode));
  return labels;
}

const prefixed = <Value>(prefix: string, values: Readonly<Record<string, Value>>): Record<string, Value> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [prefix + name, value]));

/** The fields of a publication that the terms of its texts are made of. */
export const TEXT_FIELDS = ['title', 'description', 'description_html'] as const;
/** The fields that its labels are made of, besides the codes of its variants. */
export const LABEL_FIELDS = [
  ...(['vendor', 'product_type', 'tags', 'attributes', 'options', 'seo', 'translations'] as const),
  ...(['listing_id', 'listing_ids', 'featured_position', 'featured_positions', 'former_listings'] as const),
  ...(['prices', 'price_active', 'price_currency', 'price_rules'] as const),
];

/** Returns the terms of a publication: the words of its texts, its labels, and the words in its labels. */
export function publicationWords(publication: SearchedText & Labelled): string[] {
  return withLabels(textWords(publication), publication);
}

/** Returns the terms of a publication whose terms of the texts are known. */
export function withLabels(of_texts: readonly string[], publication: Labelled): string[] {
  const labels = new Set(labelsOf(publication).map(([name, value]) => labelTerm(name, value)));
  const known = new Set(of_texts);
  const in_labels = new Set(searchedValues(publication).flatMap(wordsOf));
  const others = [...in_labels].filter((word) => !known.has(word));
  return [...of_texts, ...labels, ...others, ...translatedWords(publication)];
}

/**
 * The most characters besides titles that are searched in all other locales together: as many as the texts in the default locale
 * have at most. Each locale has the same part of them.
 */
const TRANSLATED_LENGTH_MAX = 60_000;

/** Returns the terms of the texts in other locales. */
function translatedWords({ translations, options = [] }: Labelled): string[] {
  const locales = Object.entries(translations ?? {});
  return locales.flatMap(([locale, texts]) => {
    const { title = '', description = '', description_html } = texts as Partial<SearchedText>;
    const values = options.flatMap(({ name, values }) =>
      values.flatMap((value) => partOf(partOf(optionTexts(texts, name), 'values'), value) ?? []),
    );
    const all = [description, ...values, textOf(description_html ?? '')].join('\n');
    const searched = all.slice(0, Math.floor(TRANSLATED_LENGTH_MAX / locales.length));
    const marker = wordsIn(locale);
    return textWords({ title, description: searched, description_html: null }).map((term) => marker + term);
  });
}

/** Returns the values of labels that a search finds. */
function searchedValues(publication: Labelled): string[] {
  const { vendor, product_type, tags, attributes, options = [], variants = [] } = publication;
  const of_attributes = Object.values(attributes ?? {}).flat();
  const values = [
    ...[vendor, product_type, ...(tags ?? []), ...options.flatMap(({ values }) => values)],
    ...of_attributes.filter((value) => typeof value === 'string'),
    ...variants.flatMap(({ sku, barcode }) => [sku, barcode]),
  ];
  return values.filter((value) => typeof value === 'string');
}

/** Returns those terms of a publication that are of its texts. */
export function termsOfTexts(words: readonly string[]): readonly string[] {
  const end = words.findIndex((term) => term.startsWith(START + START));
  return end === -1 ? words : words.slice(0, end);
}

/** Returns the terms of the texts, without duplicates, in text order: title first, then description. */
function textWords({ title, description, description_html }: SearchedText): string[] {
  const title_words = new Set(wordsOf(title));
  const html_words = description_html === null ? [] : wordsOf(textOf(description_html));
  const words = new Set([...title_words, ...wordsOf(description), ...html_words]);
  const tokens = distinctQueryTokens(title);
  const starts = tokens.slice(0, TITLE_START_MAX).map((_, index) => titleStart(tokens.slice(0, index + 1)));
  const full = tokens.length > 0 ? [fullTitle(tokens)] : [];
  return [...full, ...starts, ...[...title_words].map(titleWord), ...words];
}

/** Splits a query into tokens, in order: `Men’s T-shirts` gives `mens`, `t`, `shirts`. */
export function queryTokens(text: string): string[] {
  const parts = compounds(text).flatMap((compound) => compound.split(HYPHEN));
  return parts.flatMap((part) => splitUnspaced(part.replace(APOSTROPHES, ''), false)).map(truncate);
}

/** Splits a query into tokens, without duplicates. */
export const distinctQueryTokens = (text: string): string[] => [...new Set(queryTokens(text))];

/** Texts of a catalog repeat the same words, and splitting one takes longer than looking it up. */
const CACHED_MAX = 50_000;
const CACHED_LENGTH_MAX = 64;
const cached = new Map<string, readonly string[]>();

/** Splits a text into terms. No compound contains a space, so the parts between spaces can be split one by one. */
function wordsOf(text: string): string[] {
  if (cached.size > CACHED_MAX) cached.clear();
  const words: string[] = [];
  for (const part of text.split(/\s+/)) {
    const known = cached.get(part) ?? wordsOfPart(part);
    if (part.length <= CACHED_LENGTH_MAX) cached.set(part, known);
    for (const word of known) words.push(word);
  }
  return words;
}

/**
 * Splits what is between two spaces into terms, with every form in which a query may contain a compound: `T-shirt` gives
 * `t`, `shirt` and `tshirt`, `men’s` gives `men`, `s` and `mens`.
 */
function wordsOfPart(text: string): string[] {
  const forms = compounds(text).flatMap((word) => (JOINT.test(word) ? jointForms(word) : word));
  return forms.flatMap((form) => splitUnspaced(form, true)).map(truncate);
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

/** Letters that Unicode does not decompose into a base letter and an accent, with what people type instead. */
const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  ...{ ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', æ: 'ae', œ: 'oe', ħ: 'h', ı: 'i', ŋ: 'n', ς: 'σ' },
};

function foldWords(text: string): string {
  return foldText(text).replace(/[øłđðþæœħıŋς]/g, (letter) => PLAIN_LETTERS[letter]!);
}

const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu;

/**
 * A fast check: all scripts of `UNSPACED` are in this range, and Latin, Greek, Cyrillic, Hebrew and Arabic letters are
 * not.
 */
const MAYBE_UNSPACED = /[\u0e00-\uffff]/;

/**
 * Splits runs of a script without spaces between words into pairs of letters (bigrams). `indexed` also returns each
 * letter alone, so that a query of a single letter matches.
 */
function splitUnspaced(word: string, indexed: boolean): string[] {
  if (!MAYBE_UNSPACED.test(word)) return word === '' ? [] : [word];
  const spaced = word.split(UNSPACED).filter((part) => part !== '');
  const runs = (word.match(UNSPACED) ?? []).map((run) => [...run]);
  return [...spaced, ...runs.flatMap((run) => [...pairs(run), ...(indexed || run.length === 1 ? run : [])])];
}

function pairs(letters: readonly string[]): string[] {
  return letters.slice(1).map((letter, index) => letters[index]! + letter);
}

const truncate = (word: string): string =>
  word.length <= WORD_LENGTH_MAX ? word : [...word].slice(0, WORD_LENGTH_MAX).join('');

const INLINE_TAG =
  /<\/?(?:a|abbr|b|bdi|bdo|cite|code|del|em|i|ins|kbd|mark|q|s|small|span|strong|sub|sup|u|wbr)(?:\s[^>]*)?>/gi;

/** Returns the text of sanitised HTML. An inline tag does not end a word, any other tag does. */
function textOf(html: string): string {
  return html
    .replace(INLINE_TAG, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&[#\w]+;/g, ' ');
}
