interface ResponseHeaderInfo {
  readonly type: 'string' | 'integer';
  readonly description: string;
  readonly example: string | number;
  readonly enum?: readonly string[];
  /** Whether a response that documents the header may be sent without it. */
  readonly optional?: true;
}

const headers = {
  'X-Request-Id': {
    type: 'string',
    description: 'Id of the request: the one that the client sent, or a generated UUID.',
    example: '0195d4a2-8a10-7c1e-9f31-5b0c7a6e1d10',
  },
  'X-RateLimit-Limit': {
    type: 'integer',
    description: 'Maximum number of requests per minute (for `/auth/*`, per second).',
    example: 100,
  },
  'X-RateLimit-Remaining': {
    type: 'integer',
    description: 'Number of requests that may be sent now.',
    example: 97,
  },
  'X-RateLimit-Reset': {
    type: 'integer',
    description: 'Time at which all requests are available again, as a Unix timestamp in seconds.',
    example: 1769860802,
  },
  'X-RateLimit-Tier': {
    type: 'string',
    enum: ['public_key', 'secret_key'],
    description: 'Type of the key. Requests without a valid key have the limits of a public key.',
    example: 'public_key',
  },
  'Retry-After': {
    type: 'integer',
    optional: true,
    description:
      'Seconds to wait before the next attempt. Present on every 429 and 503, and on other errors that are temporary.',
    example: 2,
  },
  'Cache-Control': {
    type: 'string',
    description: 'Whether and how long the response may be cached.',
    example: 'private, no-cache',
  },
  ETag: {
    type: 'string',
    description:
      'Version of the response, for `If-None-Match`. The ETag of a listing, publication or media also works with `If-Match`.',
    example: '"3-Hk2vT0mP9qYw1sXc"',
  },
  'Accept-Ranges': {
    type: 'string',
    optional: true,
    enum: ['bytes'],
    description: 'The resource supports `Range` requests.',
    example: 'bytes',
  },
  'Content-Range': {
    type: 'string',
    description: 'The range that the body contains and the size of the file, such as `bytes 0-1023/182044`.',
    example: 'bytes 0-1023/182044',
  },
  Location: {
    type: 'string',
    description: 'Path of the new resource. That of a private one has `visibility=all`.',
    example: '/api/publication/0195d4a2-8a02-7c1e-9f31-5b0c7a6e1d03',
  },
  'WWW-Authenticate': {
    type: 'string',
    description: 'Why the bearer token was refused (RFC 6750).',
    example: 'Bearer realm="catalog", error="invalid_token"',
  },
  'X-Catalog-Position': {
    type: 'string',
    description:
      'Position of the write in the log. Send it as `X-Catalog-Min-Position` with a read that must include the write.',
    example: '1042',
  },
  'Idempotent-Replayed': {
    type: 'string',
    optional: true,
    enum: ['true'],
    description: 'The response repeats that of an earlier request with the same `Idempotency-Key`.',
    example: 'true',
  },
  'X-Catalog-Ignored': {
    type: 'string',
    optional: true,
    description:
      'Names of unknown query parameters, which the service ignored: percent-encoded and comma-separated. At most 10 names of 50 characters, 1,024 bytes in all. The last entry is `+` and the number of those that are not named, if there are any.',
    example: 'utm_source, colour',
  },
  'Preference-Applied': {
    type: 'string',
    optional: true,
    description: '`respond-async` if the request asked for it.',
    example: 'respond-async',
  },
} as const satisfies Record<string, ResponseHeaderInfo>;

export type ResponseHeader = keyof typeof headers;

/** Schema and description of each response header (docs/interface.md#responses). */
export const responseHeaders: Readonly<Record<ResponseHeader, ResponseHeaderInfo>> = headers;

/** Schema and description of each request header. */
export const requestHeaders = {
  'X-Request-Id': {
    schema: { type: 'string' },
    description:
      'Id of the request, for logs and support: 1 to 128 characters of `A–Z a–z 0–9 _ . : -`. The service replaces any other value by a generated id.',
    example: 'checkout-7f3a',
  },
  'X-Catalog-Min-Position': {
    schema: { type: 'string', pattern: '^[0-9]+$' },
    description:
      '`X-Catalog-Position` of a write. The read waits up to 2 s until its result includes that write, then fails with 503.',
    example: '1042',
  },
  'If-None-Match': {
    schema: { type: 'string' },
    description: 'ETags of cached responses. The service responds with 304 if one of them is current.',
    example: '"3-Hk2vT0mP9qYw1sXc"',
  },
  Accept: {
    schema: { type: 'string' },
    description: '`image/*` returns the image file instead of the JSON record.',
    example: 'image/*',
  },
  Range: {
    schema: { type: 'string' },
    description: 'One range of the file, such as `bytes=0-1023`.',
    example: 'bytes=0-1023',
  },
  'If-Range': {
    schema: { type: 'string' },
    description:
      'ETag of the file. If the file has changed, the service ignores `Range` and sends the whole file.',
    example: '"3-Hk2vT0mP9qYw1sXc"',
  },
  'If-Match': {
    schema: { type: 'string' },
    description: 'Expected ETags, or `*`. The write fails with 412 if the resource has another version.',
    example: '"3-Hk2vT0mP9qYw1sXc"',
  },
  'Idempotency-Key': {
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    description:
      'Unique key of the write. Requests with the same key within 24 hours carry out the write once and get the same response.',
    example: '0195d4a2-8a11-7c1e-9f31-5b0c7a6e1d11',
  },
  Prefer: {
    schema: { type: 'string' },
    description:
      '`respond-async` sends the response at once. By default, the service waits up to 1 s until reads include the write.',
    example: 'respond-async',
  },
} as const;

export type RequestHeader = keyof typeof requestHeaders;
