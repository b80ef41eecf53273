import { get as httpGet } from 'node:http';
import type { ApiRequest } from '../../../shared/http/route';
import { CatalogError } from '../../../shared/kernel/errors';
import { waitFor } from '../../support/wait-for';
import { get, ITEM, KEY, startTinyApp, type TinyApp, write } from './tiny-app';

describe('paths and methods', () => {
  let app: TinyApp;

  beforeAll(async () => {
    app = await startTinyApp({
      routes: [
        get('/api/publication/:id', async (request) => ({
          data: { id: request.params.id ?? '' },
          version: 3,
        })),
        get('/api/echo', async (request) => ({
          data: {
            query: { ...request.query } as never,
            request_id: request.request_id,
            key: request.principal.api_key_id,
          },
        })),
        get('/api/broken', async () => {
          throw new Error('SELECT secret_column FROM somewhere');
        }),
        get('/api/refused', async () => {
          throw new CatalogError('unavailable', { retry_after_s: 3 });
        }),
        write('POST', '/api/publication', async () => ({
          status: 201,
          data: { id: ITEM },
          version: 1,
          headers: { Location: `/api/publication/${ITEM}` },
        })),
      ],
    });
  });

  afterAll(() => app.close());

  test('a handler gets the query, request id and principal, and its data is sent in the envelope', async () => {
    const reply = await app.request('GET', '/api/echo?a=1&a=2&b=%C3%A9&__proto__=x', {
      token: 'public',
      headers: { 'x-request-id': 'abc-1' },
    });
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({
      code: 200,
      status: 'OK',
      data: { query: { a: ['1', '2'], b: ['é'], ['__proto__']: ['x'] }, request_id: 'abc-1', key: KEY },
    });
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  test('path ids must be UUIDs, and are converted to lower case', async () => {
    const upper = await app.request('GET', `/api/publication/${ITEM.toUpperCase()}`, { token: 'public' });
    expect(upper.body.data.id).toBe(ITEM);
    const invalid = await app.request('GET', '/api/publication/12', { token: 'public' });
    expect(invalid.status).toBe(400);
    expect(invalid.body).toMatchObject({
      message: 'An id is not a UUID',
      error: {
        code: 'INVALID_UUID',
        message: 'Invalid id: expected a UUID',
        details: { field: 'id', constraint: 'a UUID' },
      },
    });
  });

  test.each([
    ['PUT', `/api/publication/${ITEM}`, 'GET, HEAD, PATCH, DELETE, OPTIONS'],
    ['POST', `/api/publication/${ITEM}`, 'GET, HEAD, PATCH, DELETE, OPTIONS'],
    ['GET', '/api/publication', 'POST, OPTIONS'],
    ['HEAD', '/api/publication', 'POST, OPTIONS'],
    ['DELETE', '/api/echo', 'GET, HEAD, OPTIONS'],
    ['POST', '/api/store', 'GET, HEAD, PATCH, OPTIONS'],
  ])('%s %s is 405 with Allow, because the path has no such method', async (method, path, allow) => {
    const reply = await app.request(method, path, { token: 'secret' });
    expect([reply.status, reply.headers.allow]).toEqual([405, allow]);
    if (method !== 'HEAD') expect(reply.body.error.code).toBe('OPERATION_NOT_ALLOWED');
  });

  test('a method that only another process serves is 404', async () => {
    const reply = await app.request('PATCH', `/api/publication/${ITEM}`, { token: 'secret' });
    expect([reply.status, reply.body.error.code]).toEqual([404, 'NOT_FOUND']);
  });

  test.each([
    '/api',
    '/api/',
    '/api/nothing',
    '/api/echo/',
    '/api//echo',
    '/api/Echo',
    `/api/publication/${ITEM}/`,
    '/api/store/../echo',
  ])('%s is 404 with a token and 401 without', async (path) => {
    const reply = await app.request('GET', path, { token: 'public' });
    expect([reply.status, reply.body.error.code]).toEqual([404, 'NOT_FOUND']);
    expect(reply.headers['x-ratelimit-limit']).toBe('100');
    expect((await app.request('GET', path)).status).toBe(401);
  });

  test.each(['/', '/nothing', '//api/echo', '/API/echo', '/apis', '/authors', '*'])(
    '%s is outside of /api and /auth: 404 as a structured error',
    async (path) => {
      const reply = await app.request('GET', path);
      expect(reply.status).toBe(404);
      expect(reply.body).toEqual({
        code: 404,
        status: 'error',
        error: { code: 'NOT_FOUND', message: expect.any(String) },
      });
    },
  );

  test('a path with invalid percent-encoding is a malformed request', async () => {
    const reply = await app.request('GET', '/api/publication/%E0%A4%A', { token: 'public' });
    expect([reply.status, reply.body.error.code]).toEqual([400, 'INVALID_REQUEST']);
  });

  test('an unexpected error is logged with the request id, and its message is not sent', async () => {
    const reply = await app.request('GET', '/api/broken', {
      token: 'public',
      headers: { 'x-request-id': 'look-me-up' },
    });
    expect(reply.status).toBe(500);
    expect(reply.body).toEqual({
      code: 500,
      status: 'error',
      error: { code: 'INTERNAL_ERROR', message: 'An internal error occurred' },
    });
    expect(app.lines.some((line) => line.includes('secret_column') && line.includes('look-me-up'))).toBe(
      true,
    );
  });

  test('an outage is 503 with Retry-After', async () => {
    const reply = await app.request('GET', '/api/refused', { token: 'public' });
    expect([reply.status, reply.headers['retry-after'], reply.body.error.code]).toEqual([
      503,
      '3',
      'SERVICE_UNAVAILABLE',
    ]);
    expect(reply.headers['cache-control']).toBe('no-store');
  });

  test('a missing permission is 403, also if the body is invalid', async () => {
    const reply = await app.request('POST', '/api/publication', { token: 'public', body: 'no json' });
    expect([reply.status, reply.body.error.code]).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
  });

  test('health checks need no token', async () => {
    expect((await app.request('GET', '/health/live')).body).toEqual({
      code: 200,
      status: 'OK',
      data: { live: true, version: expect.any(String) },
    });
    expect((await app.request('GET', '/health/ready')).status).toBe(200);
    const other = await app.request('POST', '/health/live');
    expect([other.status, other.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  test('/health/ready is 503 with the state of each dependency if the service is not ready', async () => {
    const unready = await startTinyApp({
      ready: async () => ({ ok: false, details: { event_store: 'down' } }),
    });
    const reply = await unready.request('GET', '/health/ready');
    await unready.close();
    expect(reply.status).toBe(503);
    expect(reply.body.error).toMatchObject({ code: 'SERVICE_UNAVAILABLE', details: { event_store: 'down' } });
  });
});

test('a handler can find out that nobody waits for its answer any more', async () => {
  const requests: ApiRequest[] = [];
  const handler = (request: ApiRequest) => {
    requests.push(request);
    return new Promise<never>(() => {});
  };
  const app = await startTinyApp({ routes: [get('/api/slow', handler)] });
  const send = () => {
    const headers = { authorization: 'Bearer public' };
    return httpGet({ port: app.port, path: '/api/slow', headers, agent: false }).on('error', () => {});
  };
  const areAwaited = () =>
    requests.map((request) => {
      try {
        request.assertAwaited();
        return true;
      } catch {
        return false;
      }
    });
  const leaving = send();
  await waitFor(() => requests.length === 1);
  send();
  await waitFor(() => requests.length === 2);
  expect(areAwaited()).toEqual([true, true]);
  leaving.destroy();
  await waitFor(() => !areAwaited()[0]);
  expect(areAwaited()).toEqual([false, true]);
  const late_ms = performance.now() + 5_000;
  jest.spyOn(performance, 'now').mockReturnValue(late_ms);
  expect(areAwaited()).toEqual([false, false]);
  jest.restoreAllMocks();
  await app.close();
});

describe('the Authorization header', () => {
  let app: TinyApp;

  beforeAll(async () => {
    app = await startTinyApp({ routes: [get('/api/echo', async () => ({ data: {} }))] });
  });

  afterAll(() => app.close());

  test.each([
    [undefined, 401, 'UNAUTHORIZED'],
    ['', 401, 'UNAUTHORIZED'],
    ['Bearer', 401, 'UNAUTHORIZED'],
    ['Basic c2VjcmV0', 401, 'UNAUTHORIZED'],
    ['Basic a b c', 401, 'UNAUTHORIZED'],
    ['Bearer two words', 401, 'TOKEN_INVALID'],
    ['Bearer token_invalid', 401, 'TOKEN_INVALID'],
    ['Bearer token_expired', 401, 'TOKEN_EXPIRED'],
    ['Bearer key_revoked', 401, 'REVOKED_API_KEY'],
    ['Bearer key_invalid', 401, 'INVALID_API_KEY'],
    ['Bearer account_suspended', 403, 'ACCOUNT_SUSPENDED'],
    ['Bearer unavailable', 503, 'SERVICE_UNAVAILABLE'],
    ['bearer public', 200, undefined],
  ])('%s → %i %s', async (authorization, status, code) => {
    const reply = await app.request('GET', '/api/echo', {
      headers: authorization === undefined ? {} : { authorization },
    });
    expect([reply.status, reply.body.error?.code]).toEqual([status, code]);
    if (status === 401)
      expect(reply.headers['www-authenticate']).toBe(
        code === 'UNAUTHORIZED' ? 'Bearer realm="catalog"' : 'Bearer realm="catalog", error="invalid_token"',
      );
  });

  test('a token in the query is ignored', async () => {
    expect((await app.request('GET', '/api/echo?access_token=public')).status).toBe(401);
    expect((await app.request('GET', '/api/echo?access_token=x', { token: 'public' })).status).toBe(200);
  });

  test('no token is logged', async () => {
    await app.request('GET', '/api/echo?access_token=public', { token: 'token_expired' });
    expect(app.lines.length).toBeGreaterThan(0);
    expect(app.lines.join('')).not.toMatch(/access_token|Bearer token_expired/);
  });
});
