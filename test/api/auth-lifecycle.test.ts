import { reinstateAccount, suspendAccount } from '../../services/command/account';
import { createApiKey, revokeApiKey, rotateApiKey } from '../../services/command/api-key';
import type { WriteContext } from '../../services/command/execute';
import { operations } from '../../shared/api/operations';
import { permissionsOf } from '../../shared/catalog/vocabulary';
import type { ApiKeyId } from '../../shared/kernel/ids';
import { realSystem } from '../../shared/kernel/system';
import { type Harness, type Reply, type RequestOptions, type Shop, startHarness } from '../support/harness';
import { endAll } from '../support/processes';
import { waitFor } from '../support/wait-for';

describe('keys and tokens over time', () => {
  const clock = { ahead_ms: 0 };
  const system = { ...realSystem, now: () => Date.now() + clock.ahead_ms };
  let harness: Harness;
  let shop: Shop;
  let writes = 0;

  beforeAll(async () => {
    harness = await startHarness({ system });
    shop = await harness.newShop();
  });

  afterAll(() => harness.close());

  afterEach(() => {
    endAll();
    clock.ahead_ms = 0;
  });

  const context = (): WriteContext => ({ source: 'cli', request_id: `auth-lifecycle-${++writes}` });
  const read = (token: string): Promise<Reply> => harness.request('GET', '/api/store', { token });
  const auth = (name: string, token: string): Promise<Reply> =>
    harness.request('POST', `/auth/${name}`, { token });
  const exchange = (key: string): Promise<Reply> =>
    harness.request('POST', '/auth/token', { headers: { 'x-api-key': key } });
  const plain = (message: string) => ({ code: 401, status: 'error', message });
  const answers = (token: string, code: string): Promise<Reply> =>
    waitFor(
      async () => {
        const reply = await read(token);
        return reply.body.error?.code === code ? reply : undefined;
      },
      { what: code },
    );

  test('every endpoint of /api refuses a request without a token, and a key without its permission', async () => {
    const stores = [shop.store_id];
    const narrow = await harness.newKey('secret', stores, ['read:stores']);
    const others = permissionsOf('secret').filter((name) => name !== 'read:stores');
    const wide = await harness.newKey('secret', stores, others);
    for (const operation of operations) {
      if (!('permission' in operation)) continue;
      const { method, path, permission } = operation;
      const send = async (options: RequestOptions) => {
        const reply = await harness.request(method, path.replace(':id', shop.store_id), options);
        expect(reply.headers.get('x-ratelimit-remaining')).toMatch(/^\d+$/);
        return [method, path, reply.status, reply.body.error.code];
      };
      expect(await send({})).toEqual([method, path, 401, 'UNAUTHORIZED']);
      const forbidden = [method, path, 403, 'INSUFFICIENT_PERMISSIONS'];
      const { token } = permission === 'read:stores' ? wide : narrow;
      expect(await send({ token })).toEqual(forbidden);
      if (method !== 'GET') expect(await send({ token: shop.public.token })).toEqual(forbidden);
    }
  });

  test('the tokens of a revoked key are refused everywhere within seconds', async () => {
    const { id, key, token } = await harness.newKey('secret', [shop.store_id]);
    expect((await read(token)).status).toBe(200);
    await revokeApiKey(harness.deps, context(), id as ApiKeyId);
    const refused = await answers(token, 'REVOKED_API_KEY');
    expect(refused.status).toBe(401);
    const writing = harness.request('POST', '/api/listing', { token, body: { name: 'x' } });
    expect((await writing).body.error.code).toBe('REVOKED_API_KEY');
    const refusals = await Promise.all([exchange(key), auth('refresh', token), auth('validate', token)]);
    expect(refusals.map((reply) => [reply.status, reply.body])).toEqual([
      [401, plain('Invalid API key')],
      [401, plain('Invalid API key')],
      [401, plain('Invalid or expired token')],
    ]);
  });

  test('an expired key and its tokens are refused', async () => {
    const expires_at = new Date(system.now() + 600_000).toISOString();
    const input = {
      account_id: harness.account_id,
      name: 'short',
      type: 'public' as const,
      stores: [shop.store_id],
      expires_at,
    };
    const { key } = await createApiKey(harness.deps, context(), input);
    await harness.settled();
    const token = await harness.token(key);
    expect((await read(token)).status).toBe(200);
    clock.ahead_ms = 601_000;
    expect((await answers(token, 'INVALID_API_KEY')).status).toBe(401);
    expect((await exchange(key)).body).toEqual(plain('Invalid API key'));
    expect((await auth('refresh', token)).body).toEqual(plain('Invalid API key'));
    expect((await auth('validate', token)).body).toEqual(plain('Invalid or expired token'));
  });

  test('the old key of a rotation works next to the new one until the overlap ends', async () => {
    const old = await harness.newKey('public', [shop.store_id]);
    const old_valid_until = new Date(system.now() + 600_000);
    const fresh = await rotateApiKey(harness.deps, context(), old.id as ApiKeyId, { old_valid_until });
    await harness.settled();
    expect((await exchange(old.key)).status).toBe(200);
    expect((await exchange(fresh.key)).status).toBe(200);
    clock.ahead_ms = 601_000;
    await waitFor(async () => (await exchange(old.key)).status === 401);
    expect((await exchange(fresh.key)).status).toBe(200);
  });

  test('a token is valid for the requested time, and a refresh gives the same time again', async () => {
    const { body } = await harness.request('POST', '/auth/token', {
      headers: { 'x-api-key': shop.public.key },
      body: { ttl_minutes: 60 },
    });
    const { token } = body.data;
    clock.ahead_ms = 3_000_000;
    const renewed = await auth('refresh', token);
    expect(renewed.body.data).toEqual({ token: expect.any(String), token_type: 'Bearer', expires_in: 3_600 });
    clock.ahead_ms = 3_601_000;
    const expired = await read(token);
    expect([expired.status, expired.body.error.code]).toEqual([401, 'TOKEN_EXPIRED']);
    expect((await auth('refresh', token)).body).toEqual(plain('Invalid or expired token'));
    expect((await auth('validate', token)).body).toEqual(plain('Invalid or expired token'));
    expect((await read(renewed.body.data.token)).status).toBe(200);
  });

  test('a suspended account gets tokens, but they cannot read or write until it is reinstated', async () => {
    await suspendAccount(harness.deps, context(), harness.account_id);
    const refused = await answers(shop.secret.token, 'ACCOUNT_SUSPENDED');
    expect(refused.status).toBe(403);
    const write = await harness.request('POST', '/api/listing', {
      token: shop.secret.token,
      body: { name: 'x' },
    });
    expect([write.status, write.body.error.code]).toEqual([403, 'ACCOUNT_SUSPENDED']);
    expect((await exchange(shop.secret.key)).status).toBe(200);
    expect((await auth('validate', shop.secret.token)).body.data.valid).toBe(true);
    await reinstateAccount(harness.deps, context(), harness.account_id);
    await waitFor(async () => (await read(shop.secret.token)).status === 200);
  });

  test('records the last use of a key', async () => {
    const { id } = await harness.newKey('public', [shop.store_id]);
    const view = await harness.service.runtime.views.control.current();
    await waitFor(async () => (await view?.get('api_keys', id))?.document?.body.last_used_at);
  });
});
