import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';

/** One request and its response, as the client sees them. */
export interface Exchange {
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  /** The JSON text of the request. Undefined if it had no body or one of another type. */
  readonly sent?: string | undefined;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

interface HeaderObject {
  readonly $ref?: string;
  readonly required?: boolean;
  readonly schema?: object;
}

interface ResponseObject {
  readonly headers?: Readonly<Record<string, HeaderObject>>;
  readonly content?: Readonly<Record<string, { readonly schema?: object }>>;
}

interface OperationObject {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: object }>> };
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: { readonly headers: Readonly<Record<string, HeaderObject>> };
}

/** Headers of HTTP, compression and CORS. They are not part of the documented interface. */
const TRANSPORT =
  /^(date|connection|keep-alive|transfer-encoding|content-(length|type|encoding)|vary|x-content-type-options|content-security-policy|cross-origin-resource-policy|referrer-policy|access-control-.*)$/;

/** Statuses of responses to requests that match no operation. */
const ERROR_STATUSES = new Set([400, 401, 403, 404, 405, 429, 503]);
const ERROR_HEADERS =
  /^(x-request-id|x-ratelimit-(limit|remaining|reset|tier)|cache-control|retry-after|www-authenticate|allow)$/;

/** Checks requests and responses against the OpenAPI document. Anything that is not documented is an error. */
export class OpenApiValidator {
  private readonly document: OpenApiDocument;
  private readonly ajv: Ajv2020;
  private readonly compiled = new Map<string, ValidateFunction>();
  /** The paths with parameters. A path without parameters takes precedence. */
  private readonly templates: readonly { readonly template: string; readonly pattern: RegExp }[];

  constructor(document: OpenApiDocument) {
    this.document = document;
    this.templates = Object.keys(document.paths)
      .filter((template) => template.includes('{'))
      .sort((a, b) => a.split('{').length - b.split('{').length)
      .map((template) => ({ template, pattern: patternOf(template) }));
    // Every test file compiles the schemas that it meets, so a fast compilation counts more than a fast check.
    const fast = { validateSchema: false, inlineRefs: false, code: { optimize: false } };
    this.ajv = new Ajv2020({ strict: false, allErrors: true, ...fast });
    addFormats(this.ajv);
    this.ajv.addSchema({ ...document, $id: ROOT });
  }

  /** Throws an error that lists every difference between the exchange and the document. */
  assert(exchange: Exchange): void {
    const mismatches = this.mismatchesOf(exchange);
    if (mismatches.length === 0) return;
    const { method, path, status, text } = exchange;
    const list = mismatches.map((mismatch) => `  - ${mismatch}`).join('\n');
    throw new Error(
      `${method} ${path} → ${status} differs from /openapi.json:\n${list}\n${text.slice(0, 2_000)}`,
    );
  }

  mismatchesOf(exchange: Exchange): string[] {
    // The files of the page at /docs are not part of the interface.
    if (exchange.path.startsWith('/docs/')) return [];
    const found = this.find(exchange);
    if (exchange.method === 'OPTIONS' || found === undefined) return this.errorMismatches(exchange);
    const { operation, pointer } = found;
    const response = operation.responses[exchange.status];
    if (response === undefined) return [`${operation.operationId} documents no status ${exchange.status}`];
    const schema_pointer = `${pointer}/responses/${exchange.status}`;
    return [
      ...this.headerMismatches(exchange.headers, response),
      ...this.bodyMismatches(exchange, response, schema_pointer),
      ...this.requestMismatches(exchange, operation, pointer),
    ];
  }

  private find({ method, path }: Exchange): { operation: OperationObject; pointer: string } | undefined {
    const pathname = path.split('?')[0]!;
    const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
    const template = this.document.paths[pathname]
      ? pathname
      : this.templates.find(({ pattern }) => pattern.test(pathname))?.template;
    const operation = template === undefined ? undefined : this.document.paths[template]?.[verb];
    return operation && { operation, pointer: `/paths/${escaped(template!)}/${verb}` };
  }

  private headerMismatches(headers: Headers, { headers: documented = {} }: ResponseObject): string[] {
    const declared = new Map(
      Object.entries(documented).map(([name, header]) => [name.toLowerCase(), header]),
    );
    const mismatches = [...headers.keys()]
      .filter((name) => !TRANSPORT.test(name) && !declared.has(name))
      .map((name) => `the header ${name} is not documented`);
    for (const [name, header] of declared) {
      const { required, schema } = this.headerOf(header);
      const value = headers.get(name);
      if (value === null && required) mismatches.push(`the header ${name} is missing`);
      if (value !== null && schema) mismatches.push(...valueMismatches(this.ajv, name, schema, value));
    }
    return mismatches;
  }

  private headerOf(header: HeaderObject): HeaderObject {
    const name = header.$ref?.split('/').pop();
    return name === undefined ? header : this.document.components.headers[name]!;
  }

  private bodyMismatches(
    { method, headers, text }: Exchange,
    { content }: ResponseObject,
    schema_pointer: string,
  ): string[] {
    if (method === 'HEAD') return text === '' ? [] : ['the response to HEAD has a body'];
    if (content === undefined) return text === '' ? [] : ['the response has a body, but none is documented'];
    const type = (headers.get('content-type') ?? '').split(';')[0]!;
    const media = content[type] ?? content[type.replace(/\/.*/, '/*')];
    if (media === undefined) return [`the content type ${type} is not documented`];
    if (media.schema === undefined) return [];
    return this.schemaMismatches(`${schema_pointer}/content/${escaped(type)}/schema`, JSON.parse(text));
  }

  /** Checks that an accepted request body matches the document. */
  private requestMismatches(
    { sent, status }: Exchange,
    operation: OperationObject,
    pointer: string,
  ): string[] {
    const schema = operation.requestBody?.content['application/json']?.schema;
    if (status >= 300 || sent === undefined || sent === '' || schema === undefined) return [];
    const schema_pointer = `${pointer}/requestBody/content/${escaped('application/json')}/schema`;
    return this.schemaMismatches(schema_pointer, JSON.parse(sent)).map(
      (mismatch) => `the service accepted a request body that the document forbids: ${mismatch}`,
    );
  }

  /** Checks the response to an unknown path or method, or to OPTIONS. */
  private errorMismatches({ method, path, status, headers, text }: Exchange): string[] {
    if (method === 'OPTIONS' && status === 204)
      return headers.has('allow') && text === ''
        ? []
        : ['the response to OPTIONS must have Allow and no body'];
    if (!ERROR_STATUSES.has(status))
      return [`no operation matches, and status ${status} is not one of ${[...ERROR_STATUSES].join(', ')}`];
    const undocumented = [...headers.keys()].filter(
      (name) => !TRANSPORT.test(name) && !ERROR_HEADERS.test(name),
    );
    const shape = /^\/auth(\/|$)/.test(path) ? 'AuthError' : 'Error';
    return [
      ...undocumented.map((name) => `the header ${name} is not documented`),
      ...(method === 'HEAD' ? [] : this.schemaMismatches(`/components/schemas/${shape}`, JSON.parse(text))),
    ];
  }

  private schemaMismatches(pointer: string, value: unknown): string[] {
    const validate = this.compiled.get(pointer) ?? this.ajv.compile({ $ref: `${ROOT}#${pointer}` });
    this.compiled.set(pointer, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) => {
      const property = 'additionalProperty' in params ? `: ${params.additionalProperty}` : '';
      return `${instancePath || 'the body'} ${message}${property}`;
    });
  }
}

const ROOT = 'https://catalog.test/openapi.json';

const patternOf = (template: string): RegExp => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`);

/** Escapes a part of a JSON pointer in a URI fragment, which must not contain the braces of a path template. */
const escaped = (part: string): string =>
  encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));

/** Checks a header's value. If the schema is an integer, the value must be digits. */
function valueMismatches(ajv: Ajv2020, name: string, schema: object, value: string): string[] {
  const is_integer = (schema as { type?: string }).type === 'integer';
  if (is_integer && !/^\d+$/.test(value)) return [`the header ${name} must be a whole number: ${value}`];
  return ajv.validate(schema, is_integer ? Number(value) : value)
    ? []
    : [`the value of the header ${name} does not match its schema: ${value}`];
}
