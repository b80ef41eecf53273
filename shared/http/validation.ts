import { isUtf8 } from 'node:buffer';
import type { z } from 'zod';
import { isCommaList, type Pagination, shapeOf } from '../api/requests/parameters';
import type { JsonObject } from '../catalog/events/envelope';
import { LRUCache } from '../kernel/cache';
import { CatalogError, type Condition, type Fault } from '../kernel/errors';

type Issue = z.core.$ZodIssue;

// --- Bodies ---

/**
 * Parses a body by its schema. Throws a `CatalogError` with all faults, in the schema's order. A custom check sets its
 * condition by `.refine(fn, { params: { condition: 'invalid_url' }, error: 'an http(s) URL' })`.
 */
export function parseBody<Output>(schema: z.ZodType<Output>, body: unknown): Output {
  const parsed = schema.safeParse(body, { error: describeConstraint });
  if (parsed.success) return parsed.data;
  throw faultsOf(parsed.error, (issue) => bodyCondition(issue, body));
}

// --- Queries ---

/** Every value of every query parameter, in order. A parameter that is not there has no entry. */
export type QueryParameters = Readonly<Record<string, readonly string[]>>;

/** Storefronts send the same few queries all day: each is parsed once. */
const CACHED_MAX = 1_000;
const CACHED_LENGTH_MAX = 512;

const NONE: QueryParameters = Object.freeze(Object.create(null));
const cached = new LRUCache<string, QueryParameters>({ max: CACHED_MAX });

/** Parses the query of a request's URL. Returns the same object for the same text while it is cached. */
export function queryParameters(url: string): QueryParameters {
  const mark = url.indexOf('?');
  if (mark === -1) return NONE;
  const text = url.slice(mark + 1);
  const known = cached.get(text);
  if (known !== undefined) return known;
  const query = parseParameters(text);
  if (text.length <= CACHED_LENGTH_MAX) cached.set(text, query);
  return query;
}

const garbled = new WeakMap<QueryParameters, ReadonlySet<string>>();

/** Whether a value of the parameter has percent-encoded bytes that are not UTF-8, and so is not what was meant. */
export function isGarbled(query: QueryParameters, name: string): boolean {
  return garbled.get(query)?.has(name) ?? false;
}

/** Returns an object without a prototype, since the names are the client's. */
function parseParameters(text: string): QueryParameters {
  const parameters: Record<string, string[]> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    parameters[name] ??= [];
    parameters[name].push(value);
  }
  for (const values of Object.values(parameters)) Object.freeze(values);
  const query = Object.freeze(parameters);
  const names = garbledIn(text);
  if (names.size > 0) garbled.set(query, names);
  return query;
}

/** `URLSearchParams` silently puts replacement characters in place of bytes that are not UTF-8. */
function garbledIn(text: string): ReadonlySet<string> {
  const names = new Set<string>();
  if (!/%[89a-f]/i.test(text)) return names;
  for (const pair of text.split('&'))
    if (!isUtf8(bytesOf(pair))) for (const [name] of new URLSearchParams(pair)) names.add(name);
  return names;
}

/** A URL is ASCII: everything else in it is percent-encoded (RFC 3986 §2.1). */
function bytesOf(pair: string): Buffer {
  const decoded = pair.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(decoded, 'latin1');
}

/** Results by schema, for as long as the parameters themselves are cached. */
const parsedQueries = new WeakMap<z.ZodType, WeakMap<QueryParameters, unknown>>();

/**
 * Parses a query by its schema, which gets the values as strings. Ignores parameters that the schema does not name.
 * Every fault is `invalid_query` unless a check says otherwise, also a repeated parameter that is no list and one whose
 * bytes are not UTF-8. Parses the same parameters once: they are frozen, and schemas are pure. The result is frozen.
 */
export function parseQuery<Output>(schema: z.ZodType<Output>, query: QueryParameters): Output {
  const parsed = parsedQueries.get(schema) ?? new WeakMap<QueryParameters, unknown>();
  parsedQueries.set(schema, parsed);
  const known = parsed.get(query) as Output | undefined;
  if (known !== undefined) return known;
  const output = parseAnew(schema, query);
  if (Object.isFrozen(query)) parsed.set(query, Object.freeze(output));
  return output;
}

function parseAnew<Output>(schema: z.ZodType<Output>, query: QueryParameters): Output {
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

/** Returns `meta` of the paginated envelope. An empty list has no pages. */
export function pageMeta(options: Pagination & { total: number }): JsonObject {
  const { page, limit, total } = options;
  const pagination = { page, total_pages: Math.ceil(total / limit), total_items: total, limit };
  return { page, take: limit, item_count: total, pagination };
}

// --- Faults ---

/** Returns all faults (decisions §4). The limit on a body's size bounds how many there are. */
function faultsOf(error: z.ZodError, condition: (issue: Issue) => Condition): CatalogError {
  const faults = error.issues.flatMap((issue): Fault[] =>
    fieldsOf(issue).map((field) => ({ condition: condition(issue), field, constraint: issue.message })),
  );
  return CatalogError.ofFaults(faults);
}

/** Returns names such as `media_ids.3`. Each unknown field is a fault of its own. */
function fieldsOf(issue: Issue): string[] {
  const at = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => [...at, key].join('.'));
  return [at.length === 0 ? 'body' : at.join('.')];
}

/** Returns the condition that a custom check sets. */
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

type RawIssue = z.core.$ZodRawIssue;

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const FORMATS: Readonly<Record<string, string>> = {
  url: 'a URL',
  email: 'an e-mail address',
  uuid: 'a UUID',
  guid: 'a UUID',
  datetime: 'an ISO 8601 timestamp',
  safeint: 'an integer',
};

const UNITS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: [' character', ' characters'],
  array: [' item', ' items'],
  set: [' item', ' items'],
};

/** Says in a few words what the value should have been: the `constraint` of a fault. A check's own text has priority. */
function describeConstraint(issue: RawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined || issue.input === null ? 'required' : expected(issue.expected);
    case 'invalid_value':
      return issue.input === undefined ? 'required' : `one of: ${issue.values.map(String).join(', ')}`;
    case 'too_big':
      return `${issue.inclusive === false ? 'less than' : 'at most'} ${sized(issue.maximum, issue.origin)}`;
    case 'too_small':
      return `${issue.inclusive === false ? 'more than' : 'at least'} ${sized(issue.minimum, issue.origin)}`;
    case 'invalid_format':
      return FORMATS[issue.format] ?? 'in the right format';
    case 'not_multiple_of':
      return `a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return 'not a known field';
    default:
      return 'a valid value';
  }
}

function expected(type: string): string {
  return EXPECTED[type] ?? `a ${type}`;
}

function sized(bound: number | bigint, origin: string): string {
  const unit = UNITS[origin];
  return unit === undefined ? `${bound}` : `${bound}${Number(bound) === 1 ? unit[0] : unit[1]}`;
}
