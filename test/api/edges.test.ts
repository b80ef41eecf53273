import { connect } from 'node:net';
import { type Harness, type Shop, startHarness } from '../support/harness';

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

/** What the server answers to bytes that are no HTTP of a well-behaved client. */
function raw(text: string): Promise<string> {
  const { hostname, port } = new URL(service.url);
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(Number(port), hostname, () => socket.write(text));
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}

test('the ETag that a POST answers with is the one that a GET answers 304 to', async () => {
  const created = await write('POST', '/api/publication', { title: 'Tea', ...PRICE });
  const etag = created.headers.get('etag')!;
  const again = await read(`/api/publication/${created.body.data.id}`, { 'if-none-match': etag });
  expect([created.status, again.status]).toEqual([201, 304]);
});

test('If-Match takes a bare * for any version, and a weak * for none', async () => {
  const { body } = await write('POST', '/api/publication', { title: 'Tea', ...PRICE });
  const patch = (etag: string) =>
    write('PATCH', `/api/publication/${body.data.id}`, { title: 'Tea 2' }, { 'if-match': etag });
  expect((await patch('W/*')).status).toBe(412);
  expect((await patch('*')).status).toBe(200);
});

test('a body that is not UTF-8 is refused, not mended', async () => {
  const { hostname, port } = new URL(service.url);
  const body = '{"title":"\xff\xfe","price_currency":"USD","price_amount":1}';
  const reply = await fetch(`http://${hostname}:${port}/api/publication`, {
    method: 'POST',
    headers: { authorization: `Bearer ${shop.secret.token}`, 'content-type': 'application/json' },
    body: Buffer.from(body, 'latin1'),
  });
  const answer = (await reply.json()) as { error: { code: string } };
  expect([reply.status, answer.error.code]).toEqual([400, 'INVALID_REQUEST']);
});

test('HTML that grows beyond the limit when it is made safe is refused, so that what is read can be sent back', async () => {
  const reply = await write('POST', '/api/publication', {
    title: 'Ampersands',
    ...PRICE,
    description_html: '&'.repeat(20_000),
  });
  expect([reply.status, reply.body.error.code]).toEqual([400, 'FIELD_TOO_LONG']);
});

test('a currency of no country is a currency', async () => {
  const reply = await write('POST', '/api/publication', {
    title: 'Gold',
    price_currency: 'XAU',
    price_amount: 1,
  });
  expect(reply.status).toBe(201);
});

test('a page far past the end is an empty page, of whatever is read in pages', async () => {
  const listing = await write('POST', '/api/listing', { name: 'Teas' });
  const body = { title: 'Tea', ...PRICE, listing_id: listing.body.data.id };
  const { id } = (await write('POST', '/api/publication', body)).body.data;
  const page = `page=${Number.MAX_SAFE_INTEGER}&limit=50`;
  for (const path of [`publication/${id}/related?`, `publication/${id}/reviews?`, 'store/search?q=tea&']) {
    const reply = await read(`/api/${path}${page}`);
    expect([path, reply.status, reply.body.data]).toEqual([path, 200, []]);
  }
  const within = await read(`/api/listing/${listing.body.data.id}/publications?${page}`);
  expect(within.body.data).toMatchObject({ featured: [], others: [], meta: { pagination: { total: 1 } } });
  expect((await read(`/api/publications?page=${2 ** 53}`)).status).toBe(400);
});

test('a header that is too long gets an error in the shape of all errors', async () => {
  const answer = await raw(`GET /api/store HTTP/1.1\r\nHost: a\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1\.1 431 /);
  expect(answer).toMatch(/X-Request-Id: [\da-f-]{36}/);
  expect(JSON.parse(answer.split('\r\n\r\n')[1]!)).toMatchObject({
    code: 431,
    status: 'error',
    error: { code: 'LIMIT_EXCEEDED' },
  });
});

test('a request without a Host gets an error in the shape of all errors; before HTTP/1.1 none was needed', async () => {
  const answer = await raw('GET /api/store HTTP/1.1\r\nConnection: close\r\n\r\n');
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(answer).toMatch(/X-Request-Id: [\da-f-]{36}/);
  expect(JSON.parse(answer.split('\r\n\r\n')[1]!)).toMatchObject({
    code: 400,
    status: 'error',
    error: { code: 'INVALID_REQUEST', message: 'The Host header is missing' },
  });
  expect(await raw('GET /health/live HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
});

test('bytes that are no HTTP get a 400 in the shape of all errors', async () => {
  const answer = await raw(
    'GET /api/store HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\nContent-Length: 3\r\n\r\n',
  );
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  expect(answer).toMatch(/"code":"INVALID_REQUEST"/);
});
