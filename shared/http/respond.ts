import { createHash, hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { brotliCompress, brotliCompressSync, constants, gzip, gzipSync } from 'node:zlib';
import type { Request, Response } from 'express';
import type { JsonObject } from '../catalog/events/envelope';
import { JsonText, jsonPieces, writeJson } from '../catalog/json-text';
import { endLongTurn } from '../kernel/async';
import { CatalogError } from '../kernel/errors';
import type { ByteRange } from '../ports/blob-store';
import type { RenderedAnswer } from '../ports/idempotency-store';
import type { Answer, FileAnswer } from './route';
import { endWithBody } from './send-body';

/** Sends the answer of a handler: the envelope with an ETag, 304 if the client has that version, or a file. */
export async function sendAnswer(req: Request, res: Response, answer: Answer): Promise<void> {
  if (answer.file) return sendFile(req, res, answer.file);
  const is_read = req.method === 'GET' || req.method === 'HEAD';
  const rendered = is_read ? await renderRead(answer) : renderAnswer(answer, false);
  if (!is_read || !sendNotModified(req, res, rendered.headers)) sendRendered(res, rendered);
}

/** An answer whose body may be in bytes already. */
type Rendered = Omit<RenderedAnswer, 'body'> & { readonly body: string | Buffer };

/** An answer with fewer characters is rendered at once. */
const LARGE_LENGTH = 250_000;

/**
 * Renders the envelope `{code, status: "OK", data, meta?}`. Sets an ETag for reads and for writes of a versioned
 * resource.
 */
export function renderAnswer(answer: Answer, is_read: boolean): RenderedAnswer {
  const data = writeJson(answer.data);
  const { before, after, hashed_after } = envelopeOf(answer);
  const has_etag = is_read || answer.version !== undefined;
  const etag = has_etag ? etagOf(answer.version, data + hashed_after) : undefined;
  return { ...headOf(answer, etag), body: before + data + after };
}

/** Does the same for a read. Renders a large answer piece by piece, and lets other requests run in between. */
async function renderRead(answer: Answer): Promise<Rendered> {
  const pieces = jsonPieces(answer.data);
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (length < LARGE_LENGTH) return renderAnswer({ ...answer, data: new JsonText(pieces.join('')) }, true);
  const { before, after, hashed_after } = envelopeOf(answer);
  const hashing = createHash('sha256');
  const chunks = [Buffer.from(before)];
  for (const piece of pieces) {
    hashing.update(withoutViews(piece));
    chunks.push(Buffer.from(piece));
    await endLongTurn();
  }
  const digest = hashing.update(hashed_after).digest('base64url');
  chunks.push(Buffer.from(after));
  return { ...headOf(answer, tagOf(answer.version, digest)), body: Buffer.concat(chunks) };
}

/** The hash excludes `code`, so that the 201 of a resource and the 200 of its next GET have the same ETag. */
function envelopeOf({ status = 200, meta }: Answer) {
  const json = meta === undefined ? undefined : JSON.stringify(meta);
  return {
    before: `{"code":${status},"status":"OK","data":`,
    after: json === undefined ? '}' : `,"meta":${json}}`,
    hashed_after: json === undefined ? '{}' : `{"meta":${json}}`,
  };
}

function headOf({ status = 200, headers }: Answer, etag: string | undefined): Omit<RenderedAnswer, 'body'> {
  return { status, headers: { ...headers, ...(etag !== undefined && { ETag: etag }) } };
}

export function sendRendered(res: Response, { status, headers, body }: Rendered): void {
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

/**
 * Sends a text. For HEAD, Node omits the body and keeps `Content-Length`. `kept`: the compressed forms of the text, if it
 * is sent often.
 */
export function sendText(
  res: Response,
  body: string | Buffer,
  content_type: string,
  status = 200,
  kept?: Compressed,
): void {
  res.statusCode = status;
  res.setHeader('Content-Type', content_type);
  endCompressed(res, body, kept);
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
  return tagOf(version, hash('sha256', withoutViews(body), 'base64url'));
}

const withoutViews = (body: string): string => body.replace(VIEW_COUNT, '"view_count":0');

function tagOf(version: number | undefined, digest: string): string {
  const tag = digest.slice(0, HASH_LENGTH);
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
/** Maximum size for synchronous compression, which for small bodies is much faster than another thread. */
const SYNC_BYTES_MAX = 65_536;
const BROTLI_QUALITY = 4;

type Encoding = 'br' | 'gzip';
/** The compressed forms of a body. */
export type Compressed = Map<Encoding, Buffer>;

/** Ends the response with the body. Compresses it if it is large enough and the client accepts an encoding. */
function endCompressed(res: Response, body: string | Buffer, kept?: Compressed): void {
  const length = Buffer.byteLength(body);
  const is_compressible = length >= COMPRESSED_BYTES_MIN && res.req.method !== 'HEAD';
  const encoding = is_compressible ? encodingOf(res.req) : undefined;
  if (encoding === undefined) {
    end(res, body, length);
    return;
  }
  res.setHeader('Content-Encoding', encoding);
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
  const params = { [BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [BROTLI_PARAM_SIZE_HINT]: length };
  const done = kept?.get(encoding);
  if (done !== undefined) end(res, done);
  else if (length <= SYNC_BYTES_MAX)
    end(res, encoding === 'br' ? brotliCompressSync(body, { params }) : gzipSync(body));
  else if (encoding === 'br') brotliCompress(body, { params }, onCompressed);
  else gzip(body, onCompressed);

  function onCompressed(error: Error | null, compressed: Buffer): void {
    if (error) res.destroy(error);
    else {
      kept?.set(encoding!, compressed);
      end(res, compressed);
    }
  }
}

/** Returns the encoding that the client prefers. Brotli compresses best, so it counts for more without quality values. */
function encodingOf(req: Request): Encoding | undefined {
  const accepted = req.headers['accept-encoding'];
  if (accepted === undefined) return undefined;
  if (!accepted.includes(';')) return (['br', 'gzip'] as const).find((name) => req.acceptsEncodings(name));
  const preferred = req.acceptsEncodings('br', 'gzip', 'identity');
  return preferred === 'br' || preferred === 'gzip' ? preferred : undefined;
}

function end(res: Response, body: string | Buffer, length = body.length): void {
  res.setHeader('Content-Length', length);
  endWithBody(res, body);
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
