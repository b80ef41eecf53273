import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createApiKey, setApiKeyLimits } from '../../services/command/api-key';
import { permissionsOf } from '../../shared/catalog/vocabulary';
import type { ApiKeyId } from '../../shared/kernel/ids';
import { waitFor } from '../support/wait-for';
import { ownShop } from './own-shop';
import { expectError } from './replies';

const own = ownShop();

const create = (body: object, headers: Record<string, string> = {}) =>
  own.send('POST', '/api/key', { body: { name: 'Ana', type: 'secret', ...body }, headers });
const listed = async () => (await own.send('GET', '/api/keys')).body.data;

test('a merchant creates a key, which works; lists it, gives it another name, and revokes it', async () => {
  const { harness, shop } = own;
  const { status, body } = await create({ type: 'public', permissions: ['read:publications'] });
  expect([status, body.data]).toEqual([
    201,
    {
      ...{
        id: expect.any(String),
        object: 'key',
        name: 'Ana',
        type: 'public',
        status: 'active',
        is_own: false,
        needs_confirmation: false,
      },
      ...{ permissions: ['read:publications'], stores: [shop.store_id], created_at: expect.any(String) },
      ...{ secret: expect.stringMatching(/^pk_live_/), last_four: body.data.secret.slice(-4) },
    },
  ]);
  const { id, secret, ...shown } = body.data;
  const [newest, ...others] = await listed();
  expect(newest).toEqual({ id, ...shown });
  expect(others).toHaveLength(2);
  expect(others.find((key: { is_own: boolean }) => key.is_own)).toMatchObject({ id: shop.secret.id });

  const token = await harness.token(secret);
  expect((await harness.request('GET', '/api/publications', { token })).status).toBe(200);
  const renamed = await own.send('PATCH', `/api/key/${id}`, { body: { name: ' Shop window ' } });
  expect(renamed.body.data).toMatchObject({ id, name: 'Shop window' });
  const revoked = await own.send('DELETE', `/api/key/${id}`);
  expect(revoked.body.data).toMatchObject({ id, name: 'Shop window', status: 'revoked' });
  expect((await listed())[0]).toMatchObject({ id, status: 'revoked' });
  const isRefused = async () =>
    (await harness.request('GET', '/api/publications', { token })).body.error?.code === 'REVOKED_API_KEY';
  await waitFor(isRefused);
  expectError(await own.send('POST', `/api/key/${id}/rotate`), 404, 'KEY_NOT_FOUND');
});

test('a rotated key works for another day beside the new one, also that of the request', async () => {
  const { harness, shop } = own;
  const { status, body } = await own.send('POST', `/api/key/${shop.secret.id}/rotate`);
  const { id, secret, permissions } = body.data;
  expect([status, permissions]).toEqual([201, permissionsOf('secret')]);
  expectError(await own.send('GET', '/api/keys'), 403, 'INSUFFICIENT_PERMISSIONS');
  const token = await harness.token(secret);
  const { data } = (await harness.request('GET', '/api/keys', { token })).body;
  const [newest, old] = [id, shop.secret.id].map((one) => data.find((key: { id: string }) => key.id === one));
  expect(newest).toMatchObject({ is_own: true, status: 'active' });
  const left_ms = Date.parse(old.expires_at) - Date.now();
  expect(left_ms).toBeGreaterThan(23 * 3_600_000);
  expect(left_ms).toBeLessThanOrEqual(24 * 3_600_000);
  expect(
    (await harness.request('GET', '/api/store', { token: await harness.token(shop.secret.key) })).status,
  ).toBe(200);
  expectError(await harness.request('DELETE', `/api/key/${id}`, { token }), 409, 'CONFLICT');
});

test('a repeated request creates one key, and no file of the service has the key itself', async () => {
  const headers = { 'idempotency-key': 'once' };
  const first = await create({}, headers);
  const again = await create({}, headers);
  const { secret, ...shown } = first.body.data;
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect([again.status, again.body.data]).toEqual([201, shown]);
  expect(await listed()).toHaveLength(3);
  const { data_dir } = own.harness;
  const files = readdirSync(data_dir, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const hasSecret = (name: string) => readFileSync(name).includes(secret);
  expect(files.map(({ parentPath, name }) => join(parentPath, name)).filter(hasSecret)).toEqual([]);
});

test('only a secret key without any restriction manages keys, and only those of its stores', async () => {
  const { harness, shop } = own;
  const other = await harness.newShop();
  const fewer = await harness.newKey('secret', [shop.store_id], permissionsOf('secret').slice(1));
  const wide = await harness.newKey('secret', [shop.store_id, other.store_id]);
  const limited = await harness.newKey('secret', [shop.store_id]);
  const context = { source: 'cli', request_id: 'test' } as const;
  await setApiKeyLimits(harness.deps, context, limited.id as ApiKeyId, {
    per_minute: 9,
    per_day: 99,
    burst: 9,
  });
  const passing = (await create({ expires_at: new Date(Date.now() + 3_600_000).toISOString() })).body.data;
  await harness.settled();
  for (const token of [shop.public.token, fewer.token, limited.token, await harness.token(passing.secret)]) {
    expectError(await harness.request('GET', '/api/keys', { token }), 403, 'INSUFFICIENT_PERMISSIONS');
    const body = { name: 'Ana', type: 'public' };
    expectError(await harness.request('POST', '/api/key', { token, body }), 403, 'INSUFFICIENT_PERMISSIONS');
  }
  for (const { id } of [other.secret, wide])
    for (const [method, path, named] of [
      ['PATCH', '', { name: 'Ana' }],
      ['POST', '/rotate', undefined],
      ['DELETE', '', undefined],
    ] as const)
      expectError(await own.send(method, `/api/key/${id}${path}`, { body: named }), 404, 'KEY_NOT_FOUND');
  expect((await listed()).map(({ id }: { id: string }) => id)).not.toContain(wide.id);
  const of_wide = (await harness.request('GET', '/api/keys', { token: wide.token })).body.data;
  expect(of_wide.map(({ id }: { id: string }) => id)).toEqual(
    expect.arrayContaining([wide.id, other.secret.id]),
  );
  const made = await harness.request('POST', `/api/key?store_id=${other.store_id}`, {
    token: wide.token,
    body: { name: 'Ana', type: 'public' },
  });
  expect(made.body.data.stores).toEqual([other.store_id]);
  const both = await harness.request('POST', '/api/key', {
    token: wide.token,
    body: { name: 'Ana', type: 'public' },
  });
  expect(both.body.data.stores).toEqual([shop.store_id, other.store_id]);
});

test('a store has at most 100 keys that work', async () => {
  const { harness, shop } = own;
  const { account_id, deps } = harness;
  const key = { account_id, name: 'Ana', type: 'public' as const, stores: [shop.store_id] };
  for (let n = 2; n < 100; n++) await createApiKey(deps, { source: 'cli', request_id: 'test' }, key);
  await harness.settled();
  expectError(await create({}), 409, 'LIMIT_EXCEEDED');
  await own.send('DELETE', `/api/key/${shop.public.id}`);
  expect((await create({})).status).toBe(201);
});

test('a key with what its type may not have, or in the past, is refused', async () => {
  expectError(
    await create({ type: 'public', permissions: ['write:media'] }),
    400,
    'FIELD_INVALID',
    'permissions',
  );
  expectError(await create({ expires_at: '2020-01-01T00:00:00Z' }), 400, 'FIELD_INVALID', 'expires_at');
  expectError(await create({ name: '' }), 400, 'FIELD_TOO_SHORT', 'name');
  expectError(await create({ stores: [own.shop.store_id] }), 400, 'FIELD_INVALID', 'stores');
});
