import { z } from 'zod';
import type { JsonObject, JsonValue } from '../../catalog/events/envelope';
import { environmentSchema } from '../../catalog/vocabulary';
import { shapeOf } from '../../http/validation';
import { type RequestHeader, requestHeaders } from '../headers';
import type { Operation } from '../operations/operation';
import { exampleIds } from '../responses/examples';
import { inputSchema } from './json-schemas';

/** The parameters of an operation: those of its path, of its query schema, and its headers by reference. */
export function parametersOf(operation: Operation): JsonObject[] {
  return [
    ...pathParameters(operation),
    ...queryParameters(operation.query),
    ...requestHeadersOf(operation).map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ];
}

/** `components.parameters`: the request headers. */
export function headerParameters(): JsonObject {
  const entries = Object.entries(requestHeaders);
  return Object.fromEntries(
    entries.map(([name, { schema, description }]) => [name, { name, in: 'header', description, schema }]),
  );
}

/** Express' `/api/listing/:id` as `/api/listing/{id}`. */
export const templateOf = (path: string): string => path.replace(/:(\w+)/g, '{$1}');

/** Those that are no ids. */
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
      // As one comma-separated value; given several times it adds up as well.
      ...(schema.type === 'array' ? { style: 'form', explode: false } : {}),
    };
  });
}

/** A default is the text that is taken instead: here it becomes what the text stands for. */
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
