interface ResponseHeaderInfo {
  readonly type: 'string' | 'integer';
  readonly description: string;
  readonly enum?: readonly string[];
  /** Whether a response that documents the header may be sent without it. */
  readonly optional?: true;
}

const headers = {
  'X-Request-Id': {
    type: 'string',
    description: 'Id of the request: the one that the client sent, or a generated UUID.',
  },
  'X-RateLimit-Limit': {
    type: 'integer',
    description: 'Maximum number of requests per minute (for `/auth/*`, per second).',
  },
  'X-RateLimit-Remaining': { type: 'integer', description: 'Number of requests that may be sent now.' },
  'X-RateLimit-Reset': {
    type: 'integer',
    description: 'Time at which all requests are available again, as a Unix timestamp in seconds.',
  },
  'X-RateLimit-Tier': {
    type: 'string',
    enum: ['public_key', 'secret_key'],
    description: 'Key type whose limit applies. Requests without a valid key have the limit of a public key.',
  },
  'Retry-After': {
    type: 'integer',
    optional: true,
    description:
      'Seconds to wait before the next attempt. Present on every 429 and 503, and on other errors that are temporary.',
  },
  'Cache-Control': { type: 'string', description: 'Whether and how long the response may be cached.' },
  ETag: {
    type: 'string',
    description:
      'Version of the response, for `If-None-Match`. The ETag of a listing, publication or media also works with `If-Match`.',
  },
  'Accept-Ranges': {
    type: 'string',
    optional: true,
    enum: ['bytes'],
    description: 'The resource supports `Range` requests.',
  },
  'Content-Range': {
    type: 'string',
    description: 'The range that the body contains and the size of the file, such as `bytes 0-1023/182044`.',
  },
  Location: {
    type: 'string',
    description: 'Path of the new resource. That of a private one has `visibility=all`.',
  },
  'WWW-Authenticate': { type: 'string', description: 'Why the bearer token was refused (RFC 6750).' },
  'X-Catalog-Position': {
    type: 'string',
    description:
      'Position of the write in the log. Send it as `X-Catalog-Min-Position` with a read that must include the write.',
  },
  'Idempotent-Replayed': {
    type: 'string',
    optional: true,
    enum: ['true'],
    description: 'The response is the stored one of an earlier request with the same `Idempotency-Key`.',
  },
  'X-Catalog-Ignored': {
    type: 'string',
    optional: true,
    description:
      'Names of unknown query parameters, which the service ignored: percent-encoded and comma-separated. At most 20 names of 50 characters.',
  },
  'Preference-Applied': {
    type: 'string',
    optional: true,
    description: '`respond-async` if the request asked for it.',
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
  },
  'X-Catalog-Min-Position': {
    schema: { type: 'string', pattern: '^[0-9]+$' },
    description:
      '`X-Catalog-Position` of a write. The read waits up to 2 s until its result includes that write, then fails with 503.',
  },
  'If-None-Match': {
    schema: { type: 'string' },
    description: 'ETags of cached responses. The service responds with 304 if one of them is current.',
  },
  Accept: {
    schema: { type: 'string' },
    description: '`image/*` returns the image file instead of the JSON record.',
  },
  Range: { schema: { type: 'string' }, description: 'One range of the file, such as `bytes=0-1023`.' },
  'If-Range': {
    schema: { type: 'string' },
    description:
      'ETag of the file. If the file has changed, the service ignores `Range` and sends the whole file.',
  },
  'If-Match': {
    schema: { type: 'string' },
    description: 'Expected ETags, or `*`. The write fails with 412 if the resource has another version.',
  },
  'Idempotency-Key': {
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    description:
      'Unique key of the write. Requests with the same key within 24 hours carry out the write once and get the same response.',
  },
  Prefer: {
    schema: { type: 'string' },
    description:
      '`respond-async` sends the response at once. By default, the service waits up to 1 s until reads include the write.',
  },
} as const;

export type RequestHeader = keyof typeof requestHeaders;
