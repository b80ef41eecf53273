import type { Request, RequestHandler, Response } from 'express';
import type { KeyType } from '../catalog/vocabulary';
import { generateId } from '../kernel/ids';
import type { System } from '../kernel/system';
import type { Principal } from './principal';

/** `/auth/*` answers plain errors, everything else structured ones; both of `api` and `auth` are rate limited. */
export type Area = 'api' | 'auth' | 'other';

/** What `X-RateLimit-Tier` and `error.tier` say (spec, "Rate-limit headers"). */
export type TierName = `${KeyType}_key`;

/** What the stages of one request know of it; each adds its own. */
export interface RequestContext {
  readonly request_id: string;
  readonly area: Area;
  /** The path as it was asked for, without its query. */
  readonly path: string;
  /** Of the route that serves it, such as `/api/listing/:id`: a label that does not grow with the catalog. */
  route?: string;
  principal?: Principal;
  /** Known as soon as the rate limit has chosen a bucket. */
  tier?: TierName;
}

/** What is taken over as it is; anything else could break a log line or a header. */
const WELL_FORMED_REQUEST_ID = /^[\w.:-]{1,128}$/;

/** First stage: the request's id and area. `X-Request-Id` is on every response (decisions §4). */
export function startContext(system: System): RequestHandler {
  return (req, res, next) => {
    const given = req.get('x-request-id');
    const request_id =
      given !== undefined && WELL_FORMED_REQUEST_ID.test(given)
        ? given
        : generateId(system.now(), system.random);
    res.locals.context = { request_id, area: areaOf(req.path), path: req.path } satisfies RequestContext;
    res.setHeader('X-Request-Id', request_id);
    next();
  };
}

export function contextOf(res: Response): RequestContext {
  return res.locals.context as RequestContext;
}

export function areaOf(path: Request['path']): Area {
  if (path === '/api' || path.startsWith('/api/')) return 'api';
  if (path === '/auth' || path.startsWith('/auth/')) return 'auth';
  return 'other';
}
