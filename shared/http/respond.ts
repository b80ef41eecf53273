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
import type { KeptAnswer } from '../ports/idempotency-store';
import type { Answer, FileAnswer } from './route';

/** Sends a handler's answer: the envelope with an ETag, 304 where the client has it already, or a file. */
export async function sendAnswer(req: Request, res: Response, answer: Answer): Promise<void> {
  if (answer.file) return sendFile(req, res, answer.file);
  const is_read = req.method === 'GET' || req.method === 'HEAD';
  const rendered = renderAnswer(answer, is_read);
  if (!is_read || !sendNotModified(req, res, rendered.headers)) sendRendered(res, rendered);
}

/** Makes the envelope `{code, status: "OK", data, meta?}`. Reads and resources get an ETag, other writes none. */
export function renderAnswer(answer: Answer, is_read: boolean): KeptAnswer {
  const status = answer.status ?? 200;
  const data = writeJson(answer.data);
  const meta = answer.meta === undefined ? undefined : JSON.stringify(answer.meta);
  const body = `{"code":${status},"status":"OK","data":${data}${meta === undefined ? '' : `,"meta":${meta}`}}`;
  const has_etag = is_read || answer.version !== undefined;
  // Without `code`: what a 201 answered is what a GET answers next.
  const content = data + (meta === undefined ? '{}' : `{"meta":${meta}}`);
  const etag: Record<string, string> = has_etag ? { ETag: etagOf(answer.version, content) } : {};
  return { status, headers: { ...answer.headers, ...etag }, body };
}

export function sendRendered(res: Response, { status, headers, body }: KeptAnswer): void {
  setHeaders(res, headers);
  sendText(res, body, 'application/json; charset=utf-8', status);
}

export function sendJson(res: Response, status: number, body: JsonObject): void {
  sendText(res, JSON.stringify(body), 'application/json; charset=utf-8', status);
}

/** Node leaves out the body of an answer to HEAD by itself and keeps its length. */
export function sendText(res: Response, body: string, content_type: string, status = 200): void {
  res.statusCode = status;
  res.setHeader('Content-Type', content_type);
  endCompressed(res, body);
}

function setHeaders(res: Response, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
}

// --- ETags ---

/** 96 bits: two answers of one address do not share a tag by chance. */
const HASH_LENGTH = 16;

/** `"<version>-<hash of body>"` of a resource, `"<hash>"` of a list. */
export function etagOf(version: number | undefined, body: string): string {
  const tag = hash('sha256', body, 'base64url').slice(0, HASH_LENGTH);
  return version === undefined ? `"${tag}"` : `"${version}-${tag}"`;
}

/** Sends a 304 with `headers` if `If-None-Match` names their ETag; else returns false and sends nothing. */
export function sendNotModified(req: Request, res: Response, headers: Record<string, string>): boolean {
  if (headers.ETag === undefined || !matchesNone(req.get('if-none-match'), headers.ETag)) return false;
  setHeaders(res, headers);
  res.status(304).end();
  return true;
}

/** Whether `If-None-Match` names this ETag. Compares the whole tag, weakly (RFC 9110 §13.1.2). */
export function matchesNone(header: string | undefined, etag: string): boolean {
  return header !== undefined && tagsOf(header).some((tag) => tag === '*' || tag === etag);
}

/**
 * Checks a write's `If-Match` against the resource's version. Ignores the rest of the tag, which also changes with
 * counts. Passes if the header is missing or `*`. Throws `precondition_failed` if it does not name the version.
 */
export function assertIfMatch(header: string | undefined, version: number): void {
  if (header === undefined || header.trim() === '*') return;
  const versions = tagsOf(header).map((tag) => /^"(\d+)-[^"]*"$/.exec(tag)?.[1]);
  if (!versions.includes(String(version))) throw new CatalogError('precondition_failed');
}

/** The entity tags of a header's list, without their weakness marks. */
function tagsOf(header: string): string[] {
  return header.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
}

// --- Compression ---

/** Smaller bodies fit a packet or two: compressing them costs more than it saves (decisions §9). */
const COMPRESSED_BYTES_MIN = 1024;
/** Up to here a body is compressed synchronously, which takes a fraction of the time that setting up a stream does. */
const SYNC_BYTES_MAX = 65_536;
const BROTLI_QUALITY = 4;

const compressStream = compression({ threshold: COMPRESSED_BYTES_MIN });

/** Ends the response with its whole body, compressed if that is worth it and the client accepts it. */
function endCompressed(res: Response, body: string): void {
  const length = Buffer.byteLength(body);
  const accepted = res.req.headers['accept-encoding'];
  const is_worth_it = length >= COMPRESSED_BYTES_MIN && res.req.method !== 'HEAD';
  if (accepted === undefined || !is_worth_it) end(res, body, length);
  // The middleware knows all the rules of weights.
  else if (length > SYNC_BYTES_MAX || accepted.includes(';'))
    compressStream(res.req, res, () => end(res, body, length));
  else endCompressedNow(res, body, length);
}

function endCompressedNow(res: Response, body: string, length: number): void {
  const encoding = (['br', 'gzip'] as const).find((one) => res.req.acceptsEncodings(one));
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
 * Sends bytes of the blob store with ETag and 304, and a single range as 206 or 416; to HEAD without the bytes. Throws
 * the file's `missing`, `range_unsatisfiable`, and what the store throws.
 */
export async function sendFile(req: Request, res: Response, file: FileAnswer): Promise<void> {
  const size_bytes = await file.blobs.size(file.hash);
  if (size_bytes === undefined) throw new CatalogError(file.missing);
  const etag = `"${file.hash}"`;
  const headers = { ETag: etag, 'Accept-Ranges': 'bytes', ...file.headers };
  if (sendNotModified(req, res, headers)) return;
  const condition = req.get('if-range');
  const is_wanted = req.method === 'GET' && (condition === undefined || condition === etag);
  const range = is_wanted ? rangeOf(req.get('range'), size_bytes) : undefined;
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
 * Reads the one range of a `Range` header (RFC 9110 §14.1.2). Returns undefined where the whole file is to be sent: no
 * header, several ranges, or one that cannot be read. Express's `req.range()` does not serve here: it refuses a suffix
 * longer than the file and a range whose end is before its start.
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

/** A client that closes the connection early is no failure. */
async function sendBytes(res: Response, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    await pipeline(Readable.from(bytes, { objectMode: false }), res);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}
