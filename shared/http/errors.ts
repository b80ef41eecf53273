import { randomBytes } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ErrorRequestHandler, Request, Response } from 'express';
import { authErrorBody, errorBody, errorCatalogue } from '../api/error-catalogue';
import { CatalogError } from '../kernel/errors';
import { generateId } from '../kernel/ids';
import type { Logger } from '../kernel/log';
import type { KeptAnswer } from '../ports/idempotency-store';
import { requestContext } from './request';
import { sendRendered } from './respond';

const SERVER_ERROR = 500;

/** Last stage, and the only place where errors become HTTP (decisions §4). */
export function errorStage(log: Logger): ErrorRequestHandler {
  return (error: unknown, req, res, _next) => {
    const failure = toCatalogError(error);
    report(log, error, failure, res);
    // The client is gone, or has half an answer already: only cutting the connection tells it so.
    if (res.headersSent || res.destroyed) res.destroy();
    else {
      res.removeHeader('ETag');
      sendRendered(res, renderError(failure, res));
      drainBody(req, res);
    }
  };
}

/**
 * Maps every failure to a condition. A `URIError` comes from a path parameter that is not validly percent-encoded.
 * Anything else that is no `CatalogError` is a fault of ours, also a stray `ZodError`: `validation.ts` checks input.
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

/** Makes the error response, in the shape of the request's area (decisions §4). */
export function renderError(failure: CatalogError, res: Response): KeptAnswer {
  const { status, retry_after_s } = errorCatalogue[failure.condition];
  const headers: Record<string, string> = { 'Cache-Control': 'no-store' };
  const wait_s = failure.retry_after_s ?? retry_after_s;
  if (wait_s !== undefined) headers['Retry-After'] = String(Math.max(1, Math.ceil(wait_s)));
  const context = requestContext(res);
  if (context.area === 'api' && status === 401) headers['WWW-Authenticate'] = challengeOf(failure);
  const body = context.area === 'auth' ? authErrorBody(failure) : errorBody(failure, context.tier);
  return { status, headers, body: JSON.stringify(body) };
}

/** RFC 6750 §3: no error code where no token was given. */
function challengeOf(failure: CatalogError): string {
  const realm = 'Bearer realm="catalog"';
  return failure.condition === 'unauthenticated' ? realm : `${realm}, error="invalid_token"`;
}

function report(log: Logger, error: unknown, failure: CatalogError, res: Response): void {
  const { request_id, path } = requestContext(res);
  if (failure.condition === 'internal') log.error({ err: error, request_id, path }, 'request failed');
  else if (errorCatalogue[failure.condition].status >= SERVER_ERROR)
    log.warn({ err: error, request_id, path }, 'request could not be served');
}

/** A client that is answered while it is still sending may send this much more, for this long, before it is cut off. */
const DRAIN_BYTES_MAX = 16_777_216;
const DRAIN_MS = 10_000;

/**
 * Reads and discards the rest of the body of a request that was answered early, so that the client gets the answer: a
 * connection closed at once would lose it (RFC 9112 §9.6). Closes the connection at the limits above.
 */
function drainBody(req: Request, res: Response): void {
  if (req.complete || req.destroyed) return;
  let left = DRAIN_BYTES_MAX;
  const cut = (): void => {
    // Not before the answer is on its way.
    if (res.writableFinished) req.socket.destroy();
    else res.once('finish', () => req.socket.destroy());
  };
  const timer = setTimeout(cut, DRAIN_MS);
  timer.unref();
  req.once('close', () => clearTimeout(timer));
  req.once('end', () => clearTimeout(timer));
  req.on('error', () => {});
  req.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) cut();
  });
  req.resume();
}

/** What Node's parser refuses before there is a request: headers too long, bad framing, a client that is too slow. */
const UNREADABLE_STATUS: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/**
 * Handles a server's `clientError`: sends the structured error with an `X-Request-Id` (decisions §4) and closes the
 * connection. Sends no rate-limit headers, since there is no request to count.
 */
export function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = UNREADABLE_STATUS[error.code ?? ''] ?? 400;
  const message = 'The request cannot be read as HTTP';
  const code = status === 413 || status === 431 ? 'LIMIT_EXCEEDED' : 'INVALID_REQUEST';
  const plain = { code: status, status: 'error' };
  const body = JSON.stringify({ ...plain, ...(status === 400 && { message }), error: { code, message } });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `X-Request-Id: ${generateId(Date.now(), randomBytes)}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
