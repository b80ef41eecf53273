import type { Request, RequestHandler, Response } from 'express';
import { CatalogError } from '../kernel/errors';
import { attempt } from './attempt';
import { type BearerCheck, payerOf } from './authenticator';
import { bearerIdentity } from './bearer';
import { contextOf } from './context';
import type { Idempotency } from './idempotency';
import { type PathEntry, pathFinder, pathTable } from './path-table';
import type { Limits } from './rate-limit';
import type { Route } from './route';
import { type RouteServer, serveRoute } from './serve-route';

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
  const serve = servePaths(routes, idempotency);
  return async (req, res) => {
    if (req.method === 'OPTIONS') await limits.admitOptions(req, res);
    else {
      // Verified before a bucket is chosen: a valid token pays with its key's, anything else with its address's.
      const identity = await attempt(identify(req, res));
      await limits.admitApi(req, res, identity.ok ? identity.value : payerOf(identity.error));
      if (!identity.ok) throw identity.error;
      contextOf(res).principal = identity.value;
    }
    await serve(req, res);
  };
}

/** Strict and case-sensitive: a path has one spelling, so that caches and logs see one. */
function servePaths(
  routes: readonly Route[],
  idempotency: Idempotency | undefined,
): (req: Request, res: Response) => void | Promise<void> {
  const find = pathFinder(
    pathTable(routes).map((entry) => {
      const serve = new Map<string, RouteServer>();
      for (const route of entry.routes) serve.set(route.method, serveRoute(route, idempotency));
      const get = serve.get('GET');
      if (get) serve.set('HEAD', get);
      return { ...entry, serve };
    }),
  );
  return (req, res) => {
    const context = contextOf(res);
    const found = find(context.path);
    if (found === undefined) throw new CatalogError('path_not_found');
    context.route = found.entry.path;
    const serve = found.entry.serve.get(req.method);
    return serve === undefined ? answerOthers(found.entry, req, res) : serve(req, res, found.params);
  };
}

/** OPTIONS, and the methods that no route of this process takes. */
function answerOthers(entry: PathEntry, req: Request, res: Response): void {
  const method = req.method === 'HEAD' ? 'GET' : req.method;
  // Served by the other service: behind a gateway it never comes here.
  if (entry.methods.some((known) => known === method)) throw new CatalogError('path_not_found');
  res.setHeader('Allow', entry.allow);
  if (method !== 'OPTIONS') throw new CatalogError('method_not_allowed');
  res.status(204).end();
}
