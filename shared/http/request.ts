import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TierName } from '../api/error-catalogue';
import type { Method } from '../api/operations/operation';
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
  /** The first store is the default of requests without `store_id` (docs/interface/access.md#stores-and-environments). */
  readonly stores: readonly StoreId[];
  readonly permissions: readonly Permission[];
  /** The key's own rate limits. Absent: the limits of its type. */
  readonly limits?: KeyLimits;
  /** Whether its writes are proposals. */
  readonly needs_confirmation?: true;
  /** The price list whose prices its reads show. Absent: the prices of the publications. */
  readonly price_list?: string;
}

/** A request that the server has received. In Node's type, `method` and `url` may be missing, as in a response. */
export type HttpRequest = IncomingMessage & { readonly method: string; readonly url: string };

/** Whether the client has connected by https. Gateways that receive https say so. */
export const isSecure = (header: (name: string) => string | undefined): boolean =>
  header('x-forwarded-proto')?.startsWith('https') === true;

/** Returns the address that the client has sent a request to. Throws `malformed_request` if `Host` is no host. */
export function ownAddress(header: (name: string) => string | undefined): string {
  const address = `${isSecure(header) ? 'https' : 'http'}://${header('host')}`;
  if (!URL.canParse(address))
    throw new CatalogError('malformed_request', { message: 'The Host header is invalid' });
  return address;
}

/** A request with what its stages have found out about it. */
export interface Exchange {
  readonly req: HttpRequest;
  readonly res: ServerResponse;
  readonly request_id: string;
  /** When the request arrived, by `performance.now()`. */
  readonly started_ms: number;
  readonly area: Area;
  /** Path of the URL, without the query. */
  readonly path: string;
  /** Headers of the response, also of an error. The headers of a `Reply` replace headers with the same name. */
  readonly headers: Record<string, string>;
  /** Pattern of the matching route, such as `/api/listing/:id`, for metrics. Undefined if there is none. */
  route?: string;
  principal?: Principal;
  /** Set once the rate limit has chosen a bucket. */
  tier?: TierName;
  /** Set if an append of the write was sent, by this request or by an earlier one with the same `Idempotency-Key`. */
  is_append_sent?: boolean;
}

export interface RequestRecords {
  readonly log: Logger;
  readonly metrics?: HttpMetrics | undefined;
  readonly system: System;
}

/** The service uses the request id of a client only if it matches: then it is safe in log lines and headers. */
const SAFE_REQUEST_ID = /^[\w.:-]{1,128}$/;

/** Begins an exchange: chooses the request id and the common headers. */
export function openExchange(req: HttpRequest, res: ServerResponse, { system }: RequestRecords): Exchange {
  const path = pathOf(req.url);
  const area = areaOf(path);
  const client_id = req.headers['x-request-id'];
  const { now, random } = system;
  const is_safe = typeof client_id === 'string' && SAFE_REQUEST_ID.test(client_id);
  const request_id = is_safe ? client_id : generateId(now(), random);
  const headers = commonHeaders(req, area, path, request_id);
  return { req, res, request_id, started_ms: performance.now(), area, path, headers };
}

/** Returns a request header by its name in lower case. */
export function headerOf({ headers }: HttpRequest, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.join(', ');
}

/** Returns the path of a request target (RFC 9112 §3.2), which a proxy may send with scheme and host. */
function pathOf(target: string): string {
  if (!target.startsWith('/')) return URL.canParse(target) ? new URL(target).pathname : target;
  const end = target.search(/[?#]/);
  return end === -1 ? target : target.slice(0, end);
}

function areaOf(path: string): Area {
  if (path === '/api' || path.startsWith('/api/')) return 'api';
  return path === '/auth' || path.startsWith('/auth/') ? 'auth' : 'other';
}

/**
 * Throws `malformed_request` for an HTTP/1.1 request without `Host` (RFC 9112 §3.2), and `expectation_failed` for an
 * `Expect` other than `100-continue` (RFC 9110 §10.1.1). Node's own checks are off, because its responses would have no
 * body and no `X-Request-Id`.
 */
export function assertSupported({ headers, httpVersion }: HttpRequest): void {
  if (headers.host === undefined && httpVersion === '1.1')
    throw new CatalogError('malformed_request', { message: 'The Host header is missing' });
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue')
    throw new CatalogError('expectation_failed');
}

/**
 * Counts a request whose response is closed, and logs one line. The line has no query and no headers, because they may
 * contain secrets.
 */
export function record(exchange: Exchange, { log, metrics }: RequestRecords): void {
  const { req, res, request_id, started_ms, area, path, route = 'none', principal } = exchange;
  const { method } = req;
  const duration_ms = Math.round((performance.now() - started_ms) * 1000) / 1000;
  const status = res.statusCode;
  metrics?.requestFinished({ method, route, status, duration_ms });
  // Fields without a value are not written.
  const api_key_id = principal?.api_key_id;
  const aborted = res.writableFinished ? undefined : true;
  const line = { request_id, method, path, status, duration_ms, api_key_id, aborted };
  if (area === 'other') log.debug(line, 'request');
  else log.info(line, 'request');
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
  'X-Catalog-Lag-Ms',
  'X-Catalog-Lag-Age-Ms',
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
const CORS_MAX_AGE_S = '7200';

const WRITES: ReadonlySet<string> = new Set<Method>(['POST', 'PUT', 'PATCH', 'DELETE']);

/**
 * Returns the headers that do not depend on the answer.
 *
 * Responses depend on the token or API key, so shared caches must not store them. A client may store responses of
 * `/api` and revalidate them by ETag. Tokens must not be stored at all (RFC 6749 §5.1).
 *
 * Scripts of any origin may read and may use `/auth/*`, but not the console (docs/interface/requests.md#cors-and-head). Writes require a secret key,
 * which must not be in a browser: the preflight allows only the reading methods, so browsers do not send writes. `*` is
 * safe, because scripts send credentials in headers and never in cookies.
 */
function commonHeaders(
  { method, headers: asked }: HttpRequest,
  area: Area,
  path: string,
  request_id: string,
) {
  const headers: Record<string, string> = {
    'X-Request-Id': request_id,
    'X-Content-Type-Options': 'nosniff',
    Vary: area === 'api' ? 'Authorization, Accept-Encoding' : 'Accept-Encoding',
  };
  if (area !== 'other') headers['Cache-Control'] = area === 'api' ? 'private, no-cache' : 'no-store';
  const is_write = method !== undefined && WRITES.has(method);
  if (isForAnyOrigin(path) && (!is_write || area === 'auth')) {
    headers['Access-Control-Allow-Origin'] = '*';
    headers['Access-Control-Expose-Headers'] = CORS_EXPOSED;
  }
  if (method === 'OPTIONS' && asked['access-control-request-method'] !== undefined) {
    headers['Access-Control-Allow-Methods'] = area === 'auth' ? 'POST, OPTIONS' : 'GET, HEAD, OPTIONS';
    headers['Access-Control-Allow-Headers'] = CORS_ACCEPTED;
    headers['Access-Control-Max-Age'] = CORS_MAX_AGE_S;
  }
  return headers;
}

/** The pages of the console have cookies, and so has the interface for operators. */
const isForAnyOrigin = (path: string): boolean => !/^\/(console|operator)(\/|$)/.test(path);
