import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorCatalogue } from '../api/error-catalogue';
import { methodsOfPaths } from '../api/operations';
import type { Method } from '../api/operations/operation';
import { CatalogError } from '../kernel/errors';
import { type BearerAuthenticator, bearerIdentity, keyOfError } from './auth';
import { readBody } from './body';
import { sendError } from './errors';
import { fileReply } from './file';
import type { Idempotency } from './idempotency';
import type { KeyIdentity, Limits } from './rate-limit';
import {
  assertSupported,
  type Exchange,
  type HttpRequest,
  headerOf,
  openExchange,
  type Principal,
  type RequestRecords,
  record,
} from './request';
import { encode, notModified, renderAnswer, renderRead, send } from './respond';
import type {
  Answer,
  ApiRequest,
  AuthEndpoint,
  AuthEndpoints,
  PublicAnswer,
  PublicRoute,
  Reply,
  Route,
} from './route';
import { answerRead, answerWrite, openCall } from './serve-route';
import type { StreamSlots } from './stream-slots';

/** Returns headers that say how new the documents are. Call it before the read, whose documents are then at least as new. */
export type FreshnessHeaders = (principal: Principal) => Promise<Reply['headers']>;

export interface PipelineOptions extends RequestRecords {
  /** Endpoints of `/api` that this process serves. */
  readonly routes: readonly Route[];
  /** Endpoints of `/auth` that this process serves. */
  readonly auth: AuthEndpoints;
  /** Routes that need no token, such as pictures and the documentation. */
  readonly public_routes: readonly PublicRoute[];
  /** Undefined in a process that serves only public routes. */
  readonly admission?: { readonly authenticator: BearerAuthenticator; readonly limits: Limits } | undefined;
  readonly idempotency?: Idempotency | undefined;
  /** Without it, reads do not say how new they are. */
  readonly freshness?: FreshnessHeaders | undefined;
  readonly trace?: TraceRequest | undefined;
}

/** Runs the stages of a request within its span (docs/operations/tracing.md). */
export type TraceRequest = (exchange: Exchange, run: () => Promise<void>) => Promise<void>;

type Serve = (exchange: Exchange, params: ApiRequest['params']) => Promise<Reply>;

const GET_ONLY: readonly Method[] = ['GET'];

/** What is served at a path. */
interface Endpoint {
  /** The methods of the path in the whole interface. This process may serve only some of them. */
  readonly methods: readonly Method[];
  readonly serve: ReadonlyMap<string, Serve>;
  /** For `/auth`: part of the names of the rate-limit buckets. */
  readonly bucket?: string;
}

/** Passes each request through its stages, in the order of docs/http.md#stages. A stage returns or throws. */
export class Pipeline {
  private readonly options: PipelineOptions;
  private readonly paths: PathTable<Endpoint>;
  private readonly identify: ((authorization: string | undefined) => Promise<Principal>) | undefined;

  constructor(options: PipelineOptions) {
    this.options = options;
    this.identify = options.admission && bearerIdentity(options.admission.authenticator);
    this.paths = new PathTable(this.endpoints());
  }

  /** The request listener of a server. */
  readonly serve = (req: IncomingMessage, res: ServerResponse): void => {
    const { trace, log } = this.options;
    const exchange = openExchange(req as HttpRequest, res, this.options);
    const running = trace ? trace(exchange, () => this.run(exchange)) : this.run(exchange);
    running.catch((error: unknown) => {
      log.error({ err: error }, 'an error could not be sent');
      res.destroy();
    });
  };

  private async run(exchange: Exchange): Promise<void> {
    exchange.res.once('close', () => record(exchange, this.options));
    try {
      await send(exchange, await this.answer(exchange));
    } catch (error) {
      await sendError(exchange, error, this.options.log);
    }
  }

  private async answer(exchange: Exchange): Promise<Reply> {
    const { req, area, path } = exchange;
    assertSupported(req);
    if (area === 'api') await this.admitApi(exchange);
    const found = this.paths.find(path);
    const serve = found?.value.serve.get(req.method === 'HEAD' ? 'GET' : req.method);
    if (found && serve) {
      exchange.route = found.path;
      return serve(exchange, found.params);
    }
    if (area === 'auth') await this.admitAuth(exchange, found?.value.bucket ?? 'none', undefined);
    return answerOther(exchange, found);
  }

  private endpoints(): Map<string, Endpoint> {
    const { routes, auth, public_routes } = this.options;
    const endpoints = new Map<string, Endpoint>();
    const api_paths = Object.keys(methodsOfPaths).filter((path) => path.startsWith('/api/'));
    for (const path of new Set([...api_paths, ...routes.map((route) => route.path)])) {
      const own = routes.filter((route) => route.path === path);
      const methods = new Set([...(methodsOfPaths[path] ?? []), ...own.map(({ method }) => method)]);
      const serve = new Map(own.map((route) => [route.method, this.serveApi(route)]));
      endpoints.set(path, { methods: [...methods], serve });
    }
    for (const [path, endpoint] of Object.entries(auth)) {
      const serve = new Map([['POST', this.serveAuth(endpoint)]]);
      endpoints.set(path, { methods: ['POST'], serve, bucket: endpoint.name });
    }
    for (const { path, serve: answer, methods = GET_ONLY, slots } of public_routes) {
      const serve: Serve = async (exchange, params) => {
        // Without a key, all readers share the slots.
        const noted = slots?.take(exchange.res, '');
        return streamed(
          await publicReply(exchange, await answer(exchange.req, params, exchange.request_id)),
          noted,
        );
      };
      endpoints.set(path, { methods, serve: new Map(methods.map((method) => [method, serve])) });
    }
    return endpoints;
  }

  /**
   * Authenticates and limits a request before the path is checked. Unknown paths of `/api` require a token, too
   * (docs/interface/access.md#tokens). Otherwise, a client without a token could find out which paths exist. Only OPTIONS
   * requires no token, because browsers send preflights without one.
   */
  private async admitApi(exchange: Exchange): Promise<void> {
    const { admission } = this.options;
    if (!admission || !this.identify) return;
    if (exchange.req.method === 'OPTIONS') return admission.limits.admitOptions(exchange);
    // The token is checked first, because the rate limit depends on it: per key if valid, otherwise per IP address.
    const [principal, error] = await valueOrError(this.identify(exchange.req.headers.authorization));
    await admission.limits.admitApi(exchange, principal ?? keyOfError(error));
    if (principal === undefined) throw error;
    exchange.principal = principal;
  }

  private serveApi(route: Route): Serve {
    const { idempotency, freshness, admission } = this.options;
    return async (exchange, params) => {
      const call = openCall(exchange, route, params, admission?.limits);
      const { principal } = call;
      if (route.method !== 'GET')
        return encode(exchange.req.headers['accept-encoding'], await answerWrite(call, idempotency));
      const noted = route.slots?.take(exchange.res, principal.api_key_id);
      const fresh = await freshness?.(principal);
      const reply = await replyToRead(exchange, await answerRead(call));
      Object.assign(exchange.headers, fresh);
      return streamed(reply, noted);
    };
  }

  /** Authenticates by headers before the rate limit, which depends on the key. But 429 has priority over other errors. */
  private serveAuth(endpoint: AuthEndpoint): Serve {
    return async (exchange) => {
      const { req } = exchange;
      const header = (name: string) => headerOf(req, name);
      const [accepted, error] = await valueOrError(endpoint.authenticate(header));
      await this.admitAuth(exchange, endpoint.name, accepted ?? keyOfError(error));
      if (accepted === undefined) throw error;
      const data = accepted.respond(await readBody(req, AUTH_BODY_BYTES_MAX));
      return encode(exchange.req.headers['accept-encoding'], renderAnswer({ data }, false));
    };
  }

  private async admitAuth(exchange: Exchange, bucket: string, key: KeyIdentity | undefined): Promise<void> {
    const limits = this.options.admission?.limits;
    if (exchange.req.method === 'OPTIONS') await limits?.admitOptions(exchange);
    else await limits?.admitAuth(exchange, bucket, key);
  }
}

/** The longest valid body is `{"ttl_minutes":60}`. */
const AUTH_BODY_BYTES_MAX = 1_024;

/** Returns the value of a promise, or undefined and its error. */
async function valueOrError<Value>(promise: Promise<Value>): Promise<[Value | undefined, unknown]> {
  try {
    return [await promise, undefined];
  } catch (error) {
    return [undefined, error];
  }
}

/** Answers OPTIONS. Throws for a path or method that this process does not serve. */
function answerOther({ req, path, headers }: Exchange, found: FoundPath<Endpoint> | undefined): Reply {
  const { method } = req;
  if (found === undefined) throw refusalOf(method, path, 'path_not_found');
  const { methods } = found.value;
  // Another process serves this method. The gateway should have sent the request to that process.
  if (methods.some((allowed) => allowed === (method === 'HEAD' ? 'GET' : method)))
    throw new CatalogError('path_not_found');
  // HEAD is allowed if GET is, and OPTIONS always (docs/interface/requests.md#cors-and-head).
  const allowed = methods.flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]));
  headers.Allow = [...allowed, 'OPTIONS'].join(', ');
  if (method !== 'OPTIONS') throw refusalOf(method, path, 'method_not_allowed');
  return { status: 204, headers: {} };
}

/** Returns the refusal of a path or method. Names the right path if the request confuses a resource with its list. */
function refusalOf(
  method: string,
  path: string,
  condition: 'path_not_found' | 'method_not_allowed',
): CatalogError {
  const other = path
    .replace(/^(\/api\/[^/]+)\/[^/]+/, '$1/:id')
    .replace(/^\/api\/[^/]+/, (resource) =>
      resource.endsWith('s') ? resource.slice(0, -1) : `${resource}s`,
    );
  const is_known = other !== path && methodsOfPaths[other]?.some((known) => known === method);
  if (!is_known) return new CatalogError(condition);
  return new CatalogError(condition, {
    message: `${errorCatalogue[condition].message}; use ${method} ${other}`,
  });
}

/** Returns the reply of a read: the envelope with an ETag, 304 if the client has that version, or a file. */
async function replyToRead(exchange: Exchange, answer: Answer): Promise<Reply> {
  if (answer.reply) return notModified(exchange, answer.reply.headers) ?? answer.reply;
  if (answer.file) return fileReply(exchange, answer.file);
  const rendered = await renderRead(answer);
  return notModified(exchange, rendered.headers) ?? encode(exchange.req.headers['accept-encoding'], rendered);
}

/** Returns the reply with a stream whose progress its slot notes. */
function streamed(reply: Reply, noted: ReturnType<StreamSlots['take']> | undefined): Reply {
  const { body } = reply;
  const is_stream = typeof body === 'object' && !Buffer.isBuffer(body);
  return noted && is_stream ? { ...reply, body: noted(body) } : reply;
}

/** Returns the reply of a public route. */
async function publicReply(exchange: Exchange, answer: PublicAnswer): Promise<Reply> {
  if ('data' in answer) return replyToRead(exchange, answer);
  const { status = 200, body, content_type, headers, kept } = answer;
  return (
    notModified(exchange, headers) ??
    encode(exchange.req.headers['accept-encoding'], { status, headers, body }, content_type, kept)
  );
}

// --- Paths ---

interface Pattern<Value> {
  readonly path: string;
  readonly segments: readonly string[];
  readonly value: Value;
}

interface FoundPath<Value> {
  /** The pattern, such as `/api/listing/:id`. */
  readonly path: string;
  readonly value: Value;
  /** The percent-decoded parameters by name. */
  readonly params: Readonly<Record<string, string>>;
}

/**
 * Finds values by path. A segment of a pattern that begins with `:` matches any text that is not empty, and `:locale` only a
 * language tag; all others match exactly. So every path has one spelling, which caches and logs rely on.
 */
class PathTable<Value> {
  /** By the number of segments and the third one, such as `publication`, or else by the number alone. */
  private readonly patterns = new Map<string, Pattern<Value>[]>();

  constructor(values: Iterable<readonly [path: string, value: Value]>) {
    for (const [path, value] of values) {
      const segments = path.split('/');
      const key = `${segments.length}/${segments[2]?.startsWith(':') ? '' : segments[2]}`;
      const patterns = this.patterns.get(key) ?? [];
      this.patterns.set(key, patterns);
      patterns.push({ path, segments, value });
      // A fixed segment comes before a parameter: `by-handle` is no id.
      patterns.sort((a, b) => (rankOf(a.path) < rankOf(b.path) ? -1 : 1));
    }
  }

  /** Returns undefined if no pattern matches. Throws `URIError` if a parameter has invalid percent-encoding. */
  find(path: string): FoundPath<Value> | undefined {
    const asked = path.split('/');
    for (const key of [`${asked.length}/${asked[2]}`, `${asked.length}/`])
      for (const pattern of this.patterns.get(key) ?? []) {
        const params = matched(pattern.segments, asked);
        if (params) return { path: pattern.path, value: pattern.value, params };
      }
    return undefined;
  }
}

/** Returns a text that sorts parameters after all fixed segments. */
const rankOf = (path: string): string => path.replaceAll('/:', '/\uffff');

/** Returns the parameters if the segments match. */
function matched(
  segments: readonly string[],
  asked: readonly string[],
): Readonly<Record<string, string>> | undefined {
  let params: Record<string, string> | undefined;
  for (let index = 0; index < segments.length; index++) {
    const segment = segments[index]!;
    const text = asked[index]!;
    if (segment === text) continue;
    if (!segment.startsWith(':') || text === '') return undefined;
    if (segment === ':locale' && !LOCALE.test(text)) return undefined;
    params ??= {};
    params[segment.slice(1)] = decodeURIComponent(text);
  }
  return params ?? NO_PARAMETERS;
}

const NO_PARAMETERS = {};
/** `api` is the code of a language, too. */
const LOCALE = /^(?!api$)[a-z]{2,3}(-[a-z\d]{1,8})*$/i;
