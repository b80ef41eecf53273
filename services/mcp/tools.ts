import { mapValues } from '../../shared/api/documentation';
import { REQUIRED, UNKNOWN_FIELD } from '../../shared/api/error-catalogue';
import { inputSchema, parametersOf, queryParameters } from '../../shared/api/openapi';
import { operations } from '../../shared/api/operations';
import {
  type ApiOperation,
  type Operation,
  permissionsFor,
  type Tag,
} from '../../shared/api/operations/operation';
import { paginationSchema, prefixOf } from '../../shared/api/requests/parameters';
import { pricedReadSchema } from '../../shared/api/requests/reads';
import type { JsonObject, JsonValue } from '../../shared/catalog/events/envelope';
import type { Permission } from '../../shared/catalog/vocabulary';
import { CatalogError, type Fault } from '../../shared/kernel/errors';

/** A tool as `tools/list` shows it, with the operation that it calls. */
export interface Tool {
  readonly operation: ApiOperation;
  /** All permissions that the operation requires. */
  readonly permissions: readonly Permission[];
  readonly listed: {
    readonly name: string;
    readonly description: string;
    readonly inputSchema: { readonly type: 'object' };
    readonly annotations: Readonly<Record<string, boolean>>;
  };
  readonly parameters: ReadonlyMap<string, Parameter>;
}

/** Where the request of an operation has an argument of its tool. */
interface Parameter {
  readonly in: 'path' | 'query' | 'json' | 'form';
  /** Of a form: the argument is the text of a file. */
  readonly is_file?: boolean;
  readonly schema: JsonObject;
  readonly required: boolean;
  /** Of a query parameter: its values are one text, separated by commas. */
  readonly is_comma_list?: boolean;
  /** Of query parameters with any names, such as `attributes.colour`: how their names begin. */
  readonly prefix?: string;
}

/** The request of a tool's call. */
export interface ToolRequest {
  readonly method: Operation['method'];
  /** With the query. */
  readonly path: string;
  readonly body?: JsonObject | FormData;
}

/** Assistants work on the catalog. Only people decide who else may work on it, and who has other prices. */
const TAGS_LEFT_OUT: ReadonlySet<Tag> = new Set<Tag>([
  ...(['Tokens', 'Service', 'Keys', 'Webhooks', 'Prices'] as const),
]);

/** Returns why an operation of `/api` is no tool, undefined if it is one (docs/mcp.md#tools). */
export function reasonLeftOut({ tag, path, body, successes, alias_of }: Operation & Partial<ApiOperation>) {
  if (TAGS_LEFT_OUT.has(tag)) return 'tag';
  if (alias_of !== undefined) return 'alias';
  // The same is possible by id. A batch also takes external ids.
  if (path.includes('/:external_id')) return 'external id';
  if (body?.content['image/*']) return 'bytes';
  return successes[200]?.content?.['text/event-stream'] ? 'event stream' : undefined;
}

let tools: ReadonlyMap<string, Tool> | undefined;

/** Returns the tools by name: one for each operation of `/api` that is not left out. The first call takes 50 ms. */
export function toolsByName(): ReadonlyMap<string, Tool> {
  tools ??= new Map(
    operations
      .filter((operation): operation is ApiOperation => operation.path.startsWith('/api/'))
      .filter((operation) => reasonLeftOut(operation) === undefined)
      .map((operation) => [nameOf(operation), toolOf(operation)]),
  );
  return tools;
}

/** Returns `list_publications` for `listPublications`. */
function nameOf({ id }: Operation): string {
  return id.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A client sees a tool only if its key may use it, so descriptions leave this sentence out. */
const KEY_NEEDED = / ?Requires a secret key[^.]*\./;

function toolOf(operation: ApiOperation): Tool {
  const parameters = parametersByName(operation);
  const { summary, description, method } = operation;
  const required = [...parameters].filter(([, parameter]) => parameter.required).map(([name]) => name);
  return {
    operation,
    permissions: permissionsFor(operation),
    parameters,
    listed: {
      name: nameOf(operation),
      description: `${summary}. ${description?.replace(KEY_NEEDED, '') ?? ''}`.trim(),
      inputSchema: {
        type: 'object',
        properties: Object.fromEntries([...parameters].map(([name, { schema }]) => [name, schema])),
        ...(required.length > 0 && { required }),
        additionalProperties: false,
      } as Tool['listed']['inputSchema'],
      annotations: {
        ...(method === 'GET' ? { readOnlyHint: true } : hintsOfWrite(operation)),
        openWorldHint: false,
      },
    },
  };
}

/** A POST that answers 201 only adds. DELETE and PUT have the same effect once or many times (RFC 9110 §9.2.2). */
function hintsOfWrite({ method, successes }: Operation) {
  return {
    readOnlyHint: false,
    destructiveHint: method !== 'POST' || successes[201] === undefined,
    idempotentHint: method === 'DELETE' || method === 'PUT',
  };
}

/** Returns the parameters of the path, of the query and of the body. The first of two with the same name counts. */
function parametersByName(operation: ApiOperation): Map<string, Parameter> {
  const parameters = new Map<string, Parameter>();
  for (const [name, parameter] of [...urlParameters(operation), ...bodyParameters(operation)])
    if (!parameters.has(name)) parameters.set(name, parameter);
  return parameters;
}

let common_arguments: ReadonlyMap<string, string> | undefined;

/**
 * Returns what the arguments mean that many tools have, by name. The instructions of a session describe them once, because
 * the tools are a tenth shorter without it.
 */
export function commonArguments(): ReadonlyMap<string, string> {
  common_arguments ??= new Map(
    queryParameters(pricedReadSchema.extend(paginationSchema.shape)).map(({ name, description }) => [
      name as string,
      description as string,
    ]),
  );
  return common_arguments;
}

function urlParameters(operation: ApiOperation): [string, Parameter][] {
  return parametersOf(operation)
    .filter((parameter) => parameter.in === 'path' || parameter.in === 'query')
    .map((declared) => {
      const { name, description, schema, required, explode } = declared as unknown as UrlParameter;
      const prefix = prefixOf(name);
      const is_common = name === 'store_id' || commonArguments().get(name) === description;
      const own = slim(is_common || description === undefined ? schema : { ...schema, description });
      const is_run = name === 'run' && declared.in === 'path';
      if (is_run) own.description = `${description} Default: that of this session.`;
      return [
        prefix?.slice(0, -1) ?? name,
        {
          in: declared.in as 'path' | 'query',
          schema: prefix === undefined ? own : { type: 'object', additionalProperties: own },
          required: required && !is_run,
          is_comma_list: explode === false,
          ...(prefix !== undefined && { prefix }),
        },
      ];
    });
}

interface UrlParameter {
  readonly name: string;
  readonly description?: string;
  readonly schema: JsonObject;
  readonly required: boolean;
  readonly explode?: boolean;
}

function bodyParameters({ body }: ApiOperation): [string, Parameter][] {
  const [[type, content] = []] = Object.entries(body?.content ?? {});
  if (!content?.schema) return [];
  const { properties, required = [] } = inputSchema(content.schema);
  return Object.entries(properties as Record<string, JsonObject>).map(([name, schema]) => {
    const is_file = schema.format === 'binary';
    const file = { type: 'string', description: `The text of the file: ${schema.description}` };
    return [
      name,
      {
        in: type === 'application/json' ? 'json' : 'form',
        schema: is_file ? file : slim(schema),
        required: (required as string[]).includes(name),
        is_file,
      },
    ];
  });
}

/** Names of what a model does not need to know: the service says what is wrong with a value. */
const NOT_LISTED = new Set(['examples', 'pattern', 'propertyNames', 'minLength']);
const NOT_REPEATED = new Set([...NOT_LISTED, 'description', 'maxLength', 'minimum', 'maximum']);

/**
 * Returns a schema in fewer bytes: without what a model does not need, and with null as one of the types. The values of a
 * record, such as the translations by locale, repeat fields that are described elsewhere: they have no descriptions.
 */
function slim(schema: JsonObject, left_out: ReadonlySet<string> = NOT_LISTED): JsonObject {
  const slimmed: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(schema)) {
    const is_unbounded = Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER;
    const is_default =
      (name === 'default' && Array.isArray(value)) || (name === 'additionalProperties' && !value);
    if (!left_out.has(name) && !is_unbounded && !is_default) slimmed[name] = value!;
  }
  const { properties, items, anyOf, additionalProperties } = slimmed as JsonObject;
  const slimPart = (part: JsonValue): JsonObject => slim(part as JsonObject, left_out);
  if (properties) slimmed.properties = mapValues(properties as Record<string, JsonObject>, slimPart);
  if (items) slimmed.items = slimPart(items);
  if (additionalProperties)
    slimmed.additionalProperties = slim(additionalProperties as JsonObject, NOT_REPEATED);
  if (!anyOf) return slimmed;
  const [first, second, ...others] = (anyOf as JsonObject[]).map(slimPart);
  const is_nullable = typeof first?.type === 'string' && second?.type === 'null' && others.length === 0;
  if (!is_nullable) return { ...slimmed, anyOf: [first!, second!, ...others] };
  const { anyOf: _, ...rest } = slimmed;
  return { ...first, ...rest, type: [first.type!, 'null'] };
}

/**
 * Returns the request of a call. `run` is that of the session. Throws `field_invalid` for an unknown argument and
 * `field_required` for a missing part of the path. The service checks the rest.
 */
export function requestOf(
  { operation, parameters }: Tool,
  sent: JsonObject,
  run: string | undefined,
): ToolRequest {
  const has_run_in_path = parameters.get('run')?.in === 'path';
  const given = has_run_in_path && run !== undefined ? { run, ...sent } : sent;
  const faults = Object.keys(given)
    .filter((name) => !parameters.has(name))
    .map((field): Fault => ({ condition: 'field_invalid', field, constraint: UNKNOWN_FIELD }));
  const query = new URLSearchParams();
  const form = new FormData();
  const json: Record<string, JsonValue> = {};
  let path = operation.path;
  for (const [name, parameter] of parameters) {
    const value = given[name] ?? null;
    if (parameter.in === 'path') {
      // Replaces half of a surrogate pair, for which `encodeURIComponent` would throw.
      const text = Buffer.from(textOf(value ?? '')).toString();
      // Programs on the way to the service would leave out the segments `.` and `..`.
      const is_segment = !['', '.', '..'].includes(text);
      if (!is_segment) faults.push({ condition: 'field_required', field: name, constraint: REQUIRED });
      path = path.replace(`:${name}`, encodeURIComponent(text));
    } else if (parameter.in === 'json') {
      if (given[name] !== undefined) json[name] = value;
    }
    // Models send null for what they leave out.
    else if (value === null) continue;
    else if (parameter.in === 'query')
      for (const [key, text] of queryOf(name, parameter, value)) query.append(key, text);
    else if (parameter.is_file) form.append(name, new Blob([textOf(value)]), FILE_NAME);
    else form.append(name, textOf(value));
  }
  if (faults.length > 0) throw CatalogError.ofFaults(faults);
  const { method, body } = operation;
  const url = { method, path: query.size > 0 ? `${path}?${query}` : path };
  if (!body) return url;
  return { ...url, body: body.content['multipart/form-data'] ? form : json };
}

/** The name of an imported file, which lists of imports show. */
const FILE_NAME = 'assistant.txt';

const textOf = (value: JsonValue): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Returns the query parameters for an argument. */
function queryOf(name: string, { prefix, is_comma_list }: Parameter, value: JsonValue): [string, string][] {
  const texts = [value].flat().map(textOf);
  if (prefix === undefined) return (is_comma_list ? [texts.join(',')] : texts).map((text) => [name, text]);
  if (typeof value !== 'object' || value === null) return [[prefix, textOf(value)]];
  return Object.entries(value).flatMap(([key, each]) =>
    [each].flat().map((text): [string, string] => [prefix + key, textOf(text)]),
  );
}
