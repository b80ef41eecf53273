/**
 * @typedef {{ $ref?: string, type?: string | string[], format?: string, enum?: unknown[], const?: unknown,
 *   properties?: Record<string, Schema>, required?: string[], items?: Schema, anyOf?: Schema[], allOf?: Schema[],
 *   description?: string, default?: unknown, minimum?: number, maximum?: number, minLength?: number,
 *   maxLength?: number, maxItems?: number, pattern?: string }} Schema
 * @typedef {{ $ref?: string, name: string, in: string, required?: boolean, description?: string, schema: Schema,
 *   example?: unknown }} Parameter
 * @typedef {{ $ref?: string, summary?: string, value?: unknown }} Example
 * @typedef {{ schema?: Schema, example?: unknown, examples?: Record<string, Example> }} Media
 * @typedef {{ description: string, headers?: Record<string, { $ref?: string, description?: string }>,
 *   content?: Record<string, Media> }} Answer
 * @typedef {{ operationId: string, tags: string[], summary: string, description?: string,
 *   security: Record<string, unknown>[], parameters: Parameter[],
 *   requestBody?: { required: boolean, content: Record<string, Media> }, responses: Record<string, Answer> }} Operation
 * @typedef {{ info: { title: string, version: string, description: string }, tags: { name: string }[],
 *   paths: Record<string, Record<string, Operation>>, components: Record<string, Record<string, unknown>> }} Document
 * @typedef {{ method: string, path: string, operation: Operation }} Endpoint
 */

/** Where the service is, also behind a gateway that gives it a path of its own. */
export const BASE = new URL('.', location.href);

/** @type {Document} */
export const api = await (await fetch(new URL('openapi.json', BASE))).json();

/** @type {Endpoint[]} */
export const endpoints = Object.entries(api.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);

/**
 * What a reference within the document leads to.
 * @template {{ $ref?: string }} Item
 * @param {Item} item
 * @returns {Item}
 */
export function resolve(item) {
  if (item.$ref === undefined) return item;
  const [kind, name] = item.$ref.split('/').slice(-2);
  return /** @type {Item} */ (api.components[kind ?? '']?.[name ?? '']);
}

/** @param {string | undefined} ref */
export const nameOf = (ref) => ref?.split('/').pop() ?? '';
