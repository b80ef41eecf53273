import { gzipSync } from 'node:zlib';

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
const LAST_CHUNK = Buffer.from(`0${CRLF}${CRLF}`);
const long = (length: number): string => 'a'.repeat(length);
const words = (text: string): readonly string[] => text.split(' ');

/** Values for parameters, paths, headers and fields: of other types, over limits, and badly encoded. */
const TEXTS = [
  ...words('a Tea 0 -1 1e999 null true [] {} NaN % %00 %zz %c0%af %ed%a0%80 %ff%fe %F0%9F%98%80 %25%32%35'),
  ...words('..%2f..%2fetc <script> $gt __proto__ constructor \\ " * ( ~^ \ufb00 2026-01-31 created_at asc'),
  ...words('listing,media public all EUR 00000000-0000-7000-8000-000000000000'),
  ...['', ' ', "' OR 1=1 --", '9'.repeat(40)],
];

/** The same for fields of a body. Schemathesis sends what follows from the schemas (`.ci/openapi.js`). */
const VALUES = [
  null,
  true,
  1.5,
  -1,
  51,
  Number.MAX_SAFE_INTEGER,
  1e21,
  '',
  long(301),
  [],
  {},
  [TEXTS],
  ...TEXTS,
];

/** Headers that a stage or a handler reads, and values that their own grammars allow or nearly allow. */
const HEADERS = words(
  'Expect Upgrade Connection Accept Accept-Encoding Content-Type Content-Encoding If-Match If-None-Match ' +
    'If-Modified-Since Range If-Range Authorization X-API-Key Idempotency-Key X-Request-Id X-Forwarded-For Prefer ' +
    'Origin Access-Control-Request-Method Access-Control-Request-Headers Cookie traceparent Trailer TE __proto__',
);
const HEADER_VALUES = [
  ...words(
    '100-continue websocket h2c close upgrade image/* image/webp;q=0 gzip;q=0 br , ,;, ; a/b;= "a" W/',
  ),
  ...words('multipart/form-data text/plain image/svg+xml bytes=0- bytes=-1 bytes=0-0,2-3 bytes=9-1 bytes=--'),
  ...words('Bearer return=minimal return= same-key 1.2.3.4 ::1 PATCH Content-Length sk_test_\u00e9 "\u00e9"'),
  ...['multipart/form-data; boundary=', 'application/json; charset=utf-16', 'Basic YTpi', 'Bearer e30.e30.'],
  ...['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', Array(300).fill('"a"').join(',')],
  ...[long(129), long(256), long(3_000), long(7_000)],
];
const METHODS = [
  ...words('GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT QUERY get G GE\u00c9'),
  long(200),
  '',
];
const VERSIONS = ['', ...words('HTTP/1.0 HTTP/0.9 HTTP/1.2 HTTP/2.0 http/1.1 HTTP/1 HTTP/11.1')];
const OTHER_PATHS = words(
  '/ /api /api/ /auth /media/live/x /docs /metrics /openapi.json /health /api/listing/ /%',
);

/** Lines that frame a body of five bytes wrongly, or that are not valid in a head. */
const BROKEN_LINES = [
  'Content-Length: 0\r\nContent-Length: 5',
  ...['5, 5', '-1', '+5', '0x5', '9'.repeat(23), '10485761', ''].map((value) => `Content-Length: ${value}`),
  'Content-Length: 3\r\nTransfer-Encoding: chunked',
  ...[
    'gzip, chunked',
    'chunked, gzip',
    'identity',
    'xchunked',
    '\tchunked',
    '"chunked"',
    `${CRLF} chunked`,
  ].map((value) => `Transfer-Encoding: ${value}`),
  ...['Transfer-Encoding : chunked', ' folded: line', 'no colon', ': no name', 'X-Nul: a\0b', 'X-Cr: a\rb'],
  ...['X-Lf: a\nb', 'X-\u00e9: a', 'Host: other', 'Host: [::1', 'Host: \u00ff', `X-Long: ${long(40_000)}`],
  ...[120, 3_000].map((count) => Array(count).fill('X-Many: 1').join(CRLF)),
];
const CHUNK_SIZES = [
  '',
  '5\n',
  '5;a="b\r\n"',
  `5;${long(20_000)}`,
  ...words('0 -1 0x5 FFFFFFFFFFFFFFFFF g 5;ext 005'),
];
const TRAILERS = ['X-Sum: 1', 'Content-Length: 3', 'no colon', `X-Long: ${long(20_000)}`];
const PREFACES: readonly Buffer[] = [
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0', 'latin1'),
  Buffer.from('160301006c0100006803034a', 'hex'),
  Buffer.from('\r\n\r\n\r\nGET /health/live HTTP/1.1\r\nHost: a\r\n\r\n'),
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
      const scrambles = dice.chance(0.06);
      const bytes = breaks_framing ? withBrokenFraming(request, dice) : framed(request);
      parts.push(scrambles ? scrambled(bytes, dice) : bytes);
      if (scrambles || breaks_framing || mutations > 0) is_complete = false;
    }
    return sent(parts, is_complete, dice);
  }

  private valid(dice: Dice): Request {
    if (dice.chance(0.04)) return this.withCommonHeaders('GET', dice.of(OTHER_PATHS), dice);
    const { method, path, operation } = dice.of(this.operations);
    const target = path.replace(/\{(\w+)\}/g, () => dice.of(dice.chance(0.8) ? this.world.ids : TEXTS));
    const query: string[] = [];
    const headers: [string, string][] = [];
    for (const { $ref, ...own } of operation.parameters ?? []) {
      const {
        name,
        in: place,
        schema,
      } = $ref ? this.world.document.components.parameters[$ref.split('/').pop()!] : own;
      if (name === NOT_SENT || dice.chance(0.7)) continue;
      const value = String(dice.of([schema.examples?.[0], dice.of(TEXTS), dice.of(this.world.ids)]));
      if (place === 'query') query.push(`${name}=${encodeURIComponent(value)}`);
      if (place === 'header') headers.push([name, value.replace(/[^\x20-\x7e]/g, '?')]);
    }
    const asked = [target.replace(/[\s\\]/g, ''), ...(query.length > 0 ? [query.join('&')] : [])].join('?');
    const request = this.withCommonHeaders(method, asked, dice);
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

  private addBody(request: Request, [type, { example }]: [string, { example?: object }], dice: Dice): void {
    request.framing = dice.chance(0.7) ? 'length' : 'chunked';
    let full_type = type === 'image/*' ? 'image/png' : type;
    if (type === 'application/json') {
      // Without references, because most resources of the examples do not exist.
      const fields = Object.entries(example ?? {}).filter(
        ([name]) => !/_ids?$/.test(name) && dice.chance(0.95),
      );
      const value: Record<string, unknown> = Object.fromEntries(fields);
      if (dice.chance(0.4)) value[dice.of(Object.keys(example ?? { a: 1 }))] = dice.of(VALUES);
      request.body = dice.chance(0.3) ? hostileJson(value, dice) : Buffer.from(JSON.stringify(value));
    } else {
      const is_whole = dice.chance(0.02);
      const { picture } = this.world;
      request.body = is_whole ? picture : scrambled(picture.subarray(0, 8 + dice.below(60)), dice);
      if (type.startsWith('multipart/')) {
        const boundary = dice.of(['xyz', '----WebKitFormBoundaryabc', "a'()+_,-./:=?", long(70)]);
        full_type = `${type}; boundary="${boundary}"`;
        request.body = multipart(boundary, request.body, this.world.ids, dice);
      }
    }
    request.headers.push(['Content-Type', full_type]);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a parameter of a JSON document, or a reference to one
type Parameter = { readonly $ref?: string } & any;
interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: object }>> };
}

/** Changes one thing of a request that its parser, a stage or a handler looks at. */
function mutate(request: Request, dice: Dice): void {
  const { headers, target } = request;
  const at = dice.below(headers.length);
  const pair = (): string => `${dice.of(TEXTS)}${dice.of(['=', '', '[]=', '[a][b]='])}${dice.of(TEXTS)}`;
  const change = dice.of<() => void>([
    () => {
      request.method = dice.of(METHODS);
    },
    () => {
      request.target = otherTarget(target, dice);
    },
    () => {
      const pairs = Array.from({ length: dice.of([1, 2, 5, 50, 900]) }, pair).join('&');
      request.target += `${target.includes('?') ? '&' : '?'}${pairs.replace(/[\s\\]/g, '')}`;
    },
    () => {
      request.version = dice.of(VERSIONS);
    },
    () => headers.splice(at, 1),
    () => headers.push(...headers.slice(at, at + 1)),
    () => {
      request.body = otherBody(request.body, dice);
      if (request.framing === 'none') request.framing = 'length';
    },
    () => headers.push([dice.of(HEADERS), dice.of(HEADER_VALUES)]),
    () => headers.push([dice.of(HEADERS), dice.of(TEXTS)]),
  ]);
  change();
}

function otherTarget(target: string, dice: Dice): string {
  return dice.of([
    `http://user:word@other.example:99${target}`,
    ...[`//other${target}`, '*', 'catalog:80', target.slice(1), `${target}#part`, `${target}/`, ''],
    ...[target.replaceAll('/', '//'), target.replaceAll('/', '\\'), target.replaceAll('e', '%65')],
    ...[`${target}/../../etc`, `${target}${dice.of(TEXTS)}`, `${target}?${long(20_000)}`],
    ...[`/${'a/'.repeat(2_000)}`, `${target} extra`, target.toUpperCase(), `${target}\u00ff\u00fe`],
  ]);
}

function otherBody(body: Buffer, dice: Dice): Buffer {
  const cut = body.subarray(0, dice.below(body.length + 1));
  const extended = Buffer.concat([body, dice.bytes(20)]);
  return dice.of([
    Buffer.alloc(0),
    cut,
    extended,
    gzipSync(body),
    dice.bytes(200),
    Buffer.alloc(300_000, 'x'),
  ]);
}

/** JSON that parsers disagree on. */
function hostileJson(value: unknown, dice: Dice): Buffer {
  const text = JSON.stringify(value ?? null);
  const field = (json: string): string => (text === '{}' ? `{${json}}` : text.replace(/\}$/, `,${json}}`));
  const depth = dice.of([10, 5_000, 40_000]);
  const nested = '['.repeat(depth) + ']'.repeat(depth);
  const many = Array.from({ length: 4_000 }, (_, n) => `"k${n}":${n}`).join(',');
  const made = dice.of<Buffer | string>([
    ...[nested, `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`, field(`"title":${nested}`)],
    ...['1e999', '-0', '1e-400', '9'.repeat(400)].map((number) => field(`"price_amount":${number}`)),
    field('"title":"a","title":"b","name":"a","name":"b"'),
    field('"title":"\\ud800","name":"\\udfff\\ud800"'),
    field('"__proto__":{"is_admin":true},"constructor":{"prototype":{}}'),
    field(`"title":"${long(120_000)}","name":"${long(120_000)}"`),
    field('"title":"a\\u0000b\\u202e","description":"\\u0007"'),
    ...[field('"title":"\0"'), field(many), field(`"media_ids":[${Array(2_000).fill('"a"')}]`)],
    ...[
      `\ufeff${text}`,
      Buffer.from(text, 'utf16le'),
      Buffer.from(field('"title":"\u00ed\u00a0"'), 'latin1'),
    ],
    ...[
      text.slice(0, -1),
      `${text}${text}`,
      ...words(' null [] "a" 1 {"a":} {a:1} [1,] /**/{} {\'a\':1} \0 - 01'),
    ],
  ]);
  return typeof made === 'string' ? Buffer.from(made) : made;
}

function multipart(boundary: string, picture: Buffer, ids: readonly string[], dice: Dice): Buffer {
  const head = dice.of([
    'Content-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: image/png',
    'Content-Disposition: form-data; name="file"; filename="../../a\\"b.png"',
    'Content-Disposition: form-data; name="file"; filename*=UTF-8\'\'%ff%00.png',
    ...[
      'form-data; name=file',
      'form-data; name="__proto__"',
      'form-data',
      `form-data; name="${long(3_000)}"`,
    ].map((disposition) => `Content-Disposition: ${disposition}`),
    ...['', `X: ${long(20_000)}`, 'Content-Type: multipart/mixed; boundary=b'],
  ]);
  const text = (name: string, value: string): string =>
    `--${boundary}${CRLF}Content-Disposition: form-data; name="${name}"${CRLF}${CRLF}${value}${CRLF}`;
  const fields = dice.of([
    ...['', text('alt', dice.of(TEXTS)), text('publication_id', dice.of(ids)), text('alt', long(70_000))],
    ...[text('alt', 'a') + text('alt', 'b'), text('__proto__', 'x'), text('f', 'x').repeat(600)],
  ]);
  const last = `${CRLF}--${boundary}--${CRLF}`;
  const end = dice.of([last, last, `${CRLF}--${boundary}${CRLF}`, '', `--${boundary}--`, `${last}after`]);
  const blank = dice.chance(0.95) ? CRLF + CRLF : CRLF;
  return Buffer.concat([
    Buffer.from(`${fields}--${boundary}${CRLF}${head}${blank}`),
    picture,
    Buffer.from(end),
  ]);
}

const headOf = ({ method, target, version, headers }: Request, ...framing: string[]): Buffer => {
  const named = headers.map(([name, value]) => `${name}: ${value}`);
  return Buffer.from([`${method} ${target} ${version}`, ...named, ...framing, '', ''].join(CRLF), 'latin1');
};

const CHUNKED = 'Transfer-Encoding: chunked';
const chunk = (body: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${body.length.toString(16)}${CRLF}`), body, Buffer.from(CRLF)]);

function framed(request: Request): Buffer {
  const { body, framing } = request;
  if (framing === 'none') return headOf(request);
  if (framing === 'length') return Buffer.concat([headOf(request, `Content-Length: ${body.length}`), body]);
  const chunks = body.length > 0 ? [chunk(body)] : [];
  return Buffer.concat([headOf(request, CHUNKED), ...chunks, LAST_CHUNK]);
}

function withBrokenFraming(request: Request, dice: Dice): Buffer {
  const { body } = request;
  const length = (more: number): string => `Content-Length: ${Math.max(0, body.length + more)}`;
  const badly_chunked = `${dice.of(CHUNK_SIZES)}${CRLF}aaaaa${CRLF}0${CRLF}${CRLF}`;
  const with_trailer = `0${CRLF}${dice.of(TRAILERS)}${CRLF}${CRLF}`;
  return dice.of([
    () => Buffer.concat([headOf(request, dice.of(BROKEN_LINES)), body]),
    () => Buffer.concat([headOf(request, dice.of(BROKEN_LINES), length(0)), body]),
    () => Buffer.concat([headOf(request, length(dice.of([-1, 1, 1_000]))), body]),
    () => Buffer.concat([headOf(request, CHUNKED), Buffer.from(badly_chunked)]),
    () => Buffer.concat([headOf(request, CHUNKED), chunk(body), Buffer.from(with_trailer)]),
    () => Buffer.concat([headOf(request, CHUNKED), chunk(body), dice.bytes(10)]),
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
    const inserted = Buffer.from(dice.of(['\0', '\r', '\n', '\r\n', ' ', '\u00ff', ':', '%']));
    changed = Buffer.concat(
      dice.of([
        [before, dice.bytes(1), after.subarray(1)],
        [before, after.subarray(1 + dice.below(8))],
        [before, after.subarray(0, 8), after],
        [before, inserted, after],
      ]),
    );
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
