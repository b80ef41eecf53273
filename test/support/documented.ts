import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';

/** One exchange as a client saw it. */
export interface Exchange {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** The JSON text that was sent; undefined where there was none, or something else. */
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

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: { readonly headers: Readonly<Record<string, HeaderObject>> };
}

/** What HTTP, the connection, compression and CORS put on answers; nothing of the interface. */
const TRANSPORT =
  /^(date|connection|keep-alive|transfer-encoding|content-(length|type|encoding)|vary|x-content-type-options|content-security-policy|cross-origin-resource-policy|referrer-policy|access-control-.*)$/;

/** Requests that no operation takes: what refuses them. */
const REFUSALS = new Set([400, 401, 403, 404, 405, 429, 503]);
const REFUSAL_HEADERS =
  /^(x-request-id|x-ratelimit-(limit|remaining|reset|tier)|cache-control|retry-after|www-authenticate|allow)$/;

/** Holds exchanges against the OpenAPI document: what is not documented is a fault. */
export class Documented {
  private readonly document: Document;
  private readonly ajv: Ajv2020;
  private readonly compiled = new Map<string, ValidateFunction>();

  constructor(document: Document) {
    this.document = document;
    this.ajv = new Ajv2020({ strict: false, allErrors: true });
    addFormats(this.ajv);
    this.ajv.addSchema({ ...document, $id: ROOT });
  }

  /** Throws with everything about the exchange that the document does not say. */
  assert(exchange: Exchange): void {
    const faults = this.faultsOf(exchange);
    if (faults.length === 0) return;
    const { method, path, status, text } = exchange;
    const told = faults.map((fault) => `  - ${fault}`).join('\n');
    throw new Error(
      `${method} ${path} → ${status} is not as /openapi.json says:\n${told}\n${text.slice(0, 2_000)}`,
    );
  }

  faultsOf(exchange: Exchange): string[] {
    // What the page at /docs is made of is no part of the interface.
    if (exchange.path.startsWith('/docs/')) return [];
    const found = this.find(exchange);
    if (exchange.method === 'OPTIONS' || found === undefined) return this.refusalFaults(exchange);
    const { operation, pointer } = found;
    const response = operation.responses[exchange.status];
    if (response === undefined) return [`${operation.operationId} documents no status ${exchange.status}`];
    const at = `${pointer}/responses/${exchange.status}`;
    return [
      ...this.headerFaults(exchange.headers, response),
      ...this.bodyFaults(exchange, response, at),
      ...this.requestFaults(exchange, operation, pointer),
    ];
  }

  private find({ method, path }: Exchange): { operation: OperationObject; pointer: string } | undefined {
    const asked = path.split('?')[0]!;
    const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
    const { paths } = this.document;
    // A path without parameters is the nearer one.
    const candidates = Object.keys(paths).sort((a, b) => a.split('{').length - b.split('{').length);
    const template = candidates.find((one) => patternOf(one).test(asked));
    const operation = template === undefined ? undefined : paths[template]?.[verb];
    return operation && { operation, pointer: `/paths/${escaped(template!)}/${verb}` };
  }

  private headerFaults(headers: Headers, { headers: documented = {} }: ResponseObject): string[] {
    const known = new Map(Object.entries(documented).map(([name, header]) => [name.toLowerCase(), header]));
    const faults = [...headers.keys()]
      .filter((name) => !TRANSPORT.test(name) && !known.has(name))
      .map((name) => `the header ${name} is not documented`);
    for (const [name, header] of known) {
      const { required, schema } = this.headerOf(header);
      const value = headers.get(name);
      if (value === null && required) faults.push(`the header ${name} is missing`);
      if (value !== null && schema) faults.push(...valueFaults(this.ajv, name, schema, value));
    }
    return faults;
  }

  private headerOf(header: HeaderObject): HeaderObject {
    const name = header.$ref?.split('/').pop();
    return name === undefined ? header : this.document.components.headers[name]!;
  }

  private bodyFaults({ method, headers, text }: Exchange, { content }: ResponseObject, at: string): string[] {
    if (method === 'HEAD') return text === '' ? [] : ['an answer to HEAD has a body'];
    if (content === undefined) return text === '' ? [] : ['a body where none is documented'];
    const type = (headers.get('content-type') ?? '').split(';')[0]!;
    const media = content[type] ?? content[type.replace(/\/.*/, '/*')];
    if (media === undefined) return [`the content type ${type} is not documented`];
    if (media.schema === undefined) return [];
    return this.schemaFaults(`${at}/content/${escaped(type)}/schema`, JSON.parse(text));
  }

  /** What was accepted must be what the document lets a client send. */
  private requestFaults({ sent, status }: Exchange, operation: OperationObject, pointer: string): string[] {
    const schema = operation.requestBody?.content['application/json']?.schema;
    if (status >= 300 || sent === undefined || sent === '' || schema === undefined) return [];
    const at = `${pointer}/requestBody/content/${escaped('application/json')}/schema`;
    return this.schemaFaults(at, JSON.parse(sent)).map((fault) => `the request that was accepted: ${fault}`);
  }

  /** An unknown path or method, or OPTIONS. */
  private refusalFaults({ method, path, status, headers, text }: Exchange): string[] {
    if (method === 'OPTIONS' && status === 204)
      return headers.has('allow') && text === '' ? [] : ['OPTIONS is answered with Allow and no body'];
    if (!REFUSALS.has(status)) return [`no operation takes it, and it is not refused: ${status}`];
    const strange = [...headers.keys()].filter(
      (name) => !TRANSPORT.test(name) && !REFUSAL_HEADERS.test(name),
    );
    const shape = /^\/auth(\/|$)/.test(path) ? 'AuthError' : 'Error';
    return [
      ...strange.map((name) => `the header ${name} is not documented`),
      ...(method === 'HEAD' ? [] : this.schemaFaults(`/components/schemas/${shape}`, JSON.parse(text))),
    ];
  }

  private schemaFaults(pointer: string, value: unknown): string[] {
    const validate = this.compiled.get(pointer) ?? this.ajv.compile({ $ref: `${ROOT}#${pointer}` });
    this.compiled.set(pointer, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) => {
      const named = 'additionalProperty' in params ? `: ${params.additionalProperty}` : '';
      return `${instancePath || 'the body'} ${message}${named}`;
    });
  }
}

const ROOT = 'https://catalog.test/openapi.json';

const patternOf = (template: string): RegExp => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`);

/** Of a JSON pointer within a URI fragment: the braces of a path template may not stand in it. */
const escaped = (part: string): string =>
  encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));

/** A header's value is text: where the schema says a number, it must be one in digits. */
function valueFaults(ajv: Ajv2020, name: string, schema: object, value: string): string[] {
  const integer = (schema as { type?: string }).type === 'integer';
  if (integer && !/^\d+$/.test(value)) return [`the header ${name} is no whole number: ${value}`];
  return ajv.validate(schema, integer ? Number(value) : value)
    ? []
    : [`the header ${name} may not be ${value}`];
}
