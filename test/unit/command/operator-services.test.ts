import { createAccount, suspendAccount } from '../../../services/command/account';
import type { NewApiKey } from '../../../services/command/api-key';
import {
  createApiKey,
  recordApiKeyUse,
  revokeApiKey,
  rotateApiKey,
  setApiKeyLimits,
} from '../../../services/command/api-key';
import { createPublication } from '../../../services/command/publication';
import { postReview } from '../../../services/command/review';
import { changeStoreStatus, createStore, describeStore, locateStore } from '../../../services/command/store';
import { hashKey } from '../../../shared/catalog/api-key/api-key';
import { permissionsOf } from '../../../shared/catalog/vocabulary';
import { errorOf, faultsOf, newId, World } from './support';

const HOUR_MS = 3_600_000;

describe('accounts', () => {
  test('require a name, and must exist to be suspended', async () => {
    const world = new World();
    expect(await faultsOf(() => createAccount(world, world.context(), { name: ' ' }))).toEqual([
      ['field_too_short', 'name'],
    ]);
    expect((await errorOf(() => suspendAccount(world, world.context(), newId()))).condition).toBe(
      'field_invalid',
    );
  });
});

describe('stores', () => {
  test('are written to the log of their environment', async () => {
    const world = new World();
    const account = await world.account();
    const live = await world.store('live', account);
    const test = await world.store('test', account);
    expect(await locateStore(world, live.id)).toEqual(live);
    expect(await locateStore(world, test.id)).toMatchObject({ environment: 'test', account_id: account.id });
    expect(await locateStore(world, newId())).toBeUndefined();
    expect([world.events.live.log.length, world.events.test.log.length]).toEqual([1, 1]);
  });

  test('require an account that exists and is not suspended', async () => {
    const world = new World();
    const store = { name: 'Shop', environment: 'live' } as const;
    const create = (account_id: ReturnType<typeof newId>) =>
      createStore(world, world.context(), { account_id: account_id as never }, store);
    expect(await faultsOf(() => create(newId()))).toEqual([['field_invalid', 'account_id']]);
    const { id } = await world.account();
    await suspendAccount(world, world.context(), id);
    expect((await errorOf(() => create(id))).condition).toBe('account_suspended');
  });

  test('can be patched and change their status', async () => {
    const world = new World();
    const target = { environment: 'live', id: (await world.store()).id } as const;
    const described = await describeStore(world, world.context(), target, { description: 'Teas', ruc: '1' });
    expect(described.value).toMatchObject({ name: 'Shop', description: 'Teas', ruc: '1' });
    expect((await changeStoreStatus(world, world.context(), target, 'inactive')).value.status).toBe(
      'inactive',
    );
    expect(await faultsOf(() => describeStore(world, world.context(), target, { name: '' }))).toEqual([
      ['field_too_short', 'name'],
    ]);
    const elsewhere = { ...target, environment: 'test' } as const;
    const failure = await errorOf(() => changeStoreStatus(world, world.context(), elsewhere, 'active'));
    expect(failure.condition).toBe('store_not_found');
  });
});

describe('API keys', () => {
  async function shop(environment: 'live' | 'test' = 'live') {
    const world = new World();
    const account = await world.account();
    const store = await world.store(environment, account);
    const input: NewApiKey = { account_id: account.id, name: 'Web', type: 'public', stores: [store.id] };
    const create = (more: Partial<NewApiKey> = {}) =>
      createApiKey(world, world.context(), { ...input, ...more });
    return { world, account, store, create };
  }

  test.each([
    ['public', 'live', 'pk_live_'],
    ['secret', 'live', 'sk_live_'],
    ['public', 'test', 'pk_test_'],
    ['secret', 'test', 'sk_test_'],
  ] as const)('%s and %s begin with %s', async (type, environment, prefix) => {
    const { create, world, store } = await shop(environment);
    const { id, key, value } = await create({ type });
    expect(key).toMatch(new RegExp(`^${prefix}[A-Za-z0-9_-]{43}$`));
    expect(value).toMatchObject({ id, type, environment, stores: [store.id], key_hash: hashKey(key) });
    expect(value.permissions).toEqual(permissionsOf(type));
    expect(value.last_four).toBe(key.slice(-4));
    expect(
      JSON.stringify(world.events.control.log, (_, v) => (typeof v === 'bigint' ? '' : v)),
    ).not.toContain(key.slice(8));
  });

  test('can have fewer permissions than their type allows, but not more', async () => {
    const { create } = await shop();
    const { value } = await create({ type: 'secret', permissions: ['write:media', 'read:stores'] });
    expect(value.permissions).toEqual(['read:stores', 'write:media']);
    expect(await faultsOf(() => create({ permissions: ['read:stores', 'write:listings'] }))).toEqual([
      ['field_invalid', 'permissions'],
    ]);
  });

  test('can only have stores of their own account and of one environment', async () => {
    const { create, world, account, store } = await shop();
    const test = await world.store('test', account);
    const foreign = await world.store('live');
    expect(await faultsOf(() => create({ stores: [store.id, test.id] }))).toEqual([
      ['field_invalid', 'stores.1'],
    ]);
    expect(await faultsOf(() => create({ environment: 'test' }))).toEqual([['field_invalid', 'stores.0']]);
    expect(await faultsOf(() => create({ stores: [foreign.id] }))).toEqual([['field_invalid', 'stores.0']]);
    expect(await faultsOf(() => create({ stores: [newId()] }))).toEqual([['field_invalid', 'stores.0']]);
    expect(await faultsOf(() => create({ stores: [] }))).toEqual([['field_required', 'stores']]);
    expect((await create({ stores: [], environment: 'test' })).value).toMatchObject({ stores: [] });
    expect((await create({ stores: [store.id, store.id] })).value.stores).toEqual([store.id]);
    expect(await faultsOf(() => create({ account_id: newId() }))).toEqual([['field_invalid', 'account_id']]);
  });

  test('must expire in the future if they expire', async () => {
    const { create, world } = await shop();
    const expires_at = new Date(world.now_ms + HOUR_MS).toISOString();
    expect((await create({ expires_at })).value.expires_at).toBe(expires_at);
    const past = new Date(world.now_ms).toISOString();
    expect(await faultsOf(() => create({ expires_at: past }))).toEqual([['field_invalid', 'expires_at']]);
  });

  test('are rotated into a key with the same grants, and the old key expires at the given time', async () => {
    const { create, world } = await shop();
    const limits = { per_minute: 600, per_day: 100_000, burst: 900 };
    const old = await create({ permissions: ['read:stores'], limits });
    const old_valid_until = new Date(world.now_ms + HOUR_MS);
    const fresh = await rotateApiKey(world, world.context(), old.id, { old_valid_until });
    expect(fresh.key).not.toBe(old.key);
    expect(fresh.value).toMatchObject({
      name: 'Web',
      stores: old.value.stores,
      permissions: ['read:stores'],
      limits,
      expires_at: null,
    });
    const again = await recordApiKeyUse(world, world.context(), old.id);
    expect(again.value.expires_at).toBe(old_valid_until.toISOString());
    world.now_ms += HOUR_MS;
    const failure = await errorOf(() => rotateApiKey(world, world.context(), old.id, { old_valid_until }));
    expect(failure.condition).toBe('key_invalid');
  });

  test.each([
    ['no requests per minute', { per_minute: 0, per_day: 10, burst: 1 }, 'limits.per_minute'],
    ['a negative burst', { per_minute: 1, per_day: 10, burst: -1 }, 'limits.burst'],
    ['a fraction', { per_minute: 1.5, per_day: 10, burst: 1 }, 'limits.per_minute'],
    ['more than a billion', { per_minute: 1, per_day: 1_000_000_001, burst: 1 }, 'limits.per_day'],
    ['fewer per day than per minute', { per_minute: 11, per_day: 10, burst: 1 }, 'limits.per_day'],
    ['fewer per day than at once', { per_minute: 1, per_day: 10, burst: 11 }, 'limits.per_day'],
  ])('cannot have limits with %s', async (_name, limits, field) => {
    const { create, world } = await shop();
    expect(await faultsOf(() => create({ limits }))).toEqual([['field_invalid', field]]);
    const { id } = await create();
    expect(await faultsOf(() => setApiKeyLimits(world, world.context(), id, limits))).toEqual([
      ['field_invalid', field],
    ]);
  });

  test('stay revoked and cannot be rotated then', async () => {
    const { create, world } = await shop();
    const { id } = await create();
    expect((await revokeApiKey(world, world.context(), id)).value.revoked_at).not.toBeNull();
    expect(await revokeApiKey(world, world.context(), id)).toMatchObject({ changed: false });
    const failure = await errorOf(() =>
      rotateApiKey(world, world.context(), id, { old_valid_until: new Date() }),
    );
    expect(failure.condition).toBe('key_revoked');
  });
});

describe('reviews', () => {
  async function reviewed() {
    const world = new World();
    const store = await world.store();
    const at = { environment: 'live', store_id: store.id } as const;
    const tea = { title: 'Tea', price_currency: 'USD', price_amount: 1 };
    const { value: publication } = await createPublication(world, world.context(), at, tea);
    const review = { publication_id: publication.id, rating: 5, author_name: 'Ann', body: 'Good' };
    const post = (more: Partial<typeof review> = {}, external_id?: string) =>
      postReview(world, world.context(), { ...at, external_id }, { ...review, ...more });
    return { world, post };
  }

  test('are posted once if they are imported twice, at any time', async () => {
    const { world, post } = await reviewed();
    const first = await post();
    world.now_ms += HOUR_MS;
    const second = await post();
    expect(second).toEqual({ ...first, changed: false, created: false });
  });

  test('with another content or another external id are different reviews', async () => {
    const { post } = await reviewed();
    const all = [
      await post(),
      await post({ body: 'Bad' }),
      await post({ rating: 1 }),
      await post({}, 'a'),
      await post({}, 'b'),
    ];
    expect(new Set(all.map((review) => review.id)).size).toBe(5);
    expect(await post({ body: 'Edited' }, 'a')).toMatchObject({
      changed: false,
      value: { resource: { body: 'Good' } },
    });
  });

  test('require a publication that exists', async () => {
    const { post } = await reviewed();
    expect(await faultsOf(() => post({ publication_id: newId() }))).toEqual([
      ['field_invalid', 'publication_id'],
    ]);
  });
});
