import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { docsRoutes } from '../../../services/docs/routes';
import { get, ITEM, startTinyApp, type TinyApp, write } from './tiny-app';

const LONG = 'é'.repeat(2_000);

describe('headers', () => {
  let app: TinyApp;

  beforeAll(async () => {
    app = await startTinyApp({
      public_routes: docsRoutes(),
      routes: [
        get('/api/short', async () => ({ data: { a: 1 } })),
        get('/api/long', async () => ({ data: [LONG], meta: { page: 1 } })),
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
    '%s says nosniff and nothing of its making, and has a request id',
    async (path) => {
      const { headers } = await app.request('GET', path, { token: 'public' });
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['x-powered-by']).toBeUndefined();
      expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  test.each([
    ['taken-over.1:2_3', true],
    ['with space', false],
    ['x'.repeat(129), false],
    ['"quoted"', false],
    ['', false],
  ])('request id %p is taken over: %p', async (given, taken) => {
    const { headers } = await app.request('GET', '/api/short', { headers: { 'x-request-id': given } });
    expect(headers['x-request-id'] === given).toBe(taken);
  });

  test('answers are kept by their client alone and asked for again, errors and tokens by nobody', async () => {
    const answer = await app.request('GET', '/api/short', { token: 'public' });
    expect(answer.headers['cache-control']).toBe('private, no-cache');
    expect(answer.headers.vary).toBe('Authorization, Accept-Encoding');
    expect((await app.request('GET', '/api/nothing', { token: 'public' })).headers['cache-control']).toBe(
      'no-store',
    );
    expect((await app.request('POST', '/auth/token')).headers['cache-control']).toBe('no-store');
  });

  describe('ETag and 304', () => {
    test('a resource names its version, a list does not', async () => {
      const resource = await app.request('GET', `/api/publication/${ITEM}`, { token: 'public' });
      expect(resource.headers.etag).toMatch(/^"7-[\w-]{16}"$/);
      const list = await app.request('GET', '/api/long', { token: 'public' });
      expect(list.headers.etag).toMatch(/^"[\w-]{16}"$/);
    });

    test.each(['GET', 'HEAD'])('%s of what the client has already is 304', async (method) => {
      const path = `/api/publication/${ITEM}`;
      const { headers } = await app.request('GET', path, { token: 'public' });
      for (const known of [headers.etag!, `W/${headers.etag}`, `"other", ${headers.etag}`, '*']) {
        const again = await app.request(method, path, {
          token: 'public',
          headers: { 'if-none-match': known },
        });
        expect([again.status, again.text]).toEqual([304, '']);
        expect(again.headers.etag).toBe(headers.etag);
        expect(again.headers['cache-control']).toBe('private, no-cache');
        expect(again.headers.vary).toBe('Authorization, Accept-Encoding');
        expect(again.headers['x-ratelimit-remaining']).toBeDefined();
        expect(again.headers['x-catalog-position']).toBe('12');
      }
    });

    test('another version, or the same version with other counts, is sent', async () => {
      const path = `/api/publication/${ITEM}`;
      for (const known of ['"6-abc"', '"7-0000000000000000"', '7'])
        expect(
          (await app.request('GET', path, { token: 'public', headers: { 'if-none-match': known } })).status,
        ).toBe(200);
    });
  });

  describe('compression', () => {
    const ask = async (path: string, encoding: string, method = 'GET') => {
      const { headers, bytes } = await app.request(method, path, {
        token: 'public',
        headers: { 'accept-encoding': encoding },
      });
      return { encoding: headers['content-encoding'], bytes };
    };

    test('over 1 KB, in what the client prefers', async () => {
      const brotli = await ask('/api/long', 'gzip, br');
      expect(brotli.encoding).toBe('br');
      expect(JSON.parse(brotliDecompressSync(brotli.bytes).toString()).data).toEqual([LONG]);
      const gzip = await ask('/api/long', 'gzip');
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
    ])('Accept-Encoding: %s gives %s', async (accepted, encoding) => {
      const { encoding: given, bytes } = await ask('/api/long', accepted);
      expect(given).toBe(encoding);
      const plain = given === 'br' ? brotliDecompressSync(bytes) : given ? gunzipSync(bytes) : bytes;
      expect(JSON.parse(plain.toString()).data).toEqual([LONG]);
    });

    test('also where there is much', async () => {
      const { encoding, bytes } = await ask('/openapi.json', 'gzip');
      expect(encoding).toBe('gzip');
      const plain = gunzipSync(bytes).toString();
      expect(plain.length).toBeGreaterThan(65_536);
      expect(JSON.parse(plain).openapi).toBeDefined();
    });

    test('not under 1 KB, not unasked, not for HEAD', async () => {
      expect((await ask('/api/short', 'gzip, br')).encoding).toBeUndefined();
      expect((await ask('/api/long', 'identity')).encoding).toBeUndefined();
      expect((await ask('/api/long', 'br', 'HEAD')).encoding).toBeUndefined();
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

    test('any origin may read, and see the headers that matter', async () => {
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

    test('errors of a read can be read, too', async () => {
      const { status, headers } = await app.request('GET', '/api/short', { headers: origin });
      expect([status, headers['access-control-allow-origin']]).toEqual([401, '*']);
    });

    test('a preflight of a read needs no token and allows it', async () => {
      const { status, headers } = await preflight(`/api/publication/${ITEM}`, 'GET');
      expect(status).toBe(204);
      expect(headers['access-control-allow-origin']).toBe('*');
      expect(headers['access-control-allow-methods']).toBe('GET, HEAD, OPTIONS');
      expect(headers['access-control-allow-headers']).toContain('Authorization');
      expect(headers['x-ratelimit-limit']).toBe('100');
    });

    test('a preflight of /auth/* allows POST', async () => {
      const auth = { '/auth/token': { name: 'token', open: async () => Promise.reject(new Error('never')) } };
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

    test('a write from a browser is not allowed: secret keys are for servers', async () => {
      const { status, headers } = await preflight('/api/publication', 'POST');
      expect(status).toBe(204);
      expect(headers['access-control-allow-methods']).not.toContain('POST');
      const sent = await app.request('POST', '/api/publication', { token: 'secret', headers: origin });
      expect(sent.headers['access-control-allow-origin']).toBeUndefined();
    });

    test('plain OPTIONS tells the methods, and needs no token', async () => {
      const { status, headers } = await app.request('OPTIONS', '/api/short');
      expect([status, headers.allow]).toEqual([204, 'GET, HEAD, OPTIONS']);
      expect(headers['access-control-allow-methods']).toBeUndefined();
      expect((await app.request('OPTIONS', '/api/nothing')).status).toBe(404);
    });
  });
});
