import type { IncomingMessage } from 'node:http';
import { reads } from '../../shared/api/operations/reads';
import { bearerOf } from '../../shared/http/auth';

/** Collections whose documents are answered by id. */
export type CollectionById = 'listings' | 'publications' | 'media';

/** What decides the answer to a read, besides the principal and the documents. */
export interface Asked {
  /** Pattern of the path, such as `/api/listing/:id`. */
  readonly route: string;
  readonly path: string;
  /** Undefined if the path names no resource. */
  readonly id: string | undefined;
  /** The collection of the resource, if the answer is made from its document and the status of its store alone. */
  readonly document_of: CollectionById | undefined;
  readonly bearer: string;
  /** The same for two requests that get the same answer if their principals may see the same. */
  readonly key: string;
  /** `If-None-Match`. Not part of the key. */
  readonly if_none_match: string | undefined;
}

/** The reads whose answer is made from one document. A document contains its expansions. */
const DOCUMENT_OF: Readonly<Record<string, CollectionById>> = {
  [reads.getListing.path]: 'listings',
  [reads.getPublication.path]: 'publications',
  [reads.getMedia.path]: 'media',
};

const ROUTES: ReadonlySet<string> = new Set(Object.values(reads).map(({ path }) => path));

/** A path with an id. Others, such as one with an id in upper case, are left to the app. */
const WITH_ID = /^(\/api\/[a-z-]+\/)([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(\/[a-z-]+)?$/;

/** Headers with which a read is left to the app: it waits, it has a body, or it asks for a part of a file. */
const UNUSUAL_HEADERS = [
  'x-catalog-min-position',
  'content-length',
  'transfer-encoding',
  'expect',
  'range',
  'if-range',
] as const;

const URL_LENGTH_MAX = 1_024;
const HEADER_LENGTH_MAX = 256;

/**
 * Returns what a request asks for. Returns undefined if the request is not an ordinary read: the app then answers it
 * without the cache.
 */
export function askedBy({ method, url = '', headers, httpVersion }: IncomingMessage): Asked | undefined {
  if ((method !== 'GET' && method !== 'HEAD') || httpVersion !== '1.1') return undefined;
  if (!url.startsWith('/api/') || url.length > URL_LENGTH_MAX || headers.host === undefined) return undefined;
  for (const name of UNUSUAL_HEADERS) if (headers[name] !== undefined) return undefined;
  const bearer = bearerOf(headers.authorization);
  const mark = url.indexOf('?');
  const path = mark === -1 ? url : url.slice(0, mark);
  const [, before, id, after = ''] = ROUTES.has(path) ? NO_ID : (WITH_ID.exec(path) ?? NO_ID);
  const route = id === undefined ? path : `${before}:id${after}`;
  if (bearer === undefined || !ROUTES.has(route)) return undefined;
  // Only a media has answers of several types.
  const accept = route === reads.getMedia.path ? (headers.accept ?? '') : '';
  const encoding = headers['accept-encoding'] ?? '';
  if (accept.length > HEADER_LENGTH_MAX || encoding.length > HEADER_LENGTH_MAX) return undefined;
  const document_of = DOCUMENT_OF[route];
  const key = `${method} ${url}\n${encoding}\n${accept}`;
  return { route, path, id, document_of, bearer, key, if_none_match: headers['if-none-match'] };
}

const NO_ID: readonly (string | undefined)[] = [];
