import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import compression from 'compression';
import type { Request, Response } from 'express';
import type { JsonObject } from '../catalog/events/envelope';
import { writeJson } from '../catalog/json-text';
import { CatalogError } from '../kernel/errors';
import type { ByteRange } from '../ports/blob-store';
import type { RenderedAnswer } from '../ports/idempotency-store';
import type { Answer, FileAnswer } from './route';

/** Sends the answer of a handler: the envelope with an ETag, 304 if the client has that version, or a file. */
export async function sendAnswer(req: Request, res: Response, answer: Answer): Promise<void> {
  if (answer.file) return sendFile(req, res, answer.file);
  const is_read = req.method === 'GET' || req.method === 'HEAD';
  const rendered = renderAnswer(answer, is_read);
  if (!is_read || !sendNotModified(req, res, rendered.headers)) sendRendered(res, rendered);
}

/**
 * Renders the envelope `{code, status: "OK", data, meta?}`. Sets an ETag for reads and for writes of a versioned
 * resource.
 */
export function renderAnswer(answer: Answer, is_read: boolean): RenderedAnswer {
  const status = answer.status ?? 200;
  const data = writeJson(answer.data);
  const meta = answer.meta === undefined ? undefined : JSON.stringify(answer.meta);
  const body = `{"code":${status},"status":"OK","data":${data}${meta === undefined ? '' : `,"meta":${meta}`}}`;
  const has_etag = is_read || answer.version !== undefined;
  // The hash excludes `code`, so that the 201 of a resource and the 200 of its next GET have the same ETag.
  const content = data + (meta === undefined ? '{}' : `{"meta":${meta}}`);
  const etag: Record<string, string> = has_etag ? { ETag: etagOf(answer.version, content) } : {};
  return { status, headers: { ...answer.headers, ...etag }, body };
}

export function sendRendered(res: Response, { status, headers, body }: RenderedAnswer): void {
  setHeaders(res, headers);
  sendText(res, body, 'application/json; charset=utf-8', status);
}

/**
 * Sends a complete response, but does not end it, because Node closes a connection without keep-alive at the end of the
 * response. The client can read the response by its `Content-Length`. Returns the function that ends it.
 */
export function sendHeldOpen(res: Response, { status, headers, body }: RenderedAnswer): () => void {
  setHeaders(res, headers);
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.setHeader('Content-Length', Buffer.byteLength(body));
  res.write(body);
  return () => res.end();
}

export function sendJson(res: Response, status: number, body: JsonObject): void {
  sendText(res, JSON.stringify(body), 'application/json; charset=utf-8', status);
}

/** Sends a text. For HEAD, Node omits the body and keeps `Content-Length`. */
export function sendText(res: Response, body: string, content_type: string, status = 200): void {
  res.statusCode = status;
  res.setHeader('Content-Type', content_type);
  endCompressed(res, body);
}

function setHeaders(res: Response, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
}

// --- ETags ---

/** Base64url characters of the hash in an ETag: 96 bits, enough to avoid collisions between versions of one URL. */
const HASH_LENGTH = 16;

/**
 * A view count in JSON text. Never part of a string, in which the quotation marks are escaped.
 */
const VIEW_COUNT = /"view_count":\d+/g;

/**
 * Returns the ETag: `"<version>-<hash of body>"` for a resource, `"<hash of body>"` for a list. View counts do not change
 * it: otherwise, each flush of views would invalidate all cached lists (docs/interface.md#etags).
 */
export function etagOf(version: number | undefined, body: string): string {
  const tag = hash('sha256', body.replace(VIEW_COUNT, '"view_count":0'), 'base64url').slice(0, HASH_LENGTH);
  return version === undefined ? `"${tag}"` : `"${version}-${tag}"`;
}

/** Sends 304 with `headers` and returns true if `If-None-Match` names their ETag. Otherwise returns false. */
export function sendNotModified(req: Request, res: Response, headers: Record<string, string>): boolean {
  if (headers.ETag === undefined || !matchesNone(req.get('if-none-match'), headers.ETag)) return false;
  setHeaders(res, headers);
  res.status(304).end();
  return true;
}

/** Whether `If-None-Match` names this ETag. Uses the weak comparison (RFC 9110 §13.1.2). */
export function matchesNone(header: string | undefined, etag: string): boolean {
  return header !== undefined && tagsOf(header).some((tag) => tag === '*' || tag === etag);
}

/**
 * Throws `precondition_failed` if `If-Match` of a write does not name the version of the resource. Accepts a missing
 * header and `*`. Compares only the version: the hash in the ETag also changes with counts such as `publication_count`.
 */
export function assertIfMatch(header: string | undefined, version: number): void {
  if (header === undefined || header.trim() === '*') return;
  const versions = tagsOf(header).map((tag) => /^"(\d+)-[^"]*"$/.exec(tag)?.[1]);
  if (!versions.includes(String(version))) throw new CatalogError('precondition_failed');
}

/** Returns the entity tags of a header, without `W/`. */
function tagsOf(header: string): string[] {
  return header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
}

// --- Compression ---

/**
 * Smaller bodies fit in one or two packets, so compression would cost more than it saves
 * (docs/interface.md#compression).
 */
const COMPRESSED_BYTES_MIN = 1024;
/** Maximum size for synchronous compression, which for small bodies is much faster than setting up a stream. */
const SYNC_BYTES_MAX = 65_536;
const BROTLI_QUALITY = 4;

const compressStream = compression({ threshold: COMPRESSED_BYTES_MIN });

/** Ends the response with the body. Compresses it if it is large enough and the client accepts an encoding. */
function endCompressed(res: Response, body: string): void {
  const length = Buffer.byteLength(body);
  const accepted = res.req.headers['accept-encoding'];
  const is_compressible = length >= COMPRESSED_BYTES_MIN && res.req.method !== 'HEAD';
  if (accepted === undefined || !is_compressible) end(res, body, length);
  // A header with `;` has quality values, which the middleware implements.
  else if (length > SYNC_BYTES_MAX || accepted.includes(';'))
    compressStream(res.req, res, () => end(res, body, length));
  else endCompressedNow(res, body, length);
}

function endCompressedNow(res: Response, body: string, length: number): void {
  const encoding = (['br', 'gzip'] as const).find((name) => res.req.acceptsEncodings(name));
  if (encoding !== undefined) res.setHeader('Content-Encoding', encoding);
  if (encoding === undefined) end(res, body, length);
  else end(res, encoding === 'br' ? brotli(body, length) : gzipSync(body));
}

function brotli(body: string, length: number): Buffer {
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
  const params = { [BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [BROTLI_PARAM_SIZE_HINT]: length };
  return brotliCompressSync(body, { params });
}

function end(res: Response, body: string | Buffer, length = body.length): void {
  res.setHeader('Content-Length', length);
  res.end(body);
}

// --- Files ---

/**
 * Sends a file of the blob store. Supports `If-None-Match`, `If-Range`, a single `Range`, and HEAD. Rejects with
 * `file.missing` if the file does not exist, with `range_unsatisfiable`, and with errors of the store.
 */
export async function sendFile(req: Request, res: Response, file: FileAnswer): Promise<void> {
  const size_bytes = await file.blobs.size(file.hash);
  if (size_bytes === undefined) throw new CatalogError(file.missing);
  const etag = `"${file.hash}"`;
  const headers = { ETag: etag, 'Accept-Ranges': 'bytes', ...file.headers };
  if (sendNotModified(req, res, headers)) return;
  const if_range = req.get('if-range');
  const uses_range = req.method === 'GET' && (if_range === undefined || if_range === etag);
  const range = uses_range ? rangeOf(req.get('range'), size_bytes) : undefined;
  if (range === 'unsatisfiable') {
    res.setHeader('Content-Range', `bytes */${size_bytes}`);
    throw new CatalogError('range_unsatisfiable');
  }
  const reading = req.method === 'HEAD' ? undefined : await file.blobs.read(file.hash, range);
  if (reading === undefined && req.method !== 'HEAD') throw new CatalogError(file.missing);
  const { first, last } = range ?? { first: 0, last: size_bytes - 1 };
  setHeaders(res, headers);
  res.setHeader('Content-Type', file.content_type);
  res.setHeader('Content-Length', last - first + 1);
  if (range) res.setHeader('Content-Range', `bytes ${first}-${last}/${size_bytes}`);
  res.status(range ? 206 : 200);
  if (reading === undefined) res.end();
  else await sendBytes(res, reading.bytes);
}

/**
 * Parses a `Range` header with one range (RFC 9110 §14.1.2). Returns undefined if the whole file must be sent: the
 * header is missing or malformed, or has several ranges. Express's `req.range()` is not suitable, because it rejects
 * a suffix longer than the file and a range that ends before it starts.
 */
function rangeOf(header: string | undefined, size_bytes: number): ByteRange | 'unsatisfiable' | undefined {
  const parts = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i.exec(header ?? '');
  if (!parts || (parts[1] === '' && parts[2] === '')) return undefined;
  const end = size_bytes - 1;
  if (parts[1] === '') {
    const length = Number(parts[2]);
    return length === 0 ? 'unsatisfiable' : { first: Math.max(0, size_bytes - length), last: end };
  }
  const first = Number(parts[1]);
  const last = parts[2] === '' ? end : Number(parts[2]);
  if (first > end) return 'unsatisfiable';
  return last < first ? undefined : { first, last: Math.min(last, end) };
}

/** Streams the bytes to the client. Does not reject if the client closes the connection early. */
async function sendBytes(res: Response, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    await pipeline(Readable.from(bytes, { objectMode: false }), res);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}
