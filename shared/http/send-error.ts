import type { ErrorRequestHandler, Response } from 'express';
import { errorCatalogue } from '../api/error-catalogue';
import type { JsonObject } from '../catalog/events/envelope';
import { CatalogError, type Fault } from '../kernel/errors';
import type { Logger } from '../kernel/log';
import type { KeptAnswer } from '../ports/idempotency-store';
import { contextOf, type RequestContext, type TierName } from './context';
import { linger } from './linger';
import { sendRendered } from './send';

const SERVER_ERROR = 500;

/** Last stage, and the only place where errors become HTTP (decisions §4). */
export function errorStage(log: Logger): ErrorRequestHandler {
  return (error: unknown, req, res, _next) => {
    const failure = toCatalogError(error);
    report(log, error, failure, res);
    // The client is gone, or has half an answer already: only cutting the connection tells it so.
    if (res.headersSent || res.destroyed) res.destroy();
    else {
      sendError(res, failure);
      linger(req, res);
    }
  };
}

/**
 * Every failure as a condition. A path that is not validly percent-encoded is found where its parameters are
 * taken out. Anything else that is no `CatalogError` is a fault of ours, a stray `ZodError` included: input is checked by
 * `validation.ts`.
 */
function toCatalogError(error: unknown): CatalogError {
  if (error instanceof CatalogError) return error;
  if (error instanceof URIError)
    return new CatalogError('malformed_request', {
      message: 'The path is not validly percent-encoded',
      cause: error,
    });
  return new CatalogError('internal', { cause: error });
}

function sendError(res: Response, failure: CatalogError): void {
  res.removeHeader('ETag');
  sendRendered(res, renderError(failure, res));
}

/** The failure as it goes out. */
export function renderError(failure: CatalogError, res: Response): KeptAnswer {
  const { status, retry_after_s } = errorCatalogue[failure.condition];
  const headers: Record<string, string> = { 'Cache-Control': 'no-store' };
  const wait_s = failure.retry_after_s ?? retry_after_s;
  if (wait_s !== undefined) headers['Retry-After'] = String(Math.max(1, Math.ceil(wait_s)));
  const { area } = contextOf(res);
  if (area === 'api' && status === 401) headers['WWW-Authenticate'] = challengeOf(failure);
  return { status, headers, body: JSON.stringify(errorBody(failure, contextOf(res))) };
}

/** The failure in the shape of its area (decisions §4). */
export function errorBody(
  failure: CatalogError,
  { area, tier }: Pick<RequestContext, 'area' | 'tier'>,
): JsonObject {
  return area === 'auth' ? plainBody(failure) : structuredBody(failure, tier);
}

/** RFC 6750 §3: no error code where no token was given. */
function challengeOf(failure: CatalogError): string {
  const realm = 'Bearer realm="catalog"';
  return failure.condition === 'unauthenticated' ? realm : `${realm}, error="invalid_token"`;
}

/** The shape of `/auth/*`. */
function plainBody(failure: CatalogError): JsonObject {
  const { status } = errorCatalogue[failure.condition];
  return { code: status, status: 'error', message: messageOf(failure) };
}

/** The shape of everything else (spec, "Structured error body"): `message` on 400 alone, `error.tier` on 429 alone. */
function structuredBody(failure: CatalogError, tier: TierName | undefined): JsonObject {
  const row = errorCatalogue[failure.condition];
  const error: JsonObject = { code: row.code, message: messageOf(failure) };
  if (failure.faults.length > 0) error.details = detailsOf(failure.faults);
  if (failure.condition === 'rate_limited' && tier !== undefined) error.tier = tier;
  const brief = row.status === 400 ? { message: row.message } : {};
  return { code: row.status, status: 'error', ...brief, error };
}

/** The first fault, and all of them (decisions §4). */
function detailsOf(faults: readonly Fault[]): JsonObject {
  const errors = faults.map(({ field, constraint, condition }) => ({
    field,
    constraint,
    code: errorCatalogue[condition].code,
  }));
  const { field, constraint } = errors[0]!;
  return { field, constraint, errors };
}

function messageOf(failure: CatalogError): string {
  const { message } = errorCatalogue[failure.condition];
  const [fault] = failure.faults;
  if (failure.condition === 'internal') return message;
  if (failure.message !== '') return failure.message;
  return fault === undefined ? message : `${fault.field}: ${fault.constraint}`;
}

function report(log: Logger, error: unknown, failure: CatalogError, res: Response): void {
  const { request_id, path } = contextOf(res);
  if (failure.condition === 'internal') log.error({ err: error, request_id, path }, 'request failed');
  else if (errorCatalogue[failure.condition].status >= SERVER_ERROR)
    log.warn({ err: error, request_id, path }, 'request could not be served');
}

/** The answer of `/health/ready` while it is not, with what each part says. */
export function notReadyBody(details: JsonObject): JsonObject {
  const { status, code, message } = errorCatalogue.unavailable;
  return { code: status, status: 'error', error: { code, message, details } };
}
