import type { Request, RequestHandler, Response } from 'express';
import type { TierName } from '../api/error-catalogue';
import type { Environment } from '../catalog/realm';
import type { KeyType, Permission } from '../catalog/vocabulary';
import { CatalogError } from '../kernel/errors';
import { type AccountId, type ApiKeyId, generateId, type StoreId } from '../kernel/ids';
import type { Logger } from '../kernel/log';
import type { System } from '../kernel/system';
import type { HttpMetrics } from './metrics';

/** `/auth/*` answers plain errors, everything else structured ones; both of `api` and `auth` are rate limited. */
export type Area = 'api' | 'auth' | 'other';

/** Who asks: the token's claims, checked against the state of its key. */
export interface Principal {
  readonly api_key_id: ApiKeyId;
  readonly account_id: AccountId;
  readonly key_type: KeyType;
  readonly environment: Environment;
  /** The first is meant where a request names none (decisions §2). */
  readonly stores: readonly StoreId[];
  readonly permissions: readonly Permission[];
}

/** What the stages of one request know of it. Each stage adds its own. */
export interface RequestContext {
  readonly request_id: string;
  readonly area: Area;
  /** The path as it was asked for, without its query. */
  readonly path: string;
  /** The pattern of the route that serves it, such as `/api/listing/:id`: a label of limited cardinality. */
  route?: string;
  principal?: Principal;
  /** Set once the rate limit has chosen a bucket. */
  tier?: TierName;
}

export function requestContext(res: Response): RequestContext {
  return res.locals.context as RequestContext;
}

/** A client's request id is used only if it is safe in a log line and a header. */
const WELL_FORMED_REQUEST_ID = /^[\w.:-]{1,128}$/;

interface FirstStageOptions {
  readonly system: System;
  readonly log: Logger;
  readonly metrics?: HttpMetrics | undefined;
}

/** First stage: gives the request a context and an id, and logs it when it ends. */
export function openRequest({ system, log, metrics }: FirstStageOptions): RequestHandler {
  return (req, res, next) => {
    const given = req.get('x-request-id');
    const is_usable = given !== undefined && WELL_FORMED_REQUEST_ID.test(given);
    const request_id = is_usable ? given : generateId(system.now(), system.random);
    res.locals.context = { request_id, area: areaOf(req.path), path: req.path } satisfies RequestContext;
    res.setHeader('X-Request-Id', request_id);
    logWhenClosed(req, res, log, metrics);
    res.setHeader('X-Content-Type-Options', 'nosniff');
    next();
  };
}

/**
 * Second stage: sets the headers for caches and CORS. Rejects an HTTP/1.1 request without `Host` here and not in Node,
 * whose refusal would have no body and no `X-Request-Id` (RFC 9112 §3.2).
 */
export const setCommonHeaders: RequestHandler = (req, res, next) => {
  const { area } = requestContext(res);
  setCacheHeaders(res, area);
  setCorsHeaders(req, res, area);
  if (req.headers.host === undefined && req.httpVersion === '1.1')
    throw new CatalogError('malformed_request', { message: 'The Host header is missing' });
  next();
};

function areaOf(path: string): Area {
  if (path === '/api' || path.startsWith('/api/')) return 'api';
  if (path === '/auth' || path.startsWith('/auth/')) return 'auth';
  return 'other';
}

/** Writes one line per request. Leaves out the query and the headers, which may hold secrets. */
function logWhenClosed(req: Request, res: Response, log: Logger, metrics: HttpMetrics | undefined): void {
  const started_ms = performance.now();
  res.once('close', () => {
    const { request_id, area, path, route = 'none', principal } = requestContext(res);
    const duration_ms = Math.round((performance.now() - started_ms) * 1000) / 1000;
    const { method } = req;
    const status = res.statusCode;
    metrics?.requestFinished({ method, route, status, duration_ms });
    const who = principal === undefined ? {} : { api_key_id: principal.api_key_id };
    const cut = res.writableFinished ? {} : { aborted: true };
    const line = { request_id, method, path, status, duration_ms, ...who, ...cut };
    if (area === 'other') log.debug(line, 'request');
    else log.info(line, 'request');
  });
}

/**
 * Tokens and API keys change the answer, so shared caches keep nothing. A client may keep `/api` answers and revalidate
 * them by ETag. Nobody may keep tokens (RFC 6749 §5.1).
 */
function setCacheHeaders(res: Response, area: Area): void {
  if (area === 'api') {
    res.setHeader('Cache-Control', 'private, no-cache');
    res.setHeader('Vary', 'Authorization, Accept-Encoding');
  } else res.setHeader('Vary', 'Accept-Encoding');
  if (area === 'auth') res.setHeader('Cache-Control', 'no-store');
}

const CORS_EXPOSED = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-RateLimit-Tier',
  'Retry-After',
  'ETag',
  'Location',
  'X-Request-Id',
  'X-Catalog-Position',
  'Idempotent-Replayed',
].join(', ');

const CORS_ACCEPTED = [
  'Authorization',
  'X-API-Key',
  'Content-Type',
  'If-None-Match',
  'X-Request-Id',
  'X-Catalog-Min-Position',
].join(', ');

/** How long a browser may keep a preflight's answer. No browser keeps one longer. */
const CORS_MAX_AGE_S = 7200;

/**
 * Lets any origin read with a public key's token and use `/auth/*` (decisions §9). Writes need a secret key, and secret
 * keys are for servers: the preflight of a write names only the reading methods, so the browser does not send it.
 * Credentials travel in headers that a script sets itself, never in cookies: hence the `*`.
 */
function setCorsHeaders(req: Request, res: Response, area: Area): void {
  const is_write = req.method === 'POST' || req.method === 'PATCH' || req.method === 'DELETE';
  if (!is_write || area === 'auth') {
    res.setHeader('Access-Control-Allow-Origin', '*');
    res.setHeader('Access-Control-Expose-Headers', CORS_EXPOSED);
  }
  if (req.method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined) {
    res.setHeader('Access-Control-Allow-Methods', area === 'auth' ? 'POST, OPTIONS' : 'GET, HEAD, OPTIONS');
    res.setHeader('Access-Control-Allow-Headers', CORS_ACCEPTED);
    res.setHeader('Access-Control-Max-Age', String(CORS_MAX_AGE_S));
  }
}
