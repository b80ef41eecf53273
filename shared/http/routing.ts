import type { Express, Request, RequestHandler, Response } from 'express';
import { methodsOfPaths } from '../api/operations';
import type { Method } from '../api/operations/operation';
import { CatalogError } from '../kernel/errors';
import { parseId } from '../kernel/ids';
import type { KeptAnswer } from '../ports/idempotency-store';
import { type BearerCheck, bearerIdentity, payerOf } from './auth';
import { readBody } from './body';
import { renderError } from './errors';
import { assertIdempotencyKey, fingerprintOf, type Idempotency } from './idempotency';
import type { Limits } from './rate-limit';
import { type Principal, requestContext } from './request';
import { renderAnswer, sendAnswer, sendRendered } from './respond';
import type { ApiRequest, AuthEndpoint, AuthEndpoints, PublicRoute, Route } from './route';
import { receiveUpload } from './upload';
import { queryParameters } from './validation';

// Routes are registered on the app's one router, which is strict and case-sensitive: a path has one spelling, so that
// caches and logs see one.

// --- /api ---

interface ApiOptions {
  readonly routes: readonly Route[];
  readonly authenticator: BearerCheck;
  readonly limits: Limits;
  readonly idempotency: Idempotency | undefined;
}

/** Registers everything below `/api`: find the token's key → rate limit → 401 → path → permission → handler. */
export function addApi(app: Express, { routes, authenticator, limits, idempotency }: ApiOptions): void {
  app.use(admitApi(authenticator, limits));
  const known = Object.keys(methodsOfPaths).filter((path) => path.startsWith('/api/'));
  for (const path of new Set([...known, ...routes.map((route) => route.path)])) {
    const entry = app.route(path);
    const served = routes.filter((route) => route.path === path);
    for (const route of served) entry[verbOf(route.method)](serveRoute(route, idempotency));
    const methods = new Set([...(methodsOfPaths[path] ?? []), ...served.map((route) => route.method)]);
    entry.all(answerOtherMethods(path, [...methods]));
  }
}

const verbOf = (method: Method) => method.toLowerCase() as 'get' | 'post' | 'patch' | 'delete';

/**
 * Applies authentication and rate limit before the path is looked at: "every /api/* endpoint requires authentication"
 * (spec, rule 1) holds for the whole area, so that a request without a token learns nothing of it. Only OPTIONS, which
 * browsers send without a token, needs none.
 */
function admitApi(authenticator: BearerCheck, limits: Limits): RequestHandler {
  const identify = bearerIdentity(authenticator);
  return async (req, res, next) => {
    const context = requestContext(res);
    if (context.area !== 'api') return next();
    if (req.method === 'OPTIONS') await limits.admitOptions(req, res);
    else {
      // The token is checked before the rate limit: a valid one pays with its key's bucket, others with the address's.
      const [principal, refusal] = await settle(identify(req.headers.authorization));
      await limits.admitApi(req, res, principal ?? payerOf(refusal));
      if (principal === undefined) throw refusal;
      context.principal = principal;
    }
    next();
  };
}

/** Returns the value, or undefined and the error. */
async function settle<Value>(running: Promise<Value>): Promise<[Value | undefined, unknown]> {
  try {
    return [await running, undefined];
  } catch (error) {
    return [undefined, error];
  }
}

/** Answers an authenticated request: permissions → path ids → body → (once per Idempotency-Key) handler → answer. */
function serveRoute(route: Route, idempotency: Idempotency | undefined): RequestHandler {
  return async (req, res) => {
    const context = requestContext(res);
    context.route = route.path;
    const { principal, request_id } = context;
    if (principal === undefined) throw new CatalogError('unauthenticated');
    assertPermitted(principal, route);
    const query = queryParameters(req.url);
    for (const name of Object.keys(query)) assertFieldPermitted(principal, route, name);
    const params = checkedParams(req.params as ApiRequest['params']);
    const body = await bodyOf(route, req, res, principal);
    const header = (name: string): string | undefined => req.get(name);
    const method = req.method === 'HEAD' ? 'HEAD' : route.method;
    const request: ApiRequest = { method, principal, params, query, body, request_id, header };
    const key = route.method === 'GET' ? undefined : header('idempotency-key');
    if (key !== undefined) assertIdempotencyKey(key);
    if (key !== undefined && idempotency !== undefined)
      sendRendered(res, await answerOnce(idempotency, key, route, request, res));
    else await sendAnswer(req, res, await route.handler(request));
  };
}

/** Returns the first answer to the key, whichever request it was given to. */
function answerOnce(
  idempotency: Idempotency,
  idempotency_key: string,
  route: Route,
  request: ApiRequest,
  res: Response,
): Promise<KeptAnswer> {
  const { query, body, principal } = request;
  const parameters = Object.fromEntries(Object.entries(query).map(([name, values]) => [name, [...values]]));
  return idempotency.once({
    key: { api_key_id: principal.api_key_id, idempotency_key },
    fingerprint: fingerprintOf(route.method, requestContext(res).path, parameters, body),
    run: async (operation) => {
      const answer = await route.handler({ ...request, operation: { ...operation, idempotency_key } });
      return renderAnswer(answer, false);
    },
    refusal: (failure) => renderError(failure, res),
  });
}

/** A public key never writes, whatever its token says (spec, "API key types"). */
function assertPermitted(principal: Principal, route: Route): void {
  const has_permission = principal.permissions.includes(route.permission);
  if (has_permission && (route.method === 'GET' || principal.key_type === 'secret')) return;
  throw new CatalogError('insufficient_permissions', {
    message: `This needs a ${route.method === 'GET' ? '' : 'secret '}key with the permission ${route.permission}`,
  });
}

function assertFieldPermitted(principal: Principal, { field_permissions = {} }: Route, name: string): void {
  const needed = Object.hasOwn(field_permissions, name) ? field_permissions[name] : undefined;
  if (needed === undefined || principal.permissions.includes(needed)) return;
  throw new CatalogError('insufficient_permissions', { message: `${name} needs ${needed}` });
}

function checkedParams(params: ApiRequest['params']): ApiRequest['params'] {
  if (params.id === undefined) return params;
  const id = parseId(params.id);
  if (id === undefined)
    throw CatalogError.ofFaults([{ condition: 'invalid_uuid', field: 'id', constraint: 'a UUID' }]);
  return { ...params, id };
}

/** A GET has no body in this interface: one that is sent all the same is not read. */
async function bodyOf(
  route: Route,
  req: Request,
  res: Response,
  principal: Principal,
): Promise<ApiRequest['body']> {
  if (route.method === 'GET') return {};
  if (!route.upload) return readBody(req, res);
  const admit = (field: string): void => assertFieldPermitted(principal, route, field);
  return receiveUpload(req, route.upload, principal, admit);
}

// --- /auth ---

const AUTH_ALLOW = 'POST, OPTIONS';

/** Registers everything below `/auth`: find the key → rate limit → body → answer. */
export function addAuth(app: Express, endpoints: AuthEndpoints, limits: Limits): void {
  for (const [path, endpoint] of Object.entries(endpoints))
    app
      .route(path)
      .all((_req, res, next) => {
        requestContext(res).route = path;
        next();
      })
      .post((req, res) => exchange(req, res, endpoint, limits))
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

async function exchange(req: Request, res: Response, endpoint: AuthEndpoint, limits: Limits): Promise<void> {
  // A valid key or token pays with its key's bucket. A 429 takes precedence over other refusals.
  const [opened, refusal] = await settle(endpoint.open((name) => req.get(name)));
  await limits.admitAuth(req, res, endpoint.name, opened ?? payerOf(refusal));
  if (opened === undefined) throw refusal;
  await sendAnswer(req, res, { data: opened.respond(await readBody(req, res)) });
}

function admitWithoutKey(req: Request, res: Response, limits: Limits, endpoint: string): Promise<void> {
  if (req.method === 'OPTIONS') return limits.admitOptions(req, res);
  return limits.admitAuth(req, res, endpoint, undefined);
}

// --- Public paths and methods ---

export function addPublicRoute(app: Express, { path, serve }: PublicRoute): void {
  app
    .route(path)
    .get(async (req, res) => {
      requestContext(res).route = path;
      await serve(req, res);
    })
    .all(answerOtherMethods(path, ['GET']));
}

/** Answers OPTIONS, and methods that this process does not serve. `methods` are those of the whole interface. */
function answerOtherMethods(path: string, methods: readonly Method[]): RequestHandler {
  const allow = allowOf(methods);
  return (req, res) => {
    requestContext(res).route = path;
    const method = req.method === 'HEAD' ? 'GET' : req.method;
    // The other service answers this one. Behind a gateway such a request never arrives here.
    if (methods.some((known) => known === method)) throw new CatalogError('path_not_found');
    answerMethod(req, res, allow);
  };
}

function answerMethod(req: Request, res: Response, allow: string): void {
  res.setHeader('Allow', allow);
  if (req.method !== 'OPTIONS') throw new CatalogError('method_not_allowed');
  res.status(204).end();
}

/** The value of `Allow`: HEAD goes with GET, OPTIONS with everything (decisions §9). */
function allowOf(methods: readonly Method[]): string {
  const all = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return [...all, 'OPTIONS'].join(', ');
}
