import { matchesNone } from '../../shared/http/respond';
import type { CapturedAnswer } from './capture';

/** An answer that can be sent again, as 200 or as 304. */
export interface StoredAnswer {
  readonly etag: string;
  /** Headers of a 304: names and values, alternately. */
  readonly headers: readonly string[];
  /** Undefined if only a 304 was seen. */
  readonly complete: { readonly headers: readonly string[]; readonly body: Body } | undefined;
}

/**
 * The bytes of a body. A string has one character per byte (`latin1`): Node sends it in one piece with the headers, which
 * is faster for a small body. A buffer is outside of the heap, so the garbage collector neither reads nor moves it.
 */
export type Body = string | Buffer;

/** What is sent to one request. */
export interface Sent {
  readonly status: 200 | 304;
  readonly headers: readonly string[];
  readonly body: Body | undefined;
}

const STRING_BYTES_MAX = 16_384;

/** Headers that describe a body. A 304 has none of them. */
const OF_BODY = /^content-(type|length|encoding)$/i;
/** Headers of answers that depend on more than the documents and the principal. */
const UNUSUAL = /^(set-cookie|retry-after|content-range|accept-ranges|x-catalog-position)$/i;

/** Returns the answer to store. Undefined if it is no JSON with an ETag, or no 304. */
export function storedAnswer({ status, headers, body }: CapturedAnswer): StoredAnswer | undefined {
  const etag = headerOf(headers, 'ETag');
  if (etag === undefined || without(headers, UNUSUAL).length < headers.length) return undefined;
  if (status === 304) return { etag, headers, complete: undefined };
  if (status !== 200 || !headerOf(headers, 'Content-Type')?.startsWith('application/json')) return undefined;
  return { etag, headers: without(headers, OF_BODY), complete: { headers, body: asBody(body) } };
}

/** Returns what a request with this `If-None-Match` gets. Undefined if the stored answer does not tell. */
export function answerFor(stored: StoredAnswer, if_none_match: string | undefined): Sent | undefined {
  if (if_none_match === stored.etag || matchesNone(if_none_match, stored.etag))
    return { status: 304, headers: stored.headers, body: undefined };
  return stored.complete && { status: 200, ...stored.complete };
}

function asBody(bytes: Buffer): Body {
  return bytes.length <= STRING_BYTES_MAX ? bytes.toString('latin1') : bytes;
}

function headerOf(headers: readonly string[], name: string): string | undefined {
  const index = headers.indexOf(name);
  return index % 2 === 0 ? headers[index + 1] : undefined;
}

function without(headers: readonly string[], names: RegExp): string[] {
  return headers.filter((_, index) => !names.test(headers[index - (index % 2)]!));
}
