import { RUN_NAME, UNDO_PREFIX } from '../api/headers';
import type { JsonObject } from '../catalog/events/envelope';
import { CatalogError } from '../kernel/errors';
import { parseId } from '../kernel/ids';
import type { RenderedAnswer } from '../ports/idempotency-store';
import { readBody } from './body';
import { renderError } from './errors';
import { assertIdempotencyKey, fingerprintOf, type Idempotency } from './idempotency';
import type { Limits } from './rate-limit';
import { type Exchange, headerOf, type Principal } from './request';
import { renderAnswer } from './respond';
import { type Answer, type ApiRequest, answerBy, type Route } from './route';
import { receiveUpload } from './upload';
import { ignoredParameters, type QueryParameters, queryParameters } from './validation';

/** A request to a route of `/api` that has passed the rate limit and all checks that need no body. */
export interface RouteCall {
  readonly exchange: Exchange;
  readonly route: Route;
  readonly principal: Principal;
  readonly params: ApiRequest['params'];
  readonly query: QueryParameters;
  readonly limits: Pick<Limits, 'admitItems'> | undefined;
}

/**
 * Checks a request before its body is read. Throws `unauthenticated`, `insufficient_permissions` and `invalid_uuid`. Names
 * the ignored query parameters in the headers.
 */
export function openCall(
  exchange: Exchange,
  route: Route,
  params: ApiRequest['params'],
  limits: RouteCall['limits'],
): RouteCall {
  const { principal, req, headers } = exchange;
  if (principal === undefined) throw new CatalogError('unauthenticated');
  assertPermitted(principal, route);
  const query = queryParameters(req.url);
  const ignored = route.parameters && ignoredParameters(query, route.parameters);
  if (ignored !== undefined) headers['X-Catalog-Ignored'] = ignored;
  if (route.field_permissions)
    for (const name of Object.keys(query)) assertFieldPermitted(principal, route, name);
  return { exchange, route, principal, params: checkParams(params), query, limits };
}

/**
 * When the answer begins at the latest (docs/operations/failures.md#outages), counted from the arrival of the request,
 * without the time in which its body arrived: 5 s, less some time for what follows the handler.
 */
const ANSWER_MS_MAX = 4_900;

/** Returns the answer of a read. */
export function answerRead(call: RouteCall): Promise<Answer> {
  const { exchange, route } = call;
  return route.handler(requestOf(call, {}, exchange.started_ms + ANSWER_MS_MAX));
}

/** Carries out a write, once per `Idempotency-Key`. Returns its answer, or the first answer again. */
export async function answerWrite(
  call: RouteCall,
  idempotency: Idempotency | undefined,
): Promise<RenderedAnswer> {
  const { exchange, route } = call;
  const before_body_ms = performance.now() - exchange.started_ms;
  const body = await bodyOf(call);
  const answer_by_ms = performance.now() + ANSWER_MS_MAX - before_body_ms;
  try {
    return await answerTo(call, requestOf(call, body, answer_by_ms), idempotency);
  } finally {
    if (body.file) await route.upload?.discard?.(body.file as JsonObject);
  }
}

function answerTo(
  { exchange, route }: RouteCall,
  request: ApiRequest,
  idempotency: Idempotency | undefined,
): Promise<RenderedAnswer> {
  const key = request.header('idempotency-key');
  if (key !== undefined) assertIdempotencyKey(key);
  if (key === undefined || idempotency === undefined)
    return answerInTime(route.handler, request, exchange).then((answer) =>
      renderAnswer(withSecrets(answer), false),
    );
  return answerOnce(idempotency, key, route, request, exchange);
}

/** Reads the body of a write. */
async function bodyOf({ exchange: { req }, route, principal }: RouteCall): Promise<ApiRequest['body']> {
  if (!route.upload) return readBody(req);
  const assertField = (field: string): void => assertFieldPermitted(principal, route, field);
  return receiveUpload(req, route.upload, principal, assertField);
}

/** Returns the run of a write. Throws `malformed_request` if the value of `X-Catalog-Run` is no name that a client may give. */
function runOf(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const message = header.startsWith(UNDO_PREFIX)
    ? `X-Catalog-Run must not begin with ${UNDO_PREFIX}: the service gives such names to the undo of a run`
    : 'X-Catalog-Run must be a letter or digit, then up to 99 of A–Z a–z 0–9 . _ -';
  if (header.startsWith(UNDO_PREFIX) || !RUN_NAME.test(header))
    throw new CatalogError('malformed_request', { message });
  return header;
}

function requestOf(
  { exchange, route, principal, params, query, limits }: RouteCall,
  body: ApiRequest['body'],
  answer_by_ms: number,
): ApiRequest {
  const { req, request_id } = exchange;
  return {
    method: req.method === 'HEAD' ? 'HEAD' : route.method,
    principal,
    params,
    query,
    body,
    request_id,
    run: route.method === 'GET' ? undefined : runOf(headerOf(req, 'x-catalog-run')),
    answer_by_ms,
    assertAwaited: () => {
      if (!req.socket.destroyed && performance.now() < answer_by_ms) return;
      throw new CatalogError('unavailable', { message: 'nobody waits for the answer any more' });
    },
    header: (name) => headerOf(req, name),
    admitItems: async (count) => limits?.admitItems(exchange, principal, count),
  };
}

/**
 * Calls the handler of a write. The handler may make several calls to the stores, and each call may take almost as long as
 * the whole request. So this function rejects at `answer_by_ms`: with `database_timeout` if an append was sent, which may
 * still be stored, otherwise with `unavailable`. A handler that has sent no append by then sends none any more.
 */
function answerInTime(handler: Route['handler'], request: ApiRequest, exchange: Exchange): Promise<Answer> {
  let is_sent = false;
  let is_over = false;
  const beforeSend = async (): Promise<void> => {
    // A plain error, not `unavailable`: nothing is wrong with the store, and requests that wait for this one may
    // still succeed.
    if (is_over && !is_sent) throw new Error('the request is already answered');
    is_sent = true;
    exchange.is_append_sent = true;
  };
  return answerBy(request.answer_by_ms, handler({ ...request, beforeSend }), () => {
    is_over = true;
    return exchange.is_append_sent ? 'database_timeout' : 'unavailable';
  });
}

const withSecrets = (answer: Answer): Answer =>
  answer.secrets ? { ...answer, data: { ...(answer.data as JsonObject), ...answer.secrets } } : answer;

/**
 * Runs the handler once per `Idempotency-Key`, and returns the response, or the first one again. What is stored to be sent
 * again has no secrets.
 */
async function answerOnce(
  idempotency: Idempotency,
  idempotency_key: string,
  route: Route,
  request: ApiRequest,
  exchange: Exchange,
): Promise<RenderedAnswer> {
  const { query, body, params, principal } = request;
  const path = route.path.replace(/:(\w+)/g, (_, name: string) => params[name] ?? '');
  const parameters = Object.fromEntries(Object.entries(query).map(([name, values]) => [name, [...values]]));
  let complete: RenderedAnswer | undefined;
  const stored = await idempotency.once({
    key: { api_key_id: principal.api_key_id, idempotency_key },
    limits: principal.limits,
    answer_by_ms: request.answer_by_ms,
    fingerprint: fingerprintOf(route.method, path, parameters, body),
    run: async (operation) => {
      if (operation.resumed) exchange.is_append_sent = true;
      const resumable = { ...request, operation: { ...operation, idempotency_key } };
      const answer = await answerInTime(route.handler, resumable, exchange);
      if (answer.secrets) complete = renderAnswer(withSecrets(answer), false);
      return renderAnswer(answer, false);
    },
    renderFailure: (failure) => renderError(failure, exchange),
  });
  return complete ?? stored;
}

/**
 * Throws `insufficient_permissions`. A public key may never write, whatever its token contains
 * (docs/interface/access.md#api-keys).
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

/** Returns the path parameters, with the id in lower case. Throws `invalid_uuid` if the id is not a UUID. */
export function checkParams(params: ApiRequest['params']): ApiRequest['params'] {
  if (params.id === undefined) return params;
  const id = parseId(params.id);
  if (id === undefined)
    throw CatalogError.ofFaults([{ condition: 'invalid_uuid', field: 'id', constraint: 'a UUID' }]);
  return { ...params, id };
}
