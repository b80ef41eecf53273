import { connect } from 'node:net';
import { CatalogError } from '../../shared/kernel/errors';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { within } from '../support/wait-for';
import { expectError, expectErrorShape } from './replies';

const UNKNOWN_ID = '01890a5d-ac96-774b-bcce-b302099a8057';
const TEA = { title: 'Tea', price_currency: 'USD', price_amount: 100 };

let harness: Harness;
let shop: Shop;

beforeAll(async () => {
  harness = await startHarness();
  shop = await harness.newShop();
});
afterAll(() => harness.close());

const write = (method: string, path: string, body?: unknown) =>
  harness.request(method, path, { token: shop.secret.token, body });
const read = (path: string) => harness.request('GET', path, { token: shop.public.token });

/** Sends text over a TCP connection, which need not be valid HTTP, and returns the response. */
function raw(text: string): Promise<string> {
  const { hostname, port } = new URL(harness.url);
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

test.each([
  ['GET', '/api/nothing', 404, 'NOT_FOUND'],
  ['POST', '/api/store', 405, 'OPERATION_NOT_ALLOWED'],
  ['GET', `/api/publication/${UNKNOWN_ID}`, 404, 'PUBLICATION_NOT_FOUND'],
  ['GET', '/api/store?store_id=mine', 400, 'INVALID_UUID'],
  ['GET', '/api/publications?listing_id=12', 400, 'INVALID_UUID'],
  ['GET', `/api/store?store_id=${UNKNOWN_ID}`, 403, 'STORE_ACCESS_DENIED'],
])('%s %s → %i %s', async (method, path, status, code) => {
  const reply = await write(method, path);
  expectErrorShape(reply, status, code);
  if (status === 405) expect(reply.headers.get('allow')).toMatch(/OPTIONS$/);
});

/** Queries that every list rejects, and more of single ones. */
const BAD_PAGES =
  'limit=51 limit=0 limit= page=0 page=x page=1&page=2 sort=size order=up expand=owner visibility=some';
const BAD_PRICES = 'min_price=-1 min_price=1.5 max_price=cheap min_price=2&max_price=1';
test.each([
  ...['listings', 'store-listings', 'payment-methods', 'media'].map((path) => [path, BAD_PAGES]),
  ['publications', `${BAD_PAGES} ${BAD_PRICES} featured=yes in_stock=1 free_shipping=`],
  ['store/search?q=a', `${BAD_PAGES} ${BAD_PRICES} q=b`],
  ['store/search', `a=1 q= q=+++ q=${'x'.repeat(201)} q=%FF%FE q=%ED%A0%80`],
  [`listing/${UNKNOWN_ID}/publications`, BAD_PAGES],
  [`publication/${UNKNOWN_ID}/related`, BAD_PAGES],
])('%s rejects values that its parameters cannot have', async (path, queries) => {
  for (const query of queries!.split(' ')) {
    const reply = await write('GET', `/api/${path}${path!.includes('?') ? '&' : '?'}${query}`);
    expect([query, reply.status, reply.body.error?.code]).toEqual([query, 400, 'VALIDATION_ERROR']);
    const { field, constraint, errors } = reply.body.error.details;
    expect(query === 'a=1' ? 'q' : query).toContain(field);
    expect(errors).toContainEqual({ field, constraint, code: 'VALIDATION_ERROR' });
  }
});

test.each([
  ['GET', '/api/publication', 405, '; use GET /api/publications'],
  ['GET', '/api/listing?limit=5', 405, '; use GET /api/listings'],
  ['POST', '/api/publications', 405, '; use POST /api/publication'],
  ['GET', `/api/publications/${UNKNOWN_ID}`, 404, '; use GET /api/publication/:id'],
  ['DELETE', `/api/listings/${UNKNOWN_ID}`, 404, '; use DELETE /api/listing/:id'],
  ['GET', `/api/listings/${UNKNOWN_ID}/publications`, 404, '; use GET /api/listing/:id/publications'],
  ['GET', '/api/stores', 404, '; use GET /api/store'],
  ['PUT', '/api/publication', 405, ''],
  ['GET', '/api/products', 404, ''],
  ['GET', '/publications', 404, ''],
])('%s %s is %i and names a similar path', async (method, path, status, hint) => {
  const text = status === 405 ? 'This path does not support this method' : 'This path does not exist';
  expect((await write(method, path)).body.error).toMatchObject({ message: `${text}${hint}` });
});

test('an API key in place of a token is refused with a message that names /auth/token', async () => {
  const { key } = shop.public;
  for (const [headers, code] of [
    [{ 'x-api-key': key }, 'UNAUTHORIZED'],
    [{ authorization: key }, 'UNAUTHORIZED'],
    [{ authorization: `Bearer ${key}` }, 'TOKEN_INVALID'],
    [{ authorization: `Bearer ${key.slice(0, -1)}` }, 'TOKEN_INVALID'],
  ] as const) {
    const reply = await harness.request('GET', '/api/store', { headers });
    expectErrorShape(reply, 401, code);
    expect(reply.body.error.message).toContain('POST /auth/token exchanges');
  }
});

test('every list returns an empty page far after its last page', async () => {
  const listing = await write('POST', '/api/listing', { name: 'Teas' });
  const body = { ...TEA, listing_id: listing.body.data.id };
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

test('an outage reveals no path, whatever message the store gives', async () => {
  const { live } = harness.service.runtime.events;
  for (const [condition, status] of [
    ['unavailable', 503],
    ['database_timeout', 500],
  ] as const) {
    const message = 'cannot open /var/lib/catalog/live-events.sqlite';
    const append = jest
      .spyOn(live, 'append')
      .mockImplementationOnce(async (_stream, _revision, _events, beforeSend) => {
        await beforeSend?.();
        throw new CatalogError(condition, { message });
      });
    const reply = await write('POST', '/api/publication', TEA);
    append.mockRestore();
    expect([reply.status, reply.text.includes('sqlite'), reply.text.includes('/var')]).toEqual([
      status,
      false,
      false,
    ]);
  }
});

test('a write before whose append the event store does not answer is 503, because nothing was sent', async () => {
  const { live } = harness.service.runtime.events;
  const { id } = (await write('POST', '/api/publication', TEA)).body.data;
  const append = jest.spyOn(live, 'append');
  const read = jest.spyOn(live, 'readStream').mockRejectedValue(new CatalogError('database_timeout'));
  try {
    const reply = await write('PATCH', `/api/publication/${id}`, { price_amount: 7 });
    expectError(reply, 503, 'SERVICE_UNAVAILABLE');
    expect(reply.headers.get('retry-after')).not.toBeNull();
    expect(append).not.toHaveBeenCalled();
  } finally {
    read.mockRestore();
    append.mockRestore();
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
  expect(await ignored('/api/publications?limit=0&tags=1', 400)).toBe('tags');
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
