import { brotliDecompressSync, createGzip, gunzipSync } from 'node:zlib';
import { docsRoutes } from '../../../services/docs/routes';
import { assetRoute } from '../../../services/web/html';
import { JsonText } from '../../../shared/catalog/json-text';
import { etagOf } from '../../../shared/http/respond';
import { get, ITEM, startTinyApp, type TinyApp, write } from './tiny-app';

const LONG = 'é'.repeat(2_000);
/** Large enough to be rendered in pieces, and to be compressed with the least effort. */
const LARGE = Array.from({ length: 60 }, (_, n) => ({ n, stats: { view_count: n }, text: LONG.repeat(5) }));
const SHEET = assetRoute('sheet', 'css', 'p { margin: 0; }\n'.repeat(10_000));

describe('headers', () => {
  let app: TinyApp;

  beforeAll(async () => {
    app = await startTinyApp({
      public_routes: [...docsRoutes(), SHEET],
      routes: [
        get('/api/short', async () => ({ data: { a: 1 } })),
        get('/api/long', async () => ({ data: [LONG], meta: { page: 1 } })),
        get('/api/large', async () => ({
          data: LARGE.map((item) => new JsonText(JSON.stringify(item))),
          meta: { page: 1 },
        })),
        get('/api/publication/:id', async () => ({
          data: { id: ITEM },
          version: 7,
          headers: { 'X-Catalog-Position': '12' },
        })),
        write('POST', '/api/publication', async () => ({ status: 201, data: {} })),
      ],
    });
  });

  afterAll(() => app.close());

  test.each(['/api/short', '/api/nothing', '/nothing', '/health/live', '/auth/token'])(
    '%s has nosniff and a request id, and does not name the server software',
    async (path) => {
      const { headers } = await app.request('GET', path, { token: 'public' });
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['x-powered-by']).toBeUndefined();
      expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  test.each([
    ['client-id.1:2_3', true],
    ['with space', false],
    ['x'.repeat(129), false],
    ['"quoted"', false],
    ['', false],
  ])('the client id %p becomes the request id: %p', async (client_id, is_used) => {
    const { headers } = await app.request('GET', '/api/short', { headers: { 'x-request-id': client_id } });
    expect(headers['x-request-id'] === client_id).toBe(is_used);
  });

  test('only the client may cache responses, and must revalidate them; errors and tokens are not cached', async () => {
    const reply = await app.request('GET', '/api/short', { token: 'public' });
    expect(reply.headers['cache-control']).toBe('private, no-cache');
    expect(reply.headers.vary).toBe('Authorization, Accept-Encoding');
    expect((await app.request('GET', '/api/nothing', { token: 'public' })).headers['cache-control']).toBe(
      'no-store',
    );
    expect((await app.request('POST', '/auth/token')).headers['cache-control']).toBe('no-store');
  });

  describe('ETag and 304', () => {
    test('the ETag of a resource contains its version, that of a list does not', async () => {
      const resource = await app.request('GET', `/api/publication/${ITEM}`, { token: 'public' });
      expect(resource.headers.etag).toMatch(/^"7-[\w-]{16}"$/);
      const list = await app.request('GET', '/api/long', { token: 'public' });
      expect(list.headers.etag).toMatch(/^"[\w-]{16}"$/);
    });

    test.each(['GET', 'HEAD'])('%s with the current ETag is 304', async (method) => {
      const path = `/api/publication/${ITEM}`;
      const { headers } = await app.request('GET', path, { token: 'public' });
      for (const if_none_match of [headers.etag!, `W/${headers.etag}`, `"other", ${headers.etag}`, '*']) {
        const again = await app.request(method, path, {
          token: 'public',
          headers: { 'if-none-match': if_none_match },
        });
        expect([again.status, again.text]).toEqual([304, '']);
        expect(again.headers.etag).toBe(headers.etag);
        expect(again.headers['cache-control']).toBe('private, no-cache');
        expect(again.headers.vary).toBe('Authorization, Accept-Encoding');
        expect(again.headers['x-ratelimit-remaining']).toBeDefined();
        expect(again.headers['x-catalog-position']).toBe('12');
      }
    });

    test('another version, or the same version with other counts, is sent again', async () => {
      const path = `/api/publication/${ITEM}`;
      for (const etag of ['"6-abc"', '"7-0000000000000000"', '7'])
        expect(
          (await app.request('GET', path, { token: 'public', headers: { 'if-none-match': etag } })).status,
        ).toBe(200);
    });
  });

  test('an answer that is rendered in pieces has the content and the ETag of one that is not', async () => {
    const reply = await app.request('GET', '/api/large', { token: 'public' });
    expect(JSON.parse(reply.bytes.toString())).toEqual({
      code: 200,
      status: 'OK',
      data: LARGE,
      meta: { page: 1 },
    });
    const etag = etagOf(undefined, `${JSON.stringify(LARGE)}{"meta":{"page":1}}`);
    expect(reply.headers.etag).toBe(etag);
    expect(Number(reply.headers['content-length'])).toBe(reply.bytes.length);
    const head = await app.request('HEAD', '/api/large', { token: 'public' });
    expect([head.headers.etag, head.headers['content-length'], head.bytes.length]).toEqual([
      etag,
      reply.headers['content-length'],
      0,
    ]);
    const headers = { 'if-none-match': etag };
    expect((await app.request('GET', '/api/large', { token: 'public', headers })).status).toBe(304);
  });

  describe('compression', () => {
    const request = async (path: string, encoding: string, method = 'GET') => {
      const { headers, bytes } = await app.request(method, path, {
        token: 'public',
        headers: { 'accept-encoding': encoding },
      });
      return { encoding: headers['content-encoding'], bytes };
    };

    test('bodies over 1 KB are compressed with brotli if accepted, otherwise with gzip', async () => {
      const brotli = await request('/api/long', 'gzip, br');
      expect(brotli.encoding).toBe('br');
      expect(JSON.parse(brotliDecompressSync(brotli.bytes).toString()).data).toEqual([LONG]);
      const gzip = await request('/api/long', 'gzip');
      expect(gzip.encoding).toBe('gzip');
      expect(JSON.parse(gunzipSync(gzip.bytes).toString()).data).toEqual([LONG]);
    });

    test.each([
      ['gzip, deflate, br', 'br'],
      ['gzip, br;q=0', 'gzip'],
      ['*', 'br'],
      ['br;q=0.5, gzip', 'gzip'],
      ['identity;q=1, br;q=0.5', undefined],
      ['zstd', undefined],
    ])('Accept-Encoding: %s is answered with %s', async (accepted, expected) => {
      const { encoding, bytes } = await request('/api/long', accepted);
      expect(encoding).toBe(expected);
      const plain = encoding === 'br' ? brotliDecompressSync(bytes) : encoding ? gunzipSync(bytes) : bytes;
      expect(JSON.parse(plain.toString()).data).toEqual([LONG]);
    });

    test.each(['br', 'gzip'])('a large answer is compressed with %s', async (name) => {
      const { encoding, bytes } = await request('/api/large', name);
      expect(encoding).toBe(name);
      const plain = name === 'br' ? brotliDecompressSync(bytes) : gunzipSync(bytes);
      expect(JSON.parse(plain.toString()).data).toEqual(LARGE);
    });

    test.each([
      ['a file of the documentation', docsRoutes().find(({ path }) => path.endsWith('swagger-ui.css'))!.path],
      ['a style sheet of pages', SHEET.path],
    ])('%s is encoded and compressed once, not for each request', async (_, path) => {
      const first = await request(path, 'gzip');
      const compression = jest.spyOn(createGzip().constructor.prototype, '_transform');
      const encoding = jest.spyOn(Buffer, 'from');
      const second = await request(path, 'gzip');
      const longest = Math.max(...encoding.mock.calls.map(([value]) => String(value).length));
      encoding.mockRestore();
      expect(compression).not.toHaveBeenCalled();
      expect(longest).toBeLessThan(10_000);
      await request('/api/large', 'gzip');
      expect(compression).toHaveBeenCalled();
      compression.mockRestore();
      expect(second).toEqual(first);
      expect(gunzipSync(second.bytes).length).toBeGreaterThan(100_000);
    });

    test('bodies under 1 KB are not compressed, nor for clients that accept no encoding', async () => {
      expect((await request('/api/short', 'gzip, br')).encoding).toBeUndefined();
      expect((await request('/api/long', 'identity')).encoding).toBeUndefined();
    });
  });

  describe('CORS', () => {
    const origin = { origin: 'https://shop.example' };
    const preflight = (path: string, method: string) =>
      app.request('OPTIONS', path, {
        headers: {
          ...origin,
          'access-control-request-method': method,
          'access-control-request-headers': 'authorization',
        },
      });

    test('any origin may read, and may see the headers of the interface', async () => {
      const { headers } = await app.request('GET', '/api/short', { token: 'public', headers: origin });
      expect(headers['access-control-allow-origin']).toBe('*');
      for (const name of [
        'X-RateLimit-Remaining',
        'Retry-After',
        'ETag',
        'X-Request-Id',
        'X-Catalog-Position',
      ])
        expect(headers['access-control-expose-headers']).toContain(name);
    });

    test('any origin may see the errors of a read', async () => {
      const { status, headers } = await app.request('GET', '/api/short', { headers: origin });
      expect([status, headers['access-control-allow-origin']]).toEqual([401, '*']);
    });

    test('a preflight of a read is allowed without a token', async () => {
      const { status, headers } = await preflight(`/api/publication/${ITEM}`, 'GET');
      expect(status).toBe(204);
      expect(headers['access-control-allow-origin']).toBe('*');
      expect(headers['access-control-allow-methods']).toBe('GET, HEAD, OPTIONS');
      for (const name of ['Authorization', 'traceparent', 'tracestate'])
        expect(headers['access-control-allow-headers']).toContain(name);
      expect(headers['x-ratelimit-limit']).toBe('100');
    });

    test('a preflight of /auth/* allows POST', async () => {
      const auth = {
        '/auth/token': { name: 'token', authenticate: async () => Promise.reject(new Error('never')) },
      };
      const own = await startTinyApp({ auth });
      const { status, headers } = await own.request('OPTIONS', '/auth/token', {
        headers: { ...origin, 'access-control-request-method': 'POST' },
      });
      await own.close();
      expect([status, headers['access-control-allow-methods'], headers.allow]).toEqual([
        204,
        'POST, OPTIONS',
        'POST, OPTIONS',
      ]);
      expect(headers['access-control-allow-headers']).toContain('X-API-Key');
      expect(headers['x-ratelimit-limit']).toBeDefined();
    });

    test('a preflight of a write to /api is not allowed', async () => {
      const { status, headers } = await preflight('/api/publication', 'POST');
      expect(status).toBe(204);
      expect(headers['access-control-allow-methods']).not.toContain('POST');
      const sent = await app.request('POST', '/api/publication', { token: 'secret', headers: origin });
      expect(sent.headers['access-control-allow-origin']).toBeUndefined();
    });

    test('OPTIONS returns the allowed methods without a token', async () => {
      const { status, headers } = await app.request('OPTIONS', '/api/short');
      expect([status, headers.allow]).toEqual([204, 'GET, HEAD, OPTIONS']);
      expect(headers['access-control-allow-methods']).toBeUndefined();
      expect((await app.request('OPTIONS', '/api/nothing')).status).toBe(404);
    });
  });
});
