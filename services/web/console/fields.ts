import { plainAmount } from '../../../shared/catalog/amounts';
import { isCurrency, smallestAmount } from '../../../shared/catalog/input-rules';
import type { Store } from '../../../shared/client';

/** How a value is edited: as text, by the kind of its field. */
type Kind = 'line' | 'text' | 'money' | 'count' | 'list' | 'choice' | 'hours';

export interface FormField {
  readonly name: string;
  readonly label: string;
  readonly kind: Kind;
  readonly hint?: string;
  /** The currency of an amount of money. */
  readonly currency?: string | undefined;
  /** Takes a row of the form. */
  readonly is_wide?: true;
  /** The options of a choice. */
  readonly options?: readonly (readonly [value: string, label: string])[];
}

export const VISIBILITY: FormField = {
  name: 'visibility',
  label: 'Visibility',
  kind: 'choice',
  options: [
    ['public', 'Public'],
    ['private', 'Private'],
  ],
};

export const PRODUCT_FIELDS: readonly FormField[] = [
  { name: 'title', label: 'Title', kind: 'line', is_wide: true },
  { name: 'description_html', label: 'Description', kind: 'text', hint: 'HTML', is_wide: true },
  VISIBILITY,
  { name: 'listing_id', label: 'Listing', kind: 'choice' },
  { name: 'price_amount', label: 'Price', kind: 'money' },
  { name: 'price_currency', label: 'Currency', kind: 'line', hint: 'such as PEN' },
  { name: 'compare_at_amount', label: 'Price before', kind: 'money', hint: 'shown crossed out' },
  { name: 'quantity_available', label: 'Stock', kind: 'count', hint: 'empty: not counted' },
  { name: 'vendor', label: 'Vendor', kind: 'line' },
  { name: 'product_type', label: 'Type', kind: 'line' },
  { name: 'tags', label: 'Tags', kind: 'list', hint: 'separated by commas' },
  { name: 'handle', label: 'Handle', kind: 'line', hint: 'the name in addresses' },
  { name: 'external_id', label: 'External id', kind: 'line' },
];

/** The fields of a product that follow from its variants, if it has variants. */
export const OF_VARIANTS: readonly string[] = ['price_amount', 'quantity_available', 'compare_at_amount'];

export const VARIANT_FIELDS: readonly FormField[] = [
  { name: 'sku', label: 'SKU', kind: 'line' },
  { name: 'price_amount', label: 'Price', kind: 'money' },
  { name: 'quantity_available', label: 'Stock', kind: 'count' },
];

/** The message of a page, mostly about the form that was sent. `fields` are the names of the invalid fields. */
export interface Notice {
  readonly text: string;
  readonly is_bad?: boolean;
  readonly details?: readonly string[];
  readonly fields?: readonly string[];
}

/** Decides how amounts look while their currency is not known. */
const ANY_CURRENCY = 'USD';

type Hours = NonNullable<Store['businessHours']>[number];

/** The text of a value in a form. */
export function textOf({ kind, currency = ANY_CURRENCY }: FormField, value: unknown): string {
  if (value === undefined || value === null) return '';
  if (kind === 'money') return plainAmount(Number(value), currency);
  if (kind === 'hours')
    return (value as Hours[]).map(({ day, hours }) => `${quoted(day, ':')}: ${hours}`).join('\n');
  return kind === 'list' ? (value as string[]).map((each) => quoted(each, ',')).join(', ') : String(value);
}

/** Puts the value in quotation marks, and doubles its own, if it contains the separator or starts with a quotation mark. */
const quoted = (value: string, separator: string): string =>
  value.startsWith('"') || value.includes(separator) ? `"${value.replaceAll('"', '""')}"` : value;
/** Undoes `quoted`: returns the part between the marks, or without marks the plain text. */
const unquoted = (in_marks: string | undefined, plain: string): string =>
  in_marks?.replaceAll('""', '"') ?? plain.trim();
/** Matches a day, which may be between quotation marks, and its hours. */
const DAY = /^(?:"((?:[^"]|"")+)"\s*|([^:]+)):(.+)$/s;
/** Matches the next value of a list: either the part between quotation marks, or the text up to a comma. */
const LISTED = /\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]*))(?:,|$)/g;

/** A text that has no value. `field` is its name in the form. */
export class InvalidText extends Error {
  constructor(
    readonly field: string,
    message: string,
  ) {
    super(message);
  }
}

/** The value of a text, null for none. Throws `InvalidText`. */
export function parseText(field: FormField, text: string): unknown {
  const { name, label, kind } = field;
  const trimmed = text.trim();
  if (trimmed === '') return null;
  switch (kind) {
    case 'money':
      return parseMoney(field, trimmed);
    case 'count':
      if (!/^-?\d{1,9}$/.test(trimmed)) throw new InvalidText(name, `${label}: expected a whole number`);
      return Number(trimmed);
    case 'list':
      return [...trimmed.matchAll(LISTED)]
        .map(([, in_marks, plain = '']) => unquoted(in_marks, plain))
        .filter((each) => each !== '');
    case 'hours':
      return trimmed.split(/[\r\n]+/).map((line) => {
        const [, in_marks, plain = '', hours = ''] = DAY.exec(line.trim()) ?? [];
        const day = unquoted(in_marks, plain);
        if (!day || !hours.trim())
          throw new InvalidText(name, `${label}: expected a colon between the day and its hours: ${line}`);
        return { day, hours: hours.trim() };
      });
    default:
      return kind === 'text' ? text.replaceAll('\r\n', '\n') : trimmed;
  }
}

/**
 * Parses an amount of money. Decimals after the second must be 0, because amounts are stored in hundredths, and are
 * allowed only if the currency has them: in other currencies, `1.250` may mean a thousand. Throws `InvalidText`.
 */
function parseMoney({ name, label, currency }: FormField, text: string): number {
  const known = currency !== undefined && isCurrency(currency) ? currency : ANY_CURRENCY;
  const unit = smallestAmount(known);
  const example = plainAmount(unit > 1 ? 1_200 : 1_250, known);
  const decimals_max = Math.max(2, example.split('.')[1]?.length ?? 0);
  const [, whole = '', decimals = ''] = /^(\d{1,9})(?:[.,](\d+))?$/.exec(text) ?? [];
  const amount = Number(`${whole}${decimals.padEnd(2, '0').slice(0, 2)}`);
  const is_exact = decimals.length <= decimals_max && /^0*$/.test(decimals.slice(2));
  if (whole === '' || !is_exact || amount % unit !== 0)
    throw new InvalidText(name, `${label}: expected an amount such as ${example}`);
  return amount;
}

/** The name of the form's hidden field with the text that the page has shown. */
export const shownName = (name: string): string => `shown:${name}`;

/**
 * Returns the condition of a form's write: it fails if the resource has changed since the page was shown. Throws `InvalidText`
 * if the form has no ETag.
 */
export function ifMatchOf(form: URLSearchParams): { readonly ifMatch: string } {
  const etag = form.get('etag') ?? '';
  if (!/^(W\/)?"[!-~]+"$/.test(etag))
    throw new InvalidText('etag', 'Load the page again, and change it then.');
  return { ifMatch: etag };
}

/**
 * Returns the values of the fields whose texts differ from the texts that the page has shown. The other fields are not sent, so
 * that two people can change different fields. `prefix` stands before the names in the form.
 */
export function changesIn(
  form: URLSearchParams,
  fields: readonly FormField[],
  prefix = '',
): Record<string, unknown> {
  const currency = form.get('price_currency')?.trim();
  const changed = fields.filter(({ name }) => {
    const [text, shown] = [form.get(prefix + name), form.get(shownName(prefix + name))];
    return text !== null && text.replaceAll('\r\n', '\n') !== shown?.replaceAll('\r\n', '\n');
  });
  return Object.fromEntries(
    changed.map((field) => [
      field.name,
      parseText({ ...field, name: prefix + field.name, currency }, form.get(prefix + field.name)!),
    ]),
  );
}
