import { createHash } from 'node:crypto';
import { authEndpoints } from '../../../services/auth/endpoints';
import type { ApiKey } from '../../../shared/catalog/api-key/api-key';
import { CatalogError } from '../../../shared/kernel/errors';
import { realSystem } from '../../../shared/kernel/system';
import { waitFor } from '../../support/wait-for';
import { KEY, startTinyApp, type TinyApp } from './tiny-app';
import { codecAt, entries, grant, ring } from './token-fixtures';

const API_KEY = `pk_live_${'k'.repeat(43)}`;
const JSON_TYPE = { 'content-type': 'application/json' };
const stored: { -readonly [Name in keyof ApiKey]: ApiKey[Name] } = {
  id: KEY,
  account_id: grant.account_id,
  name: 'storefront',
  type: 'public',
  environment: 'live',
  stores: grant.stores,
  permissions: ['read:stores'],
  key_hash: createHash('sha256').update(API_KEY).digest('hex'),
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
  created_at: '2026-01-01T00:00:00.000Z',
};

describe('/auth/*', () => {
  const clock = { now_ms: Date.now() };
  const system = { ...realSystem, now: () => clock.now_ms };
  const tokens = codecAt(clock, ring(entries.HS256));
  const used_keys: string[] = [];
  let state: 'valid' | 'unreachable';
  let app: TinyApp;

  const assertUsable = (key: ApiKey | undefined): ApiKey => {
    if (key === undefined) throw new CatalogError('key_invalid');
    return key;
  };
  const authenticator = {
    assertUsable,
    findKeyByHash: async (hash: string) => {
      if (state === 'unreachable') throw new CatalogError('unavailable');
      return hash === stored.key_hash ? stored : undefined;
    },
    verifyToken: async (bearer: string) => ({ claims: tokens.verify(bearer), key: assertUsable(stored) }),
  } as never;

  beforeEach(async () => {
    state = 'valid';
    clock.now_ms = Date.now();
    used_keys.length = 0;
    const onKeyUsed = (id: string): void => void used_keys.push(id);
    app = await startTinyApp({ auth: authEndpoints({ authenticator, tokens, system, onKeyUsed }) });
  });

  afterEach(() => app.close());

  const requestToken = (headers: Record<string, string> = { 'x-api-key': API_KEY }, body?: string) =>
    app.request('POST', '/auth/token', {
      headers: { ...JSON_TYPE, ...headers },
      ...(body === undefined ? {} : { body }),
    });
  const plain = (code: number, message: string) => ({ code, status: 'error', message });

  test('issues a token for 15 minutes, or for ttl_minutes', async () => {
    const reply = await requestToken();
    expect(reply.body).toEqual({
      code: 200,
      status: 'OK',
      data: { token: expect.any(String), token_type: 'Bearer', expires_in: 900 },
    });
    expect(reply.headers['cache-control']).toBe('no-store');
    expect(tokens.verify(reply.body.data.token)).toMatchObject({
      api_key_id: KEY,
      key_type: 'public',
      env: 'live',
      permissions: ['read:stores'],
    });
    for (const minutes of [1, 60]) {
      const { data } = (await requestToken(undefined, JSON.stringify({ ttl_minutes: minutes }))).body;
      const { iat, exp } = tokens.verify(data.token);
      expect([data.expires_in, exp - iat]).toEqual([minutes * 60, minutes * 60]);
    }
    expect((await requestToken(undefined, '{}')).body.data.expires_in).toBe(900);
  });

  test.each([[{}], [{ 'x-api-key': '' }], [{ authorization: `Bearer ${API_KEY}` }]])(
    'headers %p without X-API-Key are refused',
    async (headers) => {
      const reply = await requestToken(headers as Record<string, string>);
      expect([reply.status, reply.body]).toEqual([401, plain(401, 'X-API-Key header required')]);
    },
  );

  test.each([
    'x',
    `pk_live_${'x'.repeat(43)}`,
    `${API_KEY}x`,
    `rk_live_${'k'.repeat(43)}`,
    `${API_KEY}, ${API_KEY}`,
  ])('the unknown key %s is refused', async (key) => {
    const reply = await requestToken({ 'x-api-key': key });
    expect([reply.status, reply.body]).toEqual([401, plain(401, 'Invalid API key')]);
  });

  test.each([
    ['{"ttl_minutes":0}', 'Invalid ttl_minutes: expected an integer from 1 to 60'],
    ['{"ttl_minutes":61}', 'Invalid ttl_minutes: expected an integer from 1 to 60'],
    ['{"ttl_minutes":1.5}', 'Invalid ttl_minutes: expected an integer from 1 to 60'],
    ['{"ttl_minutes":"5"}', 'Invalid ttl_minutes: expected an integer from 1 to 60'],
    ['{"ttl_minutes":null}', 'Invalid ttl_minutes: expected an integer from 1 to 60'],
    ['{"ttl":5}', 'ttl is not a known field'],
    ['{"ttl_minutes":', 'The body is not valid JSON'],
    ['[5]', 'The body must be a JSON object'],
  ])('%s is refused', async (body, message) => {
    const reply = await requestToken(undefined, body);
    expect([reply.status, reply.body]).toEqual([400, plain(400, message)]);
  });

  test('a body of another type is 415 and a body that is too large is 413, as a plain error', async () => {
    const form = await requestToken(
      { 'x-api-key': API_KEY, 'content-type': 'application/x-www-form-urlencoded' },
      'ttl_minutes=5',
    );
    expect([form.status, form.body.status, typeof form.body.message]).toEqual([415, 'error', 'string']);
    const large = await requestToken(undefined, `{"x":"${'x'.repeat(1_100_000)}"}`);
    expect([large.status, large.body.error]).toEqual([413, undefined]);
  });

  test('an invalid key is reported before an invalid body', async () => {
    expect((await requestToken({ 'x-api-key': 'x' }, '{')).status).toBe(401);
  });

  describe.each(['/auth/refresh', '/auth/validate'])('%s', (path) => {
    test.each([undefined, '', 'Bearer', 'Bearer ', 'Basic eA=='])(
      'Authorization %p is refused because it has no bearer token',
      async (authorization) => {
        const reply = await app.request('POST', path, {
          headers: authorization === undefined ? {} : { authorization },
        });
        expect([reply.status, reply.body]).toEqual([
          401,
          plain(401, 'Bearer token required in Authorization header'),
        ]);
      },
    );

    test('malformed, forged and expired tokens are refused', async () => {
      const { token } = (await requestToken(undefined, '{"ttl_minutes":1}')).body.data;
      const forged = codecAt(
        clock,
        ring({ ...entries.HS256, secret: 'another secret of thirty-two characters' }),
      ).sign(grant, 60);
      clock.now_ms += 60_000;
      for (const invalid of ['x', 'two words', forged, token]) {
        const reply = await app.request('POST', path, { token: invalid });
        expect([reply.status, reply.body]).toEqual([401, plain(401, 'Invalid or expired token')]);
      }
    });

    test('a body with fields is refused', async () => {
      const { token } = (await requestToken()).body.data;
      const reply = await app.request('POST', path, { token, headers: JSON_TYPE, body: '{"ttl_minutes":5}' });
      expect([reply.status, reply.body]).toEqual([400, plain(400, 'ttl_minutes is not a known field')]);
    });
  });

  test('405 and 404 are plain errors', async () => {
    const get = await app.request('GET', '/auth/token');
    expect([get.status, get.headers.allow, get.body.status, get.body.error]).toEqual([
      405,
      'POST, OPTIONS',
      'error',
      undefined,
    ]);
    const unknown = await app.request('POST', '/auth/nothing');
    expect([unknown.status, unknown.body]).toEqual([404, plain(404, 'This path does not exist')]);
    expect((await app.request('POST', '/auth/token/')).status).toBe(404);
  });

  test('if keys cannot be read, the response is 503 with Retry-After', async () => {
    state = 'unreachable';
    const reply = await requestToken();
    expect([reply.status, reply.body.status, reply.headers['retry-after']]).toEqual([503, 'error', '2']);
  });

  test('rate limits apply per endpoint and key, or per IP address without a valid key', async () => {
    const { token } = (await requestToken()).body.data;
    await app.request('POST', '/auth/refresh', { token });
    await app.request('POST', '/auth/validate', { token });
    await app.request('POST', '/auth/validate', { token: 'forged' });
    const missing = await requestToken({});
    expect(missing.headers).toMatchObject({
      'x-ratelimit-limit': '10',
      'x-ratelimit-remaining': '10',
      'x-ratelimit-tier': 'public_key',
    });
    expect([...app.limiter.taken.keys()].sort()).toEqual(
      [
        `auth:refresh:${KEY}`,
        'auth:token:ip:127.0.0.1',
        `auth:token:${KEY}`,
        'auth:validate:ip:127.0.0.1',
        `auth:validate:${KEY}`,
      ].sort(),
    );
  });

  test('an exceeded rate limit is 429 as a plain error', async () => {
    for (let i = 0; i < 20; i++) await requestToken({});
    const reply = await requestToken({});
    expect([reply.status, reply.body, reply.headers['retry-after']]).toEqual([
      429,
      plain(429, 'Rate limit exceeded'),
      '7',
    ]);
    expect((await requestToken()).status).toBe(200);
  });

  test('onKeyUsed is called if a token was issued and the last use is five minutes old', async () => {
    const stored_use = (ms_ago: number): void => {
      stored.last_used_at = new Date(clock.now_ms - ms_ago).toISOString();
    };
    await requestToken(undefined, '{"ttl_minutes":0}');
    expect(used_keys).toEqual([]);
    const { token } = (await requestToken()).body.data;
    expect(used_keys).toEqual([KEY]);
    stored_use(5 * 60_000 - 1);
    await requestToken();
    await app.request('POST', '/auth/refresh', { token });
    expect(used_keys).toEqual([KEY]);
    stored_use(5 * 60_000);
    await requestToken();
    expect(used_keys).toEqual([KEY, KEY]);
    stored.last_used_at = null;
  });

  test('a failure of onKeyUsed does not affect the token, and the next request calls it again', async () => {
    let calls = 0;
    const onKeyUsed = async (): Promise<void> => {
      calls++;
      throw new Error('down');
    };
    const own = await startTinyApp({ auth: authEndpoints({ authenticator, tokens, system, onKeyUsed }) });
    const request = () => own.request('POST', '/auth/token', { headers: { 'x-api-key': API_KEY } });
    expect((await request()).status).toBe(200);
    await waitFor(async () => (await request()).status === 200 && calls === 2);
    await own.close();
  });

  test('no log line contains a key or token', async () => {
    const { token } = (await requestToken()).body.data;
    await app.request('POST', `/auth/validate?key=${API_KEY}`, { token });
    await app.request('POST', `/auth/${token}/${API_KEY}`, { token });
    const log = app.lines.join('');
    expect(log).not.toContain(API_KEY);
    expect(log).not.toContain(token);
    expect(app.lines.length).toBeGreaterThanOrEqual(3);
  });
});
