import { z } from 'zod';
import { type Fault, invalidField } from '../kernel/errors';
import { isSameValue } from '../kernel/same-value';
import type { JsonObject, JsonValue } from './events/envelope';
import { field } from './fields';
import { fewNames, handleField } from './input-rules';
import { isObject } from './json-text';
import type { Option } from './publication/variants';

/*
 * The languages of a store, and the translations of its texts (docs/interface/languages.md). The fields of a resource are
 * its texts in the first locale of the store. `translations` has the texts in the others.
 */

export const LOCALES_MAX = 20;
/** The longest tag that RFC 5646 asks for room for. */
export const LOCALE_LENGTH_MAX = 35;
/** Maximum size of all translations of a resource as JSON, so that one event can contain them. */
const TRANSLATIONS_BYTES_MAX = 400_000;

/** Returns the canonical spelling of a BCP 47 language tag, undefined for any other text. */
export function canonicalLocale(tag: string): string | undefined {
  try {
    return tag.length <= LOCALE_LENGTH_MAX ? Intl.getCanonicalLocales(tag)[0] : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the language of a locale in its canonical spelling, with its script if the locale names one: `de`, `zh-Hant`. */
export const languageOf = (locale: string): string =>
  /^[a-z]+(-[A-Z][a-z]{3}(?=-|$))?/.exec(locale)?.[0] ?? locale;

const A_LOCALE = 'a BCP 47 language tag, such as de or pt-BR';

/** A BCP 47 language tag, in its canonical spelling after parsing. */
export const localeField = z
  .string()
  .overwrite((tag) => canonicalLocale(tag) ?? tag)
  .refine((tag) => canonicalLocale(tag) !== undefined, A_LOCALE)
  .meta({ minLength: 2, maxLength: LOCALE_LENGTH_MAX });

/** The stored texts by locale, as an object like that of the resource. A patch has null for what it removes. */
const translationsSchema = z
  .record(z.string(), z.record(z.string(), z.json()).nullable())
  .nullable()
  .optional();
export type Translations = z.output<typeof translationsSchema>;

/** The rule of a text. For an object of texts: the schema of a patch, in which null removes a text, and of an answer. */
type TextRule = z.ZodType | { readonly input: z.ZodType; readonly answer: z.ZodType };

/** Returns the rules of texts with that of a handle, which is no text: what lacks it is not untranslated. */
export const withHandle = <Texts extends object>(texts: Texts) => ({ ...texts, handle: handleField });

/**
 * Returns the field `translations` of a resource, whose changes are events of type `event`. `texts`: the rules of the fields
 * that can be translated. `example`: all of them in a language. A resource that was never translated does not have the field, and
 * neither have its events.
 */
export function translationsField<const Event extends string>(
  event: Event,
  texts: Readonly<Record<string, TextRule>>,
  example: JsonObject,
) {
  const shapeOf = (schemaOf: (rule: TextRule) => z.ZodType) =>
    Object.fromEntries(
      Object.entries(texts).map(([name, rule]) => {
        const description = `The \`${name}\` in this language.`;
        return [name, schemaOf(rule).meta({ description })];
      }),
    );
  const input = z.strictObject(shapeOf((rule) => ('input' in rule ? rule.input : rule).nullish()));
  const answer = z.strictObject(shapeOf((rule) => ('answer' in rule ? rule.answer : rule).optional()));
  const by_locale = z.record(z.string(), input.nullable()).superRefine((locales, context) => {
    for (const locale of Object.keys(locales))
      if (canonicalLocale(locale) !== locale)
        context.addIssue({ code: 'custom', path: [locale], message: A_LOCALE, params: INVALID });
  });
  return field(translationsSchema, {
    event,
    input: fewNames(by_locale, LOCALES_MAX).nullable() as z.ZodType as z.ZodType<Translations>,
    answer: z.record(z.string(), answer).optional() as z.ZodType as z.ZodType<Translations>,
    initial: undefined,
    doc: 'The texts in the other locales of the store. A PATCH changes those that it has, null removes them. Only for secret keys without `locale`.',
    example: { de: example } as NonNullable<Translations>,
  });
}

const INVALID = { condition: 'field_invalid' } as const;

export interface Translated {
  readonly translations?: Translations | undefined;
}

/**
 * Returns the values with all translations that the resource has after them (RFC 7396, JSON Merge Patch). An empty text is no
 * translation.
 */
export function withTranslations<Sent extends object>(sent: Sent, before: object | undefined): Sent {
  const { translations: patch } = sent as Translated;
  if (patch === undefined) return sent;
  const stored = (before as Translated | undefined)?.translations ?? undefined;
  const merged = patch === null ? undefined : mergePatch(stored, patch);
  return { ...sent, translations: merged ?? (stored && null) };
}

/** Returns the object after a patch, undefined if nothing is left. */
export function mergePatch(target: JsonValue | undefined, patch: JsonObject): JsonObject | undefined {
  const before = isObject(target) ? target : {};
  const after = Object.entries(patch).map(([name, value]): [string, JsonValue | undefined] => {
    const old = Object.hasOwn(before, name) ? before[name] : undefined;
    if (value === undefined) return [name, old];
    if (isObject(value)) return [name, mergePatch(old, value)];
    return [name, value === null || value === '' ? undefined : value];
  });
  const kept = Object.entries({ ...before, ...Object.fromEntries(after) }).filter(
    ([, value]) => value !== undefined,
  );
  return kept.length === 0 ? undefined : (Object.fromEntries(kept) as JsonObject);
}

/** Returns the titles of a publication by their language. Of several locales of a language, the shortest one counts. */
export function titlesOf({ translations }: Translated): [language: string, title: string][] {
  if (!translations) return [];
  const titles = Object.entries(translations).flatMap(([locale, texts]): [string, string][] =>
    typeof texts?.title === 'string' ? [[locale, texts.title]] : [],
  );
  titles.sort(([a], [b]) => b.length - a.length || (a < b ? 1 : -1));
  return [...new Map(titles.map(([locale, title]) => [languageOf(locale), title]))];
}

/**
 * Returns the handles of a resource, or of changes to it, by the field that has them: `handle`, and those in other locales.
 * Null and undefined stand for no handle, as they do in changes.
 */
export function handlesOf(values: object | undefined): [field: string, handle: unknown][] {
  const { handle, translations } = (values ?? {}) as Translated & { readonly handle?: unknown };
  const others = Object.entries(translations ?? {}).map(([locale, texts]): [string, unknown] => [
    `translations.${locale}.handle`,
    texts?.handle,
  ]);
  return [['handle', handle], ...others];
}

/** Returns the handle of a resource in the first of the locales that has one, otherwise the one in the default locale. */
export function handleIn(resource: object, locales: readonly string[]): string | undefined {
  const handles = new Map(handlesOf(resource));
  const translated = locales.map((locale) => handles.get(`translations.${locale}.handle`));
  return (translated.find((handle) => handle !== undefined) ?? handles.get('handle')) as string | undefined;
}

/** Returns the changes that take a handle from a resource. */
export function withoutHandle(resource: Translated & { readonly handle?: unknown }, handle: string): object {
  const locales = Object.entries(resource.translations ?? {}).filter(([, texts]) => texts?.handle === handle);
  const translations = Object.fromEntries(locales.map(([locale]) => [locale, { handle: null }]));
  return {
    ...(resource.handle === handle && { handle: null }),
    ...(locales.length > 0 && { translations }),
  };
}

/**
 * Returns the patch that makes `wanted` of the translations `now`. Handles stay: another resource may have the earlier
 * ones.
 */
export function patchTo(wanted: Translations, now: Translations): Translations {
  const none = Object.fromEntries(Object.keys(now ?? {}).map((locale) => [locale, {}]));
  return patchBetween(withoutHandles(now), { ...none, ...withoutHandles(wanted) }) as Translations;
}

const withoutHandles = (translations: Translations): JsonObject =>
  Object.fromEntries(
    Object.entries(translations ?? {}).map(([locale, texts]) => {
      const { handle: _, ...others } = texts ?? {};
      return [locale, others];
    }),
  );

function patchBetween(now: JsonObject, wanted: JsonObject): JsonObject {
  const removed = Object.keys(now).filter((name) => !Object.hasOwn(wanted, name));
  const patched = Object.entries(wanted).map(([name, value]): [string, JsonValue] => {
    const old = now[name];
    return [name, isObject(value) && isObject(old) ? patchBetween(old, value) : value];
  });
  return Object.fromEntries([...removed.map((name) => [name, null] as const), ...patched]);
}

/** Returns what is wrong with the translations that a write changes, if the store has these locales. */
export function faultsOfTranslations(
  locales: readonly string[] | undefined,
  sent: Translated,
  before: object | undefined,
): Fault[] {
  const now = (before as Translated | undefined)?.translations ?? {};
  const after = withTranslations(sent, before).translations ?? {};
  const changed = Object.keys(after).filter((locale) => !isSameValue(after[locale], now[locale]));
  const others = locales?.slice(1) ?? [];
  const constraint =
    others.length === 0
      ? 'a store with this locale: it has one language. Add its `locales` first'
      : `one of the other locales of the store: ${others.join(', ')}`;
  const faults = changed
    .filter((locale) => !others.includes(locale))
    .map((locale) => invalidField(`translations.${locale}`, constraint));
  const is_long = changed.length > 0 && Buffer.byteLength(JSON.stringify(after)) > TRANSLATIONS_BYTES_MAX;
  if (!is_long) return faults;
  const field = 'translations';
  return [...faults, { condition: 'field_too_long', field, constraint: 'at most 400,000 bytes in all' }];
}

/** A text of a resource, and the place of its translation in the texts of a locale. */
export interface TranslatableText {
  /** Names the text, such as `seo.title` or `options.Color.Rojo`. */
  readonly field: string;
  readonly path: readonly string[];
  readonly text: string;
}

/** Returns the texts that a resource has in the fields with these names. A list of texts, such as opening hours, is one text. */
export function textsToTranslate(names: readonly string[], resource: object): TranslatableText[] {
  return names.flatMap((name) => {
    const own = (resource as JsonObject)[name];
    if (own === undefined || own === null || own === '') return [];
    if (name === 'options') return (own as unknown as Option[]).flatMap(textsOfOption);
    if (!isObject(own)) return [{ field: name, path: [name], text: String(own) }];
    return Object.entries(own).map(([part, text]) => ({
      field: `${name}.${part}`,
      path: [name, part],
      text: String(text),
    }));
  });
}

function textsOfOption({ name, values }: Option): TranslatableText[] {
  const field = `options.${escaped(name)}`;
  const of_values = values.map((value) => ({
    field: `${field}.${escaped(value)}`,
    path: ['options', name, 'values', value],
    text: value,
  }));
  return [{ field, path: ['options', name, 'name'], text: name }, ...of_values];
}

/** Returns the name in a form in which a point ends it. */
const escaped = (name: string): string => name.replace(/[\\.]/g, '\\$&');

/** Returns the text at a place, undefined if there is none. */
export const textAt = (texts: JsonValue | undefined, path: readonly string[]): JsonValue | undefined =>
  path.reduce(partOf, texts);

/** Returns the names of the texts of a resource that `texts` does not have, such as `seo.title`. `names`: of its fields. */
export function untranslatedIn(names: readonly string[], resource: object, texts: JsonObject): string[] {
  const missing = textsToTranslate(names, resource).filter(({ path }) => textAt(texts, path) === undefined);
  return [...new Set(missing.map(({ field, path }) => (path[0] === 'options' ? 'options' : field)))];
}

/**
 * Returns a field of an object, undefined if the object has no own field of this name. An option may be named `constructor`,
 * as an inherited property is.
 */
export const partOf = (value: JsonValue | undefined, name: string): JsonValue | undefined =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
