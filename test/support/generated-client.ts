/**
 * Generates a TypeScript client from an OpenAPI 3.1 document alone: a type for each schema and a function for each
 * operation. Throws on anything it does not know, so a document that says too little for a client fails the test.
 * Maintained generators need the compiler's API, which TypeScript 7 does not have.
 */

interface Schema {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly type?: string | readonly string[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly contentMediaType?: string;
  readonly format?: string;
}

interface Parameter {
  readonly $ref?: string;
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly schema: Schema;
}

type Contents = Readonly<Record<string, { readonly schema?: Schema }>>;

interface OperationObject {
  readonly operationId: string;
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Contents };
  readonly responses: Readonly<Record<string, { readonly content?: Contents }>>;
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly securitySchemes: Readonly<Record<string, { readonly type: string; readonly name?: string }>>;
  };
}

export function generateClient(document: ApiDocument): string {
  const types = Object.entries(document.components.schemas).map(
    ([name, schema]) => `export type ${name}_ = ${typeOf(schema)};`,
  );
  const functions = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => functionOf(document, path, method, operation)),
  );
  return [...types, RUNTIME, ...functions].join('\n');
}

/** The names end in `_` because one schema is called `Error`. */
function typeOf(schema: Schema): string {
  const { $ref, type, anyOf, allOf } = schema;
  if ($ref !== undefined) return `${$ref.split('/').pop()}_`;
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (anyOf) return anyOf.map(typeOf).join(' | ');
  if (allOf) return allOf.map((one) => `(${typeOf(one)})`).join(' & ');
  if (typeof type === 'object') return type.map((one) => typeOf({ ...schema, type: one })).join(' | ');
  if (schema.contentMediaType !== undefined || schema.format === 'binary') return 'Blob';
  if (type === 'array') return `(${typeOf(schema.items ?? {})})[]`;
  if (type === 'object') return objectType(schema);
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'string' || type === 'boolean' || type === 'null') return type;
  if (Object.keys(schema).length === 0) return 'unknown';
  throw new Error(`the generator does not know ${JSON.stringify(schema)}`);
}

function objectType({ properties = {}, required = [], additionalProperties }: Schema): string {
  const fields = Object.entries(properties).map(
    ([name, field]) => `${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(field)};`,
  );
  const others = typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown';
  // Additional properties are offered only if the schema declares them.
  const open = additionalProperties ? ` [name: string]: ${others};` : '';
  return `{ ${fields.join(' ')}${open} }`;
}

function functionOf(
  { components }: ApiDocument,
  path: string,
  method: string,
  operation: OperationObject,
): string {
  const parameters = (operation.parameters ?? []).map((one) =>
    one.$ref === undefined ? one : components.parameters[one.$ref.split('/').pop()!]!,
  );
  const fields = parameters.map(
    ({ name, required, schema }) => `${JSON.stringify(name)}${required ? '' : '?'}: ${typeOf(schema)};`,
  );
  const { requestBody } = operation;
  if (requestBody) fields.push(`body${requestBody.required ? '' : '?'}: ${bodyType(requestBody.content)};`);
  const schemes = (operation.security ?? [])
    .flatMap(Object.keys)
    .map((name) => components.securitySchemes[name]!);
  const placed = parameters.map(({ name, in: place }) => [name, place]);
  const request = JSON.stringify({
    ...{ method: method.toUpperCase(), path, placed, schemes },
    contents: Object.keys(requestBody?.content ?? {}),
  });
  const answers = Object.entries(operation.responses).map(
    ([status, { content }]) => `{ status: ${status}; headers: Headers; body: ${bodyType(content)} }`,
  );
  return `export const ${operation.operationId} = (service: Service, options: { ${fields.join(' ')} }) =>
  send(service, ${request}, options) as Promise<${answers.join(' | ')}>;`;
}

/** A body may have several content types: JSON, a form, or bytes. */
function bodyType(content: Contents = {}): string {
  const types = Object.entries(content).map(([type, { schema }]) => {
    if (schema !== undefined) return typeOf(schema);
    return type.startsWith('image/') ? 'Blob' : 'string';
  });
  return types.length === 0 ? 'undefined' : [...new Set(types)].join(' | ');
}

const RUNTIME = `
export interface Service { url: string; token?: string; key?: string }
interface Scheme { type: string; name?: string; [more: string]: unknown }
interface Sent {
  method: string; path: string; placed: [string, string][]; schemes: Scheme[]; contents: string[];
}
function formOf(fields: object) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  return form;
}
async function send(service: Service, sent: Sent, options: Record<string, unknown>) {
  const headers = new Headers();
  const query = new URLSearchParams();
  let path = sent.path;
  for (const [name, place] of sent.placed) {
    const value = options[name];
    if (value === undefined) continue;
    if (place === 'path') path = path.replace(\`{\${name}}\`, String(value));
    if (place === 'query') query.set(name, String(value));
    if (place === 'header') headers.set(name, String(value));
  }
  for (const { type, name } of sent.schemes) {
    if (type === 'http') headers.set('authorization', \`Bearer \${service.token}\`);
    if (type === 'apiKey') headers.set(name!, service.key!);
  }
  const is_plain = options.body !== undefined && !(options.body instanceof Blob);
  const is_json = is_plain && sent.contents.includes('application/json');
  if (is_json) headers.set('content-type', 'application/json');
  const plain = is_json ? JSON.stringify(options.body) : is_plain ? formOf(options.body as object) : undefined;
  const body = plain ?? (options.body as Blob | undefined) ?? null;
  const answer = await fetch(\`\${service.url}\${path}?\${query}\`, { method: sent.method, headers, body });
  const { status, headers: response_headers } = answer;
  const type = response_headers.get('content-type') ?? '';
  if (type.startsWith('image/')) return { status, headers: response_headers, body: await answer.blob() };
  const text = await answer.text();
  const is_object = type.startsWith('application/json');
  return { status, headers: response_headers, body: text === '' ? undefined : is_object ? JSON.parse(text) : text };
}
`;
