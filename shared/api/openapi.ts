import { z } from 'zod';
import type { JsonObject, JsonValue } from '../catalog/events/envelope';
import { environmentSchema } from '../catalog/vocabulary';
import { CatalogError, type Condition } from '../kernel/errors';
import { namedRequests, namedResponses } from './components';
import { authErrorBody, errorBody, errorCatalogue } from './error-catalogue';
import { type RequestHeader, type ResponseHeader, requestHeaders, responseHeaders } from './headers';
import { operations } from './operations';
import { type ApiOperation, type Contents, type Operation, type Success, TAGS } from './operations/operation';
import { shapeOf } from './requests/parameters';
import { exampleIds } from './responses/examples';

const DESCRIPTION = `A catalog for online stores. Exchange an API key for a token at \`/auth/token\`, and send the token as
\`Authorization: Bearer …\` with every request below \`/api\`. Public keys (\`pk_\`) read; secret keys (\`sk_\`) also
write and belong on servers. Test keys see test data alone. Every list is paged; every answer names its request.`;

/** Makes the OpenAPI 3.1 document of the whole interface, whichever process serves what of it. */
export function openApiDocument(): JsonObject {
  const names = new Map<z.ZodType, string>();
  for (const [name, schema] of Object.entries({ ...namedRequests, ...namedResponses }))
    names.set(schema, name);
  const conditions = new Set(operations.flatMap((operation) => operation.conditions));
  return {
    openapi: '3.1.1',
    info: { title: 'Catalog service', version: '1.0.0', description: DESCRIPTION, license: { name: 'MIT' } },
    // Relative to the document's own address, also behind a gateway that gives the service a path of its own.
    servers: [{ url: './' }],
    tags: TAGS.filter((tag) => operations.some((operation) => operation.tag === tag)).map((name) => ({
      name,
    })),
    paths: pathsOf(names),
    components: {
      schemas: { ...namedSchemas(namedResponses, 'output'), ...namedSchemas(namedRequests, 'input') },
      headers: headers(),
      parameters: headerParameters(),
      examples: errorExamples(conditions),
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'A token of `/auth/token`.',
        },
        api_key: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'A public or secret key.' },
      },
    },
  };
}

function pathsOf(names: ReadonlyMap<z.ZodType, string>): JsonObject {
  const paths: Record<string, JsonObject> = {};
  for (const operation of operations) {
    const path = templateOf(operation.path);
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: operationObject(operation, names) };
  }
  return paths;
}

function operationObject(operation: Operation, names: ReadonlyMap<z.ZodType, string>): JsonObject {
  const { id, tag, summary, body, security } = operation;
  const description = describe(operation);
  return {
    ...{ operationId: id, tags: [tag], summary },
    ...(description === '' ? {} : { description }),
    security: security === 'none' ? [] : [{ [security]: [] }],
    parameters: parametersOf(operation),
    ...(body === undefined
      ? {}
      : { requestBody: { required: body.required, content: contentOf(body.content, names) } }),
    responses: responsesOf(operation, names),
  };
}

function describe(operation: Operation & Partial<ApiOperation>): string {
  const { description, permission, field_permissions = {}, method } = operation;
  const key = method === 'GET' ? 'a key' : 'a secret key';
  const besides = Object.entries(field_permissions).map(
    ([field, needed]) => `, with \`${field}\` also \`${needed}\``,
  );
  const needs = permission === undefined ? [] : [`Needs ${key} with \`${permission}\`${besides.join('')}.`];
  return [...(description === undefined ? [] : [description]), ...needs].join(' ');
}

function headers(): JsonObject {
  const entries = Object.entries(responseHeaders).map(([name, { description, sometimes, ...schema }]) => [
    name,
    { description, required: !sometimes, schema },
  ]);
  return Object.fromEntries(entries) as JsonObject;
}

// --- Parameters ---

/** Returns the parameters of an operation: of its path, of its query schema, and its headers by reference. */
function parametersOf(operation: Operation): JsonObject[] {
  return [
    ...pathParameters(operation),
    ...queryParameters(operation.query),
    ...requestHeadersOf(operation).map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
}

/** Makes `components.parameters`: the request headers. */
function headerParameters(): JsonObject {
  const entries = Object.entries(requestHeaders);
  return Object.fromEntries(
    entries.map(([name, { schema, description }]) => [name, { name, in: 'header', description, schema }]),
  );
}

/** Turns Express's `/api/listing/:id` into `/api/listing/{id}`. */
const templateOf = (path: string): string => path.replace(/:(\w+)/g, '{$1}');

/** Path parameters that are no ids. */
const PATH_PARAMETERS: Readonly<Record<string, JsonObject>> = {
  environment: {
    description: 'Which data it is of.',
    schema: { type: 'string', enum: environmentSchema.options },
  },
  file: {
    description: 'The SHA-256 of the bytes, and what such files end in.',
    schema: { type: 'string', pattern: '^[0-9a-f]{64}\\.(jpg|png|webp|gif|avif)$' },
  },
};

function pathParameters({ path }: Operation): JsonObject[] {
  const resource = /^\/api\/(\w+)/.exec(path)?.[1] as keyof typeof exampleIds;
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name: name!,
    in: 'path',
    required: true,
    ...(PATH_PARAMETERS[name!] ?? {
      description: 'A UUID.',
      schema: { type: 'string', format: 'uuid' },
      example: exampleIds[resource],
    }),
  }));
}

function queryParameters(query: z.ZodType | undefined): JsonObject[] {
  if (query === undefined) return [];
  return Object.entries(shapeOf(query)).map(([name, parameter]) => {
    const { description, ...schema } = withTypedDefault(inputSchema(parameter as z.ZodType));
    const required = !z.safeParse(parameter, undefined).success;
    return {
      ...{ name, in: 'query', required, schema },
      ...(description === undefined ? {} : { description }),
      // One comma-separated value. Repeated values add up as well.
      ...(schema.type === 'array' ? { style: 'form', explode: false } : {}),
    };
  });
}

/** A schema's default is a text, as in a query. Returns the schema with the value that the text stands for. */
function withTypedDefault(schema: JsonObject): JsonObject {
  const { default: fallback, ...rest } = schema;
  if (fallback === undefined) return rest;
  return { ...rest, default: typed(schema.type, fallback) };
}

function typed(type: JsonValue | undefined, fallback: JsonValue): JsonValue {
  if (type === 'integer') return Number(fallback);
  return type === 'array' ? [] : fallback;
}

function requestHeadersOf(operation: Operation): RequestHeader[] {
  return [...usualHeadersOf(operation), ...(operation.request_headers ?? [])];
}

function usualHeadersOf({ method, path }: Operation): RequestHeader[] {
  if (!path.startsWith('/api/'))
    return method === 'GET' && path !== '/metrics' ? ['X-Request-Id', 'If-None-Match'] : ['X-Request-Id'];
  if (method === 'GET') return ['X-Request-Id', 'If-None-Match', 'X-Catalog-Min-Position'];
  const writing: RequestHeader[] = ['X-Request-Id', 'Idempotency-Key', 'Prefer'];
  return method === 'POST' ? writing : [...writing, 'If-Match'];
}

// --- Schemas: JSON Schema 2020-12, which OpenAPI 3.1 uses, from the zod schemas that check and type everything ---

/** Returns the place of a named schema in the document. */
const placeOf = (name: string): string => `#/components/schemas/${name}`;

/** Makes schemas by name that refer to each other. `input`: as clients send them, `output`: as they are answered. */
function namedSchemas(
  named: Readonly<Record<string, z.ZodType>>,
  io: 'input' | 'output',
): Record<string, JsonObject> {
  const registry = z.registry<{ id: string }>();
  for (const [name, schema] of Object.entries(named)) registry.add(schema, { id: name });
  const { schemas } = z.toJSONSchema(registry, { ...options, io, uri: placeOf });
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, plain(schema)]));
}

/** Makes one schema by itself, as a client sends it. */
const inputSchema = (schema: z.ZodType): JsonObject =>
  plain(z.toJSONSchema(schema, { ...options, io: 'input' }));

/** Returns a reference to a named schema. Throws for one without a name: generated clients would have none for it. */
function referTo(names: ReadonlyMap<z.ZodType, string>, schema: z.ZodType): JsonObject {
  const name = names.get(schema);
  if (name === undefined) throw new Error('a schema of an operation has no name in components.ts');
  return { $ref: placeOf(name) };
}

const options: z.core.ToJSONSchemaParams = { target: 'draft-2020-12', override: tidy };

/** Removes what tells a reader nothing: the long pattern behind a `format`, and the bounds of safe integers. */
function tidy({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
}

/** Removes what only a schema in a file of its own needs, and what is undefined. */
function plain(schema: object): JsonObject {
  const { $schema, $id, ...rest } = JSON.parse(JSON.stringify(schema)) as JsonObject;
  return rest;
}

// --- Responses ---

type Names = ReadonlyMap<z.ZodType, string>;

/** The error bodies and headers of an operation go by its area. */
type Area = 'api' | 'auth' | 'other';

function areaOf(path: string): Area {
  if (path.startsWith('/api/')) return 'api';
  return path.startsWith('/auth/') ? 'auth' : 'other';
}

/** Makes the responses of an operation by status: of success, and of the conditions that it can end in. */
function responsesOf(operation: Operation, names: Names): JsonObject {
  const area = areaOf(operation.path);
  const told = { ...operation.successes, ...operation.failures };
  const responses: JsonObject = {};
  for (const [status, answer] of Object.entries(told)) responses[status] = successOf(area, answer, names);
  for (const [status, conditions] of conditionsByStatus(operation))
    responses[status] ??= failureOf(area, operation, Number(status), conditions);
  return responses;
}

function contentOf(contents: Contents, names: Names): JsonObject {
  const entries = Object.entries(contents).map(([type, { schema, example }]) => [
    type,
    {
      ...(schema === undefined ? {} : { schema: referTo(names, schema) }),
      ...(example === undefined ? {} : { example }),
    },
  ]);
  return Object.fromEntries(entries);
}

/** Makes an example of each condition in each of the two error shapes, for responses to refer to. */
function errorExamples(conditions: Iterable<Condition>): JsonObject {
  const examples: JsonObject = {};
  for (const condition of conditions) {
    const summary = errorCatalogue[condition].code;
    examples[condition] = { summary, value: errorBody(failed(condition), 'public_key') };
    examples[`auth_${condition}`] = { summary, value: authErrorBody(failed(condition)) };
  }
  return examples;
}

/** Makes an error as it is thrown, with a fault for conditions that are about a field. */
function failed(condition: Condition): CatalogError {
  const fault = FAULTS[condition];
  return fault === undefined ? new CatalogError(condition) : CatalogError.ofFaults([{ condition, ...fault }]);
}

const FAULTS: Partial<Record<Condition, { field: string; constraint: string }>> = {
  field_required: { field: 'title', constraint: 'required' },
  field_invalid: { field: 'price_amount', constraint: 'an integer' },
  field_too_long: { field: 'title', constraint: 'at most 200 characters' },
  field_too_short: { field: 'title', constraint: 'at least 1 character' },
  invalid_uuid: { field: 'id', constraint: 'a UUID' },
  invalid_query: { field: 'limit', constraint: 'an integer from 1 to 50' },
};

function successOf(area: Area, { description, headers = [], content }: Success, names: Names): JsonObject {
  return {
    description,
    headers: referToHeaders([...headersOf(area), ...headers]),
    ...(content === undefined ? {} : { content: contentOf(content, names) }),
  };
}

function conditionsByStatus({ conditions }: Operation): Map<string, Condition[]> {
  const byStatus = new Map<string, Condition[]>();
  for (const condition of new Set(conditions)) {
    const status = String(errorCatalogue[condition].status);
    byStatus.set(status, [...(byStatus.get(status) ?? []), condition]);
  }
  return byStatus;
}

function failureOf(area: Area, operation: Operation, status: number, conditions: Condition[]): JsonObject {
  const codes = [...new Set(conditions.map((condition) => errorCatalogue[condition].code))];
  const described = conditions.map((condition) => {
    const { code, message } = errorCatalogue[condition];
    return area === 'auth' ? message : `${code}: ${message}`;
  });
  const shape = area === 'auth' ? 'AuthError' : 'Error';
  const whole = { $ref: `#/components/schemas/${shape}` };
  const only = { type: 'object', properties: { code: { const: status }, ...codesOf(area, codes) } };
  const prefix = area === 'auth' ? 'auth_' : '';
  const examples = conditions.map((condition) => [
    condition,
    { $ref: `#/components/examples/${prefix}${condition}` },
  ]);
  return {
    description: `${described.join('; ')}.`,
    headers: referToHeaders([...headersOf(area), ...failureHeaders(area, operation, status, conditions)]),
    content: {
      'application/json': { schema: { allOf: [whole, only] }, examples: Object.fromEntries(examples) },
    },
  };
}

const codesOf = (area: Area, codes: string[]): JsonObject =>
  area === 'auth' ? {} : { error: { type: 'object', properties: { code: { enum: codes } } } };

/** Returns the headers of every answer of the area. */
function headersOf(area: Area): ResponseHeader[] {
  const always: ResponseHeader[] = ['X-Request-Id', 'Cache-Control'];
  if (area === 'other') return always;
  const limits = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-RateLimit-Tier'];
  return [...always, ...(limits as ResponseHeader[])];
}

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
  // A picture that is being made is there in a moment.
  if (method === 'GET' && conditions.includes('media_not_found')) return ['Retry-After'];
  // A refusal may be the answer of an earlier request with the same Idempotency-Key.
  const kept = area === 'api' && method !== 'GET' && (status === 404 || status === 412);
  return kept ? ['Idempotent-Replayed'] : [];
}

function referToHeaders(names: readonly ResponseHeader[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
