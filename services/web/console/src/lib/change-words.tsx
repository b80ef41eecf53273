import type { Change } from 'catalog-client';
import type { ReactNode } from 'react';
import { type Texts, useLocale, useTexts } from '../texts/texts';
import { isSame } from './draft';
import { formatMoney, formatNumber, formatTime } from './format';

export interface ChangeWordsProps {
  readonly change: Change;
  /** The currency of the product, for a change that does not have it. */
  readonly currency?: string | undefined;
  /** Returns the name of a listing or a variant, if the page knows it. */
  readonly nameOf?: (id: string) => string | undefined;
  /** What was changed, such as a link with the title, if the page does not say it anyway. */
  readonly subject?: ReactNode;
}

/** Placeholder for the subject in a phrase. U+FFFC occurs in no text that people type. */
const SUBJECT = '\uFFFC';

/** Says in words and money what a change did: "Ana changed the price from $29.90 to $19.90". */
export function ChangeWords({ change, currency, nameOf = () => undefined, subject }: ChangeWordsProps) {
  const t = useTexts();
  const locale = useLocale();
  const who = change.actor.name ?? t.history.actors[change.actor.type];
  const words = {
    t,
    locale,
    currency: (change.changed.price_currency?.after as string | undefined) ?? currency,
    nameOf,
  };
  const phrases = phrasesOf(change, words);
  return (
    <div className="stack tight">
      <p dir="auto">
        <strong>{who}</strong>{' '}
        {phrases.length === 1
          ? withSubject(phrasesOf(change, { ...words, has_subject: !!subject })[0]!, words, subject)
          : withSubject(countWords(phrases.length, t, !!subject), words, subject)}
      </p>
      {phrases.length > 1 && (
        <ul className="change-list">
          {phrases.map((phrase) => (
            <li key={phrase} dir="auto">
              {phrase}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function countWords(count: number, t: Texts, has_subject: boolean): string {
  const words = t.history.changedCount(count);
  return has_subject ? t.history.ofSubject(words, SUBJECT) : words;
}

interface Words {
  readonly t: Texts;
  readonly locale: string;
  readonly currency: string | undefined;
  readonly nameOf: (id: string) => string | undefined;
  /** Whether the phrase says what was changed: `changed the price of ￼ from $29.90 to $19.90`. */
  readonly has_subject?: boolean;
}

/** Puts the subject at its place in the phrase, or after a phrase that has no place for it. */
function withSubject(phrase: string, { t }: Words, subject: ReactNode): ReactNode {
  if (!subject) return phrase;
  const placed = phrase.includes(SUBJECT) ? phrase : t.history.ofVariant(phrase, SUBJECT);
  const [before, after] = placed.split(SUBJECT);
  return (
    <>
      {before}
      {subject}
      {after}
    </>
  );
}

/** Returns what was done, one phrase for each field, such as `changed the price from $29.90 to $19.90`. */
function phrasesOf(change: Change, words: Words): string[] {
  const { t, nameOf, has_subject } = words;
  const [, verb] = change.type.split('.');
  const name = change.changed.title?.after ?? change.changed.name?.after ?? nameOf(change.resource_id);
  if (verb === 'created' || verb === 'deleted' || verb === 'restored') {
    if (has_subject && !change.title) return [t.history[verb](SUBJECT)];
    const what = t.history.resources[change.resource];
    if (!has_subject) return [t.history[verb](what, name as string | undefined)];
    const phrase = t.history[verb](what, SUBJECT);
    const variant = change.resource === 'variant' && nameOf(change.resource_id);
    return [variant ? t.history.ofVariant(phrase, variant) : phrase];
  }
  const fields = Object.entries(change.changed).filter(
    ([field]) => field !== 'description' || !('description_html' in change.changed),
  );
  const phrases = fields.flatMap(([field, { before, after }]) => fieldPhrases(field, before, after, words));
  if (change.resource !== 'variant') return phrases;
  const variant = nameOf(change.resource_id);
  return variant ? phrases.map((phrase) => t.history.ofVariant(phrase, variant)) : phrases;
}

/** Fields whose values are too long for a sentence. */
const LONG = new Set([
  ...['description', 'description_html', 'body', 'instructions'],
  ...['focal_point', 'media_id', 'prices', 'translations', 'markets'],
]);
const DATES = new Set(['sale_from', 'sale_to', 'publish_at', 'unpublish_at']);
/** Objects whose parts are shown as fields of their own. */
const OBJECTS = new Set(['seo', 'attributes', 'contact', 'policies']);

function fieldPhrases(field: string, before: unknown, after: unknown, words: Words): string[] {
  const { t, has_subject } = words;
  if (field === 'variants') return variantPhrases(listOf(before), listOf(after), words);
  if (OBJECTS.has(field)) return objectPhrases(field, before, after, words);
  const label = labelOf(field, words);
  if (LONG.has(field)) return [t.history.changed(label)];
  if (field === 'visibility') return [t.history.made(has_subject ? SUBJECT : undefined, after === 'public')];
  if (typeof after === 'boolean') return [t.history.switched(label, after)];
  if (Array.isArray(before) || Array.isArray(after))
    return listPhrases(field, listOf(before), listOf(after), words);
  if (isEmpty(after)) return [t.history.removed(label)];
  const shown = shownValue(field, after, words);
  return [
    isEmpty(before)
      ? t.history.setTo(label, shown)
      : t.history.changedFromTo(label, shownValue(field, before, words), shown),
  ];
}

const isEmpty = (value: unknown): boolean => value === null || value === undefined || value === '';
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function labelOf(field: string, { t, has_subject }: Words): string {
  const labels: Readonly<Record<string, string>> = t.history.fields;
  const label = labels[field] ?? t.history.otherField(field);
  return has_subject ? t.history.ofSubject(label, SUBJECT) : label;
}

function shownValue(field: string, value: unknown, { t, locale, currency, nameOf }: Words): string {
  if (typeof value === 'number')
    return field.endsWith('_amount') ? formatMoney(value, currency, locale) : formatNumber(value, locale);
  if (typeof value === 'boolean') return value ? t.common.yes : t.common.no;
  if (typeof value !== 'string') return JSON.stringify(value);
  if (DATES.has(field)) return formatTime(value, locale);
  if (field === 'listing_id' || field === 'parent_id') return `“${nameOf(value) ?? t.history.unknown}”`;
  return `“${shortened(value)}”`;
}

const LENGTH_MAX = 80;
export const shortened = (text: string): string =>
  text.length > LENGTH_MAX ? `${text.slice(0, LENGTH_MAX)}…` : text;

/** The parts of an object, such as the attributes, are worded like fields. */
function objectPhrases(field: string, before: unknown, after: unknown, words: Words): string[] {
  const old_parts = (before ?? {}) as Readonly<Record<string, unknown>>;
  const new_parts = (after ?? {}) as Readonly<Record<string, unknown>>;
  const names = [...new Set([...Object.keys(old_parts), ...Object.keys(new_parts)])];
  return names
    .filter((name) => !isSame(old_parts[name], new_parts[name]))
    .flatMap((name) =>
      fieldPhrases(
        field === 'attributes' ? name : `${field}.${name}`,
        old_parts[name] ?? null,
        new_parts[name] ?? null,
        words,
      ),
    );
}

function listPhrases(field: string, before: unknown[], after: unknown[], words: Words): string[] {
  const { t, nameOf } = words;
  const label = labelOf(field, words);
  const missingIn = (one: unknown[], other: unknown[]) =>
    one.filter((item) => !other.some((each) => isSame(each, item)));
  const [removed, added] = [missingIn(before, after), missingIn(after, before)];
  if (field === 'media_ids') {
    const phrases = [
      added.length > 0 && t.history.addedPictures(added.length),
      removed.length > 0 && t.history.removedPictures(removed.length),
    ].filter((phrase) => phrase !== false);
    return phrases.length > 0 ? phrases : [t.history.ordered(label)];
  }
  const nameOfItem = (item: unknown): string => {
    if (typeof item !== 'string') {
      const { name, day, hours } = item as { name?: string; day?: string; hours?: string };
      return name ?? `${day} ${hours}`;
    }
    return field.endsWith('_ids') ? (nameOf(item) ?? t.history.unknown) : item;
  };
  if (field === 'options') return [t.history.setTo(label, after.map(nameOfItem).join(', ') || t.common.none)];
  const named = (items: unknown[]) => items.map((item) => `“${nameOfItem(item)}”`).join(', ');
  const phrases = [
    added.length > 0 && t.history.addedTo(label, named(added)),
    removed.length > 0 && t.history.removedFrom(label, named(removed)),
  ].filter((phrase) => phrase !== false);
  return phrases.length > 0 ? phrases : [t.history.ordered(label)];
}

type ChangedVariant = { readonly id: string; readonly option_values?: Readonly<Record<string, string>> } & {
  readonly [field: string]: unknown;
};

const variantName = (variant: ChangedVariant): string =>
  Object.values(variant.option_values ?? {}).join(' / ');

/** One phrase for the new variants, one for the removed ones, and one for each field that changed in any variant. */
function variantPhrases(before: unknown[], after: unknown[], words: Words): string[] {
  const { t } = words;
  const old_variants = new Map((before as ChangedVariant[]).map((each) => [each.id, each]));
  const new_variants = new Map((after as ChangedVariant[]).map((each) => [each.id, each]));
  const added = [...new_variants.values()].filter(({ id }) => !old_variants.has(id));
  const removed = [...old_variants.values()].filter(({ id }) => !new_variants.has(id));
  const kept = [...new_variants.values()].filter(({ id }) => old_variants.has(id));
  const fields = [...new Set(kept.flatMap((each) => Object.keys(each)))].filter(
    (name) => name !== 'position',
  );
  const phrases = fields.flatMap((field) => {
    const changed = kept.filter((each) => !isSame(old_variants.get(each.id)?.[field], each[field]));
    const [first] = changed;
    if (!first) return [];
    if (changed.length === 1)
      return fieldPhrases(
        field,
        old_variants.get(first.id)?.[field] ?? null,
        first[field] ?? null,
        words,
      ).map((phrase) => t.history.ofVariant(phrase, variantName(first)));
    const is_one_value = changed.every((each) => isSame(each[field], first[field]));
    const is_shown = is_one_value && !isEmpty(first[field]) && typeof first[field] !== 'object';
    const value = is_shown ? shownValue(field, first[field], words) : undefined;
    return [
      t.history.changedVariants(labelOf(field, { ...words, has_subject: false }), changed.length, value),
    ];
  });
  return [
    ...(added.length > 0 ? [t.history.addedVariants(added.length, added.slice(0, 3).map(variantName))] : []),
    ...(removed.length > 0
      ? [t.history.removedVariants(removed.length, removed.slice(0, 3).map(variantName))]
      : []),
    ...phrases,
    // Positions change also beside additions and removals.
    ...(phrases.length + added.length + removed.length === 0
      ? [t.history.ordered(t.history.fields.variants)]
      : []),
  ];
}
