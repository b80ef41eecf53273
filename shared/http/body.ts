import { isUtf8 } from 'node:buffer';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import typeIs from 'type-is';
import { UNKNOWN_FIELD } from '../api/error-catalogue';
import type { JsonObject, JsonValue } from '../catalog/events/envelope';
import { CatalogError } from '../kernel/errors';
import type { HttpRequest } from './request';

/** Maximum size of a JSON body, before and after decompression. */
const BODY_BYTES_MAX = 1_048_576;
/**
 * A compressed body may have 128 KB after decompression, or 32 times its compressed size if that is more. The longest
 * valid body in ASCII has about 64 KB. A longer valid body has multi-byte characters, which compress at most 10:1.
 */
const DECOMPRESSED_BYTES_FREE = 131_072;
const DECOMPRESSION_RATIO_MAX = 32;
/** Maximum nesting, so that later code may use recursion. No valid body is nested deeper than a few levels. */
const DEPTH_MAX = 32;
/**
 * Maximum number of values. A publication with 2,048 variants has up to 50,000. Without a limit, parsing 1 MB of empty
 * arrays would take 30 to 80 ms, during which no other request is served.
 */
const VALUES_MAX = 50_000;

/**
 * Reads the JSON object of a request. Returns `{}` if the request has no body. Rejects with `malformed_request` if
 * the body is not a JSON object or a PATCH or PUT has no body, with `unsupported_content_type` for another type, charset or
 * encoding, and with `too_large` for more than `bytes_max` bytes, too many values, or too much compression.
 */
export async function readBody(req: HttpRequest, bytes_max = BODY_BYTES_MAX): Promise<JsonObject> {
  if (!hasBody(req)) {
    assertBodyOptional(req.method);
    return {};
  }
  if (!typeIs(req, 'application/json'))
    throw new CatalogError('unsupported_content_type', {
      message: 'The Content-Type must be application/json',
    });
  if (!/^utf-?8$/i.test(charsetOf(req)))
    throw new CatalogError('unsupported_content_type', { message: 'The charset must be UTF-8' });
  const bytes = await receive(req, bytes_max);
  assertParsable(bytes);
  const body = parseJson(req, bytes);
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new CatalogError('malformed_request', { message: 'The body must be a JSON object' });
  return body;
}

/** Returns the charset that the Content-Type names. */
function charsetOf(req: HttpRequest): string {
  const [, charset = 'utf-8'] =
    /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(req.headers['content-type'] ?? '') ?? [];
  return charset;
}

/** Returns `{}` for an empty body. Accepts a byte order mark. */
function parseJson({ method }: HttpRequest, bytes: Buffer): JsonValue {
  if (bytes.length === 0) {
    assertBodyOptional(method);
    return {};
  }
  // `toString` would silently replace invalid bytes by replacement characters.
  if (!isUtf8(bytes)) throw new CatalogError('malformed_request', { message: 'The body is not valid UTF-8' });
  const text = bytes.toString('utf8');
  try {
    const value = JSON.parse(text.startsWith('\ufeff') ? text.slice(1) : text) as JsonValue;
    assertNoProto(text, value);
    return value;
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new CatalogError('malformed_request', { message: 'The body is not valid JSON', cause });
  }
}

const PROTO = '__proto__';
/** The name itself, or the escape of a character that it may have: an underscore or a lower-case letter. */
const PERHAPS_PROTO = /__proto__|\\u00[567]/i;

/** Throws `field_invalid` for a field named `__proto__` in the value of a JSON text. Schemas leave out this name silently. */
export function assertNoProto(text: string, value: JsonValue): void {
  const field = PERHAPS_PROTO.test(text) ? pathOf(value, PROTO) : undefined;
  if (field !== undefined)
    throw CatalogError.ofFaults([{ condition: 'field_invalid', field, constraint: UNKNOWN_FIELD }]);
}

/** Returns the path of a field with this name, undefined if there is none. The value is nested at most `DEPTH_MAX` deep. */
function pathOf(value: JsonValue, name: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Object.hasOwn(value, name)) return name;
  for (const [key, inner] of Object.entries(value)) {
    const path = pathOf(inner, name);
    if (path !== undefined) return `${key}.${path}`;
  }
  return undefined;
}

/**
 * Throws `malformed_request` for a PATCH or PUT: it needs a body, which was probably lost on the way. A POST without a body
 * fails later, because its required fields are missing.
 */
function assertBodyOptional(method: string | undefined): void {
  if (method === 'PATCH' || method === 'PUT')
    throw new CatalogError('malformed_request', { message: 'The body must be a JSON object' });
}

/** Whether a request has a body. Many clients send `Content-Length: 0` with a POST, which counts as no body. */
export function hasBody(req: HttpRequest): boolean {
  if (req.headers['transfer-encoding'] !== undefined) return true;
  return Number(req.headers['content-length'] ?? 0) > 0;
}

/** Receives and decompresses the body. */
async function receive(req: HttpRequest, bytes_max: number): Promise<Buffer> {
  const decompress = decompressorOf(req);
  if (Number(req.headers['content-length'] ?? 0) > bytes_max) throw tooLarge(bytes_max);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of bytesOf(req)) {
    size += chunk.length;
    if (size > bytes_max) throw tooLarge(bytes_max);
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  if (!decompress || size === 0) return bytes;
  const ratio_bytes_max = Math.max(DECOMPRESSED_BYTES_FREE, DECOMPRESSION_RATIO_MAX * size);
  const maxOutputLength = Math.min(bytes_max, ratio_bytes_max);
  return decompress(bytes, { maxOutputLength }).catch((error: unknown) => {
    const { code } = error as { code?: unknown };
    if (code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxOutputLength, error);
    throw UNREADABLE_CODES.test(String(code)) ? unreadable(error) : error;
  });
}

/**
 * Yields the bytes of the request. Does not close the connection when the reader stops, because the response needs it.
 * Throws `malformed_request` if the client disconnects.
 */
export async function* bytesOf(req: HttpRequest): AsyncGenerator<Buffer> {
  try {
    yield* req.iterator({ destroyOnReturn: false });
  } catch (cause) {
    throw isDisconnection(cause) ? incomplete(cause) : cause;
  }
}

export function isDisconnection(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE';
}

export const incomplete = (cause: unknown): CatalogError =>
  new CatalogError('malformed_request', {
    message: 'The request is incomplete: the connection was closed',
    cause,
  });

type Decompress = (bytes: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>;

const DECOMPRESSORS: Readonly<Record<string, Decompress | undefined>> = {
  gzip: promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.gunzip),
  deflate: promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.inflate),
  br: promisify<Buffer, zlib.BrotliOptions, Buffer>(zlib.brotliDecompress),
};

/** Returns undefined if the body is not compressed. */
function decompressorOf({ headers }: HttpRequest): Decompress | undefined {
  const encoding = (headers['content-encoding'] ?? 'identity').toLowerCase();
  if (encoding === 'identity') return undefined;
  const decompress = Object.hasOwn(DECOMPRESSORS, encoding) ? DECOMPRESSORS[encoding] : undefined;
  if (!decompress)
    throw new CatalogError('unsupported_content_type', {
      message: 'The Content-Encoding must be gzip, deflate or br',
    });
  return decompress;
}

const tooLarge = (bytes_max: number, cause?: unknown): CatalogError =>
  new CatalogError('too_large', { message: `The body is larger than ${bytes_max} bytes`, cause });

/** Codes of zlib and Brotli for data that cannot be decompressed. */
const UNREADABLE_CODES = /^(Z_(DATA|BUF)_ERROR|Z_NEED_DICT|\w*ERROR_FORMAT_\w+)$/;

const unreadable = (cause: unknown): CatalogError =>
  new CatalogError('malformed_request', { message: 'The body cannot be read', cause });

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Throws for JSON that is nested too deep or has too many values, before `JSON.parse` makes objects of it. For
 * invalid JSON the counts may be wrong, but only after the byte at which `JSON.parse` fails. `what` begins the message.
 */
export function assertParsable(bytes: Buffer, what = 'The body', values_max = VALUES_MAX): void {
  let depth = 0;
  let values = 0;
  let in_text = false;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index];
    if (in_text) {
      if (byte === BACKSLASH) index++;
      else if (byte === QUOTE) in_text = false;
    } else if (byte === QUOTE) in_text = true;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      depth++;
      values++;
      if (depth > DEPTH_MAX)
        throw new CatalogError('malformed_request', {
          message: `${what} is nested deeper than ${DEPTH_MAX} levels`,
        });
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth--;
    else if (byte === COMMA) values++;
    if (values > values_max)
      throw new CatalogError('too_large', { message: `${what} has more than ${values_max} values` });
  }
}
