import { connect } from 'node:net';
import { streamName } from '../../shared/catalog/events/envelope';
import { CatalogError } from '../../shared/kernel/errors';
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

test('If-Match * accepts any version, and W/* accepts none', async () => {
  const { body } = await write('POST', '/api/publication', { title: 'Tea', ...PRICE });
  const patch = (etag: string) =>
    write('PATCH', `/api/publication/${body.data.id}`, { title: 'Tea 2' }, { 'if-match': etag });
  expect((await patch('W/*')).status).toBe(412);
  expect((await patch('*')).status).toBe(200);
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

test.each([
  [
    'a header that is too long',
    `Host: a\r\nX-Long: ${'a'.repeat(20_000)}`,
    431,
    'The headers are larger than 16 KB',
  ],
  [
    'an unknown transfer coding',
    'Host: a\r\nTransfer-Encoding: x\r\nContent-Length: 3',
    400,
    expect.any(String),
  ],
  ['no Host', 'Connection: close', 400, 'The Host header is missing'],
])('%s returns a structured error', async (_name, headers, status, message) => {
  const response = await raw(`GET /api/store HTTP/1.1\r\n${headers}\r\n\r\n`);
  expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(response).toMatch(/X-Request-Id: [\da-f-]{36}/);
  const error = { code: 'INVALID_REQUEST', message };
  expect(JSON.parse(response.split('\r\n\r\n')[1]!)).toMatchObject({ code: status, status: 'error', error });
});

test('a request of HTTP/1.0 needs no Host', async () => {
  expect(await raw('GET /health/live HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
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
