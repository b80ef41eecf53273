import type { Express, Request, RequestHandler, Response } from 'express';
import { errorCatalogue } from '../api/error-catalogue';
import { methodsOfPaths } from '../api/operations';
import type { Method } from '../api/operations/operation';
import { withTimeout } from '../kernel/async';
import { CatalogError } from '../kernel/errors';
import { parseId } from '../kernel/ids';
import type { RenderedAnswer } from '../ports/idempotency-store';
import { type BearerAuthenticator, bearerIdentity, keyOfError } from './auth';
import { readBody } from './body';
import { renderError } from './errors';
import { assertIdempotencyKey, fingerprintOf, type Idempotency } from './idempotency';
import type { Limits } from './rate-limit';
import { type Principal, requestContext } from './request';
import { renderAnswer, sendAnswer, sendRendered } from './respond';
import type { Answer, ApiRequest, AuthEndpoint, AuthEndpoints, PublicRoute, Route } from './route';
import { receiveUpload } from './upload';
import { ignoredParameters, queryParameters } from './validation';

// All routes are registered on the app itself, because its router is strict and case-sensitive. So every path has exactly
// one spelling, which caches and logs rely on.

// --- /api ---

interface ApiOptions {
  readonly routes: readonly Route[];
  readonly authenticator: BearerAuthenticator;
  readonly limits: Limits;
  readonly idempotency: Idempotency | undefined;
}

/**
 * Registers the stages of `/api`: authentication → rate limit → 401 → path → permission → handler
 * (docs/http.md#stages).
 */
export function addApi(app: Express, { routes, authenticator, limits, idempotency }: ApiOptions): void {
  app.use(admitApi(authenticator, limits));
  const api_paths = Object.keys(methodsOfPaths).filter((path) => path.startsWith('/api/'));
  for (const path of new Set([...api_paths, ...routes.map((route) => route.path)])) {
    const registration = app.route(path);
    const own_routes = routes.filter((route) => route.path === path);
    for (const route of own_routes) registration[verbOf(route.method)](serveRoute(route, idempotency));
    const methods = new Set([...(methodsOfPaths[path] ?? []), ...own_routes.map((route) => route.method)]);
    registration.all(respondToOtherMethods([...methods]));
  }
}

const verbOf = (method: Method) => method.toLowerCase() as 'get' | 'post' | 'patch' | 'delete';

/**
 * Authenticates and limits a request before the path is checked. Unknown paths of `/api` require a token, too
 * (docs/interface.md#tokens). Otherwise, a client without a token could find out which paths exist. Only OPTIONS requires
 * no token, because browsers send preflights without one.
 */
function admitApi(authenticator: BearerAuthenticator, limits: Limits): RequestHandler {
  const identify = bearerIdentity(authenticator);
  return async (req, res, next) => {
    const context = requestContext(res);
    if (context.area !== 'api') return next();
    if (req.method === 'OPTIONS') await limits.admitOptions(req, res);
    else {
      // The token is checked first, because the rate limit depends on it: per key if valid, otherwise per IP address.
      const [principal, error] = await valueOrError(identify(req.headers.authorization));
      await limits.admitApi(req, res, principal ?? keyOfError(error));
      if (principal === undefined) throw error;
      context.principal = principal;
    }
    next();
  };
}

/** Returns the value of a promise, or undefined and its error. */
async function valueOrError<Value>(promise: Promise<Value>): Promise<[Value | undefined, unknown]> {
  try {
    return [await promise, undefined];
  } catch (error) {
    return [undefined, error];
  }
}

/**
 * When the answer begins at the latest (docs/operations/failures.md#outages), counted from the arrival of the request,
 * without the time in which its body arrived: 5 s, less some time for what follows the handler.
 */
const ANSWER_MS_MAX = 4_900;

/**
 * Calls the handler, which may make several calls to the stores, each of which may take almost as long as the whole
 * request. Rejects at `answer_by_ms`: with `database_timeout` if an append was sent, which may still be stored. Otherwise
 * with `unavailable`; none is sent any more.
 */
function answerInTime(handler: Route['handler'], request: ApiRequest): Promise<Answer> {
  let is_sent = false;
  let is_over = false;
  const beforeSend = async (): Promise<void> => {
    // A plain error, not `unavailable`: nothing is wrong with the store, and requests that wait for this one may
    // still succeed.
    if (is_over && !is_sent) throw new Error('the request is already answered');
    is_sent = true;
  };
  const left_ms = Math.max(0, request.answer_by_ms - performance.now());
  return withTimeout(handler({ ...request, beforeSend }), left_ms, () => {
    is_over = true;
    throw new CatalogError(is_sent ? 'database_timeout' : 'unavailable', {
      message: 'the request did not end in time',
    });
  });
}

/** Serves an authenticated request: permissions → path ids → body → handler (once per `Idempotency-Key`) → response. */
function serveRoute(route: Route, idempotency: Idempotency | undefined): RequestHandler {
  return async (req, res) => {
    const context = requestContext(res);
    context.route = route.path;
    const { principal, request_id } = context;
    if (principal === undefined) throw new CatalogError('unauthenticated');
    assertPermitted(principal, route);
    const query = queryParameters(req.url);
    const ignored = route.parameters && ignoredParameters(query, route.parameters);
    if (ignored !== undefined) res.setHeader('X-Catalog-Ignored', ignored);
    for (const name of Object.keys(query)) assertFieldPermitted(principal, route, name);
    const params = checkParams(req.params as ApiRequest['params']);
    const before_body_ms = performance.now() - context.started_ms;
    const body = await bodyOf(route, req, principal);
    const header = (name: string): string | undefined => req.get(name);
    const method = req.method === 'HEAD' ? 'HEAD' : route.method;
    const answer_by_ms = performance.now() + ANSWER_MS_MAX - before_body_ms;
    const assertAwaited = (): void => {
      if (!req.socket.destroyed && performance.now() < answer_by_ms) return;
      throw new CatalogError('unavailable', { message: 'nobody waits for the answer any more' });
    };
    const request: ApiRequest = {
      method,
      principal,
      params,
      query,
      body,
      request_id,
      answer_by_ms,
      assertAwaited,
      header,
    };
    const key = route.method === 'GET' ? undefined : header('idempotency-key');
    if (key !== undefined) assertIdempotencyKey(key);
    if (key !== undefined && idempotency !== undefined)
      sendRendered(res, await answerOnce(idempotency, key, route, request, res));
    else await sendAnswer(req, res, await answerInTime(route.handler, request));
  };
}

/** Runs the handler once per `Idempotency-Key`, and returns the response, or the first one again. */
function answerOnce(
  idempotency: Idempotency,
  idempotency_key: string,
  route: Route,
  request: ApiRequest,
  res: Response,
): Promise<RenderedAnswer> {
  const { query, body, params, principal } = request;
  const path = route.path.replace(/:(\w+)/g, (_, name: string) => params[name] ?? '');
  const parameters = Object.fromEntries(Object.entries(query).map(([name, values]) => [name, [...values]]));
  return idempotency.once({
    key: { api_key_id: principal.api_key_id, idempotency_key },
    limits: principal.limits,
    answer_by_ms: request.answer_by_ms,
    fingerprint: fingerprintOf(route.method, path, parameters, body),
    run: async (operation) => {
      const answer = await answerInTime(route.handler, {
        ...request,
        operation: { ...operation, idempotency_key },
      });
      return renderAnswer(answer, false);
    },
    renderFailure: (failure) => renderError(failure, res),
  });
}

/**
 * Throws `insufficient_permissions`. A public key may never write, whatever its token contains
 * (docs/interface.md#api-keys).
 */
function assertPermitted(principal: Principal, route: Route): void {
  const has_permission = principal.permissions.includes(route.permission);
  if (has_permission && (route.method === 'GET' || principal.key_type === 'secret')) return;
  throw new CatalogError('insufficient_permissions', {
    message: `This request requires a ${route.method === 'GET' ? '' : 'secret '}key with the permission ${route.permission}`,
  });
}

function assertFieldPermitted(principal: Principal, { field_permissions = {} }: Route, name: string): void {
  const required = Object.hasOwn(field_permissions, name) ? field_permissions[name] : undefined;
  if (required === undefined || principal.permissions.includes(required)) return;
  throw new CatalogError('insufficient_permissions', {
    message: `${name} requires the permission ${required}`,
  });
}

function checkParams(params: ApiRequest['params']): ApiRequest['params'] {
  if (params.id === undefined) return params;
  const id = parseId(params.id);
  if (id === undefined)
    throw CatalogError.ofFaults([{ condition: 'invalid_uuid', field: 'id', constraint: 'a UUID' }]);
  return { ...params, id };
}

/** Reads the body of a write. Ignores the body of a GET, because reads have none. */
async function bodyOf(route: Route, req: Request, principal: Principal): Promise<ApiRequest['body']> {
  if (route.method === 'GET') return {};
  if (!route.upload) return readBody(req);
  const assertField = (field: string): void => assertFieldPermitted(principal, route, field);
  return receiveUpload(req, route.upload, principal, assertField);
}

// --- /auth ---

const AUTH_ALLOW = 'POST, OPTIONS';
/** The longest valid body is `{"ttl_minutes":60}`. */
const AUTH_BODY_BYTES_MAX = 1_024;

/** Registers the stages of `/auth`: authentication → rate limit → body → response. */
export function addAuth(app: Express, endpoints: AuthEndpoints, limits: Limits): void {
  for (const [path, endpoint] of Object.entries(endpoints))
    app
      .route(path)
      .post((req, res) => {
        requestContext(res).route = path;
        return serveExchange(req, res, endpoint, limits);
      })
      .all(async (req, res) => {
        await admitWithoutKey(req, res, limits, endpoint.name);
        answerMethod(req, res, AUTH_ALLOW);
      });
  app.use(async (req, res, next) => {
    if (requestContext(res).area !== 'auth') return next();
    await admitWithoutKey(req, res, limits, 'none');
    throw new CatalogError('path_not_found');
  });
}

async function serveExchange(
  req: Request,
  res: Response,
  endpoint: AuthEndpoint,
  limits: Limits,
): Promise<void> {
  // Authentication comes first, because the rate limit depends on the key. But 429 has priority over other errors.
  const [exchange, error] = await valueOrError(endpoint.authenticate((name) => req.get(name)));
  await limits.admitAuth(req, res, endpoint.name, exchange ?? keyOfError(error));
  if (exchange === undefined) throw error;
  await sendAnswer(req, res, { data: exchange.respond(await readBody(req, AUTH_BODY_BYTES_MAX)) });
}

function admitWithoutKey(req: Request, res: Response, limits: Limits, endpoint: string): Promise<void> {
  if (req.method === 'OPTIONS') return limits.admitOptions(req, res);
  return limits.admitAuth(req, res, endpoint, undefined);
}

// --- Public paths and methods ---

/** Registers a GET that needs no token and has no rate limit. */
export function addPublicRoute(app: Express, { path, serve }: PublicRoute): void {
  app
    .route(path)
    .get(async (req, res) => {
      requestContext(res).route = path;
      await serve(req, res);
    })
    .all(respondToOtherMethods(['GET']));
}

/** Responds to OPTIONS and to methods that this process does not serve. `methods` are those of the whole interface. */
function respondToOtherMethods(methods: readonly Method[]): RequestHandler {
  const allow = allowOf(methods);
  return (req, res) => {
    const method = req.method === 'HEAD' ? 'GET' : req.method;
    // Another process serves this method. The gateway should have sent the request to that process.
    if (methods.some((allowed) => allowed === method)) throw new CatalogError('path_not_found');
    answerMethod(req, res, allow);
  };
}

function answerMethod(req: Request, res: Response, allow: string): void {
  res.setHeader('Allow', allow);
  if (req.method !== 'OPTIONS') throw refusalOf(req, 'method_not_allowed');
  res.status(204).end();
}

/** Last route: rejects a path that is not part of the interface. */
export function rejectPath(req: Request): void {
  throw refusalOf(req, 'path_not_found');
}

/** Returns the refusal of a path or method. Names the right path if the request confuses a resource with its list. */
function refusalOf(
  { method, path }: Request,
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

/** Returns the value of `Allow`. HEAD is allowed if GET is, and OPTIONS always (docs/interface.md#cors-and-head). */
function allowOf(methods: readonly Method[]): string {
  const all = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...all, 'OPTIONS'].join(', ');
}
