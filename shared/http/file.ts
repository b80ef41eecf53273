import { CatalogError } from '../kernel/errors';
import type { ByteRange } from '../ports/blob-store';
import type { Exchange } from './request';
import { notModified } from './respond';
import type { FileAnswer, Reply } from './route';

/**
 * Returns the reply with a file of the blob store. Supports `If-None-Match`, `If-Range`, a single `Range`, and HEAD.
 * Rejects with `file.missing` if the file does not exist, with `range_unsatisfiable`, and with errors of the store.
 */
export async function fileReply(exchange: Exchange, file: FileAnswer): Promise<Reply> {
  const { method, headers: asked } = exchange.req;
  const size_bytes = await file.blobs.size(file.hash);
  if (size_bytes === undefined) throw new CatalogError(file.missing);
  const etag = `"${file.hash}"`;
  const headers = { ETag: etag, 'Accept-Ranges': 'bytes', ...file.headers };
  const not_modified = notModified(exchange, headers);
  if (not_modified) return not_modified;
  const if_range = asked['if-range'];
  const uses_range = method === 'GET' && (if_range === undefined || if_range === etag);
  const range = uses_range ? rangeOf(asked.range, size_bytes) : undefined;
  if (range === 'unsatisfiable') {
    exchange.headers['Content-Range'] = `bytes */${size_bytes}`;
    throw new CatalogError('range_unsatisfiable');
  }
  const reading = method === 'HEAD' ? undefined : await file.blobs.read(file.hash, range);
  if (reading === undefined && method !== 'HEAD') throw new CatalogError(file.missing);
  const { first, last } = range ?? { first: 0, last: size_bytes - 1 };
  const described = {
    ...headers,
    'Content-Type': file.content_type,
    'Content-Length': String(last - first + 1),
    ...(range && { 'Content-Range': `bytes ${first}-${last}/${size_bytes}` }),
  };
  return { status: range ? 206 : 200, headers: described, ...(reading && { body: reading.bytes }) };
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
