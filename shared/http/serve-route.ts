import type { Request, Response } from 'express';
import type { JsonObject } from '../catalog/events/envelope';
import { CatalogError } from '../kernel/errors';
import { parseId } from '../kernel/ids';
import type { KeptAnswer } from '../ports/idempotency-store';
import { readBody } from './body';
import { contextOf } from './context';
import { fingerprintOf, type Idempotency, idempotencyKeyOf } from './idempotency';
import type { Principal } from './principal';
import { queryParameters } from './query-parameters';
import type { ApiRequest, QueryParameters, Route } from './route';
import { renderAnswer, sendAnswer, sendRendered } from './send';
import { renderError } from './send-error';
import { sendFile } from './send-file';
import { receiveUpload } from './upload';

/** Serves a request to the route's path, in which `params` were found, decoded. */
export type RouteServer = (req: Request, res: Response, params: ApiRequest['params']) => Promise<void>;

/**
 * An authenticated request's way through one route: permissions → path ids → body → (once per Idempotency-Key) handler
 * → answer.
 */
export function serveRoute(route: Route, idempotency?: Idempotency): RouteServer {
  return async (req, res, given) => {
    const { principal, request_id } = contextOf(res);
    if (principal === undefined) throw new CatalogError('unauthenticated');
    assertPermitted(principal, route);
    const query = queryParameters(req.url);
    for (const name of Object.keys(query)) assertFieldPermitted(principal, route, name);
    const params = pathParameters(given);
    const body = await bodyOf(route, req, res, principal);
    const header = (name: string): string | undefined => req.get(name);
    const method = req.method === 'HEAD' ? 'HEAD' : route.method;
    const request: ApiRequest = { method, principal, params, query, body, request_id, header };
    const key = route.method === 'GET' ? undefined : idempotencyKeyOf(header('idempotency-key'));
    if (key !== undefined && idempotency !== undefined)
      return sendRendered(res, await answerOnce(idempotency, key, route, request, res));
    const answer = await route.handler(request);
    if (answer.file) await sendFile(req, res, answer.file);
    else sendAnswer(req, res, answer);
  };
}

/** The first answer to the key, whoever of those that ask now or later was given it first. */
function answerOnce(
  idempotency: Idempotency,
  idempotency_key: string,
  route: Route,
  request: ApiRequest,
  res: Response,
): Promise<KeptAnswer> {
  const { query, body, principal } = request;
  return idempotency.once({
    key: { api_key_id: principal.api_key_id, idempotency_key },
    fingerprint: fingerprintOf(route.method, contextOf(res).path, copyOf(query), body),
    run: async (operation) => {
      const answer = await route.handler({ ...request, operation: { ...operation, idempotency_key } });
      return renderAnswer(answer, false);
    },
    refusal: (failure) => renderError(failure, res),
  });
}

const copyOf = (query: QueryParameters): JsonObject =>
  Object.fromEntries(Object.entries(query).map(([name, values]) => [name, [...values]]));

/** A public key never writes, whatever its token says (spec, "API key types"). */
function assertPermitted(principal: Principal, route: Route): void {
  const may = principal.permissions.includes(route.permission);
  if (may && (route.method === 'GET' || principal.key_type === 'secret')) return;
  throw new CatalogError('insufficient_permissions', {
    message: `This needs a ${route.method === 'GET' ? '' : 'secret '}key with the permission ${route.permission}`,
  });
}

/** Before anything is read or kept of what the field is to change. */
function assertFieldPermitted(principal: Principal, { field_permissions = {} }: Route, name: string): void {
  const needed = Object.hasOwn(field_permissions, name) ? field_permissions[name] : undefined;
  if (needed === undefined || principal.permissions.includes(needed)) return;
  throw new CatalogError('insufficient_permissions', { message: `${name} needs ${needed}` });
}

/** A GET has no body to this interface: what a client sends all the same is not read. */
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

function pathParameters(given: ApiRequest['params']): ApiRequest['params'] {
  return given.id === undefined ? given : { ...given, id: pathId(given.id) };
}

function pathId(text: string): string {
  const id = parseId(text);
  if (id === undefined)
    throw CatalogError.ofFaults([{ condition: 'invalid_uuid', field: 'id', constraint: 'a UUID' }]);
  return id;
}
