import { deflateSync, gzipSync } from 'node:zlib';

/* Makes raw HTTP requests from a seed: valid ones of every documented operation, most of them with mutations. */

/** Bytes for one connection, and how to send them. */
export interface RawCase {
  readonly pieces: readonly Buffer[];
  /** `leave`: close the connection without reading a response. */
  readonly then: 'read' | 'leave';
  /** Whether the bytes are one complete request without mutations of its framing, so that a response must follow. */
  readonly is_complete: boolean;
}

export interface RequestWorld {
  /** `/openapi.json`. */
  // biome-ignore lint/suspicious/noExplicitAny: a JSON document
  readonly document: any;
  /** Values of `Authorization`; empty for none. */
  readonly authorizations: readonly string[];
  readonly api_keys: readonly string[];
  /** Ids of resources, and paths of pictures. */
  readonly ids: readonly string[];
  readonly picture: Buffer;
}

/** Random choices that follow from a seed (mulberry32). */
export class Dice {
  constructor(private state: number) {}

  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  of<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }
}

interface Request {
  method: string;
  target: string;
  version: string;
  headers: [string, string][];
  body: Buffer;
  framing: 'none' | 'length' | 'chunked';
}

/** A header that a read may send but the generator does not: a position in the future is 503, as documented. */
const NOT_SENT = 'X-Catalog-Min-Position';
const CRLF = '\r\n';
const long = (length: number): string => 'a'.repeat(length);

const TEXTS = [
  ...[
    '',
    ' ',
    'a',
    'Tea',
    '0',
    '-1',
    '1e999',
    'null',
    'true',
    '[]',
    '{}',
    'undefined',
    'NaN',
    '9'.repeat(40),
  ],
  ...[
    '%',
    '%00',
    '%zz',
    '%c0%af',
    '%e0%80%af',
    '%ed%a0%80',
    '%ff%fe',
    '%F0%9F%98%80',
    '..%2f..%2fetc',
    '%25%32%35',
  ],
  ...["' OR 1=1 --", '<script>', '$gt', '__proto__', 'constructor', '#{7*7}', '\\', '"', '*', '(', '~^', 'ﬀ'],
  ...[
    '2026-01-31',
    'created_at',
    'asc',
    'listing,media',
    'public',
    'all',
    'EUR',
    '00000000-0000-7000-8000-000000000000',
  ],
] as const;

const HEADERS: readonly (readonly [string, readonly string[]])[] = [
  ['Expect', ['100-continue', '100-Continue, x', '200-ok', '']],
  ['Upgrade', ['websocket', 'h2c', 'TLS/1.2', 'HTTP/2.0, HTTP/1.1']],
  [
    'Connection',
    ['close', 'keep-alive', 'Upgrade', 'upgrade, HTTP2-Settings', 'Transfer-Encoding', 'x, , y', long(500)],
  ],
  ['HTTP2-Settings', ['AAMAAABkAARAAAAAAAIAAAAA']],
  ['Accept', ['*/*', 'image/*', 'image/webp;q=0', 'application/json;q=2', ',;,', 'text/html', long(3_000)]],
  [
    'Accept-Encoding',
    ['gzip', 'br', 'gzip;q=0', '*;q=0', 'identity;q=0', 'deflate, gzip;q=1.0, *;q=0.5', ',', 'zstd'],
  ],
  ['Accept-Charset', ['utf-16', '*']],
  [
    'Content-Type',
    [
      'application/json',
      'application/json; charset=utf-16',
      'application/json; charset="',
      'text/plain',
      'multipart/form-data',
    ],
  ],
  [
    'Content-Type',
    [
      'multipart/form-data; boundary=',
      `multipart/form-data; boundary=${long(300)}`,
      'image/png',
      'image/svg+xml',
      '/',
      ';',
      'a/b;=',
    ],
  ],
  ['Content-Encoding', ['gzip', 'br', 'deflate', 'identity', 'gzip, gzip', 'x', '']],
  ['If-Match', ['*', '"a"', 'W/"1"', '"', ',', '"1", "2"', long(5_000)]],
  ['If-None-Match', ['*', '"a"', 'W/', ',,,', '"\u00e9"', Array(300).fill('"a"').join(',')]],
  ['If-Modified-Since', ['Thu, 01 Jan 1970 00:00:00 GMT', 'x']],
  [
    'Range',
    [
      'bytes=0-',
      'bytes=-1',
      'bytes=0-0,2-3',
      'bytes=9-1',
      'bytes=99999999999999999999-',
      'lines=1-2',
      'bytes=',
      'bytes=--',
    ],
  ],
  ['If-Range', ['"a"', 'W/"a"', 'x', 'Thu, 01 Jan 1970 00:00:00 GMT']],
  [
    'Authorization',
    [
      '',
      'Bearer',
      'Bearer  ',
      'Basic YTpi',
      'bearer a.b.c',
      `Bearer ${long(7_000)}`,
      'Bearer e30.e30.',
      'Bearer .',
      'Bearer \u00ff',
    ],
  ],
  ['X-API-Key', ['', 'pk_live_', `sk_live_${long(43)}`, long(7_000), 'sk_test_\u00e9']],
  ['Idempotency-Key', ['', 'a', long(255), long(256), 'same-key', '\u00e9', ' x ']],
  ['X-Request-Id', ['ok-1', '', long(129), 'a b', '"><']],
  ['X-Forwarded-For', ['1.2.3.4', '::1', 'x', ',', long(2_000)]],
  ['Forwarded', ['for="[::1]:1"']],
  ['Prefer', ['return=minimal', 'return=representation', 'return=', ',;=', 'return="minimal"']],
  ['Origin', ['null', 'https://shop.example', 'x', '']],
  ['Access-Control-Request-Method', ['PATCH', 'x', '']],
  ['Access-Control-Request-Headers', ['authorization', ',', long(3_000)]],
  ['Cookie', ['a=b; c', long(4_000)]],
  ['traceparent', ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', '00-', long(200)]],
  ['tracestate', ['a=b', ',', long(600)]],
  ['Trailer', ['X-Sum', 'Content-Length']],
  ['TE', ['trailers', 'trailers, deflate;q=0.5']],
  ['X-HTTP-Method-Override', ['DELETE']],
  ['Sec-WebSocket-Key', ['dGhlIHNhbXBsZSBub25jZQ==']],
  ['__proto__', ['x']],
  ['constructor', ['x']],
];

const METHODS = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'PROPFIND',
  'QUERY',
  'M-SEARCH',
  'PURGE',
  'get',
  'G',
  'PRI',
  long(200),
  'GE\u00c9',
  '',
];
const VERSIONS = [
  'HTTP/1.0',
  'HTTP/0.9',
  'HTTP/1.2',
  'HTTP/2.0',
  'HTTP/2',
  'http/1.1',
  'HTTP/1.1 ',
  'HTTP/1',
  'HTTP/',
  'HTTP/11.1',
  '',
];
const OTHER_PATHS = [
  '/',
  '/api',
  '/api/',
  '/auth',
  '/media/live/x',
  '/docs',
  '/metrics',
  '/openapi.json',
  '/health',
  '/favicon.ico',
  '/api/listing/',
  '/%',
];

const FRAMINGS: readonly string[][] = [
  ['Content-Length: 0', 'Content-Length: 5'],
  ['Content-Length: 5, 5'],
  ['Content-Length: -1'],
  ['Content-Length: +5'],
  ['Content-Length: 0x5'],
  ['Content-Length: 5 '],
  ['Content-Length: 99999999999999999999999'],
  ['Content-Length: 10485761'],
  ['Content-Length: '],
  ['Content-Length: 3', 'Transfer-Encoding: chunked'],
  ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'],
  ['Transfer-Encoding: gzip, chunked'],
  ['Transfer-Encoding: chunked, gzip'],
  ['Transfer-Encoding: identity'],
  ['Transfer-Encoding: xchunked'],
  ['Transfer-Encoding:\tchunked'],
  ['Transfer-Encoding: "chunked"'],
  ['Transfer-Encoding : chunked'],
  ['Transfer-Encoding:', ' chunked'],
];
const RAW_LINES = [
  ...[
    ' folded: line',
    '\tfolded',
    'no colon',
    ': no name',
    'space before : x',
    'X-Nul: a\0b',
    'X-Cr: a\rb',
    'X-Lf: a\nb',
    'X-\u00e9: a',
  ],
  ...[
    'Host: other',
    'Host: a b',
    'Host: [::1',
    'Host: ',
    'Host: \u00ff',
    `X-Long: ${long(9_000)}`,
    `X-Huge: ${long(40_000)}`,
  ],
  ...[
    Array(120).fill('X-Many: 1').join(CRLF),
    Array(3_000).fill('X-Many: 1').join(CRLF),
    Array(900).fill('a:').join(CRLF),
  ],
];
const CHUNK_SIZES = [
  '0',
  '-1',
  '0x5',
  'FFFFFFFFFFFFFFFFF',
  'fffffffffffffff',
  'g',
  '',
  ' 5',
  '5 ',
  '5;ext',
  '5;a="b\r\n"',
  `5;${long(2_000)}`,
  `5;${long(20_000)}`,
  '00000000000000000005',
  '5\n',
];
const TRAILERS = [
  'X-Sum: 1',
  'Content-Length: 3',
  'Transfer-Encoding: chunked',
  'no colon',
  `X-Long: ${long(20_000)}`,
  'Authorization: Bearer x',
];
const PREFACES: readonly Buffer[] = [
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1'),
  Buffer.from('160301006c0100006803034a', 'hex'),
  Buffer.from('GET /\r\n'),
  Buffer.from('\r\n\r\n\r\nGET /health/live HTTP/1.1\r\nHost: a\r\n\r\n'),
  Buffer.from('\0\0\0\0'),
  Buffer.from('SSH-2.0-x\r\n'),
  Buffer.from('\n\nGET / HTTP/1.1\nHost: a\n\n'),
  Buffer.alloc(0),
];

/** Makes raw requests for a service. The same dice give the same case. */
export class RawRequests {
  private readonly operations: { method: string; path: string; operation: Operation }[];

  constructor(private readonly world: RequestWorld) {
    this.operations = Object.entries(
      world.document.paths as Record<string, Record<string, Operation>>,
    ).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        operation,
      })),
    );
  }

  make(dice: Dice): RawCase {
    if (dice.chance(0.02)) return sent([dice.of(PREFACES), dice.bytes(dice.below(60))], false, dice);
    const count = dice.chance(0.06) ? 2 + dice.below(40) : 1;
    const parts: Buffer[] = [];
    let is_complete = count === 1;
    for (let n = 0; n < count; n++) {
      const request = this.valid(dice);
      const mutations = dice.of([0, 1, 1, 1, 2, 3]);
      for (let m = 0; m < mutations; m++) mutate(request, dice);
      const breaks_framing = dice.chance(0.2);
      let bytes = breaks_framing ? withBrokenFraming(request, dice) : framed(request);
      if (dice.chance(0.06)) bytes = scrambled(bytes, dice);
      else if (!breaks_framing && mutations === 0) {
        parts.push(bytes);
        continue;
      }
      is_complete = false;
      parts.push(bytes);
    }
    return sent(parts, is_complete, dice);
  }

  private valid(dice: Dice): Request {
    if (dice.chance(0.04)) return this.withCommonHeaders('GET', dice.of(OTHER_PATHS), dice);
    const { method, path, operation } = dice.of(this.operations);
    const target = path.replace(/\{(\w+)\}/g, () =>
      dice.chance(0.8) ? dice.of(this.world.ids) : encoded(dice),
    );
    const query: string[] = [];
    const headers: [string, string][] = [];
    for (const reference of operation.parameters ?? []) {
      const parameter = this.resolve(reference);
      if (parameter.name === NOT_SENT || dice.chance(0.7)) continue;
      const value = String(this.value(parameter.schema, dice, 0));
      if (parameter.in === 'query') query.push(`${parameter.name}=${encodeURIComponent(value)}`);
      if (parameter.in === 'header') headers.push([parameter.name, value.replace(/[^\x20-\x7e]/g, '?')]);
    }
    const asked = query.length > 0 ? `${target}?${query.join('&')}` : target;
    const request = this.withCommonHeaders(
      method === 'GET' && dice.chance(0.1) ? 'HEAD' : method,
      asked,
      dice,
    );
    request.headers.push(...headers);
    if (path === '/auth/token') request.headers.push(['X-API-Key', dice.of(this.world.api_keys)]);
    const types = Object.entries(operation.requestBody?.content ?? {});
    if (types.length > 0) this.addBody(request, dice.of(types), dice);
    return request;
  }

  private withCommonHeaders(method: string, target: string, dice: Dice): Request {
    const headers: [string, string][] = [['Host', 'catalog']];
    const authorization = dice.of(this.world.authorizations);
    if (authorization !== '') headers.push(['Authorization', authorization]);
    return { method, target, version: 'HTTP/1.1', headers, body: Buffer.alloc(0), framing: 'none' };
  }

  private addBody(
    request: Request,
    [type, media]: [string, { schema?: Schema; example?: unknown }],
    dice: Dice,
  ): void {
    request.framing = dice.chance(0.7) ? 'length' : 'chunked';
    if (type === 'application/json') {
      request.headers.push(['Content-Type', 'application/json']);
      const value = dice.chance(0.3) && media.example ? media.example : this.value(media.schema, dice, 0);
      request.body = dice.chance(0.3) ? hostileJson(value, dice) : Buffer.from(JSON.stringify(value ?? null));
      return;
    }
    const picture = dice.chance(0.02)
      ? this.world.picture
      : scrambled(this.world.picture.subarray(0, 8 + dice.below(60)), dice);
    if (type.startsWith('image/')) {
      request.headers.push(['Content-Type', dice.of(['image/png', 'image/jpeg', 'image/*', 'image/avif'])]);
      request.body = picture;
      return;
    }
    const boundary = dice.of(['xyz', '----WebKitFormBoundaryabc', "a'()+_,-./:=?", long(70), '0']);
    request.headers.push([
      'Content-Type',
      `multipart/form-data; boundary=${dice.chance(0.5) ? `"${boundary}"` : boundary}`,
    ]);
    request.body = multipart(boundary, picture, this.world.ids, dice);
  }

  // biome-ignore lint/suspicious/noExplicitAny: a JSON schema or a reference to one
  private resolve(value: any): any {
    if (value?.$ref === undefined) return value ?? {};
    const [, ...names] = String(value.$ref).split('/');
    return this.resolve(names.reduce((part, name) => part[name], this.world.document));
  }

  /** Returns a value for a schema: often a valid one, sometimes of another type or over a limit. */
  private value(reference: Schema | undefined, dice: Dice, depth: number): unknown {
    const schema = this.resolve(reference);
    if (dice.chance(0.08)) return dice.of<unknown>([null, true, 1.5, -1, '', [], {}, dice.of(TEXTS), 1e21]);
    const options = schema.oneOf ?? schema.anyOf;
    if (options) return this.value(dice.of(options), dice, depth + 1);
    if (schema.enum) return dice.of(schema.enum);
    if (schema.const !== undefined) return schema.const;
    const type = Array.isArray(schema.type) ? dice.of(schema.type as string[]) : schema.type;
    switch (type) {
      case 'object':
        return this.object(schema, dice, depth);
      case 'array':
        return Array.from({ length: dice.of([0, 1, 2, 60]) }, () =>
          this.value(schema.items, dice, depth + 1),
        );
      case 'integer':
      case 'number':
        return dice.of([
          schema.minimum ?? 0,
          schema.maximum ?? 10,
          1,
          2,
          50,
          (schema.maximum ?? 10) + 1,
          Number.MAX_SAFE_INTEGER,
        ]);
      case 'boolean':
        return dice.chance(0.5);
      case 'null':
        return null;
      default:
        return dice.of([
          dice.of(this.world.ids),
          dice.of(TEXTS),
          'Tea',
          long(schema.maxLength ?? 300),
          long((schema.maxLength ?? 300) + 1),
        ]);
    }
  }

  private object(schema: Schema, dice: Dice, depth: number): unknown {
    const made: Record<string, unknown> = {};
    for (const [name, property] of Object.entries(schema.properties ?? {}))
      if (dice.chance(schema.required?.includes(name) ? 0.95 : 0.4))
        made[name] = this.value(property, dice, depth + 1);
    if (dice.chance(0.1)) made[dice.of(TEXTS) as string] = dice.of(TEXTS);
    return made;
  }
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}
interface Operation {
  readonly parameters?: readonly unknown[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { schema?: Schema; example?: unknown }>>;
  };
}

const encoded = (dice: Dice): string =>
  dice.chance(0.5) ? encodeURIComponent(dice.of(TEXTS)) : dice.of(TEXTS).replace(/[\s\\]/g, '');

/** Changes one thing of a request that its parser, a stage or a handler looks at. */
function mutate(request: Request, dice: Dice): void {
  switch (dice.below(9)) {
    case 0:
      request.method = dice.of(METHODS);
      break;
    case 1:
      request.target = otherTarget(request.target, dice);
      break;
    case 2: {
      const pairs = Array.from(
        { length: dice.of([1, 2, 5, 50, 900]) },
        () => `${encoded(dice)}${dice.of(['=', '', '[]=', '[a][b]=', ';'])}${encoded(dice)}`,
      );
      request.target += `${request.target.includes('?') ? '&' : '?'}${pairs.join('&')}`;
      break;
    }
    case 3:
      request.version = dice.of(VERSIONS);
      break;
    case 4: {
      const index = dice.below(request.headers.length);
      const repeated = dice.chance(0.5) ? request.headers.slice(index, index + 1) : [];
      if (repeated.length > 0) request.headers.push(...repeated);
      else request.headers.splice(index, 1);
      break;
    }
    case 5: {
      request.body = dice.of([
        () => Buffer.alloc(0),
        () => request.body.subarray(0, dice.below(request.body.length + 1)),
        () => Buffer.concat([request.body, dice.bytes(20)]),
        () => gzipSync(request.body),
        () => deflateSync(request.body),
        () => hostileJson({}, dice),
        () => dice.bytes(200),
        () => Buffer.alloc(300_000, 'x'),
      ])();
      if (request.framing === 'none') request.framing = 'length';
      break;
    }
    default: {
      const [name, values] = dice.of(HEADERS);
      request.headers.push([name, dice.of(values)]);
    }
  }
}

function otherTarget(target: string, dice: Dice): string {
  return dice.of([
    () => `http://catalog${target}`,
    () => `http://user:word@other.example:99${target}`,
    () => `//other${target}`,
    () => '*',
    () => 'catalog:80',
    () => target.slice(1),
    () => `${target}#part`,
    () => `${target}/`,
    () => target.replaceAll('/', '//'),
    () => target.replaceAll('/', '\\'),
    () =>
      target.replace(/[a-z]/g, (letter) =>
        dice.chance(0.2) ? `%${letter.charCodeAt(0).toString(16)}` : letter,
      ),
    () => `${target}/../../etc`,
    () => `${target}${dice.of(TEXTS)}`,
    () => `${target}?${long(20_000)}`,
    () => `${target}?q=${'%41'.repeat(4_000)}`,
    () => `/${'a/'.repeat(2_000)}`,
    () => '',
    () => `${target} extra`,
    () => target.toUpperCase(),
    () => `${target}\u00ff\u00fe`,
  ])();
}

/** JSON that parsers disagree on. */
function hostileJson(value: unknown, dice: Dice): Buffer {
  const text = hostileText(value, dice);
  return typeof text === 'string' ? Buffer.from(text) : text;
}

function hostileText(value: unknown, dice: Dice): Buffer | string {
  const text = JSON.stringify(value ?? null);
  const field = (json: string): string => (text === '{}' ? `{${json}}` : text.replace(/\}$/, `,${json}}`));
  const depth = dice.of([10, 200, 5_000, 40_000]);
  return dice.of<() => Buffer | string>([
    () => '['.repeat(depth) + ']'.repeat(depth),
    () => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
    () => field(`"title":${'['.repeat(depth)}${']'.repeat(depth)}`),
    () => field('"price_amount":1e999'),
    () => field('"price_amount":-0'),
    () => field('"price_amount":1e-400'),
    () => field(`"price_amount":${'9'.repeat(400)}`),
    () => field('"title":"a","title":"b","name":"a","name":"b"'),
    () => field('"title":"\\ud800","name":"\\udfff\\ud800"'),
    () => Buffer.from(field('"title":"\u00ed\u00a0\u0080\u00c0\u00af\u00ff"'), 'latin1'),
    () => field('"__proto__":{"is_admin":true},"constructor":{"prototype":{}}'),
    () => field(`"title":"${long(120_000)}","name":"${long(120_000)}"`),
    () => field('"title":"a\\u0000b\\u202e","description":"\\u0007"'),
    () => field('"title":"\0"'),
    () => field(Array.from({ length: 4_000 }, (_, n) => `"k${n}":${n}`).join(',')),
    () => field(`"media_ids":[${Array(2_000).fill('"a"').join(',')}]`),
    () => `\ufeff${text}`,
    () => Buffer.from(text, 'utf16le'),
    () => Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(text, 'utf16le').swap16()]),
    () => text.slice(0, -1),
    () => `${text}${text}`,
    () =>
      dice.of([
        '',
        ' ',
        'null',
        '[]',
        '"a"',
        '1',
        'NaN',
        '{"a":}',
        '{a:1}',
        '[1,]',
        '/**/{}',
        "{'a':1}",
        '\0',
        '{"title":"\n"}',
        '-',
        '01',
        'tru',
      ]),
  ])();
}

function multipart(boundary: string, picture: Buffer, ids: readonly string[], dice: Dice): Buffer {
  const disposition = dice.of([
    ...[
      'form-data; name="file"; filename="a.png"',
      'form-data; name="file"',
      'form-data; name=file; filename=a.png',
      'form-data',
    ],
    ...[
      'form-data; name="file"; filename="../../a\\"b.png"',
      'form-data; name="file"; filename*=UTF-8\'\'%ff%00.png',
      'attachment',
      '',
    ],
    ...[
      'form-data; name="__proto__"',
      `form-data; name="${long(3_000)}"`,
      'form-data; name="file"; filename=""',
      'form-data; name="\u00e9"',
    ],
  ]);
  const type = dice.of([
    'Content-Type: image/png',
    'Content-Type: x',
    '',
    'Content-Transfer-Encoding: base64',
    `X: ${long(20_000)}`,
    'Content-Type: multipart/mixed; boundary=b',
  ]);
  const file = [`Content-Disposition: ${disposition}`, type].filter(Boolean).join(CRLF);
  const text = (name: string, value: string): string =>
    `--${boundary}${CRLF}Content-Disposition: form-data; name="${name}"${CRLF}${CRLF}${value}${CRLF}`;
  const fields = dice.of([
    () => '',
    () => text('alt', dice.of(TEXTS)),
    () => text('publication_id', dice.of(ids)),
    () => text('alt', 'a') + text('alt', 'b'),
    () => text('__proto__', 'x') + text('constructor', 'x'),
    () => Array.from({ length: 600 }, (_, n) => text(`f${n}`, 'x')).join(''),
    () => text('alt', long(70_000)),
  ])();
  const blank = dice.chance(0.95) ? CRLF + CRLF : CRLF;
  const end = dice.of([
    `${CRLF}--${boundary}--${CRLF}`,
    `${CRLF}--${boundary}--`,
    `${CRLF}--${boundary}${CRLF}`,
    '',
    `--${boundary}--`,
    `${CRLF}--${boundary}--${CRLF}after`,
  ]);
  const one = Buffer.concat([Buffer.from(`--${boundary}${CRLF}${file}${blank}`), picture]);
  const files = dice.chance(0.1) ? [one, Buffer.from(CRLF), one] : [one];
  return Buffer.concat([Buffer.from(fields), ...files, Buffer.from(end)]);
}

const headOf = ({ method, target, version, headers }: Request, framing: readonly string[]): Buffer => {
  const lines = [
    `${method} ${target} ${version}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...framing,
  ];
  return Buffer.from(`${lines.join(CRLF)}${CRLF}${CRLF}`, 'latin1');
};

function framed(request: Request): Buffer {
  const { body, framing } = request;
  if (framing === 'none') return headOf(request, []);
  if (framing === 'length') return Buffer.concat([headOf(request, [`Content-Length: ${body.length}`]), body]);
  return Buffer.concat([
    headOf(request, ['Transfer-Encoding: chunked']),
    ...chunks(body),
    Buffer.from(`0${CRLF}${CRLF}`),
  ]);
}

function chunks(body: Buffer): Buffer[] {
  const made: Buffer[] = [];
  for (let from = 0; from < body.length; from += 50_000) {
    const part = body.subarray(from, from + 50_000);
    made.push(Buffer.from(`${part.length.toString(16)}${CRLF}`), part, Buffer.from(CRLF));
  }
  return made;
}

function withBrokenFraming(request: Request, dice: Dice): Buffer {
  const { body } = request;
  const chunked = ['Transfer-Encoding: chunked'];
  const last = Buffer.from(`0${CRLF}${CRLF}`);
  return dice.of([
    () => Buffer.concat([headOf(request, dice.of(FRAMINGS)), body]),
    () => Buffer.concat([headOf(request, [dice.of(RAW_LINES), `Content-Length: ${body.length}`]), body]),
    () => Buffer.concat([headOf(request, [`Content-Length: ${body.length + dice.of([1, 5, 1_000])}`]), body]),
    () => Buffer.concat([headOf(request, [`Content-Length: ${Math.max(0, body.length - 1)}`]), body]),
    () =>
      Buffer.concat([
        headOf(request, chunked),
        Buffer.from(`${dice.of(CHUNK_SIZES)}${CRLF}aaaaa${CRLF}`),
        last,
      ]),
    () =>
      Buffer.concat([
        headOf(request, chunked),
        ...chunks(body),
        Buffer.from(`0${CRLF}${dice.of(TRAILERS)}${CRLF}${CRLF}`),
      ]),
    () => Buffer.concat([headOf(request, chunked), ...chunks(body)]),
    () => Buffer.concat([headOf(request, chunked), ...chunks(body), last, dice.bytes(10)]),
    () => Buffer.from(framed(request).toString('latin1').replaceAll(CRLF, '\n'), 'latin1'),
    () => framed(request).subarray(0, dice.below(200)),
  ])();
}

/** Flips, removes, repeats or inserts a few bytes. */
function scrambled(bytes: Buffer, dice: Dice): Buffer {
  let changed = Buffer.from(bytes);
  for (let times = 1 + dice.below(4); times > 0 && changed.length > 0; times--) {
    const at = dice.below(changed.length);
    const [before, after] = [changed.subarray(0, at), changed.subarray(at)];
    changed = dice.of([
      () => Buffer.concat([before, dice.bytes(1), after.subarray(1)]),
      () => Buffer.concat([before, after.subarray(1 + dice.below(8))]),
      () => Buffer.concat([before, after.subarray(0, 8), after]),
      () =>
        Buffer.concat([
          before,
          Buffer.from(dice.of(['\0', '\r', '\n', '\r\n', ' ', '\u00ff', ':', '%'])),
          after,
        ]),
    ])();
  }
  return changed;
}

/** Divides the bytes into pieces, which are sent one after another. */
function sent(parts: readonly Buffer[], is_complete: boolean, dice: Dice): RawCase {
  const bytes = Buffer.concat(parts);
  const then = dice.chance(0.05) ? 'leave' : 'read';
  const cuts = dice.chance(0.1)
    ? Array.from({ length: 1 + dice.below(4) }, () => dice.below(bytes.length + 1)).sort((a, b) => a - b)
    : [];
  const pieces = [0, ...cuts].map((from, index) => bytes.subarray(from, [...cuts, bytes.length][index]));
  return { pieces, then, is_complete };
}
