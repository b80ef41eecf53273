import { isUtf8 } from 'node:buffer';
import express, { type Request, type Response } from 'express';
import type { JsonObject, JsonValue } from '../catalog/events/envelope';
import { CatalogError } from '../kernel/errors';

/** Maximum size of a JSON body after decompression. */
const BODY_BYTES_MAX = 1_048_576;
/** Maximum overhead that compression adds to data that it cannot shrink. */
const ENCODING_BYTES_MAX = 1_024;
/** Maximum nesting, so that later code may use recursion. No valid body is nested deeper than a few levels. */
const DEPTH_MAX = 32;

/**
 * Reads and decompresses a body. `express.json` is not used, because it loads its decoders at the first request and
 * calls every charset unsupported if that fails.
 */
const receiveBytes = express.raw({ limit: BODY_BYTES_MAX, type: 'application/json' });

/**
 * Reads the JSON object of a request. Returns `{}` if the request has no body. Rejects with `malformed_request` if
 * the body is not a JSON object or a PATCH has no body, with `unsupported_content_type` for another type, charset or
 * encoding, and with `too_large` above 1 MiB.
 */
export async function readBody(req: Request, res: Response): Promise<JsonObject> {
  if (!hasBody(req)) {
    assertBodyOptional(req.method);
    return {};
  }
  if (!req.is('application/json'))
    throw new CatalogError('unsupported_content_type', {
      message: 'The Content-Type must be application/json',
    });
  if (!/^utf-?8$/i.test(charsetOf(req)))
    throw new CatalogError('unsupported_content_type', { message: 'The charset must be UTF-8' });
  if (Number(req.headers['content-length'] ?? 0) > bytesMax(req)) throw tooLarge();
  await new Promise<void>((resolve, reject) => {
    receiveBytes(req, res, (error?: unknown) => (error ? reject(toBodyError(error)) : resolve()));
    // `receiveBytes` rejects a body that is too large only at its end, and the end may never arrive.
    if (req.headers['content-length'] === undefined) onTooManyBytes(req, () => reject(tooLarge()));
  });
  // `express.raw` reads nothing, without an error, if the client has left.
  if (!Buffer.isBuffer(req.body)) throw unreadable();
  const body = parseJson(req, req.body);
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new CatalogError('malformed_request', { message: 'The body must be a JSON object' });
  if (isDeeperThan(body, DEPTH_MAX))
    throw new CatalogError('malformed_request', {
      message: `The body is nested deeper than ${DEPTH_MAX} levels`,
    });
  return body;
}

/** Returns the charset that the Content-Type names. */
function charsetOf(req: Request): string {
  const [, charset = 'utf-8'] =
    /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(req.headers['content-type'] ?? '') ?? [];
  return charset;
}

/** Returns `{}` for an empty body. Accepts a byte order mark. */
function parseJson({ method }: Request, bytes: Buffer): JsonValue {
  if (bytes.length === 0) {
    assertBodyOptional(method);
    return {};
  }
  // `toString` would silently replace invalid bytes by replacement characters.
  if (!isUtf8(bytes)) throw new CatalogError('malformed_request', { message: 'The body is not valid UTF-8' });
  const text = bytes.toString('utf8');
  try {
    return JSON.parse(text.startsWith('\ufeff') ? text.slice(1) : text) as JsonValue;
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new CatalogError('malformed_request', { message: 'The body is not valid JSON', cause });
  }
}

/**
 * Throws `malformed_request` for a PATCH: it needs a body, which was probably lost on the way. A POST without a body
 * fails later, because its required fields are missing.
 */
function assertBodyOptional(method: string | undefined): void {
  if (method === 'PATCH')
    throw new CatalogError('malformed_request', { message: 'The body must be a JSON object' });
}

/** Whether a request has a body. Many clients send `Content-Length: 0` with a POST, which counts as no body. */
export function hasBody(req: Request): boolean {
  if (req.headers['transfer-encoding'] !== undefined) return true;
  return Number(req.headers['content-length'] ?? 0) > 0;
}

/** Returns the maximum size before decompression. */
function bytesMax(req: Request): number {
  return req.headers['content-encoding'] === undefined ? BODY_BYTES_MAX : BODY_BYTES_MAX + ENCODING_BYTES_MAX;
}

/** Calls `callback` once when more than the maximum number of bytes has arrived. */
function onTooManyBytes(req: Request, callback: () => void): void {
  let bytes_left = bytesMax(req);
  const count = (chunk: Buffer): void => {
    bytes_left -= chunk.length;
    if (bytes_left >= 0) return;
    req.off('data', count);
    callback();
  };
  req.on('data', count);
}

const tooLarge = (cause?: unknown): CatalogError =>
  new CatalogError('too_large', { message: `The body is larger than ${BODY_BYTES_MAX} bytes`, cause });

/** Codes of zlib, Brotli and Zstandard for data that cannot be decompressed, and of a connection that was closed. */
const UNREADABLE_CODES =
  /^(Z_(DATA|BUF)_ERROR|Z_NEED_DICT|\w*ERROR_FORMAT_\w+|ZSTD_error_(?!memory)\w+|ECONNRESET|ECONNABORTED)$/;

/** Returns a `CatalogError` if the client caused the error. Otherwise returns `error`, which becomes an internal error. */
function toBodyError(error: unknown): unknown {
  const { type, code } = error as { type?: unknown; code?: unknown };
  if (type === 'entity.too.large') return tooLarge(error);
  if (type === 'encoding.unsupported') return new CatalogError('unsupported_content_type', { cause: error });
  if (type === 'request.size.invalid' || type === 'request.aborted' || UNREADABLE_CODES.test(String(code)))
    return unreadable(error);
  return error;
}

const unreadable = (cause?: unknown): CatalogError =>
  new CatalogError('malformed_request', { message: 'The body cannot be read', cause });

/** Reads level by level, because recursion into a deeply nested body would exhaust the stack. */
function isDeeperThan(value: JsonValue, depth_max: number): boolean {
  let level: JsonValue[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > depth_max) return true;
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []));
  }
  return false;
}
