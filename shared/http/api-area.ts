import { type Request, type RequestHandler, type Response, Router } from 'express';
import { CatalogError } from '../kernel/errors';
import { attempt } from './attempt';
import type { BearerCheck } from './authenticator';
import { bearerIdentity } from './bearer';
import { contextOf } from './context';
import type { Idempotency } from './idempotency';
import { type PathEntry, pathTable } from './path-table';
import type { Limits } from './rate-limit';
import type { Route } from './route';
import { serveRoute } from './serve-route';

interface ApiAreaOptions {
  readonly routes: readonly Route[];
  readonly authenticator: BearerCheck;
  readonly limits: Limits;
  readonly idempotency?: Idempotency | undefined;
}

/**
 * Everything below `/api`: find the token's key → rate limit → 401 → path → permission → handler. An unknown path or
 * method is told of only after that: "every /api/* endpoint requires authentication" (spec, rule 1) holds for the whole
 * area, so nothing can be learnt of it without a token. OPTIONS alone, which browsers send without one, needs none.
 */
export function apiArea({ routes, authenticator, limits, idempotency }: ApiAreaOptions): RequestHandler {
  const identify = bearerIdentity(authenticator);
  const paths = routePaths(routes, idempotency);
  return async (req, res, next) => {
    if (req.method === 'OPTIONS') await limits.admitOptions(req, res);
    else {
      // Verified before a bucket is chosen: a valid token pays with its key's, anything else with its address's.
      const identity = await attempt(identify(req, res));
      await limits.admitApi(req, res, identity.ok ? identity.value : undefined);
      if (!identity.ok) throw identity.error;
      contextOf(res).principal = identity.value;
    }
    paths(req, res, next);
  };
}

/** Strict and case-sensitive: a path has one spelling, so that caches and logs see one. */
function routePaths(routes: readonly Route[], idempotency: Idempotency | undefined): RequestHandler {
  // A router looks at its paths one after the other: each has only those that begin alike.
  const routers = new Map<string, Router>();
  for (const entry of pathTable(routes)) {
    const router = routers.get(beginningOf(entry.path)) ?? Router({ strict: true, caseSensitive: true });
    routers.set(beginningOf(entry.path), router);
    const path = router.route(entry.path).all(nameRoute(entry.path));
    for (const route of entry.routes) path[verbOf(route)](serveRoute(route, idempotency));
    path.all(answerOthers(entry));
  }
  return (req, res, next) => {
    const unknown = (error?: unknown): void => next(error ?? new CatalogError('path_not_found'));
    const router = routers.get(beginningOf(contextOf(res).path));
    if (router === undefined) unknown();
    else router(req, res, unknown);
  };
}

/** `listing` of `/api/listing/:id`. */
const beginningOf = (path: string): string => path.split('/', 3)[2] ?? '';

const verbOf = (route: Route): 'get' | 'post' | 'patch' | 'delete' =>
  route.method.toLowerCase() as Lowercase<Route['method']>;

function nameRoute(path: string): RequestHandler {
  return (_req, res, next) => {
    contextOf(res).route = path;
    next();
  };
}

/** OPTIONS, and the methods that no route of this process takes. */
function answerOthers(entry: PathEntry): RequestHandler {
  return (req: Request, res: Response) => {
    const method = req.method === 'HEAD' ? 'GET' : req.method;
    // Served by the other service: behind a gateway it never comes here.
    if (entry.methods.some((known) => known === method)) throw new CatalogError('path_not_found');
    res.setHeader('Allow', entry.allow);
    if (method !== 'OPTIONS') throw new CatalogError('method_not_allowed');
    res.status(204).end();
  };
}
