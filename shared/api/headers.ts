interface ResponseHeaderInfo {
  readonly type: 'string' | 'integer';
  readonly description: string;
  readonly enum?: readonly string[];
  /** Not on every answer that may have it. */
  readonly sometimes?: true;
}

const headers = {
  'X-Request-Id': { type: 'string', description: "The request's id: the one it came with, or a new one." },
  'X-RateLimit-Limit': {
    type: 'integer',
    description: 'Requests allowed per minute (`/auth/*`: per second).',
  },
  'X-RateLimit-Remaining': { type: 'integer', description: 'Requests that are left now.' },
  'X-RateLimit-Reset': { type: 'integer', description: 'Unix second at which the limit is whole again.' },
  'X-RateLimit-Tier': {
    type: 'string',
    enum: ['public_key', 'secret_key'],
    description: 'Whose limit it is.',
  },
  'Retry-After': {
    type: 'integer',
    sometimes: true,
    description: 'Seconds to wait; on every 429 and 503, elsewhere where waiting helps.',
  },
  'Cache-Control': { type: 'string', description: 'Who may keep the answer, and for how long.' },
  ETag: {
    type: 'string',
    description: 'For `If-None-Match`; of a listing, publication or media also for `If-Match`.',
  },
  'Accept-Ranges': {
    type: 'string',
    sometimes: true,
    enum: ['bytes'],
    description: 'A part may be asked for.',
  },
  'Content-Range': { type: 'string', description: 'Which part of how many bytes.' },
  Location: { type: 'string', description: 'The path of what was made.' },
  'WWW-Authenticate': { type: 'string', description: 'RFC 6750: what is wrong with the token.' },
  'X-Catalog-Position': {
    type: 'string',
    description: 'For `X-Catalog-Min-Position` of a read that must see the write.',
  },
  'Idempotent-Replayed': {
    type: 'string',
    sometimes: true,
    enum: ['true'],
    description: 'The answer is the one of an earlier request.',
  },
  'Preference-Applied': {
    type: 'string',
    sometimes: true,
    description: '`respond-async`, where it was asked for.',
  },
} as const satisfies Record<string, ResponseHeaderInfo>;

export type ResponseHeader = keyof typeof headers;

/** What each response header says (spec, "Rate-limit headers"; decisions §4, §6). */
export const responseHeaders: Readonly<Record<ResponseHeader, ResponseHeaderInfo>> = headers;

/** What each request header asks for. */
export const requestHeaders = {
  'X-Request-Id': {
    schema: { type: 'string', pattern: '^[\\w.:-]{1,128}$' },
    description: 'Names the request in answers and logs; anything else than the pattern is replaced.',
  },
  'X-Catalog-Min-Position': {
    schema: { type: 'string', pattern: '^\\d{1,20}$' },
    description:
      '`X-Catalog-Position` of a write: the read waits up to 2 s for a state that has it, then 503.',
  },
  'If-None-Match': { schema: { type: 'string' }, description: 'ETags: 304 where one is that of the answer.' },
  Accept: { schema: { type: 'string' }, description: '`image/*` for the bytes instead of the record.' },
  Range: { schema: { type: 'string' }, description: 'One part of the bytes: `bytes=0-1023`.' },
  'If-Range': {
    schema: { type: 'string' },
    description: 'An ETag: the whole is sent where it is another by now.',
  },
  'If-Match': {
    schema: { type: 'string' },
    description: 'ETags of the version that may be changed, or `*`: 412 where it is another by now.',
  },
  'Idempotency-Key': {
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    description: 'The write is carried out once, however often it is sent with this key within 24 hours.',
  },
  Prefer: {
    schema: { type: 'string' },
    description: '`respond-async`: do not wait until the write can be read (up to 1 s).',
  },
} as const;

export type RequestHeader = keyof typeof requestHeaders;
