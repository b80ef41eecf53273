/*
 * Texts in the other languages of the store (docs/interface/languages.md). A draft has each of them as a field of its own, such
 * as `translations/de/seo/title`, so that two translators contradict each other only in the same text.
 */

export type TranslatedTexts = Readonly<Record<`translations/${string}`, string | null | undefined>>;

/** Names of a text inside a resource, such as `['seo', 'title']`. */
export type TextPath = readonly string[];

const START = 'translations';
const joined = (path: TextPath) => path.map(encodeURIComponent).join('/');
export const textField = (locale: string, path: TextPath) =>
  joined([START, locale, ...path]) as `translations/${string}`;

/** Returns the stored translations as fields of a draft. Leaves out the opening hours, which are no text. */
export function textsOf(translations: unknown, path: TextPath = [START]): TranslatedTexts {
  if (typeof translations === 'string') return { [joined(path)]: translations };
  if (!translations || typeof translations !== 'object' || Array.isArray(translations)) return {};
  const parts = Object.entries(translations).map(([name, part]) => textsOf(part, [...path, name]));
  return Object.assign({}, ...parts);
}

type Patch = Record<string, unknown>;

/** Returns the fields to send: the changed translations become one patch (RFC 7396, JSON Merge Patch), the others stay. */
export function withPatch<Changed extends object>(changed: Changed) {
  // Without a prototype, because an option may be named `constructor`.
  const fields: Patch = Object.create(null);
  for (const [field, value] of Object.entries(changed)) {
    const path = field.startsWith(`${START}/`) ? field.split('/').map(decodeURIComponent) : [field];
    let at = fields;
    for (const name of path.slice(0, -1)) {
      at[name] ??= Object.create(null);
      at = at[name] as Patch;
    }
    at[path.at(-1)!] = value ?? null;
  }
  return fields as Omit<Changed, `${typeof START}/${string}`> & { translations?: Record<string, Patch> };
}

/** Returns the name that a draft has for the field of a fault, such as `translations.de.seo.title`. */
export const translatedFault = (field: string): string =>
  field.startsWith(`${START}.`) ? joined(field.split('.')) : field;
