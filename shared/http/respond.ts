import { createHash, hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import {
  type BrotliOptions,
  brotliCompress,
  brotliCompressSync,
  constants,
  gzip,
  gzipSync,
  type ZlibOptions,
} from 'node:zlib';
import accepts from 'accepts';
import { JsonText, jsonPieces, writeJson } from '../catalog/json-text';
import { endLongTurn } from '../kernel/async';
import { LRUCache } from '../kernel/cache';
import { CatalogError } from '../kernel/errors';
import type { RenderedAnswer } from '../ports/idempotency-store';
import type { Exchange, HttpRequest } from './request';
import type { Answer, Bytes, Reply } from './route';

/** Writes the headers once, then the body. Resolves when a streamed body has been sent, at once for any other body. */
export async function send(
  { req, res, headers }: Exchange,
  { status, headers: own, body }: Reply,
): Promise<void> {
  // The client has left.
  if (res.destroyed) return;
  res.writeHead(status, Object.assign(headers, own));
  if (body === undefined || req.method === 'HEAD') res.end();
  else if (typeof body === 'string') res.end(body, 'latin1');
  else if (Buffer.isBuffer(body)) endWithBody(res, body);
  else await sendBytes(res, body);
}

/**
 * Sends a complete response, but does not end it, because Node closes a connection without keep-alive at the end of the
 * response. The client can read the response by its `Content-Length`. Returns the function that ends it.
 */
export function sendHeldOpen({ res, headers }: Exchange, rendered: RenderedAnswer): () => void {
  const length = String(Buffer.byteLength(rendered.body));
  const own = { ...rendered.headers, 'Content-Type': JSON_TYPE, 'Content-Length': length };
  res.writeHead(rendered.status, { ...headers, ...own });
  res.write(rendered.body);
  return () => res.end();
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** An answer whose body may be in bytes already. */
type Rendered = Omit<RenderedAnswer, 'body'> & { readonly body: string | Buffer };

export type Render = (answer: Answer) => Promise<Rendered>;

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

/** Renders the envelope of a read. Renders a large answer piece by piece, and lets other requests run in between. */
export async function renderRead(answer: Answer): Promise<Rendered> {
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

// --- ETags ---

/** Base64url characters of the hash in an ETag: 96 bits, enough to avoid collisions between versions of one URL. */
const HASH_LENGTH = 16;

/**
 * A view count in JSON text. Never part of a string, in which the quotation marks are escaped.
 */
const VIEW_COUNT = /"view_count":\d+/g;

/**
 * Returns the ETag: `"<version>-<hash of body>"` for a resource, `"<hash of body>"` for a list. View counts do not change
 * it: otherwise, each flush of views would invalidate all cached lists (docs/interface/reads.md#etags).
 */
export function etagOf(version: number | undefined, body: string): string {
  return tagOf(version, hash('sha256', withoutViews(body), 'base64url'));
}

const withoutViews = (body: string): string => body.replace(VIEW_COUNT, '"view_count":0');

function tagOf(version: number | undefined, digest: string): string {
  const tag = digest.slice(0, HASH_LENGTH);
  return version === undefined ? `"${tag}"` : `"${version}-${tag}"`;
}

/**
 * Returns 304 if `If-None-Match` names the ETag in `headers`, otherwise undefined. `headers` may be the headers of the
 * complete reply.
 */
export function notModified({ req }: Exchange, headers: Readonly<Record<string, string>>): Reply | undefined {
  if (headers.ETag === undefined || !matchesNone(req.headers['if-none-match'], headers.ETag))
    return undefined;
  const { 'Content-Type': _, 'Content-Length': __, 'Content-Encoding': ___, ...kept } = headers;
  return { status: 304, headers: kept };
}

/** Whether `If-None-Match` names this ETag. Uses the weak comparison (RFC 9110 §13.1.2). */
export function matchesNone(header: string | undefined, etag: string): boolean {
  return header !== undefined && tagsOf(header).some((tag) => tag === '*' || tag === etag);
}

/**
 * Throws `precondition_failed` if `If-Match` of a write does not name the version of the resource. Accepts a missing
 * header, and `*` if there is a resource. Compares only the version: the hash in the ETag also changes with counts such as
 * `publication_count`.
 */
export function assertIfMatch(header: string | undefined, version: number | undefined): void {
  if (header === undefined || (version !== undefined && header.trim() === '*')) return;
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
 * (docs/interface/requests.md#compression).
 */
const COMPRESSED_BYTES_MIN = 1024;
/** Maximum size for synchronous compression, which for small bodies is much faster than another thread. */
const SYNC_BYTES_MAX = 65_536;
const BROTLI_QUALITY = 4;
/**
 * From this size on, bodies that are not kept are compressed with the least effort: 8 MB then take 60 ms of CPU with Brotli instead of 190, and
 * 130 ms with gzip instead of 250, for 1 to 15 % more bytes.
 */
const LEAST_EFFORT_BYTES_MIN = 1_000_000;
const LEAST_EFFORT = 1;

const compressBrotli = promisify<Buffer, BrotliOptions, Buffer>(brotliCompress);
const compressGzip = promisify<Buffer, ZlibOptions, Buffer>(gzip);

/** Longer bodies stay outside of the heap. */
const TEXT_BYTES_MAX = 16_384;

/**
 * Adds type and length of the body. Compresses the body if it is large enough and the client accepts an encoding, also for
 * HEAD, which has the same headers as GET (RFC 9110 §8.6). `accepted`: `Accept-Encoding`. `kept`: where to keep the bytes
 * of a text that is sent often, by encoding.
 */
export async function encode(
  accepted: string | undefined,
  { status, headers, body }: Rendered,
  content_type = JSON_TYPE,
  kept?: Map<string, Bytes>,
): Promise<Reply> {
  const is_large = Buffer.byteLength(body) >= COMPRESSED_BYTES_MIN;
  const encoding = is_large ? encodingOf(accepted) : undefined;
  const form = encoding ?? 'identity';
  const bytes = kept?.get(form) ?? (await bytesIn(encoding, body, kept !== undefined));
  kept?.set(form, bytes);
  const own = {
    ...headers,
    'Content-Type': content_type,
    ...(encoding !== undefined && { 'Content-Encoding': encoding }),
    'Content-Length': String(bytes.length),
  };
  return { status, headers: own, body: bytes };
}

async function bytesIn(encoding: Encoding, body: string | Buffer, is_kept: boolean): Promise<Bytes> {
  const has_one_byte_characters = typeof body === 'string' && Buffer.byteLength(body) === body.length;
  if (encoding === undefined && has_one_byte_characters && body.length <= TEXT_BYTES_MAX) return body;
  const plain = typeof body === 'string' ? Buffer.from(body) : body;
  const bytes = encoding === undefined ? plain : await compress(plain, encoding, is_kept);
  return bytes.length <= TEXT_BYTES_MAX ? bytes.toString('latin1') : bytes;
}

function compress(body: Buffer, encoding: 'br' | 'gzip', is_kept: boolean): Buffer | Promise<Buffer> {
  const is_small = body.length <= SYNC_BYTES_MAX;
  const is_large = body.length >= LEAST_EFFORT_BYTES_MIN && !is_kept;
  if (encoding === 'gzip')
    return is_small ? gzipSync(body) : compressGzip(body, is_large ? { level: LEAST_EFFORT } : {});
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
  const quality = is_large ? LEAST_EFFORT : BROTLI_QUALITY;
  const options = { params: { [BROTLI_PARAM_QUALITY]: quality, [BROTLI_PARAM_SIZE_HINT]: body.length } };
  return is_small ? brotliCompressSync(body, options) : compressBrotli(body, options);
}

type Encoding = 'br' | 'gzip' | undefined;

/** Browsers and programs send few different values of `Accept-Encoding`, and to parse one takes 1 to 2 µs. */
const preferred_encodings = new LRUCache<string, { readonly encoding: Encoding }>({ max: 100 });

/** Returns the encoding that the client prefers. Brotli compresses best, so it counts for more without quality values. */
export function encodingOf(accepted: string | undefined): Encoding {
  if (accepted === undefined) return undefined;
  const known = preferred_encodings.get(accepted);
  if (known) return known.encoding;
  const encoding = preferredEncoding(accepted);
  preferred_encodings.set(accepted, { encoding });
  return encoding;
}

function preferredEncoding(accepted: string): Encoding {
  const client = accepts({ headers: { 'accept-encoding': accepted } } as HttpRequest);
  if (!accepted.includes(';')) return (['br', 'gzip'] as const).find((name) => client.encodings(name));
  const preferred = client.encodings('br', 'gzip', 'identity');
  return preferred === 'br' || preferred === 'gzip' ? preferred : undefined;
}

// --- Bodies ---

/**
 * A large body is written in pieces of this size. The next piece is written after `drain`. Only complete pieces count as
 * read, so a client that takes 16 kB/s is not cut.
 */
const PIECE_BYTES = 32_768;
/** Smaller bodies are sent at once: in pieces, a process sends a third fewer pages of 50 expanded items. */
const COUNTED_BYTES_MIN = 262_144;
/** How much a process may hold of bodies whose clients do not read them (docs/http.md#answers). */
const UNREAD_BYTES_MAX = 64_000_000;

/** A client that has taken something within this time is not cut: it is reading. */
const READING_MS = 2_000;

interface Unread {
  readonly bytes: number;
  /** When the client last took something, by `performance.now()`. */
  readonly taken_ms: number;
}

/** The bodies that clients are reading. First comes the body whose client has taken nothing for the longest time. */
const unread = new Map<ServerResponse, Unread>();
let unread_bytes = 0;
let is_cut_due = false;

/** Ends the response with the body. Cuts the connections of clients that do not read if too much is unread. */
export function endWithBody(response: ServerResponse, body: Buffer): void {
  // The client has left. `close` is not emitted again.
  if (response.destroyed) return;
  if (body.length < COUNTED_BYTES_MIN || response.req.method === 'HEAD') {
    response.end(body);
    return;
  }
  void writeCounted(response, body).then(() => response.end());
}

/** Writes the bytes as the client takes them. Meanwhile they count as unread. Resolves early if the client leaves. */
async function writeCounted(response: ServerResponse, bytes: Uint8Array): Promise<void> {
  for (let start = 0; start < bytes.length && !response.destroyed; start += PIECE_BYTES) {
    if (response.write(bytes.subarray(start, start + PIECE_BYTES))) continue;
    count(response, bytes.length);
    await drained(response);
  }
  forget(response);
}

/** Counts the bytes as unread, and as taken from just now. */
function count(response: ServerResponse, bytes: number): void {
  // Moves the response to the end: it was the last to make progress.
  forget(response);
  unread.set(response, { bytes, taken_ms: performance.now() });
  unread_bytes += bytes;
  cutUnread();
}

/** Cuts the connections that wait longest if too much is unread: now, or when the clients have had time to read. */
function cutUnread(): void {
  const now_ms = performance.now();
  for (const [slowest, { taken_ms }] of unread) {
    if (unread_bytes <= UNREAD_BYTES_MAX) return;
    if (now_ms - taken_ms < READING_MS) break;
    forget(slowest);
    slowest.destroy();
  }
  if (unread_bytes <= UNREAD_BYTES_MAX || is_cut_due) return;
  is_cut_due = true;
  setTimeout(cutLater, READING_MS).unref();
}

function cutLater(): void {
  is_cut_due = false;
  cutUnread();
}

function forget(response: ServerResponse): void {
  unread_bytes -= unread.get(response)?.bytes ?? 0;
  unread.delete(response);
}

/** Resolves when the client has taken what was written, or has left. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      response.off('drain', end).off('close', end);
      resolve();
    };
    response.on('drain', end).on('close', end);
  });
}

/** Streams the bytes to the client. Ends early if the client leaves. */
async function sendBytes(response: ServerResponse, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const piece of bytes) {
    await writeCounted(response, piece);
    if (response.destroyed) return;
  }
  response.end();
}
