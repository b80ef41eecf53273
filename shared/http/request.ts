import type { ServerResponse } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import type { TierName } from '../api/error-catalogue';
import type { KeyLimits } from '../catalog/api-key/api-key';
import type { Environment } from '../catalog/realm';
import type { KeyType, Permission } from '../catalog/vocabulary';
import { CatalogError } from '../kernel/errors';
import { type AccountId, type ApiKeyId, generateId, type StoreId } from '../kernel/ids';
import type { Logger } from '../kernel/log';
import type { System } from '../kernel/system';
import type { HttpMetrics } from './metrics';

/**
 * Part of the interface. `auth` uses the plain error body, the others the structured one. `api` and `auth` have rate
 * limits.
 */
export type Area = 'api' | 'auth' | 'other';

/** Authenticated client: the claims of its token, checked against the state of the token's key. */
export interface Principal {
  readonly api_key_id: ApiKeyId;
  readonly account_id: AccountId;
  readonly key_type: KeyType;
  readonly environment: Environment;
  /** The first store is the default of requests without `store_id` (docs/interface.md#stores-and-environments). */
  readonly stores: readonly StoreId[];
  readonly permissions: readonly Permission[];
  /** The key's own rate limits. Absent: those of its type. */
  readonly limits?: KeyLimits;
}

/** State of one request that its stages share. */
export interface RequestContext {
  readonly request_id: string;
  /** When the request arrived, by `performance.now()`. */
  readonly started_ms: number;
  readonly area: Area;
  /** Path of the URL, without the query. */
  readonly path: string;
  /** Pattern of the matching route, such as `/api/listing/:id`, for metrics. Undefined if there is none. */
  route?: string;
  principal?: Principal;
  /** Set once the rate limit has chosen a bucket. */
  tier?: TierName;
}

export function requestContext(res: Response): RequestContext {
  return res.locals.context as RequestContext;
}

/** The service uses the request id of a client only if it matches: then it is safe in log lines and headers. */
const SAFE_REQUEST_ID = /^[\w.:-]{1,128}$/;

/** Where requests are logged and counted. */
export interface RequestRecords {
  readonly log: Logger;
  readonly metrics?: HttpMetrics | undefined;
}

interface FirstStageOptions extends RequestRecords {
  readonly system: System;
}

/** First stage: creates the context and the request id, and logs the request when it ends. */
export function openRequest(options: FirstStageOptions): RequestHandler {
  return (req, res, next) => {
    const request_id = requestIdOf(req.get('x-request-id'), options.system);
    const started_ms = performance.now();
    const context: RequestContext = { request_id, started_ms, area: areaOf(req.path), path: req.path };
    res.locals.context = context;
    res.setHeader('X-Request-Id', request_id);
    recordWhenClosed(req.method, res, context, options);
    res.setHeader('X-Content-Type-Options', 'nosniff');
    next();
  };
}

/** Returns the request id of the client if it is safe, else a new one. */
export function requestIdOf(client_id: string | undefined, { now, random }: System): string {
  const is_safe = client_id !== undefined && SAFE_REQUEST_ID.test(client_id);
  return is_safe ? client_id : generateId(now(), random);
}

/**
 * Second stage: sets the headers for caches and CORS. Throws `malformed_request` for an HTTP/1.1 request without
 * `Host` (RFC 9112 §3.2), and `expectation_failed` for an `Expect` other than `100-continue` (RFC 9110 §10.1.1). Node's
 * own checks are off, because its responses would have no body and no `X-Request-Id`.
 */
export const setCommonHeaders: RequestHandler = (req, res, next) => {
  const { area } = requestContext(res);
  setCacheHeaders(res, area);
  setCorsHeaders(req, res, area);
  if (req.headers.host === undefined && req.httpVersion === '1.1')
    throw new CatalogError('malformed_request', { message: 'The Host header is missing' });
  if ((req.headers.expect ?? EXPECT_CONTINUE).toLowerCase() !== EXPECT_CONTINUE)
    throw new CatalogError('expectation_failed');
  next();
};

const EXPECT_CONTINUE = '100-continue';

function areaOf(path: string): Area {
  if (path === '/api' || path.startsWith('/api/')) return 'api';
  if (path === '/auth' || path.startsWith('/auth/')) return 'auth';
  return 'other';
}

/**
 * Counts the request and logs one line when its response is closed. The line has no query and no headers, because they
 * may contain secrets. `context` is read at that time.
 */
export function recordWhenClosed(
  method: string,
  res: ServerResponse,
  context: RequestContext,
  { log, metrics }: RequestRecords,
): void {
  res.once('close', () => {
    const { request_id, started_ms, area, path, route = 'none', principal } = context;
    const duration_ms = Math.round((performance.now() - started_ms) * 1000) / 1000;
    const status = res.statusCode;
    metrics?.requestFinished({ method, route, status, duration_ms });
    const key = principal === undefined ? {} : { api_key_id: principal.api_key_id };
    const aborted = res.writableFinished ? {} : { aborted: true };
    const line = { request_id, method, path, status, duration_ms, ...key, ...aborted };
    if (area === 'other') log.debug(line, 'request');
    else log.info(line, 'request');
  });
}

/**
 * Responses depend on the token or API key, so shared caches must not store them. A client may store responses of
 * `/api` and revalidate them by ETag. Tokens must not be stored at all (RFC 6749 §5.1).
 */
function setCacheHeaders(res: Response, area: Area): void {
  if (area === 'api') {
    res.setHeader('Cache-Control', 'private, no-cache');
    res.setHeader('Vary', 'Authorization, Accept-Encoding');
  } else res.setHeader('Vary', 'Accept-Encoding');
  if (area === 'auth') res.setHeader('Cache-Control', 'no-store');
}

/** Value of `Access-Control-Expose-Headers`. The gateway's own answers have the same. */
export const CORS_EXPOSED = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-RateLimit-Tier',
  'Retry-After',
  'ETag',
  'Location',
  'X-Request-Id',
  'X-Catalog-Position',
  'X-Catalog-Ignored',
  'Idempotent-Replayed',
].join(', ');

const CORS_ACCEPTED = [
  'Authorization',
  'X-API-Key',
  'Content-Type',
  'If-None-Match',
  'X-Request-Id',
  'X-Catalog-Min-Position',
  'traceparent',
  'tracestate',
].join(', ');

/** How long a browser may cache a preflight response: the longest time that any browser accepts. */
const CORS_MAX_AGE_S = 7200;

/**
 * Allows scripts of any origin to read and to use `/auth/*` (docs/interface.md#cors-and-head). Writes require a
 * secret key, which must not be in a browser: the preflight allows only the reading methods, so browsers do not send
 * writes. `*` is safe, because scripts send credentials in headers and never in cookies.
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
