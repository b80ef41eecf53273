import { randomBytes } from 'node:crypto';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import accepts from 'accepts';
import { authErrorBody, errorBody, errorCatalogue } from '../api/error-catalogue';
import { CatalogError } from '../kernel/errors';
import { generateId } from '../kernel/ids';
import type { Logger } from '../kernel/log';
import type { RenderedAnswer } from '../ports/idempotency-store';
import type { Exchange, HttpRequest } from './request';
import { encode, send, sendHeldOpen } from './respond';

const SERVER_ERROR = 500;

/** Logs an error and sends it as an HTTP response (docs/interface/requests.md#errors). No other code does that. */
export async function sendError(exchange: Exchange, error: unknown, log: Logger): Promise<void> {
  const { req, res } = exchange;
  const failure = failureOf(error, exchange);
  report(log, error, failure, exchange);
  // If part of the response was sent, closing the connection is the only way to signal the error.
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  const rendered = renderError(failure, exchange);
  if (closesEarly(exchange)) drainBody(req, res, sendHeldOpen(exchange, rendered));
  else {
    const page = pageOf(failure, exchange);
    const answer = page === undefined ? rendered : { ...rendered, body: page };
    await send(exchange, await encode(req.headers['accept-encoding'], answer, page && HTML_TYPE));
    drainBody(req, res);
  }
}

/**
 * Returns the failure that the client sees. Of a write, `database_timeout` says that the write may be done. A store that
 * answers too late before an append was sent is `unavailable` instead.
 */
function failureOf(error: unknown, { req, is_append_sent = false }: Exchange): CatalogError {
  const failure = toCatalogError(error);
  const is_read = req.method === 'GET' || req.method === 'HEAD';
  if (failure.condition !== 'database_timeout' || is_read || is_append_sent) return failure;
  return new CatalogError('unavailable', { cause: failure });
}

/**
 * Maps an error to a condition. A `URIError` comes from a path parameter with invalid percent-encoding. Any other
 * error is a bug of the service, also a `ZodError`: `validation.ts` converts a `ZodError` of invalid input.
 */
function toCatalogError(error: unknown): CatalogError {
  if (error instanceof CatalogError) return error;
  if (error instanceof URIError)
    return new CatalogError('malformed_request', {
      message: 'The path has invalid percent-encoding',
      cause: error,
    });
  return new CatalogError('internal', { cause: error });
}

/** Returns the error response, with the error body of the request's area (docs/interface/requests.md#errors). */
export function renderError(failure: CatalogError, { area, tier }: Exchange): RenderedAnswer {
  const { status, retry_after_s } = errorCatalogue[failure.condition];
  const headers: Record<string, string> = { 'Cache-Control': 'no-store' };
  const wait_s = failure.retry_after_s ?? retry_after_s;
  if (wait_s !== undefined) headers['Retry-After'] = String(Math.max(1, Math.ceil(wait_s)));
  if (area !== 'auth' && status === 401) headers['WWW-Authenticate'] = challengeOf(failure);
  const body = area === 'auth' ? authErrorBody(failure) : errorBody(failure, tier);
  return { status, headers, body: JSON.stringify(body) };
}

const HTML_TYPE = 'text/html; charset=utf-8';

/** Returns the error as a page, if a browser asks for a page outside of the API and of `/auth`. */
function pageOf({ condition }: CatalogError, { req, area }: Exchange): string | undefined {
  if (area !== 'other' || accepts(req).types(['json', 'html']) !== 'html') return undefined;
  const { message } = errorCatalogue[condition];
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${message}</title>
<h1>${message}</h1><p><a href="/">Start page</a></p></html>\n`;
}

/** Returns the value of `WWW-Authenticate`. It has no error code if the request has no token (RFC 6750 §3). */
function challengeOf(failure: CatalogError): string {
  const realm = 'Bearer realm="catalog"';
  return failure.condition === 'unauthenticated' ? realm : `${realm}, error="invalid_token"`;
}

function report(log: Logger, error: unknown, failure: CatalogError, { request_id, path }: Exchange): void {
  if (failure.condition === 'internal') log.error({ err: error, request_id, path }, 'request failed');
  else if (errorCatalogue[failure.condition].status >= SERVER_ERROR)
    log.warn({ err: error, request_id, path }, 'request failed because a dependency is unavailable');
}

/** A client that gets a response before it has sent its whole body may send this much more, for this long. */
const DRAIN_BYTES_MAX = 16_777_216;
const DRAIN_MS = 10_000;

/** Whether Node closes the connection at the end of the response, although the client is still sending its body. */
function closesEarly({ req, res }: Exchange): boolean {
  return !req.complete && !res.shouldKeepAlive;
}

/**
 * Reads and discards the rest of a request body after an early response. If the server closed the connection at once,
 * the client could lose the response (RFC 9112 §9.6). Closes the connection when a limit above is exceeded. `end` ends
 * a response that `sendHeldOpen` began; it is called when the body has arrived, or when a limit is exceeded.
 */
function drainBody(req: HttpRequest, res: ServerResponse, end: () => void = () => {}): void {
  if (req.complete || req.destroyed) {
    end();
    return;
  }
  let left = DRAIN_BYTES_MAX;
  const closeConnection = (): void => {
    // Waits until the response is sent.
    if (res.writableFinished) req.socket.destroy();
    else res.once('finish', () => req.socket.destroy());
    end();
  };
  const timer = setTimeout(closeConnection, DRAIN_MS);
  timer.unref();
  req.once('close', () => clearTimeout(timer));
  req.once('end', () => {
    clearTimeout(timer);
    end();
  });
  req.on('error', () => {});
  req.on('data', (chunk: Buffer) => {
    const had_left = left >= 0;
    left -= chunk.length;
    if (had_left && left < 0) closeConnection();
  });
  req.resume();
}

/** The answers to errors that Node's HTTP parser reports before there is a request. */
const PARSER_ERRORS: Readonly<Record<string, readonly [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The headers are larger than 16 KB'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The chunk extensions are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive within the time limit'],
};
const MALFORMED = [400, 'The request is not valid HTTP'] as const;

/**
 * Handles `clientError` of a server: a request that is not valid HTTP, has too long headers, or arrives too slowly.
 * Sends the structured error with an `X-Request-Id` (docs/interface/requests.md#errors) and closes the connection. The
 * response has no rate-limit headers, because there is no request to count.
 */
export function respondToMalformedRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] = PARSER_ERRORS[error.code ?? ''] ?? MALFORMED;
  const code = status === 413 ? 'LIMIT_EXCEEDED' : 'INVALID_REQUEST';
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
