import type { z } from 'zod';
import type { JsonObject } from '../../catalog/events/envelope';
import { namedRequests, namedResponses } from '../components';
import { responseHeaders } from '../headers';
import { operations } from '../operations';
import { type ApiOperation, type Operation, TAGS } from '../operations/operation';
import { namedSchemas } from './json-schemas';
import { headerParameters, parametersOf, templateOf } from './parameters';
import { contentOf, errorExamples, responsesOf } from './responses';

const DESCRIPTION = `A catalog for online stores. Exchange an API key for a token at \`/auth/token\`, and send the token as
\`Authorization: Bearer …\` with every request below \`/api\`. Public keys (\`pk_\`) read; secret keys (\`sk_\`) also
write and belong on servers. Test keys see test data alone. Every list is paged; every answer names its request.`;

/** The whole interface as an OpenAPI 3.1 document, whichever process serves what of it. */
export function openApiDocument(): JsonObject {
  const names = new Map<z.ZodType, string>();
  for (const [name, schema] of Object.entries({ ...namedRequests, ...namedResponses }))
    names.set(schema, name);
  const conditions = new Set(operations.flatMap((operation) => operation.conditions));
  return {
    openapi: '3.1.1',
    info: { title: 'Catalog service', version: '1.0.0', description: DESCRIPTION, license: { name: 'MIT' } },
    // Where the document itself is read from, so that it holds behind a gateway that gives the service a path of its own.
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
