import type { JsonObject } from '../catalog/events/envelope';

/** The name of a run. */
export const RUN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
/** How the names of runs begin that undo another run. */
export const UNDO_PREFIX = 'undo-';

interface HeaderInfo {
  readonly schema: JsonObject & {
    readonly type: 'string' | 'integer';
    readonly enum?: string[];
    readonly pattern?: string;
    readonly minLength?: number;
    readonly maxLength?: number;
  };
  readonly description: string;
  readonly example: string | number;
  /** Whether a response that documents the header may be sent without it. */
  readonly optional: boolean;
}

/** Describes a header. The type of the example is the type of the header. */
function header(
  description: string,
  example: string | number,
  { optional = false, ...schema }: Omit<HeaderInfo['schema'], 'type'> & { optional?: boolean } = {},
): HeaderInfo {
  const type = typeof example === 'number' ? 'integer' : 'string';
  return { schema: { type, ...schema }, description, example, optional };
}

/** Schema and description of each response header (docs/interface/requests.md#responses). */
export const responseHeaders = {
  'X-Request-Id': header(
    'Id of the request: the one that the client sent, or a generated UUID.',
    '0195d4a2-8a10-7c1e-9f31-5b0c7a6e1d10',
  ),
  'X-RateLimit-Limit': header('Maximum number of requests per minute (for `/auth/*`, per second).', 100),
  'X-RateLimit-Remaining': header('Number of requests that may be sent now.', 97),
  'X-RateLimit-Reset': header(
    'Time at which all requests are available again, as a Unix timestamp in seconds.',
    1769860802,
  ),
  'X-RateLimit-Tier': header(
    'Type of the key. Requests without a valid key have the limits of a public key.',
    'public_key',
    { enum: ['public_key', 'secret_key'] },
  ),
  'Retry-After': header(
    'Seconds to wait before the next attempt. Present on every 429 and 503, and on other errors that are temporary.',
    2,
    { optional: true },
  ),
  'Cache-Control': header('Whether and how long the response may be cached.', 'private, no-cache'),
  ETag: header(
    'Version of the response, for `If-None-Match`. The ETag of a listing, publication or media also works with `If-Match`.',
    '"3-Hk2vT0mP9qYw1sXc"',
  ),
  'Accept-Ranges': header('The resource supports `Range` requests.', 'bytes', {
    enum: ['bytes'],
    optional: true,
  }),
  'Content-Range': header(
    'The range that the body contains and the size of the file, such as `bytes 0-1023/182044`.',
    'bytes 0-1023/182044',
  ),
  Location: header(
    'Path of the new resource. That of a private one has `visibility=all`.',
    '/api/publication/0195d4a2-8a02-7c1e-9f31-5b0c7a6e1d03',
  ),
  'WWW-Authenticate': header(
    'Why the bearer token was refused (RFC 6750).',
    'Bearer realm="catalog", error="invalid_token"',
  ),
  'X-Catalog-Position': header(
    'Of a write: its position in the log. Of a read: its documents include all events up to here. Of changes: the position of the offset. Send it as `X-Catalog-Min-Position` with a read that must include what is before.',
    '1042',
    { pattern: '^[0-9]+$' },
  ),
  'X-Catalog-Lag-Ms': header(
    'How long the oldest event that these documents lack has waited, in milliseconds. 0 if they lack none.',
    '0',
    { pattern: '^[0-9]+$', optional: true },
  ),
  'X-Catalog-Lag-Age-Ms': header(
    'How long ago `X-Catalog-Lag-Ms` was read, in milliseconds, if that is more than a second: the log could not be read since.',
    '4200',
    { pattern: '^[0-9]+$', optional: true },
  ),
  'Idempotent-Replayed': header(
    'The response repeats that of an earlier request with the same `Idempotency-Key`.',
    'true',
    { enum: ['true'], optional: true },
  ),
  'X-Catalog-Ignored': header(
    'Names of unknown query parameters, which the service ignored: percent-encoded and comma-separated. At most 10 names of 50 characters, 1,024 bytes in all. The last entry is `+` and the number of those that are not named, if there are any.',
    'utm_source, colour',
    { optional: true },
  ),
  'Content-Disposition': header(
    'The name under which a browser saves the file.',
    'attachment; filename="products.csv"',
  ),
  'Stream-Next-Offset': header('Where the next read begins.', '00000000000000001042-0195d4a2'),
  'Stream-Cursor': header('For caches: send it as `cursor` with the next long poll.', '89424'),
  'Stream-Up-To-Date': header('There is no later change.', 'true', { enum: ['true'], optional: true }),
  'Content-Language': header('The language of the texts, if the store has several.', 'de', {
    optional: true,
  }),
  'Memento-Datetime': header(
    'With `as_of`: since when the resource was as the answer shows it (RFC 7089).',
    'Sun, 01 Feb 2026 12:00:00 GMT',
    { optional: true },
  ),
  'Preference-Applied': header('`respond-async` if the request asked for it.', 'respond-async', {
    optional: true,
  }),
};
export type ResponseHeader = keyof typeof responseHeaders;

/** Schema and description of each request header. */
export const requestHeaders = {
  'X-Request-Id': header(
    'Id of the request, for logs and support: 1 to 128 characters of `A–Z a–z 0–9 _ . : -`. The service replaces any other value by a generated id.',
    'checkout-7f3a',
  ),
  'X-Catalog-Min-Position': header(
    '`X-Catalog-Position` of a write. The read waits up to 2 s until its result includes that write, then fails with 503.',
    '1042',
    { pattern: '^[0-9]+$' },
  ),
  'If-None-Match': header(
    'ETags of cached responses. The service responds with 304 if one of them is current.',
    '"3-Hk2vT0mP9qYw1sXc"',
  ),
  'Accept-Language': header(
    'The languages that the client prefers (RFC 9110). Without `locale`, a read with a public key has its texts in the best of them that the store has.',
    'de-AT, de;q=0.9',
  ),
  Accept: header('`image/*` returns the image file instead of the JSON record.', 'image/*'),
  Range: header('One range of the file, such as `bytes=0-1023`.', 'bytes=0-1023'),
  'If-Range': header(
    'ETag of the file. If the file has changed, the service ignores `Range` and sends the whole file.',
    '"3-Hk2vT0mP9qYw1sXc"',
  ),
  'If-Match': header(
    'Expected ETags, or `*`. The write fails with 412 if the resource has another version.',
    '"3-Hk2vT0mP9qYw1sXc"',
  ),
  'Idempotency-Key': header(
    'Unique key of the write. Requests with the same key within 24 hours carry out the write once and get the same response.',
    '0195d4a2-8a11-7c1e-9f31-5b0c7a6e1d11',
    { minLength: 1, maxLength: 255 },
  ),
  'X-Catalog-Run': header(
    'Name of the run that the write belongs to. Its changes carry the name, and `POST /api/runs/:run/undo` undoes them together. It must not begin with `undo-`.',
    'assistant-2026-02-01',
    { pattern: RUN_NAME.source },
  ),
  Prefer: header(
    '`respond-async` sends the response at once. By default, the service waits up to 1 s until reads include the write.',
    'respond-async',
  ),
};
export type RequestHeader = keyof typeof requestHeaders;
