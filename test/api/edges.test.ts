import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import jwt from 'jsonwebtoken';
import { streamName } from '../../shared/catalog/events/envelope';
import { CatalogError } from '../../shared/kernel/errors';
import { fetch } from '../support/fetch';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { within } from '../support/wait-for';

let service: Harness;
let shop: Shop;

beforeAll(async () => {
  service = await startHarness();
  shop = await service.newShop();
});
afterAll(() => service.close());

const PRICE = { price_currency: 'USD', price_amount: 100 };
const write = (method: string, path: string, body?: unknown, headers = {}) =>
  service.request(method, path, { token: shop.secret.token, body, headers });
const read = (path: string, headers = {}) =>
  service.request('GET', path, { token: shop.public.token, headers });

/** Sends text over a TCP connection, which need not be valid HTTP, and returns the response. */
function raw(text: string): Promise<string> {
  const { hostname, port } = new URL(service.url);
  const responded = new Promise<string>((resolve, reject) => {
    let response = '';
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.on('data', (chunk) => {
      response += chunk;
    });
    socket.on('close', () => resolve(response));
    socket.on('error', reject);
  });
  return within(responded, 'the server to close the connection');
}

test('a GET with the ETag of a POST returns 304', async () => {
  const created = await write('POST', '/api/publication', { title: 'Tea', ...PRICE });
  const etag = created.headers.get('etag')!;
  const again = await read(`/api/publication/${created.body.data.id}`, { 'if-none-match': etag });
  expect([created.status, again.status]).toEqual([201, 304]);
});

test('If-Match * accepts any version, and W/* accepts none', async () => {
  const { body } = await write('POST', '/api/publication', { title: 'Tea', ...PRICE });
  const patch = (etag: string) =>
    write('PATCH', `/api/publication/${body.data.id}`, { title: 'Tea 2' }, { 'if-match': etag });
  expect((await patch('W/*')).status).toBe(412);
  expect((await patch('*')).status).toBe(200);
});

test('a body that is not valid UTF-8 is refused', async () => {
  const { hostname, port } = new URL(service.url);
  const body = '{"title":"\xff\xfe","price_currency":"USD","price_amount":1}';
  const reply = await fetch(`http://${hostname}:${port}/api/publication`, {
    method: 'POST',
    headers: { authorization: `Bearer ${shop.secret.token}`, 'content-type': 'application/json' },
    body: Buffer.from(body, 'latin1'),
  });
  const error_body = (await reply.json()) as { error: { code: string } };
  expect([reply.status, error_body.error.code]).toEqual([400, 'INVALID_REQUEST']);
});

test('HTML whose sanitised form exceeds the limit is refused', async () => {
  const reply = await write('POST', '/api/publication', {
    title: 'Ampersands',
    ...PRICE,
    description_html: '&'.repeat(20_000),
  });
  expect([reply.status, reply.body.error.code]).toEqual([400, 'FIELD_TOO_LONG']);
});

test('a currency that belongs to no country is accepted', async () => {
  const reply = await write('POST', '/api/publication', {
    title: 'Gold',
    price_currency: 'XAU',
    price_amount: 1,
  });
  expect(reply.status).toBe(201);
});

test('every list returns an empty page far after its last page', async () => {
  const listing = await write('POST', '/api/listing', { name: 'Teas' });
  const body = { title: 'Tea', ...PRICE, listing_id: listing.body.data.id };
  const { id } = (await write('POST', '/api/publication', body)).body.data;
  const page = `page=${Number.MAX_SAFE_INTEGER}&limit=50`;
  for (const path of [`publication/${id}/related?`, `publication/${id}/reviews?`, 'store/search?q=tea&']) {
    const reply = await read(`/api/${path}${page}`);
    expect([path, reply.status, reply.body.data]).toEqual([path, 200, []]);
  }
  const publications = await read(`/api/listing/${listing.body.data.id}/publications?${page}`);
  expect(publications.body.data).toMatchObject({
    featured: [],
    others: [],
    meta: { pagination: { total: 1 } },
  });
  expect((await read(`/api/publications?page=${2 ** 53}`)).status).toBe(400);
});

test('a header that is too long returns a structured error', async () => {
  const response = await raw(`GET /api/store HTTP/1.1\r\nHost: a\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`);
  expect(response).toMatch(/^HTTP\/1\.1 431 /);
  expect(response).toMatch(/X-Request-Id: [\da-f-]{36}/);
  expect(JSON.parse(response.split('\r\n\r\n')[1]!)).toMatchObject({
    code: 431,
    status: 'error',
    error: { code: 'INVALID_REQUEST', message: 'The headers are larger than 16 KB' },
  });
});

test.each(['GET /api/store', 'POST /auth/token', 'GET /docs'])(
  'an expectation of %s that the service does not know is refused, 100-continue is not',
  async (request) => {
    const head = `${request} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n`;
    const refused = await raw(`${head}Expect: a-pony\r\n\r\n`);
    expect(refused).toMatch(/^HTTP\/1\.1 417 /);
    expect(refused).toMatch(/X-Request-Id: [\da-f-]{36}/);
    expect(refused).toContain('Only the expectation 100-continue is supported');
    if (!request.includes('/auth/')) expect(refused).toContain('"code":"INVALID_REQUEST"');
    expect(await raw(`${head}Expect: 100-Continue\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 [24]0[01] /,
    );
  },
);

test('a request without Host returns a structured error in HTTP/1.1 and succeeds in HTTP/1.0', async () => {
  const response = await raw('GET /api/store HTTP/1.1\r\nConnection: close\r\n\r\n');
  expect(response).toMatch(/^HTTP\/1\.1 400 /);
  expect(response).toMatch(/X-Request-Id: [\da-f-]{36}/);
  expect(JSON.parse(response.split('\r\n\r\n')[1]!)).toMatchObject({
    code: 400,
    status: 'error',
    error: { code: 'INVALID_REQUEST', message: 'The Host header is missing' },
  });
  expect(await raw('GET /health/live HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
});

test('a request that is not valid HTTP returns a structured error', async () => {
  const response = await raw(
    'GET /api/store HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\nContent-Length: 3\r\n\r\n',
  );
  expect(response).toMatch(/^HTTP\/1\.1 400 /);
  expect(response).toMatch(/"code":"INVALID_REQUEST"/);
});

test('a body with 9,000 unknown fields is refused with 50 faults and a short response', async () => {
  const body = Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`f${index}`, 1]));
  const reply = await write('POST', '/api/publication', body);
  expect([reply.status, reply.body.error.code]).toEqual([400, 'FIELD_REQUIRED']);
  expect(reply.body.error.details.errors).toHaveLength(50);
  expect(reply.text.length).toBeLessThan(10_000);
});

test('a field name of a megabyte is shortened in the response', async () => {
  const reply = await write('PATCH', '/api/publication/01890000-0000-7000-8000-000000000000', {
    ['x'.repeat(1_000_000)]: 1,
  });
  expect([reply.status, reply.body.error.code]).toEqual([400, 'FIELD_INVALID']);
  expect(reply.text.length).toBeLessThan(2_000);
});

describe('a patch that changes nothing appends no event after', () => {
  const eventsOf = async (kind: 'publication' | 'listing', id: string): Promise<number> =>
    (await service.service.runtime.events.live.readStream(streamName('live', kind, id))).length;
  const uploadPicture = async (): Promise<string> => {
    const form = new FormData();
    form.set('file', new Blob([Buffer.from(PIXEL, 'base64')]), 'pixel.gif');
    return (await write('POST', '/api/media', form)).body.data.id;
  };
  const PIXEL = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';

  test('the listing of the publication was deleted', async () => {
    const listing = (await write('POST', '/api/listing', { name: 'Teas' })).body.data.id;
    const tea = { title: 'Tea', ...PRICE, listing_id: listing };
    const { id } = (await write('POST', '/api/publication', tea)).body.data;
    await write('DELETE', `/api/listing/${listing}`);
    const before = await eventsOf('publication', id);
    const patched = await write('PATCH', `/api/publication/${id}`, { listing_id: null });
    expect([patched.status, await eventsOf('publication', id)]).toEqual([200, before]);
    const other = await write('PATCH', `/api/publication/${id}`, { listing_id: null, title: 'Other' });
    expect([other.body.data.title, await eventsOf('publication', id)]).toEqual(['Other', before + 1]);
  });

  test.each(['publication', 'listing'] as const)('a media of the %s was deleted', async (kind) => {
    const [kept, deleted] = [await uploadPicture(), await uploadPicture()];
    const fields = kind === 'listing' ? { name: 'Teas' } : { title: 'Tea', ...PRICE };
    const created = await write('POST', `/api/${kind}`, { ...fields, media_ids: [kept, deleted] });
    const { id } = created.body.data;
    await write('DELETE', `/api/media/${deleted}`);
    const before = await eventsOf(kind, id);
    const patched = await write('PATCH', `/api/${kind}/${id}`, { media_ids: [kept] });
    expect([patched.status, await eventsOf(kind, id)]).toEqual([200, before]);
    await write('DELETE', `/api/media/${kept}`);
    await write('PATCH', `/api/${kind}/${id}`, { media_ids: null });
    expect(await eventsOf(kind, id)).toBe(before);
  });
});

test('an outage reveals no path, whatever message the store gives', async () => {
  const { live } = service.service.runtime.events;
  for (const [condition, status] of [
    ['unavailable', 503],
    ['database_timeout', 500],
  ] as const) {
    const message = 'cannot open /var/lib/catalog/live-events.sqlite';
    const append = jest.spyOn(live, 'append').mockRejectedValueOnce(new CatalogError(condition, { message }));
    const reply = await write('POST', '/api/publication', { title: 'Tea', ...PRICE });
    append.mockRestore();
    expect([reply.status, reply.text.includes('sqlite'), reply.text.includes('/var')]).toEqual([
      status,
      false,
      false,
    ]);
  }
});

describe('a client that asks to close the connection gets the response to a body that is refused early:', () => {
  const MEGABYTE = 1_048_576;
  const send = (type: string, bytes: number, version: string): Promise<string> =>
    raw(
      [
        `POST /api/publication HTTP/${version}`,
        'Host: a',
        `Authorization: Bearer ${shop.secret.token}`,
        `Content-Type: ${type}`,
        `Content-Length: ${bytes}`,
        'Connection: close',
        '',
        'x'.repeat(bytes),
      ].join('\r\n'),
    );

  test.each([
    [415, 'text/plain', '1.1'],
    [413, 'application/json', '1.1'],
    [413, 'application/json', '1.0'],
  ])('%i for %s over HTTP/%s', async (status, type, version) => {
    const response = await send(type, 8 * MEGABYTE, version);
    expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(JSON.parse(response.split('\r\n\r\n')[1]!)).toMatchObject({ code: status, status: 'error' });
  });
});

test('a token for another audience, or one that is not valid yet, is refused', async () => {
  const [key] = JSON.parse(readFileSync(join(service.data_dir, 'jwt-keys.json'), 'utf8'));
  const claims = jwt.decode(shop.public.token) as object;
  const statusOf = async (more: object): Promise<unknown> => {
    const token = jwt.sign({ ...claims, ...more }, key.secret, { algorithm: 'HS256', keyid: key.kid });
    const reply = await service.request('GET', '/api/store', { token });
    return [reply.status, reply.body.error?.code];
  };
  expect(await statusOf({})).toEqual([200, undefined]);
  expect(await statusOf({ aud: 'https://other.example' })).toEqual([401, 'TOKEN_INVALID']);
  expect(await statusOf({ aud: ['https://other.example'] })).toEqual([401, 'TOKEN_INVALID']);
  expect(await statusOf({ nbf: Math.floor(Date.now() / 1000) + 600 })).toEqual([401, 'TOKEN_INVALID']);
});

test.each(['Bearer  ', 'bearer   '])('%j before a token is accepted', async (scheme) => {
  const headers = { authorization: `${scheme}${shop.secret.token}` };
  expect((await service.request('GET', '/api/store', { headers })).status).toBe(200);
  expect((await service.request('POST', '/auth/validate', { headers })).status).toBe(200);
});

describe('the bounds in the OpenAPI document are those of the service:', () => {
  interface Parameter {
    readonly name?: string;
    readonly schema: { readonly maximum?: number; readonly pattern?: string };
  }
  // biome-ignore lint/suspicious/noExplicitAny: the document is looked into freely
  let document: any;
  beforeAll(async () => {
    document = (await service.request('GET', '/openapi.json')).body;
  });
  const parameter = (path: string, name: string): Parameter =>
    document.paths[path].get.parameters.find((one: Parameter) => one.name === name);
  const bodyField = (name: string) => document.components.schemas.NewPublication.properties[name];
  const create = (fields: object) => write('POST', '/api/publication', { title: 'Tea', ...PRICE, ...fields });

  test.each([
    ['/api/publications', 'page'],
    ['/api/publications', 'limit'],
    ['/api/publications', 'min_price'],
    ['/api/store/search', 'max_price'],
  ])('%s?%s has a maximum', async (path, name) => {
    const { maximum } = parameter(path, name).schema;
    const at = async (value: bigint) => (await read(`${path}?q=tea&${name}=${value}`)).status;
    expect(await at(BigInt(maximum!))).toBe(200);
    expect(await at(BigInt(maximum!) + 1n)).toBe(400);
  });

  test('a search text of white space does not match the pattern and is refused', async () => {
    const pattern = new RegExp(parameter('/api/store/search', 'q').schema.pattern!, 'u');
    for (const [text, accepted] of [
      ['tea', true],
      [' tea', true],
      ['  ', false],
    ] as const) {
      const { status } = await read(`/api/store/search?q=${encodeURIComponent(text)}`);
      expect([text, pattern.test(text), status]).toEqual([text, accepted, accepted ? 200 : 400]);
    }
  });

  test.each([
    ['title', 'Tea', true],
    ['title', ' Tea\n', true],
    ['title', 'Tea\tblack', false],
    ['title', 'Tea\u0000', false],
    ['title', 'Tea\u0085 black', false],
    ['title', ' \u00a0 ', false],
    ['title', 'Té', true],
    ['description', 'one\n\ttwo\r\n', true],
    ['description', 'one\u000btwo', false],
    ['description', 'one\u007f', false],
  ])('%s %j matches its pattern if it is accepted', async (field, text, accepted) => {
    const schema = bodyField(field);
    const { pattern } = schema.anyOf ? schema.anyOf[0] : schema;
    expect([new RegExp(pattern, 'u').test(text), (await create({ [field]: text })).status]).toEqual([
      accepted,
      accepted ? 201 : 400,
    ]);
  });

  test('an integer above the maximum of its field is refused', async () => {
    const [schema] = bodyField('quantity_available').anyOf;
    expect(schema.maximum).toBe(Number.MAX_SAFE_INTEGER);
    expect((await create({ quantity_available: schema.maximum })).status).toBe(201);
    expect((await create({ quantity_available: schema.maximum + 1 })).status).toBe(400);
  });

  test('no request id is refused, and an unsafe one is replaced', async () => {
    const { schema } = document.components.parameters['X-Request-Id'];
    expect(Object.keys(schema).filter((name) => name !== 'examples')).toEqual(['type']);
    for (const id of ['a b', 'ä', 'x'.repeat(129), '(1)']) {
      const reply = await read('/api/store', { 'x-request-id': Buffer.from(id).toString('latin1') });
      expect([reply.status, reply.headers.get('x-request-id')]).toEqual([
        200,
        expect.stringMatching(/^[\da-f-]{36}$/),
      ]);
    }
    expect((await read('/api/store', { 'x-request-id': 'mine:1' })).headers.get('x-request-id')).toBe(
      'mine:1',
    );
  });

  test('a minimum position of any length is a position', async () => {
    const pattern = new RegExp(document.components.parameters['X-Catalog-Min-Position'].schema.pattern, 'u');
    for (const [position, status] of [
      ['9'.repeat(25), 503],
      ['1e3', 400],
      ['-1', 400],
    ] as const) {
      const reply = await read('/api/store', { 'x-catalog-min-position': position });
      expect([reply.status, pattern.test(position)]).toEqual([status, status === 503]);
    }
  });
});

describe('currencies', () => {
  const ACTIVE =
    'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF ' +
    'CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD ' +
    'HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD ' +
    'MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN ' +
    'PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD ' +
    'TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG XAU XBA XBB XBC XBD XCD XCG XDR XOF XPD ' +
    'XPF XPT XSU XTS XUA XXX YER ZAR ZMW ZWG';
  const statusOf = async (price_currency: string): Promise<number> =>
    (await write('POST', '/api/publication', { title: 'Tea', price_amount: 1, price_currency })).status;

  /** Those of list three since 2021. */
  const WITHDRAWN = 'ANG BGN CUC HRK SLL ZWL';

  test('every active ISO 4217 code is accepted, and every one that was withdrawn lately', async () => {
    const refused: string[] = [];
    for (const code of `${ACTIVE} ${WITHDRAWN}`.split(' '))
      if ((await statusOf(code)) !== 201) refused.push(code);
    expect(refused).toEqual([]);
  });

  test.each(['usd', 'DEM', 'ZZZ', 'US', ''])('%j is refused', async (code) => {
    expect(await statusOf(code)).toBe(400);
  });
});

describe('view counts', () => {
  test('do not change the ETag of a publication, of lists and of expansions', async () => {
    const listing_id = (await write('POST', '/api/listing', { name: 'Viewed' })).body.data.id;
    const tea = { title: 'Viewed "view_count":7', ...PRICE, listing_id };
    const { id } = (await write('POST', '/api/publication', tea)).body.data;
    const paths = [
      `/api/publication/${id}`,
      `/api/publications?listing_id=${listing_id}`,
      `/api/listing/${listing_id}?expand=publication`,
      `/api/listing/${listing_id}/publications`,
      '/api/store/search?q=viewed',
    ];
    const etags = () => Promise.all(paths.map(async (path) => (await read(path)).headers.get('etag')));
    const before = await etags();
    await service.service.page_views.flush();
    await service.settled();
    expect((await read(`/api/publication/${id}`)).body.data.stats.view_count).toBe(1);
    expect(await etags()).toEqual(before);
    await write('PATCH', `/api/publication/${id}`, { title: 'Viewed "view_count":8' });
    for (const [index, etag] of (await etags()).entries()) expect(etag).not.toBe(before[index]);
  });
});

test.each([
  ['publication', { title: 'Tea', ...PRICE }],
  ['listing', { name: 'Teas' }],
])('Location of a %s leads to it, also if it is private', async (kind, fields) => {
  for (const visibility of ['public', 'private']) {
    const created = await write('POST', `/api/${kind}`, { ...fields, visibility });
    const found = await service.request('GET', created.headers.get('location')!, {
      token: shop.secret.token,
    });
    expect([found.status, found.body.data.id]).toEqual([200, created.body.data.id]);
  }
});

test('the answer to a PATCH of a listing has the stats that a read returns, and its ETag', async () => {
  const created = await write('POST', '/api/listing', { name: 'Teas' });
  const { id } = created.body.data;
  for (const visibility of ['public', 'private'])
    await write('POST', '/api/publication', { title: 'Tea', ...PRICE, listing_id: id, visibility });
  const patched = await write('PATCH', `/api/listing/${id}`, { name: 'Black teas' });
  expect(patched.body.data.stats).toEqual({ media_count: 0, publication_count: 1 });
  const found = await read(`/api/listing/${id}`, { 'if-none-match': patched.headers.get('etag')! });
  expect(found.status).toBe(304);
});

test('a PATCH of a listing succeeds without stats if the documents cannot be read', async () => {
  const { id } = (await write('POST', '/api/listing', { name: 'Teas' })).body.data;
  const { live } = service.service.runtime.views;
  const current = jest.spyOn(live, 'current').mockRejectedValue(new CatalogError('unavailable'));
  const patched = await write('PATCH', `/api/listing/${id}`, { name: 'Black teas' });
  current.mockRestore();
  expect([patched.status, patched.body.data.name, patched.body.data.stats]).toEqual([
    200,
    'Black teas',
    undefined,
  ]);
  // The PATCH could not wait for its own projection.
  await service.settled();
  expect((await read(`/api/listing/${id}`)).body.data.name).toBe('Black teas');
});

test('unknown query parameters are ignored and named in X-Catalog-Ignored', async () => {
  const ignored = async (path: string, status = 200) => {
    const reply = await read(path);
    expect([path, reply.status]).toEqual([path, status]);
    return reply.headers.get('x-catalog-ignored');
  };
  expect(await ignored('/api/publications?page=1&expand=media')).toBeNull();
  expect(await ignored('/api/publications?utm_source=mail&page=1&colour=red')).toBe('utm_source, colour');
  expect(await ignored('/api/store?page=2')).toBe('page');
  expect(await ignored('/api/store?a%2Cb%0D%0Ax%C3%A9=1&Page=2')).toBe('a%2Cb%0D%0Ax%C3%A9, Page');
  expect(await ignored('/api/publications?limit=0&tag=1', 400)).toBe('tag');
  const many = Array.from({ length: 200 }, (_, index) => `p${index}`);
  expect(await ignored(`/api/store?${many.join('&')}`)).toBe(`${many.slice(0, 10).join(', ')}, +190`);
  expect(await ignored(`/api/store?${'x'.repeat(300)}=1`)).toBe('x'.repeat(50));
  const [four_bytes, encoded] = ['\u{10400}', '%F0%90%90%80'];
  const long = Array.from({ length: 8 }, (_, index) => `${index}${four_bytes.repeat(49)}`);
  const bounded = await ignored(`/api/store?${long.map(encodeURIComponent).join('&')}`);
  expect(bounded).toBe(`0${encoded.repeat(49)}, +7`);
  expect(bounded!.length).toBeLessThan(1_024);
  const created = await write('POST', '/api/listing?notify=no', { name: 'Teas' });
  expect([created.status, created.headers.get('x-catalog-ignored')]).toEqual([201, 'notify']);
});
