import { z } from 'zod';

/**
 * Kinds of query parameters. Values arrive as strings; `.meta` says what they stand for, which is what the OpenAPI
 * document tells, as a transformation cannot be read off its code.
 */

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 50;
/** Above it, numbers are no longer told apart. */
const PAGE_MAX = Number.MAX_SAFE_INTEGER;

/** Digits alone: `1.0`, `+1`, `1e3` and the empty text are refused, not guessed at. */
function wholeNumber(max: number, fallback: number, constraint: string) {
  return z
    .string()
    .refine((text) => /^\d{1,16}$/.test(text) && Number(text) >= 1 && Number(text) <= max, {
      error: constraint,
    })
    .transform(Number)
    .prefault(String(fallback))
    .meta({ type: 'integer', minimum: 1, maximum: max });
}

/** `page` and `limit` (spec, "Query parameters"); beyond the maximum is refused, not clamped. */
export const paginationSchema = z.object({
  page: wholeNumber(PAGE_MAX, 1, 'an integer of at least 1').describe(
    'The page, from 1. Beyond the last it is empty.',
  ),
  limit: wholeNumber(LIMIT_MAX, LIMIT_DEFAULT, `an integer from 1 to ${LIMIT_MAX}`).describe(
    'Items per page.',
  ),
});

export type Pagination = z.infer<typeof paginationSchema>;

const lists = new WeakSet<z.core.$ZodType>();

/** A parameter that is a comma-separated list or repeated, each value once; `[]` where it is left out or empty. */
export function commaList<const Value extends string>(
  allowed: readonly Value[],
  description?: string,
): z.ZodType<Value[], string | undefined> {
  const isAllowed = (text: string): text is Value => (allowed as readonly string[]).includes(text);
  const schema = z
    .string()
    .prefault('')
    .transform((text) => (text.trim() === '' ? [] : text.split(',').map((part) => part.trim())))
    .refine((parts) => parts.every(isAllowed), { error: `a comma-separated list of: ${allowed.join(', ')}` })
    .transform((parts) => [...new Set(parts.filter(isAllowed))])
    .meta({
      ...{ type: 'array', items: { type: 'string', enum: [...allowed] }, uniqueItems: true },
      ...(description === undefined ? {} : { description }),
    });
  lists.add(schema);
  return schema;
}

/** Whether it is a `commaList`, under what is wrapped around it. */
export function isCommaList(parameter: z.core.$ZodType): boolean {
  if (lists.has(parameter)) return true;
  if (parameter instanceof z.ZodPipe) return isCommaList(parameter.in);
  const { def } = parameter._zod;
  return 'innerType' in def && isCommaList(def.innerType as z.core.$ZodType);
}

/** Returns the fields of an object schema, under what `.refine` and `.transform` wrap around it. */
export function shapeOf(schema: z.ZodType): Record<string, z.core.$ZodType> {
  if (schema instanceof z.ZodObject) return schema.shape;
  if (schema instanceof z.ZodPipe) return shapeOf(schema.in as z.ZodType);
  throw new TypeError('a query is checked by an object schema');
}

/** A query parameter that is an id, in lower case; a fault of it is `invalid_uuid` (decisions §1). */
export const queryId = z
  .string()
  .toLowerCase()
  .refine((text) => z.guid().safeParse(text).success, {
    params: { condition: 'invalid_uuid' },
    error: 'a UUID',
  })
  .meta({ format: 'uuid' });

export const flag = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .meta({ type: 'boolean', enum: undefined })
  .optional();

export const priceBound = z
  .string()
  .regex(/^\d{1,15}$/, 'a whole number of hundredths, 0 or more')
  .transform(Number)
  .meta({ type: 'integer', minimum: 0, pattern: undefined })
  .optional();
