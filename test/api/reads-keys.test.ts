import { permissionsOf } from '../../shared/catalog/vocabulary';
import { generateId, type StoreId } from '../../shared/kernel/ids';
import { realSystem } from '../../shared/kernel/system';
import { type Harness, startHarness, type TestKey } from '../support/harness';
import { type StockedShop, stockShop } from './reads-shop';

let harness: Harness;
let live: StockedShop;
let test_shop: StockedShop;

beforeAll(async () => {
  harness = await startHarness();
  live = await stockShop(harness, 'live');
  test_shop = await stockShop(harness, 'test');
});
afterAll(() => harness.close());

const KEYS: readonly (readonly [string, () => StockedShop, (shop: StockedShop) => TestKey])[] = [
  ['pk_live_', () => live, (shop) => shop.public],
  ['sk_live_', () => live, (shop) => shop.secret],
  ['pk_test_', () => test_shop, (shop) => shop.public],
  ['sk_test_', () => test_shop, (shop) => shop.secret],
];

const paths = (shop: StockedShop) => ({
  '/api/store': '/api/store',
  '/api/store-listings': '/api/store-listings',
  '/api/payment-methods': '/api/payment-methods',
  '/api/listings': '/api/listings',
  '/api/listing/:id': `/api/listing/${shop.listings.Shirts}`,
  '/api/listing/:id/publications': `/api/listing/${shop.listings.Shirts}/publications`,
  '/api/publications': '/api/publications',
  '/api/publication/:id': `/api/publication/${shop.publications['Plain shirt']}`,
  '/api/publication/:id/reviews': `/api/publication/${shop.publications['Plain shirt']}/reviews`,
});
const PATHS = Object.keys(paths({ listings: {}, publications: {} } as StockedShop));
type Path = keyof ReturnType<typeof paths>;

const PERMISSIONS: Readonly<Record<Path, string>> = {
  '/api/store': 'read:stores',
  '/api/store-listings': 'read:listings',
  '/api/payment-methods': 'read:payment_methods',
  '/api/listings': 'read:listings',
  '/api/listing/:id': 'read:listings',
  '/api/listing/:id/publications': 'read:publications',
  '/api/publications': 'read:publications',
  '/api/publication/:id': 'read:publications',
  '/api/publication/:id/reviews': 'read:reviews',
};

describe.each(KEYS)('with a key %s…', (prefix, shopOf, keyOf) => {
  const get = (path: string) => harness.request('GET', path, { token: keyOf(shopOf()).token });
  const other = () => (shopOf() === live ? test_shop : live);

  test('the key has that prefix', () => {
    expect(keyOf(shopOf()).key.startsWith(prefix)).toBe(true);
  });

  test.each(PATHS)('%s returns 200 in the envelope', async (path) => {
    const reply = await get(paths(shopOf())[path as Path]);
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({ code: 200, status: 'OK', data: expect.anything() });
    expect(reply.headers.get('content-type')).toMatch(/^application\/json/);
    expect(reply.headers.get('etag')).toMatch(/^"/);
    expect(reply.headers.get('x-request-id')).toBeTruthy();
  });

  test.each(PATHS)('%s never returns data of the other environment', async (path) => {
    const foreign = await get(paths(other())[path as Path]);
    if (path.includes(':id')) expect(foreign.status).toBe(404);
    else expect(foreign.text).not.toContain(other().store_id);
    const named = await get(`${paths(shopOf())[path as Path]}?store_id=${other().store_id}`);
    expect([named.status, named.body.error?.code]).toEqual([403, 'STORE_ACCESS_DENIED']);
  });

  test.each(PATHS)('%s with visibility=all requires a secret key', async (path) => {
    for (const visibility of ['private', 'all']) {
      const reply = await get(`${paths(shopOf())[path as Path]}?visibility=${visibility}`);
      if (prefix.startsWith('pk_'))
        expect([reply.status, reply.body.error.code]).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
      else expect([200, 404]).toContain(reply.status);
    }
  });

  test.each(PATHS)('HEAD %s returns the headers of GET without the body', async (path) => {
    const address = paths(shopOf())[path as Path];
    const head = await harness.request('HEAD', address, { token: keyOf(shopOf()).token });
    const full = await get(address);
    expect([head.status, head.text]).toEqual([200, '']);
    expect(head.headers.get('etag')).toBe(full.headers.get('etag'));
  });
});

describe('permissions of a key', () => {
  test.each(PATHS)('%s requires its own permission', async (path) => {
    const granted = permissionsOf('public').filter((permission) => permission !== PERMISSIONS[path as Path]);
    const key = await harness.newKey('public', [live.store_id], granted);
    const reply = await harness.request('GET', paths(live)[path as Path], { token: key.token });
    expect([reply.status, reply.body.error.code]).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
  });

  test('an expansion requires the permission of the added resource', async () => {
    const granted = permissionsOf('public').filter((permission) => permission !== 'read:listings');
    const { token } = await harness.newKey('public', [live.store_id], granted);
    const publication = `/api/publication/${live.publications['Plain shirt']}`;
    expect((await harness.request('GET', publication, { token })).status).toBe(200);
    const expanded = await harness.request('GET', `${publication}?expand=listing`, { token });
    expect([expanded.status, expanded.body.error.code]).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
  });

  test('another store of the same account is denied, and its resources are not found', async () => {
    const second = await harness.newShop('live');
    const get = (path: string) => harness.request('GET', path, { token: second.public.token });
    const denied = await get(`/api/store?store_id=${live.store_id}`);
    expect([denied.status, denied.body.error.code]).toEqual([403, 'STORE_ACCESS_DENIED']);
    const listing = await get(paths(live)['/api/listing/:id']);
    expect([listing.status, listing.body.error.code]).toEqual([404, 'LISTING_NOT_FOUND']);
    const reviews = await get(paths(live)['/api/publication/:id/reviews']);
    expect([reviews.status, reviews.body.error.code]).toEqual([404, 'PUBLICATION_NOT_FOUND']);
  });

  test('a store that does not exist is denied like a store that the key does not have', async () => {
    const nowhere = generateId<StoreId>(realSystem.now(), realSystem.random);
    const reply = await harness.request('GET', `/api/store?store_id=${nowhere}`, {
      token: live.secret.token,
    });
    expect([reply.status, reply.body.error.code]).toEqual([403, 'STORE_ACCESS_DENIED']);
  });

  test.each(PATHS)('%s without a token returns 401', async (path) => {
    const reply = await harness.request('GET', paths(live)[path as Path]);
    expect([reply.status, reply.body.error.code]).toEqual([401, 'UNAUTHORIZED']);
  });
});
