import { z } from 'zod';
import type { JsonObject, JsonValue } from '../catalog/events/envelope';
import { LINE_PATTERN } from '../catalog/input-rules';
import { environmentSchema } from '../catalog/vocabulary';
import { type ApiLimits, parseConfig } from '../kernel/config';
import { CatalogError, type Condition } from '../kernel/errors';
import { answers, type NamedSchema, namedRequests, namedResponses } from './components';
import { exampleOfSchema, mapValues, type Schemas, withDocs } from './documentation';
import { authErrorBody, errorBody, errorCatalogue, REQUIRED } from './error-catalogue';
import { type RequestHeader, type ResponseHeader, requestHeaders, responseHeaders } from './headers';
import { operations } from './operations';
import { type ApiOperation, type Contents, type Operation, type Success, TAGS } from './operations/operation';
import { proposalRule } from './operations/writes';
import { isCommaList, shapeOf } from './requests/parameters';
import * as examples from './responses/examples';

const named = { ...namedRequests, ...namedResponses };
const { RATE_LIMIT_PUBLIC, RATE_LIMIT_SECRET, RATE_LIMIT_AUTH } = parseConfig({});
const count = (number: number): string => number.toLocaleString('en');
const rateOf = ({ per_minute, per_day, burst }: ApiLimits): string =>
  `${count(per_minute)} requests per minute, ${count(per_day)} per day, bursts of ${count(burst)}`;

const DESCRIPTION = `The API of a product catalog for online stores. Exchange an API key for a token at \`/auth/token\`, and send the token
as \`Authorization: Bearer …\` with every request to \`/api\`. Public keys (\`pk_live_…\`, \`pk_test_…\`) can read. Secret keys
(\`sk_live_…\`, \`sk_test_…\`) can also write; use them only on servers. Test keys access only test data. All lists are
paginated. Every response has an \`X-Request-Id\`; include it when you ask for help.

Rate limits, unless the operator has set others: a public key, or an address without a key, has ${rateOf(RATE_LIMIT_PUBLIC)}.
A secret key has ${rateOf(RATE_LIMIT_SECRET)}. Each endpoint of \`/auth\` has ${RATE_LIMIT_AUTH.per_second} requests per second and
key, bursts of ${RATE_LIMIT_AUTH.burst}. The headers \`X-RateLimit-…\` tell what is left; a 429 has \`Retry-After\`.

Any request can also be refused with 405 (\`Allow\` names the methods of the path), 408 (it did not arrive in time), 414
(the address is too long), 417 (\`Expect\` is not supported) or 431 (the headers are larger than 16 KB).`;

/** Returns the OpenAPI 3.1 document of the whole interface. It is the same in every process. */
export function openApiDocument(): JsonObject {
  const schemas = withDocs(
    { ...schemasOf(namedResponses, 'output'), ...schemasOf(namedRequests, 'input') },
    named,
  );
  return {
    openapi: '3.1.1',
    info: {
      ...{ title: 'Catalog service', version: '1.0.0', description: DESCRIPTION },
      contact: { name: 'The operator of this service' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    // Relative to the document's URL, so that it is also correct behind a gateway that adds a path prefix.
    servers: [{ url: '.', description: 'The service that this document is read from.' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: pathsOf(schemas),
    components: {
      schemas,
      headers: headerComponents(),
      parameters: headerParameters(),
      examples: errorExamples(),
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'Token from `/auth/token`.',
        },
        api_key: {
          type: 'apiKey',
          in: 'header',
          name: 'X-API-Key',
          description: 'Public or secret API key.',
        },
      },
    },
  };
}

function pathsOf(schemas: Schemas): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const operation of operations) {
    const path = templateOf(operation.path);
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: operationObject(operation, schemas) };
  }
  return paths;
}

function operationObject(operation: Operation, schemas: Schemas): JsonObject {
  const { id, tag, summary, body, security } = operation;
  const description = descriptionOf(operation);
  return {
    ...{ operationId: id, tags: [tag], summary },
    ...(description === '' ? {} : { description }),
    security: security === 'none' ? [] : [{ [security]: [] }],
    parameters: parametersOf(operation),
    ...(body === undefined
      ? {}
      : { requestBody: { required: body.required, content: contentOf(body.content, schemas) } }),
    responses: responsesOf(operation, schemas),
  };
}

function descriptionOf(operation: Operation & Partial<ApiOperation>): string {
  const { description, permission, field_permissions = {}, method } = operation;
  const key = method === 'GET' ? 'a key' : 'a secret key';
  const sentences = description === undefined ? [] : [description];
  if (permission !== undefined) sentences.push(`Requires ${key} with the permission \`${permission}\`.`);
  for (const [field, required] of Object.entries(field_permissions))
    sentences.push(`\`${field}\` also requires \`${required}\`.`);
  return sentences.join(' ');
}

function headerComponents(): JsonObject {
  return mapValues(responseHeaders, ({ description, optional, example, schema }) => ({
    description,
    required: !optional,
    schema: { ...schema, examples: [example] },
  }));
}

// --- Parameters ---

/** Returns the parameters of an operation: path and query parameters, and references to its request headers. */
export function parametersOf(operation: Operation): JsonObject[] {
  return [
    ...pathParameters(operation),
    ...queryParameters(operation.query),
    ...requestHeadersOf(operation).map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
}

/** Returns `components.parameters`: the request headers. */
function headerParameters(): JsonObject {
  return mapValues(requestHeaders, ({ schema, description, example }, name) => ({
    ...{ name, in: 'header', description },
    schema: { ...schema, examples: [example] },
  }));
}

/** Turns Express's `/api/listing/:id` into `/api/listing/{id}`. */
const templateOf = (path: string): string => path.replace(/:(\w+)/g, '{$1}');

/** Path parameters that are not ids. */
const PATH_PARAMETERS: Readonly<Record<string, JsonObject>> = {
  handle: {
    description: 'The handle of the resource, or an earlier one, percent-encoded.',
    schema: { type: 'string', examples: ['chanchamayo-coffee-250-g'] },
  },
  external_id: {
    description: 'The id of the resource in another system.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: LINE_PATTERN, examples: ['erp-10442'] },
  },
  run: {
    description: '`X-Catalog-Run` of the writes, or the id of an import.',
    schema: { type: 'string', examples: [examples.undoneRun.run] },
  },
  channel: {
    description: 'The channel of the feed.',
    schema: { type: 'string', enum: ['google', 'meta', 'acp'], examples: ['google'] },
  },
  feed: {
    description: 'The file of a channel.',
    schema: { type: 'string', enum: ['google.xml', 'meta.csv', 'acp.jsonl'], examples: ['google.xml'] },
  },
  revision: {
    description: 'A `revision` of the history.',
    schema: { type: 'integer', minimum: 1, maximum: 9_999_999_999, examples: [2] },
  },
  environment: {
    description: 'Environment that the picture belongs to.',
    schema: { type: 'string', enum: environmentSchema.options, examples: ['live'] },
  },
  file: {
    description: 'SHA-256 of the file, and its extension.',
    schema: {
      type: 'string',
      pattern: '^[0-9a-f]{64}\\.(jpg|png|webp|gif|avif)$',
      examples: [examples.media.url!.split('/').pop()!],
    },
  },
};

function pathParameters({ path }: Operation): JsonObject[] {
  const resource = /^\/api\/(\w+)/.exec(path)?.[1] as keyof typeof examples.ids;
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name: name!,
    in: 'path',
    required: true,
    ...(PATH_PARAMETERS[name!] ?? {
      description: 'Id of the resource.',
      schema: { type: 'string', format: 'uuid', examples: [examples.ids[resource]] },
    }),
  }));
}

/** Returns the parameters of a query. */
export function queryParameters(query: z.ZodType | undefined): JsonObject[] {
  if (query === undefined) return [];
  return Object.entries(shapeOf(query)).map(([name, parameter]) => {
    const { description, ...schema } = withExample(withTypedDefault(inputSchema(parameter as z.ZodType)));
    const required = !z.safeParse(parameter, undefined).success;
    return {
      ...{ name, in: 'query', required, schema },
      ...(description === undefined ? {} : { description }),
      // A comma list is one comma-separated value. The service also accepts it as a repeated parameter.
      ...(schema.type === 'array' ? { style: 'form', explode: !isCommaList(parameter) } : {}),
    };
  });
}

/** Converts the default of a query parameter from query text to the parameter's type. */
function withTypedDefault(schema: JsonObject): JsonObject {
  const { default: default_value, ...rest } = schema;
  if (default_value === undefined) return rest;
  return { ...rest, default: toTyped(schema.type, default_value) };
}

/**
 * Returns the schema of a parameter with an example. The example is in the schema, because Swagger UI would send an
 * example of the parameter itself as its value.
 */
function withExample(schema: JsonObject): JsonObject {
  const example = exampleOfSchema(schema);
  return example === undefined ? schema : { ...schema, examples: [example] };
}

function toTyped(type: JsonValue | undefined, value: JsonValue): JsonValue {
  if (type === 'integer') return Number(value);
  return type === 'array' ? [] : value;
}

function requestHeadersOf(operation: Operation): RequestHeader[] {
  return [...commonHeadersOf(operation), ...(operation.request_headers ?? [])];
}

function commonHeadersOf({ method, path, conditions }: Operation): RequestHeader[] {
  if (!path.startsWith('/api/'))
    return method === 'GET' && path !== '/metrics' ? ['X-Request-Id', 'If-None-Match'] : ['X-Request-Id'];
  if (method === 'GET') return ['X-Request-Id', 'If-None-Match', 'X-Catalog-Min-Position'];
  const write_headers: RequestHeader[] = ['X-Request-Id', 'X-Catalog-Run', 'Idempotency-Key', 'Prefer'];
  return conditions.includes('precondition_failed') ? [...write_headers, 'If-Match'] : write_headers;
}

// --- Schemas: JSON Schema 2020-12, as OpenAPI 3.1 requires, generated from the zod schemas ---

/** Returns the reference to a named schema. */
const schemaRef = (name: string): string => `#/components/schemas/${name}`;

/** Returns the schemas, which refer to each other. `io` is `input` for requests and `output` for responses. */
function schemasOf(
  schemas_by_name: Readonly<Record<string, NamedSchema>>,
  io: 'input' | 'output',
): Record<string, JsonObject> {
  const registry = z.registry<{ id: string }>();
  for (const [name, { schema }] of Object.entries(schemas_by_name)) registry.add(schema, { id: name });
  return mapValues(z.toJSONSchema(registry, { ...optionsFor(io), uri: schemaRef }).schemas, toJson);
}

/** Returns the schema of a value that a client sends. */
export const inputSchema = (schema: z.ZodType): JsonObject =>
  toJson(z.toJSONSchema(schema, optionsFor('input')));

/** Returns a reference to a named schema. Throws if it has no name, because generated clients need one for each type. */
function referTo(schema: z.ZodType): JsonObject {
  const [name] = Object.entries(named).find(([, each]) => each.schema === schema) ?? [];
  if (name === undefined)
    throw new Error('The schema of an operation has no name: add it to shared/api/components.ts.');
  return { $ref: schemaRef(name) };
}

function optionsFor(io: 'input' | 'output'): z.core.ToJSONSchemaParams {
  return { target: 'draft-2020-12', io, override: io === 'input' ? adaptInput : adaptOutput };
}

/**
 * Moves the example into `examples`. The schemas declare it as `example`, because zod drops `examples` of schemas that
 * transform their input, but JSON Schema knows only `examples`. Also removes the long pattern next to a `format`.
 */
function adaptInput({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
  if (jsonSchema.example !== undefined) jsonSchema.examples = [jsonSchema.example];
  delete jsonSchema.example;
}

/** Also removes the bounds of safe integers. Requests keep them, because the service rejects a larger number. */
function adaptOutput(context: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  adaptInput(context);
  const { jsonSchema } = context;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
}

/** Removes `$schema`, `$id` and undefined values, which an embedded schema does not need. */
function toJson(schema: object): JsonObject {
  const { $schema, $id, ...rest } = JSON.parse(JSON.stringify(schema)) as JsonObject;
  return rest;
}

// --- Responses ---

/** Part of the interface. It decides the error body and the headers of an operation. */
type Area = 'api' | 'auth' | 'other';

function areaOf(path: string): Area {
  if (path.startsWith('/api/')) return 'api';
  return path.startsWith('/auth/') ? 'auth' : 'other';
}

/** Returns the responses of an operation by status: successes, and the conditions that it can fail with. */
function responsesOf(operation: Operation, schemas: Schemas): JsonObject {
  const area = areaOf(operation.path);
  const declared = { ...operation.successes, ...operation.failures };
  const responses: JsonObject = {};
  for (const [status, response] of Object.entries(declared))
    responses[status] = declaredResponse(operation, status, response, schemas);
  if (isWrite(operation) && proposalRule(operation) === 'proposed')
    responses[202] = proposedResponse(operation, responses[202] as JsonObject | undefined, schemas);
  for (const [status, conditions] of conditionsByStatus(operation))
    responses[status] ??= errorResponse(area, operation, Number(status), conditions);
  return responses;
}

const isWrite = ({ method, path }: Operation): boolean => method !== 'GET' && path.startsWith('/api/');

/** Returns the response 202 of a write that may need confirmation. `other`: what else is answered with 202. */
function proposedResponse(operation: Operation, other: JsonObject | undefined, schemas: Schemas): JsonObject {
  const proposed = declaredResponse(operation, '202', PROPOSED, schemas);
  if (!other) return proposed;
  const { description, headers, content } = other as Record<'headers' | 'content', JsonObject> & {
    readonly description: string;
  };
  const started = content['application/json'] as JsonObject;
  const schema = { anyOf: [started.schema!, referTo(answers.ProposedAnswer)] };
  const optional = mapValues(headerComponents(), (header) => ({
    ...(header as JsonObject),
    required: false,
  }));
  const added = Object.entries(optional).filter(([name]) => PROPOSED_HEADERS.some((each) => each === name));
  return {
    description: `${description} Or: ${PROPOSED.description}`,
    headers: { ...Object.fromEntries(added), ...headers },
    content: { 'application/json': { ...started, schema } },
  };
}

const PROPOSED_HEADERS = [
  'Location',
  'X-Catalog-Position',
  'Idempotent-Replayed',
  'Preference-Applied',
] as const;
const PROPOSED: Success = {
  description: 'The proposal, if the key needs confirmation.',
  headers: PROPOSED_HEADERS,
  content: { 'application/json': { schema: answers.ProposedAnswer } },
};

function contentOf(contents: Contents, schemas: Schemas): JsonObject {
  return mapValues(contents, ({ schema, example }, media_type): JsonObject => {
    if (schema === undefined) return {};
    const reference = { schema: referTo(schema) };
    if (media_type !== 'application/json') return reference;
    return { ...reference, example: (example as JsonValue) ?? exampleOfSchema(reference.schema, schemas)! };
  });
}

/** Returns `components.examples`: each condition as a structured error, or as a plain error of `/auth/*`, or both. */
function errorExamples(): JsonObject {
  const examples: JsonObject = {};
  for (const operation of operations)
    for (const condition of operation.conditions) {
      const { path, failures = {} } = operation;
      const { code: summary, status } = errorCatalogue[condition];
      if (status in failures) continue;
      const error = exampleError(operation, condition);
      const value = areaOf(path) === 'auth' ? authErrorBody(error) : errorBody(error, 'public_key');
      examples[exampleName(operation, condition)] = { summary, value };
    }
  return examples;
}

function exampleName({ id, path, messages }: Operation, condition: Condition): string {
  if (messages?.[condition] !== undefined) return `${id}_${condition}`;
  return areaOf(path) === 'auth' ? `auth_${condition}` : condition;
}

const messageIn = ({ messages }: Operation, condition: Condition): string =>
  messages?.[condition] ?? errorCatalogue[condition].message;

/** Returns an error of the condition, with an example fault if the condition is about a field. */
function exampleError({ messages }: Operation, condition: Condition): CatalogError {
  const message = messages?.[condition];
  if (message !== undefined) return new CatalogError(condition, { message });
  const fault = EXAMPLE_FAULTS[condition];
  return fault === undefined ? new CatalogError(condition) : CatalogError.ofFaults([{ condition, ...fault }]);
}

const EXAMPLE_FAULTS: Partial<Record<Condition, { field: string; constraint: string }>> = {
  field_required: { field: 'title', constraint: REQUIRED },
  field_invalid: { field: 'price_amount', constraint: 'an integer' },
  field_too_long: { field: 'title', constraint: 'at most 200 characters' },
  field_too_short: { field: 'title', constraint: 'at least 1 character' },
  invalid_uuid: { field: 'id', constraint: 'a UUID' },
  invalid_query: { field: 'limit', constraint: 'an integer from 1 to 50' },
};

function declaredResponse(
  operation: Operation,
  status: string,
  { description, headers = [], content }: Success,
  schemas: Schemas,
): JsonObject {
  const { path } = operation;
  return {
    description,
    headers: referToHeaders([...headersOf(areaOf(path)), ...freshnessOf(operation), ...headers]),
    ...(content === undefined ? {} : { content: contentOf(content, schemas) }),
    ...(status === '201' ? { links: linksOf(`${path.replace(/\/by-.*/, '')}/:id`) } : {}),
  };
}

/** Returns the links of a new resource to the operations on its path. */
function linksOf(path: string): JsonObject {
  const linked = operations.filter((operation) => operation.path === path);
  return Object.fromEntries(
    linked.map(({ id, summary }) => [
      id,
      { operationId: id, parameters: { id: '$response.body#/data/id' }, description: `${summary}.` },
    ]),
  );
}

function conditionsByStatus({ conditions }: Operation): Map<string, Condition[]> {
  const byStatus = new Map<string, Condition[]>();
  for (const condition of new Set(conditions)) {
    const status = String(errorCatalogue[condition].status);
    byStatus.set(status, [...(byStatus.get(status) ?? []), condition]);
  }
  return byStatus;
}

function errorResponse(
  area: Area,
  operation: Operation,
  status: number,
  conditions: Condition[],
): JsonObject {
  const codes = [...new Set(conditions.map((condition) => errorCatalogue[condition].code))];
  const descriptions = conditions.map((condition) => {
    const { code } = errorCatalogue[condition];
    const message = messageIn(operation, condition);
    return area === 'auth' ? message : `${code}: ${message}`;
  });
  const base = { $ref: schemaRef(area === 'auth' ? 'AuthError' : 'Error') };
  const of_operation = { type: 'object', properties: { code: { const: status }, ...codesOf(area, codes) } };
  const examples = conditions.map((condition) => [
    condition,
    { $ref: `#/components/examples/${exampleName(operation, condition)}` },
  ]);
  return {
    description: `${[...new Set(descriptions)].join('; ')}.`,
    headers: referToHeaders([...headersOf(area), ...failureHeaders(area, operation, status, conditions)]),
    content: {
      'application/json': { schema: { allOf: [base, of_operation] }, examples: Object.fromEntries(examples) },
    },
  };
}

const codesOf = (area: Area, codes: string[]): JsonObject =>
  area === 'auth'
    ? {}
    : { error: { allOf: [{ $ref: schemaRef('ErrorInfo') }], properties: { code: { enum: codes } } } };

/** Returns the headers that every response of the area has. */
function headersOf(area: Area): ResponseHeader[] {
  const common: ResponseHeader[] = ['X-Request-Id', 'Cache-Control'];
  if (area === 'other') return common;
  const limits = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-RateLimit-Tier'];
  const ignored = area === 'api' ? ['X-Catalog-Ignored'] : [];
  return [...common, ...([...limits, ...ignored] as ResponseHeader[])];
}

/** Returns the headers of successful reads. */
const freshnessOf = ({ method, path }: Operation): ResponseHeader[] =>
  method === 'GET' && areaOf(path) === 'api'
    ? ['X-Catalog-Position', 'X-Catalog-Lag-Ms', 'X-Catalog-Lag-Age-Ms']
    : [];

function failureHeaders(
  area: Area,
  { method }: Operation,
  status: number,
  conditions: readonly Condition[],
): ResponseHeader[] {
  if (status === 416) return ['Content-Range'];
  if (status === 401) return area === 'api' ? ['WWW-Authenticate'] : [];
  if (conditions.some((condition) => errorCatalogue[condition].retry_after_s !== undefined))
    return ['Retry-After'];
  // The picture may not have been generated yet.
  if (method === 'GET' && conditions.includes('media_not_found')) return ['Retry-After'];
  // The service also stores and replays these errors of a write with an Idempotency-Key.
  const is_stored = area === 'api' && method !== 'GET' && (status === 404 || status === 412);
  return is_stored ? ['Idempotent-Replayed'] : [];
}

function referToHeaders(names: readonly ResponseHeader[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
