import { z } from 'zod';
import { isCommaList } from '../api/requests/parameters';
import { CatalogError, type Condition, type Fault } from '../kernel/errors';
import { describeConstraint } from './constraints';
import { isGarbled } from './query-parameters';
import type { QueryParameters } from './route';

type Issue = z.core.$ZodIssue;

/**
 * The body as the schema has it. Throws a `CatalogError` with all faults, in the schema's order. A check of its own
 * gives another condition by `.refine(fn, { params: { condition: 'invalid_url' }, error: 'an http(s) URL' })`.
 */
export function parseBody<Output>(schema: z.ZodType<Output>, body: unknown): Output {
  const parsed = schema.safeParse(body, { error: describeConstraint });
  if (parsed.success) return parsed.data;
  throw faultsOf(parsed.error, (issue) => bodyCondition(issue, body));
}

/** By schema, for as long as the parameters themselves are remembered (`query-parameters.ts`). */
const parsedQueries = new WeakMap<z.ZodType, WeakMap<QueryParameters, unknown>>();

/** What `parseQuery` gives, asked of the schema once for the same parameters: those are frozen, and schemas are pure. */
export function parseQueryOnce<Output>(schema: z.ZodType<Output>, query: QueryParameters): Output {
  if (!Object.isFrozen(query)) return parseQuery(schema, query);
  const parsed = parsedQueries.get(schema) ?? new WeakMap<QueryParameters, unknown>();
  parsedQueries.set(schema, parsed);
  const known = parsed.get(query) as Output | undefined;
  if (known !== undefined) return known;
  const output = parseQuery(schema, query);
  parsed.set(query, Object.freeze(output));
  return output;
}

/**
 * The query's parameters as the schema has them; those that it does not name are ignored. Values reach the schema as
 * strings. Every fault is `invalid_query` unless a check says otherwise; so is a repeated parameter that is no list, and
 * one whose bytes are no UTF-8.
 */
export function parseQuery<Output>(schema: z.ZodType<Output>, query: QueryParameters): Output {
  const input: Record<string, string> = {};
  for (const [name, parameter] of Object.entries(shapeOf(schema))) {
    const values = query[name];
    if (values === undefined) continue;
    if (values.length > 1 && !isCommaList(parameter))
      throw CatalogError.ofFaults([
        { condition: 'invalid_query', field: name, constraint: 'given only once' },
      ]);
    if (isGarbled(query, name))
      throw CatalogError.ofFaults([
        { condition: 'invalid_query', field: name, constraint: 'percent-encoded UTF-8' },
      ]);
    input[name] = values.join(',');
  }
  const parsed = schema.safeParse(input, { error: describeConstraint });
  if (parsed.success) return parsed.data;
  throw faultsOf(parsed.error, (issue) => conditionOf(issue) ?? 'invalid_query');
}

/** The object that a schema checks, under what `.refine` and `.transform` wrap around it. */
export function shapeOf(schema: z.ZodType): Record<string, z.core.$ZodType> {
  if (schema instanceof z.ZodObject) return schema.shape;
  if (schema instanceof z.ZodPipe) return shapeOf(schema.in as z.ZodType);
  throw new TypeError('a query is checked by an object schema');
}

/** All of them (decisions §4): the limit on a body's size is what bounds them. */
function faultsOf(error: z.ZodError, condition: (issue: Issue) => Condition): CatalogError {
  const faults = error.issues.flatMap((issue): Fault[] =>
    fieldsOf(issue).map((field) => ({ condition: condition(issue), field, constraint: issue.message })),
  );
  return CatalogError.ofFaults(faults);
}

/** `media_ids.3`; an unknown field is a fault of its own, by its own name. */
function fieldsOf(issue: Issue): string[] {
  const at = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => [...at, key].join('.'));
  return [at.length === 0 ? 'body' : at.join('.')];
}

/** What the check itself says it is. */
function conditionOf(issue: Issue): Condition | undefined {
  return issue.code === 'custom' ? (issue.params?.condition as Condition | undefined) : undefined;
}

function bodyCondition(issue: Issue, body: unknown): Condition {
  const said = conditionOf(issue);
  if (said !== undefined) return said;
  if (issue.code !== 'unrecognized_keys' && isMissing(body, issue.path)) return 'field_required';
  switch (issue.code) {
    case 'too_big':
      return isSized(issue.origin) ? 'field_too_long' : 'field_invalid';
    case 'too_small':
      return isSized(issue.origin) ? 'field_too_short' : 'field_invalid';
    case 'invalid_format':
      return formatCondition(issue.format);
    default:
      return 'field_invalid';
  }
}

function isSized(origin: string): boolean {
  return origin === 'string' || origin === 'array' || origin === 'set';
}

function formatCondition(format: string): Condition {
  if (format === 'url') return 'invalid_url';
  return format === 'email' ? 'invalid_email' : 'field_invalid';
}

/** Missing or null in what was sent (decisions §4). */
function isMissing(body: unknown, path: readonly PropertyKey[]): boolean {
  let value = body;
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return false;
    value = Object.hasOwn(value, key) ? (value as Record<PropertyKey, unknown>)[key] : undefined;
  }
  return value === undefined || value === null;
}
