import { z } from 'zod';
import { type Condition, FAULTS_MAX } from '../kernel/errors';
import { isUuid } from '../kernel/ids';
import { foldLatin } from '../kernel/text';
import { PRICE_AMOUNT_MAX } from './amounts';

/** Control characters and lone surrogates, which no text may contain. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;
/** The same without tab and line breaks, which texts of several lines may contain. */
const UNPRINTABLE_EXCEPT_BREAKS = /(?![\t\n\r])[\p{Cc}\p{Cs}]/u;
/** A visible character: no space and no formatting character. */
const VISIBLE = /[^\p{Z}\p{Cf}]/u;

/**
 * The rules above as patterns for JSON Schema, in a syntax that all languages know. A line is trimmed before it is
 * checked, so white space around it may contain line breaks.
 */
export const LINE_PATTERN = '^\\s*[^\\s\\x00-\\x1F\\x7F-\\x9F][^\\x00-\\x1F\\x7F-\\x9F]*\\s*$';
const NAME_PATTERN =
  '^[^\\s\\x00-\\x1F\\x7F-\\x9F]([^\\x00-\\x1F\\x7F-\\x9F]*[^\\s\\x00-\\x1F\\x7F-\\x9F])?$';
const TEXT_PATTERN = '^[^\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\x7F-\\x9F]*$';

const constraint = (condition: Condition, error: string) => ({ params: { condition }, error, abort: true });

/** Returns the number with commas between thousands. `toLocaleString` would load the data of all languages. */
const withCommas = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ',');

/**
 * Returns the schema of a one-line text. Trims it, then requires 1 to `max` code points, at least one visible character
 * and no control character.
 */
export function lineField(max: number) {
  return z
    .string()
    .trim()
    .refine((text) => !UNPRINTABLE.test(text), constraint('field_invalid', 'no control characters'))
    .refine((text) => VISIBLE.test(text), constraint('field_too_short', 'at least 1 character'))
    .refine((text) => fits(text, max), constraint('field_too_long', `at most ${withCommas(max)} characters`))
    .meta({ minLength: 1, maxLength: max, pattern: LINE_PATTERN });
}

export const HANDLE_MAX = 200;
/** Letters and digits of any script, and hyphens and underscores between them. */
const HANDLE = /^[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}_-]*[\p{L}\p{M}\p{N}])?$/u;
/** Characters that are not shown, such as the Hangul filler, which is a letter. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;
/** Nearly the same as `HANDLE` in a syntax that all languages know: of ASCII, only a–z, 0–9, `-` and `_`. */
const HANDLE_PATTERN =
  '^[^\\x00-\\x2F\\x3A-\\x60\\x7B-\\xA0]([^\\x00-\\x2C\\x2E\\x2F\\x3A-\\x5E\\x60\\x7B-\\xA0]*[^\\x00-\\x2F\\x3A-\\x60\\x7B-\\xA0])?$';

const isHandle = (text: string): boolean =>
  HANDLE.test(text) && text === text.toLowerCase() && text.search(INVISIBLE) < 0;

/** Returns the spelling of a handle that is stored. Unicode can compose some letters in several ways. */
export const handleSpelling = (text: string): string => text.normalize('NFC');

/** A name in addresses. */
export const handleField = z
  .string()
  .overwrite(handleSpelling)
  .max(HANDLE_MAX)
  .refine(isHandle, 'letters in lower case and digits, with hyphens or underscores between them')
  .meta({ pattern: HANDLE_PATTERN });

/** Maximum length of a handle that is made from a title. A number or an id may follow it. */
const SLUG_MAX = 100;
/** How many characters of a title are read for a handle. The titles in a file may be longer than the interface allows. */
const SLUG_READ_MAX = 1_000;

/**
 * Returns the title as a handle: its words with hyphens between them, Latin letters without accents and other letters as
 * they are. Empty if it has no letter and no digit.
 */
export function slugOf(title: string): string {
  const text = foldLatin(title.slice(0, SLUG_READ_MAX)).replace(/['’]/g, '').replace(INVISIBLE, '');
  const words = text.match(/[\p{L}\p{N}][\p{L}\p{M}\p{N}]*/gu) ?? [];
  return words
    .join('-')
    .slice(0, SLUG_MAX)
    .replace(/[\uD800-\uDBFF]$/, '')
    .replace(/-$/, '');
}

/** Returns the schema of a text of any number of lines, at most `max` code points in total. Does not trim it. */
export function textField(max: number) {
  return z
    .string()
    .refine(
      (text) => !UNPRINTABLE_EXCEPT_BREAKS.test(text),
      constraint('field_invalid', 'no control characters except tab and line break'),
    )
    .refine((text) => fits(text, max), constraint('field_too_long', `at most ${withCommas(max)} characters`))
    .meta({ maxLength: max, pattern: TEXT_PATTERN });
}

/**
 * An id in a request body, in lower case after parsing. Ids in paths and queries are reported as `invalid_uuid`
 * instead.
 */
export const idField = z
  .string()
  .refine(isUuid, constraint('field_invalid', 'a UUID'))
  .meta({ format: 'uuid' })
  .transform((id) => id.toLowerCase());

/** Returns the schema of an ordered list of at most `max` distinct texts. `what` names an item in errors. */
export function distinctField(item: z.ZodType<string>, max: number, what: string) {
  return z.array(item).max(max).superRefine(rejectDuplicates(what)).meta({ uniqueItems: true });
}

/** Returns the schema of a list of at most `max` distinct lines of at most `length_max` characters. */
export function linesField(max: number, length_max: number) {
  return distinctField(lineField(length_max), max, 'text');
}

/** Returns the schema of an ordered list of at most `max` distinct ids. */
export function idsField(max: number) {
  return distinctField(idField, max, 'id');
}

/** Returns the schema of a list of media ids. Null means an empty list. */
export function mediaIdsField(max: number) {
  return idsField(max)
    .nullable()
    .transform((ids) => ids ?? []);
}

/** An ISO 8601 time with a zone, in UTC with milliseconds after parsing (docs/interface/requests.md#ids-and-timestamps). */
export const timeField = z.iso.datetime({ offset: true }).transform((text) => new Date(text).toISOString());

function rejectDuplicates(what: string) {
  return (items: readonly string[], context: z.RefinementCtx): void => {
    const seen = new Set<string>();
    items.forEach((item, index) => {
      if (seen.size < seen.add(item).size) return;
      context.addIssue({
        code: 'custom',
        path: [index],
        message: `no ${what} more than once`,
        params: { condition: 'field_invalid' satisfies Condition },
      });
    });
  };
}

/**
 * Limits the values that an object may have, by name. Cuts off the others before `schema` checks the values: an object of
 * a body may have 50,000 of them. (A list needs no such step: zod does not check the items of a list that is too long.)
 */
export function fewNames<Schema extends z.ZodRecord>(schema: Schema, max: number) {
  const cut = (input: unknown): unknown => {
    if (typeof input !== 'object' || input === null || Array.isArray(input)) return input;
    const kept: Record<string, unknown> = {};
    let count = 0;
    for (const name in input) {
      if (count++ > max) break;
      kept[name] = (input as Record<string, unknown>)[name];
    }
    return kept;
  };
  const hasFew = (values: object): boolean => Object.keys(values).length <= max;
  return z.preprocess(
    cut,
    schema
      .refine(hasFew, {
        params: { condition: 'field_invalid' satisfies Condition },
        error: `at most ${max} names`,
      })
      .meta({ maxProperties: max }),
  );
}

/** How many faults were found in the lists of a parse with `stopAtFaults`. zod has one context for each parse. */
const fault_counts = new WeakMap<object, number>();

/**
 * Returns the schema for the items of a long list. It does not check the rest of the list after `FAULTS_MAX` faults, which is
 * as many as an answer names: to describe 45,000 faults takes 0.3 s.
 */
export function stopAtFaults<Item extends z.ZodType>(item: Item): Item {
  const checked = item.clone();
  const { run } = checked._zod;
  checked._zod.run = (payload, context) => {
    const before = fault_counts.get(context) ?? 0;
    if (before >= FAULTS_MAX) return payload;
    const result = run(payload, context) as typeof payload;
    fault_counts.set(context, before + result.issues.length);
    return result;
  };
  return checked;
}

/** Returns the schema of an object of at most `max` values, by name. A name is one line of at most `name_max` characters. */
export function namedValuesField<Value extends z.ZodType>(value: Value, max: number, name_max: number) {
  // One schema for all names: making it takes 75 µs.
  const line = lineField(name_max);
  const record = z
    .record(z.string().meta({ minLength: 1, maxLength: name_max, pattern: NAME_PATTERN }), value)
    .superRefine((values, context) => {
      for (const name of Object.keys(values))
        if (line.safeParse(name).data !== name)
          context.addIssue({
            code: 'custom',
            path: [name],
            message: `a name of 1 to ${name_max} characters, without spaces around it`,
            params: { condition: 'field_invalid' satisfies Condition },
          });
    });
  return fewNames(record, max);
}

/** Maximum length of a vendor, a type, a tag and a title for search engines. */
export const LABEL_MAX = 255;

/** Returns the value, null for an empty list or object, which means the same. */
export const nullIfEmpty = <Value extends object>(value: Value | null): Value | null =>
  value !== null && Object.keys(value).length === 0 ? null : value;

export const ATTRIBUTES_MAX = 50;
export const ATTRIBUTE_NAME_MAX = 60;
/** Maximum length of a text of an attribute. */
export const ATTRIBUTE_LENGTH_MAX = 255;
/** Maximum number of texts in a list. */
export const ATTRIBUTE_TEXTS_MAX = 50;

/** The attributes of a publication or a variant, as they are stored. */
export const attributesSchema = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]))
  .nullable();
export const attributesField = namedValuesField(
  z.union(
    [
      lineField(ATTRIBUTE_LENGTH_MAX),
      z.number(),
      z.boolean(),
      linesField(ATTRIBUTE_TEXTS_MAX, ATTRIBUTE_LENGTH_MAX),
    ],
    `a line of at most ${ATTRIBUTE_LENGTH_MAX} characters, a number, true or false, or a list of at most ${ATTRIBUTE_TEXTS_MAX} such lines`,
  ),
  ATTRIBUTES_MAX,
  ATTRIBUTE_NAME_MAX,
)
  .nullable()
  .transform(nullIfEmpty);

/**
 * Returns whether the text has at most `max` code points. Compares the length in UTF-16 units first: a text never has
 * more code points than units.
 */
export function fits(text: string, max: number): boolean {
  if (text.length <= max) return true;
  let points = 0;
  for (const _point of text) if (++points > max) return false;
  return true;
}

/** Formats hundredths, for example `1250` as `12.50`. */
export function formatPrice(amount: number): string {
  const digits = String(amount).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/**
 * Active currency codes of ISO 4217, including the codes of funds, metals and tests (docs/interface/requests.md#money). They are
 * list one of the maintenance agency, as of January 2026 (https://www.six-group.com/en/products-services/financial-information/data-standards.html).
 * The list is part of the service, because the list of the runtime depends on its version and has no fund codes.
 */
const ACTIVE = `
  AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW
  CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL
  HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA
  MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD
  RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD
  USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG XAU XBA XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XTS XUA XXX
  YER ZAR ZMW ZWG`;

/** Codes of list three that ISO 4217 withdrew since 2021. Accepted, because catalogs still have prices in them. */
const WITHDRAWN = 'ANG BGN CUC HRK SLL ZWL';

/** All accepted codes, in upper case. */
const CURRENCIES: ReadonlySet<string> = new Set(`${ACTIVE} ${WITHDRAWN}`.trim().split(/\s+/));

/** Whether the text is an accepted currency code, in upper case. */
export const isCurrency = (code: string): boolean => CURRENCIES.has(code);

/** A currency code. */
export const currencyField = z
  .string()
  .refine(isCurrency, 'an ISO 4217 currency code in upper case')
  .meta({ pattern: `^(${[...CURRENCIES].join('|')})$` });

/** An amount of money, in hundredths of the major unit. */
export const amountField = z.int().min(0).max(PRICE_AMOUNT_MAX);
