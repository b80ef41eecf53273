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
const stored: ApiKey = {
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
  const used: string[] = [];
  let state: 'good' | 'revoked' | 'expired' | 'unreachable';
  let app: TinyApp;

  const assertUsable = (key: ApiKey | undefined): ApiKey => {
    if (key === undefined || state === 'expired') throw new CatalogError('key_invalid');
    if (state === 'revoked') throw new CatalogError('key_revoked');
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
    state = 'good';
    clock.now_ms = Date.now();
    used.length = 0;
    const onKeyUsed = (id: string): void => void used.push(id);
    app = await startTinyApp({ auth: authEndpoints({ authenticator, tokens, system, onKeyUsed }) });
  });

  afterEach(() => app.close());

  const askToken = (headers: Record<string, string> = { 'x-api-key': API_KEY }, body?: string) =>
    app.request('POST', '/auth/token', {
      headers: { ...JSON_TYPE, ...headers },
      ...(body === undefined ? {} : { body }),
    });
  const plain = (code: number, message: string) => ({ code, status: 'error', message });

  test('a key gets a token of 15 minutes, or of what it asks for', async () => {
    const reply = await askToken();
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
      const { data } = (await askToken(undefined, JSON.stringify({ ttl_minutes: minutes }))).body;
      const { iat, exp } = tokens.verify(data.token);
      expect([data.expires_in, exp - iat]).toEqual([minutes * 60, minutes * 60]);
    }
    expect((await askToken(undefined, '{}')).body.data.expires_in).toBe(900);
  });

  test.each([[{}], [{ 'x-api-key': '' }], [{ authorization: `Bearer ${API_KEY}` }]])(
    'no key in %p',
    async (headers) => {
      const reply = await askToken(headers as Record<string, string>);
      expect([reply.status, reply.body]).toEqual([401, plain(401, 'X-API-Key header required')]);
    },
  );

  test.each([
    'x',
    `pk_live_${'x'.repeat(43)}`,
    `${API_KEY}x`,
    `rk_live_${'k'.repeat(43)}`,
    `${API_KEY}, ${API_KEY}`,
  ])('%s is no key of ours', async (key) => {
    const reply = await askToken({ 'x-api-key': key });
    expect([reply.status, reply.body]).toEqual([401, plain(401, 'Invalid API key')]);
  });

  test.each(['revoked', 'expired'] as const)('a key that is %s', async (now) => {
    const { token } = (await askToken()).body.data;
    state = now;
    expect((await askToken()).body).toEqual(plain(401, 'Invalid API key'));
    const refreshed = await app.request('POST', '/auth/refresh', { token });
    expect([refreshed.status, refreshed.body]).toEqual([401, plain(401, 'Invalid API key')]);
    const validated = await app.request('POST', '/auth/validate', { token });
    expect([validated.status, validated.body]).toEqual([401, plain(401, 'Invalid or expired token')]);
  });

  test.each([
    ['{"ttl_minutes":0}', 'ttl_minutes: an integer from 1 to 60'],
    ['{"ttl_minutes":61}', 'ttl_minutes: an integer from 1 to 60'],
    ['{"ttl_minutes":1.5}', 'ttl_minutes: an integer from 1 to 60'],
    ['{"ttl_minutes":"5"}', 'ttl_minutes: an integer from 1 to 60'],
    ['{"ttl_minutes":null}', 'ttl_minutes: an integer from 1 to 60'],
    ['{"ttl":5}', 'ttl: not a known field'],
    ['{"ttl_minutes":', 'The body is not valid JSON'],
    ['[5]', 'The body must be a JSON object'],
  ])('%s is refused', async (body, message) => {
    const reply = await askToken(undefined, body);
    expect([reply.status, reply.body]).toEqual([400, plain(400, message)]);
  });

  test('a body of another type is 415, too large a one 413, in the plain shape', async () => {
    const form = await askToken(
      { 'x-api-key': API_KEY, 'content-type': 'application/x-www-form-urlencoded' },
      'ttl_minutes=5',
    );
    expect([form.status, form.body.status, typeof form.body.message]).toEqual([415, 'error', 'string']);
    const large = await askToken(undefined, `{"x":"${'x'.repeat(1_100_000)}"}`);
    expect([large.status, large.body.error]).toEqual([413, undefined]);
  });

  test('a bad key is told before a bad body', async () => {
    expect((await askToken({ 'x-api-key': 'x' }, '{')).status).toBe(401);
  });

  test('a refresh gives a new token of the same lifetime, from now on', async () => {
    const { token } = (await askToken(undefined, '{"ttl_minutes":7}')).body.data;
    clock.now_ms += 60_000;
    const reply = await app.request('POST', '/auth/refresh', { token });
    expect(reply.body).toEqual({
      code: 200,
      status: 'OK',
      data: { token: expect.any(String), token_type: 'Bearer', expires_in: 420 },
    });
    const { iat, exp } = tokens.verify(reply.body.data.token);
    expect([iat, exp - iat]).toEqual([Math.floor(clock.now_ms / 1000), 420]);
    expect(tokens.verify(token)).toBeDefined();
  });

  test('validate tells the claims', async () => {
    const { token } = (await askToken()).body.data;
    const reply = await app.request('POST', '/auth/validate', { token });
    expect(reply.body).toEqual({
      code: 200,
      status: 'OK',
      data: {
        valid: true,
        api_key_id: KEY,
        account_id: grant.account_id,
        key_type: 'public',
        stores: grant.stores,
        permissions: ['read:stores'],
        expires_at: new Date((Math.floor(clock.now_ms / 1000) + 900) * 1000).toISOString(),
      },
    });
  });

  describe.each(['/auth/refresh', '/auth/validate'])('%s', (path) => {
    test.each([undefined, '', 'Bearer', 'Bearer ', 'Basic eA=='])(
      'Authorization %p is no bearer token',
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

    test('a malformed, a forged and an expired token', async () => {
      const { token } = (await askToken(undefined, '{"ttl_minutes":1}')).body.data;
      const forged = codecAt(
        clock,
        ring({ ...entries.HS256, secret: 'another secret of thirty-two characters' }),
      ).sign(grant, 60);
      clock.now_ms += 60_000;
      for (const bad of ['x', 'two words', forged, token]) {
        const reply = await app.request('POST', path, { token: bad });
        expect([reply.status, reply.body]).toEqual([401, plain(401, 'Invalid or expired token')]);
      }
    });

    test('takes no fields', async () => {
      const { token } = (await askToken()).body.data;
      const reply = await app.request('POST', path, { token, headers: JSON_TYPE, body: '{"ttl_minutes":5}' });
      expect([reply.status, reply.body]).toEqual([400, plain(400, 'ttl_minutes: not a known field')]);
    });
  });

  test('other methods and paths are told in the plain shape', async () => {
    const get = await app.request('GET', '/auth/token');
    expect([get.status, get.headers.allow, get.body.status, get.body.error]).toEqual([
      405,
      'POST, OPTIONS',
      'error',
      undefined,
    ]);
    const unknown = await app.request('POST', '/auth/nothing');
    expect([unknown.status, unknown.body]).toEqual([404, plain(404, 'There is nothing at this path')]);
    expect((await app.request('POST', '/auth/token/')).status).toBe(404);
  });

  test('where keys cannot be looked up nobody is refused: 503, with Retry-After', async () => {
    state = 'unreachable';
    const reply = await askToken();
    expect([reply.status, reply.body.status, reply.headers['retry-after']]).toEqual([503, 'error', '2']);
  });

  test('buckets are per endpoint and key, or address where there is none', async () => {
    const { token } = (await askToken()).body.data;
    await app.request('POST', '/auth/refresh', { token });
    await app.request('POST', '/auth/validate', { token });
    await app.request('POST', '/auth/validate', { token: 'forged' });
    const missing = await askToken({});
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

  test('an empty bucket is 429 in the plain shape', async () => {
    for (let i = 0; i < 20; i++) await askToken({});
    const reply = await askToken({});
    expect([reply.status, reply.body, reply.headers['retry-after']]).toEqual([
      429,
      plain(429, 'Rate limit exceeded'),
      '7',
    ]);
    expect((await askToken()).status).toBe(200);
  });

  test('the use of a key is told once per interval, and only for tokens given', async () => {
    await askToken(undefined, '{"ttl_minutes":0}');
    expect(used).toEqual([]);
    const { token } = (await askToken()).body.data;
    await askToken();
    await app.request('POST', '/auth/refresh', { token });
    expect(used).toEqual([KEY]);
    clock.now_ms += 5 * 60_000;
    await askToken();
    expect(used).toEqual([KEY, KEY]);
  });

  test('a use that cannot be recorded costs nobody a token, and is told again', async () => {
    let calls = 0;
    const onKeyUsed = async (): Promise<void> => {
      calls++;
      throw new Error('down');
    };
    const own = await startTinyApp({ auth: authEndpoints({ authenticator, tokens, system, onKeyUsed }) });
    const ask = () => own.request('POST', '/auth/token', { headers: { 'x-api-key': API_KEY } });
    expect((await ask()).status).toBe(200);
    await waitFor(async () => (await ask()).status === 200 && calls === 2);
    await own.close();
  });

  test('no key or token is in a log line', async () => {
    const { token } = (await askToken()).body.data;
    await app.request('POST', `/auth/validate?key=${API_KEY}`, { token });
    await app.request('POST', `/auth/${token}/${API_KEY}`, { token });
    const log = app.lines.join('');
    expect(log).not.toContain(API_KEY);
    expect(log).not.toContain(token);
    expect(app.lines.length).toBeGreaterThanOrEqual(3);
  });
});
