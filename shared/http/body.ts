import { isUtf8 } from 'node:buffer';
import express, { type Request, type Response } from 'express';
import type { JsonObject, JsonValue } from '../catalog/events/envelope';
import { CatalogError } from '../kernel/errors';

/** The limit of a JSON body after decompression. */
const BODY_BYTES_MAX = 1_048_576;
/** What compression may add to bytes that it cannot shrink. */
const ENCODING_BYTES_MAX = 1_024;
/** Nothing in the interface is nested deeper than a few levels. Code that walks a body may use recursion. */
const DEPTH_MAX = 32;

const parseJson = express.json({
  limit: BODY_BYTES_MAX,
  type: 'application/json',
  strict: false,
  verify: (req, _res, bytes) => {
    if (bytes.length === 0) assertNeedsNone(req.method);
    // The parser would silently put replacement characters in place of other bytes.
    if (!isUtf8(bytes)) throw new Error('not UTF-8');
  },
});

/**
 * Reads the JSON object of a request. Returns `{}` if it has no body. Rejects with `malformed_request` for what is no
 * JSON object and for a PATCH without a body, with `unsupported_content_type` for another type, charset or encoding, and
 * with `too_large`.
 */
export async function readBody(req: Request, res: Response): Promise<JsonObject> {
  if (!hasBody(req)) {
    assertNeedsNone(req.method);
    return {};
  }
  if (!req.is('application/json'))
    throw new CatalogError('unsupported_content_type', {
      message: 'The Content-Type must be application/json',
    });
  if (Number(req.headers['content-length'] ?? 0) > bytesMax(req)) throw tooLarge();
  await new Promise<void>((resolve, reject) => {
    parseJson(req, res, (error?: unknown) => (error ? reject(bodyFailure(error)) : resolve()));
    // The parser rejects a body that is too large only at its end, which may never come.
    if (req.headers['content-length'] === undefined) refuseMore(req, () => reject(tooLarge()));
  });
  const body = req.body as JsonValue;
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new CatalogError('malformed_request', { message: 'The body must be a JSON object' });
  if (isDeeperThan(body, DEPTH_MAX))
    throw new CatalogError('malformed_request', {
      message: `The body is nested deeper than ${DEPTH_MAX} levels`,
    });
  return body;
}

/** A PATCH without a body has been cut off on its way. A POST without one fails on its missing fields. */
function assertNeedsNone(method: string | undefined): void {
  if (method === 'PATCH')
    throw new CatalogError('malformed_request', { message: 'The body must be a JSON object' });
}

/** `Content-Length: 0`, which many clients send with a POST, is no body. */
export function hasBody(req: Request): boolean {
  if (req.headers['transfer-encoding'] !== undefined) return true;
  return Number(req.headers['content-length'] ?? 0) > 0;
}

/** The limit before decompression. */
function bytesMax(req: Request): number {
  return req.headers['content-encoding'] === undefined ? BODY_BYTES_MAX : BODY_BYTES_MAX + ENCODING_BYTES_MAX;
}

function refuseMore(req: Request, refuse: () => void): void {
  let left = bytesMax(req);
  const count = (chunk: Buffer): void => {
    left -= chunk.length;
    if (left >= 0) return;
    req.off('data', count);
    refuse();
  };
  req.on('data', count);
}

const tooLarge = (cause?: unknown): CatalogError =>
  new CatalogError('too_large', { message: `The body is larger than ${BODY_BYTES_MAX} bytes`, cause });

/** Maps the parser's failures by their `type`. Those of decompression have none. */
function bodyFailure(error: unknown): CatalogError {
  if (error instanceof CatalogError) return error;
  const type = error instanceof Error && 'type' in error ? error.type : undefined;
  switch (type) {
    case 'entity.too.large':
      return tooLarge(error);
    case 'charset.unsupported':
    case 'encoding.unsupported':
      return new CatalogError('unsupported_content_type', { cause: error });
    case 'entity.parse.failed':
      return new CatalogError('malformed_request', { message: 'The body is not valid JSON', cause: error });
    default:
      return new CatalogError('malformed_request', { message: 'The body cannot be read', cause: error });
  }
}

/** Walks by breadth: a body built to be deep would exhaust the stack. */
function isDeeperThan(value: JsonValue, depth_max: number): boolean {
  let level: JsonValue[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > depth_max) return true;
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []));
  }
  return false;
}
