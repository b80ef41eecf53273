import type { JsonObject, JsonValue } from '../../shared/catalog/events/envelope';
import { isObject } from '../../shared/catalog/json-text';
import { listingTexts } from '../../shared/catalog/listing/fields';
import { mediaTexts } from '../../shared/catalog/media/fields';
import { publicationTexts } from '../../shared/catalog/publication/fields';
import type { Option } from '../../shared/catalog/publication/variants';
import { storeTexts } from '../../shared/catalog/store/fields';
import {
  canonicalLocale,
  handleIn,
  LOCALE_LENGTH_MAX,
  mergePatch,
  partOf,
  untranslatedIn,
} from '../../shared/catalog/translations';
import type { ApiRequest, Presentation } from '../../shared/http/route';
import { LRUCache } from '../../shared/kernel/cache';

/*
 * The choice of a language, and the texts of a resource in it (docs/interface/languages.md#reads).
 */

/** The texts that can be translated, by the type of the resource. */
export const TEXTS: Readonly<Record<string, readonly string[]>> = {
  publication: Object.keys(publicationTexts),
  listing: Object.keys(listingTexts),
  store: Object.keys(storeTexts),
  media: Object.keys(mediaTexts),
};

// --- The choice of a locale ---

/** What of a request chooses language and currency. */
export type Asked = Pick<ApiRequest, 'query' | 'header'> & {
  readonly principal: Pick<ApiRequest['principal'], 'key_type'>;
};

/**
 * Returns the best of the locales for the request: for its `locale`, otherwise for the `Accept-Language` of a visitor. The
 * first one if none suits.
 */
export function localeOf(locales: readonly string[], { query, header, principal }: Asked): string {
  const accepted = principal.key_type === 'secret' ? undefined : header('accept-language');
  for (const tag of tagsOf(query.locale?.[0] ?? accepted ?? '')) {
    const found = locales.find((locale) => locale.toLowerCase() === tag);
    if (found !== undefined) return found;
  }
  return locales[0]!;
}

/** Browsers send few different headers, and to parse one takes 5 µs. Their longest headers have 100 characters. */
const HEADER_LENGTH_MAX = 200;
const known_tags = new LRUCache<string, readonly string[]>({ max: 1_000, memoMethod: tagsIn });
const tagsOf = (header: string): readonly string[] =>
  header.length > HEADER_LENGTH_MAX ? tagsIn(header) : known_tags.memo(header);

/** The most language ranges of a header that are looked at. Browsers send a few. */
const RANGES_MAX = 20;

/**
 * Returns the tags that `Accept-Language` names, the preferred one first (RFC 9110 §12.5.4), each with its less specific forms
 * (RFC 4647 §3.4, Lookup). They have the spelling that stores have, but in lower case: `he` for `iw`. Ignores longer ranges
 * than tags.
 */
function tagsIn(header: string): readonly string[] {
  const ranges = header.split(',', RANGES_MAX).map((entry) => {
    const [range = '', ...parameters] = entry.split(';').map((part) => part.trim());
    const quality = parameters.find((parameter) => /^q=/i.test(parameter));
    return { range, q: quality === undefined ? 1 : Number(quality.slice(2)) };
  });
  return ranges
    .filter(({ range, q }) => q > 0 && range.length <= LOCALE_LENGTH_MAX)
    .sort((a, b) => b.q - a.q)
    .flatMap(({ range }) => formsOf((canonicalLocale(range) ?? range).toLowerCase()));
}

/** Returns the tag and its less specific forms: `zh-hant-tw`, `zh-hant`, `zh`. No form ends with a single character. */
function formsOf(tag: string): string[] {
  const parts = tag.split('-');
  const forms = parts.map((_, index) => parts.slice(0, parts.length - index));
  return forms.filter((form) => form.at(-1)!.length > 1).map((form) => form.join('-'));
}

/**
 * Returns the locales in which translations are looked for, the best one first. They end before the default locale: the texts
 * of a resource itself are in it, and count more than a translation that was written when the store had another default locale.
 */
export function fallbacksOf(locales: readonly string[], locale: string): string[] {
  const forms = formsOf(locale).filter((form) => locales.includes(form));
  const end = forms.indexOf(locales[0]!);
  return end < 0 ? forms : forms.slice(0, end);
}

// --- The texts of a resource ---

/**
 * Returns the fields of a resource that a language changes. `owner`: the publication of a variant, which has the translations
 * of its options.
 */
export function textsOf(
  resource: JsonObject,
  owner: JsonObject | undefined,
  { store, locales = [], shows_untranslated }: Presentation,
): JsonObject {
  const translations = resource.object === 'variant' ? owner?.translations : resource.translations;
  const texts = isObject(translations) ? textsIn(translations, locales) : {};
  const names = shows_untranslated && locales.length > 0 ? (TEXTS[String(resource.object)] ?? []) : [];
  const untranslated = untranslatedIn(names, resource, texts);
  const handles = handlesIn(resource, store.locales ?? []);
  return {
    ...(handles && { handles }),
    ...(untranslated.length > 0 && { untranslated }),
    ...textsFor(resource, texts),
  };
}

/** Returns the handle of a resource in each locale. Undefined if all of them are the default one. */
function handlesIn(resource: JsonObject, locales: readonly string[]): JsonObject | undefined {
  const { translations, handle: own } = resource;
  const handles = locales.slice(1).map((locale) => partOf(partOf(translations, locale), 'handle') ?? own);
  if (handles.every((handle) => handle === own)) return undefined;
  const shown = locales.flatMap((locale) => {
    const handle = handleIn(resource, fallbacksOf(locales, locale));
    return handle === undefined ? [] : [[locale, handle]];
  });
  return Object.fromEntries(shown);
}

/** Returns the texts in the best locale that has each of them. */
function textsIn(translations: JsonObject, locales: readonly string[]): JsonObject {
  const found = locales.flatMap((locale) => partOf(translations, locale) ?? []);
  return found.reduceRight<JsonObject>((rest, texts) => mergePatch(rest, texts as JsonObject) ?? rest, {});
}

/** Returns the fields of a resource that get other texts. */
function textsFor(resource: JsonObject, { options, ...texts }: JsonObject): JsonObject {
  const fields = Object.entries(texts).map(([name, text]): [string, JsonValue] => {
    const own = resource[name];
    return [name, isObject(text) && isObject(own) ? { ...own, ...text } : text];
  });
  if (resource.object === 'variant')
    return isObject(options)
      ? { option_values: optionValuesIn(resource.option_values as Values, options) }
      : {};
  if (!isObject(options)) return Object.fromEntries(fields);
  const own = resource.options as readonly Option[] | undefined;
  if (own) fields.push(['options', own.map((option) => optionIn(option, own, options))]);
  return Object.fromEntries(fields);
}

type Values = Readonly<Record<string, string>>;

function optionIn({ name, values }: Option, all: readonly Option[], options: JsonObject): JsonObject {
  const names = namesIn(
    all.map((option) => option.name),
    options,
  );
  return { name: names.get(name)!, values: values.map((value) => valueIn(options, name, value)) };
}

function optionValuesIn(values: Values, options: JsonObject): JsonObject {
  const names = namesIn(Object.keys(values), options);
  const shown = Object.entries(values).map(([name, value]) => [
    names.get(name)!,
    valueIn(options, name, value),
  ]);
  return Object.fromEntries(shown) as JsonObject;
}

/** Returns the translated names of options. Each option keeps its own name if two would have the same. */
function namesIn(names: readonly string[], options: JsonObject): ReadonlyMap<string, string> {
  const shown = names.map((name) => String(partOf(partOf(options, name), 'name') ?? name));
  const are_distinct = new Set(shown).size === shown.length;
  return new Map(names.map((name, index) => [name, are_distinct ? shown[index]! : name]));
}

const valueIn = (options: JsonObject, name: string, value: string): string =>
  String(partOf(partOf(partOf(options, name), 'values'), value) ?? value);
