import { z } from 'zod';
import { EXAMPLE_CURSOR } from '../responses/envelopes';

/**
 * Types of query parameters. Values arrive as strings. The OpenAPI document takes the type of the parsed value from
 * `.meta`, because a schema cannot be derived from a transformation.
 *
 * Each `error` describes the expected value and completes the sentence "Invalid <name>: expected …".
 */

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 50;
const PAGE_MAX = Number.MAX_SAFE_INTEGER;

/** Accepts digits only. Rejects `1.0`, `+1`, `1e3` and an empty value. */
function wholeNumber(max: number, default_value: number, expected: string) {
  return z
    .string()
    .refine((text) => /^\d{1,16}$/.test(text) && Number(text) >= 1 && Number(text) <= max, {
      error: expected,
    })
    .transform(Number)
    .prefault(String(default_value))
    .meta({ type: 'integer', minimum: 1, maximum: max });
}

/** A `limit` of a list whose pages have at most `max` items. */
export const limitUpTo = (max: number) =>
  wholeNumber(max, LIMIT_DEFAULT, `an integer from 1 to ${max}`).describe('Number of items per page.');

/** `page`, `cursor` and `limit` (docs/interface/lists.md#pagination). Values above the maximum are rejected, not reduced. */
export const paginationSchema = z.object({
  page: wholeNumber(PAGE_MAX, 1, `an integer from 1 to ${PAGE_MAX}`).describe(
    'Page number, starting at 1. A page after the last one is empty.',
  ),
  cursor: z.string().optional().meta({
    description:
      'The `next_cursor` of the page before, instead of `page`: no item is repeated or missed because others write.',
    example: EXAMPLE_CURSOR,
  }),
  limit: limitUpTo(LIMIT_MAX),
});

export type Pagination = z.infer<typeof paginationSchema>;

const comma_lists = new WeakSet<z.core.$ZodType>();

/**
 * Accepts a comma-separated list of allowed values, or a repeated parameter. Removes duplicates. Parses a missing or
 * empty parameter as `[]`.
 */
export function commaList<const Value extends string>(
  allowed: readonly Value[],
  description?: string,
): z.ZodType<Value[], string | undefined> {
  const isAllowed = (text: string): text is Value => (allowed as readonly string[]).includes(text);
  return listOfNames(isAllowed, allowed, { type: 'string', enum: [...allowed] }, description);
}

/** The same for the declared names of parameters, with `anyNames`. At most `max`. */
export function parameterList(declared: readonly string[], max: number, description: string) {
  const isAllowed = (text: string): text is string => declared.includes(declaredName(text));
  return listOfNames(isAllowed, declared, { type: 'string' }, description, max);
}

/** The same for any names. */
export function nameList(description: string, example: readonly string[]) {
  const isAny = (text: string): text is string => text !== undefined;
  return listOfNames(isAny, [], { type: 'string' }, description, Number.POSITIVE_INFINITY, example);
}

function listOfNames<Value extends string>(
  isAllowed: (text: string) => text is Value,
  allowed: readonly string[],
  items: { readonly type: 'string'; readonly enum?: string[] },
  description: string | undefined,
  max = allowed.length,
  example?: readonly string[],
): z.ZodType<Value[], string | undefined> {
  const schema = z
    .string()
    .prefault('')
    .transform((text) => (text.trim() === '' ? [] : text.split(',').map((value) => value.trim())))
    .refine((values) => values.every(isAllowed), {
      error: `a comma-separated list of: ${allowed.join(', ')}`,
    })
    .transform((values) => [...new Set(values.filter(isAllowed))])
    .refine((values) => values.length <= max, { error: `at most ${max} names` })
    .meta({
      type: 'array',
      items,
      ...(description === undefined ? {} : { description }),
      ...(example === undefined ? {} : { example }),
    });
  comma_lists.add(schema);
  return schema;
}

/** Accepts a comma-separated list of ids, or a repeated parameter. Removes duplicates. */
export function idList(max: number, description: string, example: readonly string[]) {
  const schema = z
    .string()
    .transform((text) => [
      ...new Set(
        text
          .toLowerCase()
          .split(',')
          .map((id) => id.trim()),
      ),
    ])
    .refine((ids) => ids.every((id) => z.guid().safeParse(id).success), {
      params: { condition: 'invalid_uuid' },
      error: 'UUIDs, separated by commas',
    })
    .refine((ids) => ids.length <= max, { error: `at most ${max} ids` })
    .meta({ type: 'array', items: { type: 'string', format: 'uuid' }, maxItems: max, description, example });
  comma_lists.add(schema);
  return schema.optional();
}

/** Whether a schema is a `commaList`, possibly inside wrappers such as `.optional()`. */
export function isCommaList(parameter: z.core.$ZodType): boolean {
  if (comma_lists.has(parameter)) return true;
  if (parameter instanceof z.ZodPipe) return isCommaList(parameter.in);
  const { def } = parameter._zod;
  return 'innerType' in def && isCommaList(def.innerType as z.core.$ZodType);
}

/** The most values of one parameter, and the most parameters of one `anyNames`. */
const VALUES_MAX = 50;
const NAMES_MAX = 20;

const values = z.array(z.string().min(1).max(255)).max(VALUES_MAX);

/** Accepts a repeated parameter. A comma is part of a value. */
export const valueList = values.optional();

/**
 * Accepts repeated parameters whose names begin with the same text. In a query schema, its name is that text and `<name>`:
 * `attributes.<name>` gives `{ colour: ['red', 'blue'] }` for `attributes.colour=red&attributes.colour=blue`. `meta`: as
 * in `flag`.
 */
export const anyNames = z
  .record(z.string(), values)
  .refine((lists) => Object.keys(lists).length <= NAMES_MAX, { error: `at most ${NAMES_MAX} names` })
  .meta({
    ...{ type: 'array', items: { type: 'string', minLength: 1, maxLength: 255 }, maxItems: VALUES_MAX },
    ...{ propertyNames: undefined, additionalProperties: undefined },
  })
  .optional();

const ANY_NAME = '.<name>';

/** Returns `attributes.` for `attributes.<name>`; undefined for the name of a single parameter. */
export const prefixOf = (declared_name: string): string | undefined =>
  declared_name.endsWith(ANY_NAME) ? declared_name.slice(0, 1 - ANY_NAME.length) : undefined;

/** Returns `attributes.<name>` for `attributes.colour`. */
export const declaredName = (name: string): string => name.replace(/\..+$/s, ANY_NAME);

/** Whether a schema takes all values of a repeated parameter. */
export function isValueList(parameter: z.core.$ZodType): boolean {
  return parameter instanceof z.ZodOptional && parameter.unwrap() instanceof z.ZodArray;
}

/**
 * Returns the fields of an object schema, possibly inside `.refine` and `.transform`. Throws if it is not an object
 * schema.
 */
export function shapeOf(schema: z.ZodType): Record<string, z.core.$ZodType> {
  if (schema instanceof z.ZodObject) return schema.shape;
  if (schema instanceof z.ZodPipe) return shapeOf(schema.in as z.ZodType);
  throw new TypeError('expected an object schema');
}

/**
 * Accepts a UUID and converts it to lower case. An invalid value is reported as `invalid_uuid`
 * (docs/interface/requests.md#ids-and-timestamps).
 */
export const queryId = z
  .string()
  .toLowerCase()
  .refine((text) => z.guid().safeParse(text).success, {
    params: { condition: 'invalid_uuid' },
    error: 'a UUID',
  })
  .meta({ format: 'uuid' });

/**
 * Accepts `true` and `false`. Parses a missing parameter as undefined. `meta` replaces what zod would write about the
 * text in the OpenAPI document; `undefined` removes a property.
 */
export const flag = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .meta({ type: 'boolean', enum: undefined })
  .optional();

/** The largest number of 15 digits. */
const PRICE_BOUND_MAX = 999_999_999_999_999;

/**
 * A price bound in hundredths of the major unit, also for currencies without a minor unit (docs/interface/requests.md#money).
 * `meta`: as in `flag`.
 */
export const priceBound = z
  .string()
  .regex(/^\d{1,15}$/, `a whole number of hundredths, from 0 to ${PRICE_BOUND_MAX}`)
  .transform(Number)
  .meta({ type: 'integer', minimum: 0, maximum: PRICE_BOUND_MAX, pattern: undefined })
  .optional();
