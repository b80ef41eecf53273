import { isUtf8 } from 'node:buffer';
import type { z } from 'zod';
import { REQUIRED, UNKNOWN_FIELD } from '../api/error-catalogue';
import {
  declaredName,
  isCommaList,
  isValueList,
  type Pagination,
  prefixOf,
  shapeOf,
} from '../api/requests/parameters';
import type { PageEnd } from '../api/responses/envelopes';
import type { JsonObject } from '../catalog/events/envelope';
import { LRUCache } from '../kernel/cache';
import { CatalogError, type Condition, FAULTS_MAX, type Fault } from '../kernel/errors';

type Issue = z.core.$ZodIssue;

// --- Bodies ---

/**
 * Parses a body by its schema. Throws a `CatalogError` with all faults, in the order of the schema. A custom check
 * sets its condition with `.refine(fn, { params: { condition: 'invalid_url' }, error: 'an http(s) URL' })`.
 */
export function parseBody<Output>(schema: z.ZodType<Output>, body: unknown): Output {
  const parsed = schema.safeParse(body, { error: describeConstraint });
  if (parsed.success) return parsed.data;
  throw toError(parsed.error, (issue) => bodyCondition(issue, body));
}

// --- Queries ---

/** All values of each query parameter, in order. A missing parameter has no entry. */
export type QueryParameters = Readonly<Record<string, readonly string[]>>;

/** Storefronts send the same few queries again and again, so parsed queries are cached. */
const CACHED_MAX = 1_000;
const CACHED_LENGTH_MAX = 512;

const NO_PARAMETERS: QueryParameters = Object.freeze(Object.create(null));
const cached_queries = new LRUCache<string, QueryParameters>({ max: CACHED_MAX });

/** Parses the query of a request's URL. Returns the same object for the same text while it is cached. */
export function queryParameters(url: string): QueryParameters {
  const mark = url.indexOf('?');
  if (mark === -1) return NO_PARAMETERS;
  const text = url.slice(mark + 1);
  const cached = cached_queries.get(text);
  if (cached !== undefined) return cached;
  const query = parseParameters(text);
  if (text.length <= CACHED_LENGTH_MAX) cached_queries.set(text, query);
  return query;
}

/** Names of the parameters with invalid UTF-8, by query. */
const invalid_utf8 = new WeakMap<QueryParameters, ReadonlySet<string>>();

/** Whether a value of the parameter has percent-encoded bytes that are not valid UTF-8. */
export function hasInvalidUtf8(query: QueryParameters, name: string): boolean {
  return invalid_utf8.get(query)?.has(name) ?? false;
}

/** Parses query text. The result has no prototype, because clients choose the names. */
function parseParameters(text: string): QueryParameters {
  const parameters: Record<string, string[]> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    parameters[name] ??= [];
    parameters[name].push(value);
  }
  for (const values of Object.values(parameters)) Object.freeze(values);
  const query = Object.freeze(parameters);
  const names = namesWithInvalidUtf8(text);
  if (names.size > 0) invalid_utf8.set(query, names);
  return query;
}

/** Returns the names of parameters with invalid UTF-8, which `URLSearchParams` silently replaces. */
function namesWithInvalidUtf8(text: string): ReadonlySet<string> {
  const names = new Set<string>();
  if (!/%[89a-f]/i.test(text)) return names;
  for (const pair of text.split('&'))
    if (!isUtf8(bytesOf(pair))) for (const [name] of new URLSearchParams(pair)) names.add(name);
  return names;
}

/** Percent-decodes a text. A URL is ASCII, so every other character in it is a byte (RFC 3986 §2.1). */
function bytesOf(pair: string): Buffer {
  const decoded = pair.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(decoded, 'latin1');
}

/** Limits of `X-Catalog-Ignored`, because clients choose the number of names and their length. */
const IGNORED_NAMES_MAX = 10;
const IGNORED_NAME_LENGTH_MAX = 50;
/** Limit of the whole value, because percent-encoding makes up to 12 bytes of one character. */
const IGNORED_BYTES_MAX = 1_024;
const SEPARATOR = ', ';

/**
 * Returns the value of `X-Catalog-Ignored`: the percent-encoded names of parameters that are not in `known`, and how many
 * more there are. Undefined if `known` has all parameters (docs/interface/requests.md#query-parameters).
 */
export function ignoredParameters(query: QueryParameters, known: ReadonlySet<string>): string | undefined {
  const names = Object.keys(query).filter((name) => !isDeclared(name, known));
  if (names.length === 0) return undefined;
  const countEntry = (left: number): string => (left > 0 ? `+${left}` : '');
  // The names leave room for the entry with the number.
  let bytes_left = IGNORED_BYTES_MAX - countEntry(names.length).length;
  const listed: string[] = [];
  for (const name of names.slice(0, IGNORED_NAMES_MAX)) {
    const cut = [...name.slice(0, 2 * IGNORED_NAME_LENGTH_MAX)].slice(0, IGNORED_NAME_LENGTH_MAX).join('');
    const encoded = encodeURIComponent(cut);
    bytes_left -= encoded.length + SEPARATOR.length;
    if (bytes_left < 0) break;
    listed.push(encoded);
  }
  return [...listed, countEntry(names.length - listed.length)]
    .filter((entry) => entry !== '')
    .join(SEPARATOR);
}

const isDeclared = (name: string, known: ReadonlySet<string>): boolean =>
  known.has(name) || known.has(declaredName(name));

/** Results of `declaredParameters` by `known`. An entry lives as long as its `QueryParameters`. */
const declared_texts = new WeakMap<ReadonlySet<string>, WeakMap<QueryParameters, string>>();

/** Returns a text that two queries share if they have the same values of the parameters in `known`. */
export function declaredParameters(query: QueryParameters, known: ReadonlySet<string>): string {
  const texts = declared_texts.get(known) ?? new WeakMap<QueryParameters, string>();
  declared_texts.set(known, texts);
  const cached = texts.get(query);
  if (cached !== undefined) return cached;
  const names = Object.keys(query).filter((name) => isDeclared(name, known));
  // Invalid UTF-8 is refused, and looks like other values after it was replaced.
  const entries = names.sort().map((name) => [name, query[name], hasInvalidUtf8(query, name)]);
  const text = JSON.stringify(entries);
  texts.set(query, text);
  return text;
}

/** Parsed queries by schema. An entry lives as long as its `QueryParameters`. */
const parsedQueries = new WeakMap<z.ZodType, WeakMap<QueryParameters, unknown>>();

/**
 * Parses a query by its schema, which gets the values as strings. Ignores parameters that the schema does not have.
 * Throws `invalid_query` unless a check sets another condition, also for a repeated parameter that is not a list and
 * for invalid UTF-8. Caches the result, which is frozen: the same parameters always give the same result.
 */
export function parseQuery<Output>(schema: z.ZodType<Output>, query: QueryParameters): Output {
  const outputs = parsedQueries.get(schema) ?? new WeakMap<QueryParameters, unknown>();
  parsedQueries.set(schema, outputs);
  const cached = outputs.get(query) as Output | undefined;
  if (cached !== undefined) return cached;
  const output = parseUncached(schema, query);
  if (Object.isFrozen(query)) outputs.set(query, Object.freeze(output));
  return output;
}

function parseUncached<Output>(schema: z.ZodType<Output>, query: QueryParameters): Output {
  const input: Record<string, unknown> = {};
  for (const [name, parameter] of Object.entries(shapeOf(schema))) {
    const prefix = prefixOf(name);
    if (prefix !== undefined) {
      const names = Object.keys(query).filter((one) => one.startsWith(prefix) && one !== prefix);
      const refused = names.find((one) => one === `${prefix}__proto__`);
      // Copies of an object do not have this key, so the filter would be lost.
      if (refused)
        throw CatalogError.ofFaults([
          { condition: 'invalid_query', field: refused, constraint: 'another name' },
        ]);
      const lists = names.map((one) => [one.slice(prefix.length), valuesOf(query, one)] as const);
      if (lists.length > 0) input[name] = Object.fromEntries(lists);
      continue;
    }
    const values = valuesOf(query, name);
    if (values === undefined) continue;
    const is_list = isValueList(parameter);
    if (values.length > 1 && !is_list && !isCommaList(parameter))
      throw CatalogError.ofFaults([
        { condition: 'invalid_query', field: name, constraint: 'a single value' },
      ]);
    input[name] = is_list ? values : values.join(',');
  }
  const parsed = schema.safeParse(input, { error: describeConstraint });
  if (parsed.success) return parsed.data;
  throw toError(parsed.error, (issue) => conditionOf(issue) ?? 'invalid_query', parameterOf);
}

/** Returns the name of the parameter that the issue is about, without the place of a value among its values. */
function parameterOf({ path }: Issue): string[] {
  const [declared = 'query', name] = path.map(String);
  const prefix = prefixOf(declared);
  return [prefix === undefined || name === undefined ? declared : prefix + name];
}

function valuesOf(query: QueryParameters, name: string): readonly string[] | undefined {
  if (hasInvalidUtf8(query, name))
    throw CatalogError.ofFaults([
      { condition: 'invalid_query', field: name, constraint: 'percent-encoded UTF-8' },
    ]);
  return query[name];
}

/** Returns `meta` of the paginated envelope. An empty list has 0 pages. */
export function pageMeta(
  options: Pick<Pagination, 'page' | 'limit'> & { total: number },
  end: PageEnd = {},
): JsonObject {
  const { page, limit, total } = options;
  const pagination = { page, total_pages: Math.ceil(total / limit), total_items: total, limit, ...end };
  return { page, take: limit, item_count: total, pagination };
}

// --- Faults ---

/** Returns an error with the first `FAULTS_MAX` faults (docs/interface/requests.md#errors). */
function toError(
  error: z.ZodError,
  condition: (issue: Issue) => Condition,
  namesOf: (issue: Issue) => string[] = fieldsOf,
): CatalogError {
  const faults = error.issues
    .slice(0, FAULTS_MAX)
    .flatMap((issue): Fault[] =>
      namesOf(issue).map((field) => ({ condition: condition(issue), field, constraint: issue.message })),
    );
  return CatalogError.ofFaults(faults);
}

/**
 * Returns the paths of the invalid fields, such as `media_ids.3`. One issue lists all unknown fields of an object; only
 * the first `FAULTS_MAX` are returned.
 */
function fieldsOf(issue: Issue): string[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.slice(0, FAULTS_MAX).map((key) => [...path, key].join('.'));
  return [path.length === 0 ? 'body' : path.join('.')];
}

/** Returns the condition that a custom check sets, if any. */
function conditionOf(issue: Issue): Condition | undefined {
  return issue.code === 'custom' ? (issue.params?.condition as Condition | undefined) : undefined;
}

function bodyCondition(issue: Issue, body: unknown): Condition {
  const custom = conditionOf(issue);
  if (custom !== undefined) return custom;
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

/** Whether the field is missing or null in the body (docs/interface/requests.md#errors). */
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

/**
 * Returns the `constraint` of a fault: a short description of the expected value. The text of a custom check has
 * priority.
 */
function describeConstraint(issue: RawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined || issue.input === null ? REQUIRED : describeType(issue.expected);
    case 'invalid_value':
      return issue.input === undefined ? REQUIRED : `one of: ${issue.values.map(String).join(', ')}`;
    case 'too_big':
      return `${issue.inclusive === false ? 'less than' : 'at most'} ${describeSize(issue.maximum, issue.origin)}`;
    case 'too_small':
      return `${issue.inclusive === false ? 'more than' : 'at least'} ${describeSize(issue.minimum, issue.origin)}`;
    case 'invalid_format':
      return FORMATS[issue.format] ?? 'in the right format';
    case 'not_multiple_of':
      return `a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return UNKNOWN_FIELD;
    default:
      return 'a valid value';
  }
}

function describeType(type: string): string {
  return EXPECTED[type] ?? `a ${type}`;
}

function describeSize(bound: number | bigint, origin: string): string {
  const unit = UNITS[origin];
  return unit === undefined ? `${bound}` : `${bound}${Number(bound) === 1 ? unit[0] : unit[1]}`;
}
