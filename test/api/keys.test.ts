import type { Environment } from '../../shared/catalog/realm';
import { type KeyType, permissionsOf } from '../../shared/catalog/vocabulary';
import { generateId, type StoreId } from '../../shared/kernel/ids';
import { realSystem } from '../../shared/kernel/system';
import { type Harness, type Reply, startHarness, type TestKey } from '../support/harness';
import { type StockedShop, stockShop } from './reads-shop';
import { expectError } from './replies';

let harness: Harness;
let shops: Record<Environment, StockedShop>;

beforeAll(async () => {
  harness = await startHarness();
  shops = { live: await stockShop(harness, 'live'), test: await stockShop(harness, 'test') };
});
afterAll(() => harness.close());

const get = (path: string, { token }: TestKey, method = 'GET'): Promise<Reply> =>
  harness.request(method, path, { token });

/** Every read, with the permission that it requires. */
const readsOf = ({ listings, publications }: StockedShop) =>
  Object.entries({
    '/api/store': 'read:stores',
    '/api/store-listings': 'read:listings',
    '/api/payment-methods': 'read:payment_methods',
    '/api/listings': 'read:listings',
    [`/api/listing/${listings.Shirts}`]: 'read:listings',
    [`/api/listing/${listings.Shirts}/publications`]: 'read:publications',
    '/api/publications': 'read:publications',
    '/api/store/search?q=shirt': 'read:publications',
    [`/api/publication/${publications['Plain shirt']}`]: 'read:publications',
    [`/api/publication/${publications['Plain shirt']}/related`]: 'read:publications',
    [`/api/publication/${publications['Plain shirt']}/reviews`]: 'read:reviews',
  });
const withQuery = (path: string, query: string): string => `${path}${path.includes('?') ? '&' : '?'}${query}`;

describe.each([
  ['pk_live_', 'live', 'public'],
  ['sk_live_', 'live', 'secret'],
  ['pk_test_', 'test', 'public'],
  ['sk_test_', 'test', 'secret'],
] as [string, Environment, KeyType][])('a key %s…', (prefix, environment, type) => {
  const shop = () => shops[environment];
  const other = () => shops[environment === 'live' ? 'test' : 'live'];
  const own = () => shop()[type];

  test('has its prefix and 43 characters, and gets a token with its permissions', async () => {
    const { key, id } = own();
    expect(key).toMatch(new RegExp(`^${prefix}[A-Za-z0-9_-]{43}$`));
    const issued = await harness.request('POST', '/auth/token', {
      headers: { 'x-api-key': key },
      body: { ttl_minutes: 30 },
    });
    expect(issued.body).toEqual({
      ...{ code: 200, status: 'OK' },
      data: { token: expect.any(String), token_type: 'Bearer', expires_in: 1800 },
    });
    const { body } = await harness.request('POST', '/auth/validate', { token: issued.body.data.token });
    expect(body.data).toEqual({
      ...{ valid: true, api_key_id: id, account_id: harness.account_id, key_type: type },
      ...{ stores: [shop().store_id], permissions: permissionsOf(type), needs_confirmation: false },
      expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/),
    });
  });

  test('reads its store in the envelope, and HEAD returns the headers without the body', async () => {
    for (const [path] of readsOf(shop())) {
      const reply = await get(path, own());
      expect([path, reply.status, reply.body]).toMatchObject([
        path,
        200,
        { code: 200, status: 'OK', data: expect.anything() },
      ]);
      expect(reply.headers.get('content-type')).toMatch(/^application\/json/);
      expect(reply.headers.get('x-ratelimit-tier')).toBe(`${type}_key`);
      const head = await get(path, own(), 'HEAD');
      expect([path, head.status, head.text, head.headers.get('etag')]).toEqual([
        ...[path, 200, '', reply.headers.get('etag')],
      ]);
      expect(reply.headers.get('etag')).toMatch(/^"/);
    }
  });

  test('does not reach the other environment, by store or by id', async () => {
    for (const [path] of readsOf(other())) {
      const foreign = await get(path, own());
      if (/\/(listing|publication)\//.test(path)) expect([path, foreign.status]).toEqual([path, 404]);
      else expect(foreign.text).not.toContain(other().store_id);
    }
    for (const [path] of readsOf(shop())) {
      const named = await get(withQuery(path, `store_id=${other().store_id}`), own());
      expectError(named, 403, 'STORE_ACCESS_DENIED');
    }
  });

  test(`${type === 'public' ? 'does not read' : 'reads'} what is private`, async () => {
    for (const [path] of readsOf(shop()))
      for (const visibility of ['private', 'all']) {
        const reply = await get(withQuery(path, `visibility=${visibility}`), own());
        if (type === 'public') expectError(reply, 403, 'INSUFFICIENT_PERMISSIONS');
        else expect([200, 404]).toContain(reply.status);
      }
  });

  test(type === 'secret' ? 'writes' : 'cannot write', async () => {
    const { token } = own();
    const made = await harness.request('POST', '/api/listing', { token, body: { name: 'Teas' } });
    expect(made.status).toBe(type === 'secret' ? 201 : 403);
  });
});

describe('a read', () => {
  test('requires its own permission, and that of an added resource', async () => {
    const { store_id, publications } = shops.live;
    const permissions = permissionsOf('public');
    const without = async (missing: string): Promise<TestKey> =>
      harness.newKey(
        'public',
        [store_id],
        permissions.filter((permission) => permission !== missing),
      );
    const reads = readsOf(shops.live);
    for (const permission of new Set(reads.map(([, required]) => required))) {
      const key = await without(permission);
      for (const [path] of reads.filter(([, required]) => required === permission))
        expectError(await get(path, key), 403, 'INSUFFICIENT_PERMISSIONS');
    }
    const key = await without('read:listings');
    const path = `/api/publication/${publications['Plain shirt']}`;
    expect((await get(path, key)).status).toBe(200);
    expectError(await get(`${path}?expand=listing`, key), 403, 'INSUFFICIENT_PERMISSIONS');
  });

  test('of another store of the same account is denied, and its resources are not found', async () => {
    const { public: key } = await harness.newShop('live');
    const { store_id, listings, publications } = shops.live;
    expectError(await get(`/api/store?store_id=${store_id}`, key), 403, 'STORE_ACCESS_DENIED');
    expectError(await get(`/api/listing/${listings.Shirts}`, key), 404, 'LISTING_NOT_FOUND');
    const reviews = `/api/publication/${publications['Plain shirt']}/reviews`;
    expectError(await get(reviews, key), 404, 'PUBLICATION_NOT_FOUND');
    // A store that does not exist is like one that the key does not have.
    const nowhere = generateId<StoreId>(realSystem.now(), realSystem.random);
    expectError(await get(`/api/store?store_id=${nowhere}`, key), 403, 'STORE_ACCESS_DENIED');
  });
});
