import { changeStoreStatus } from '../../services/command/store';
import { type Harness, startHarness } from '../support/harness';
import { waitFor } from '../support/wait-for';
import { namesOf, type StockedShop, stockShop } from './reads-shop';

let harness: Harness;
let shop: StockedShop;

beforeAll(async () => {
  harness = await startHarness();
  shop = await stockShop(harness);
});
afterAll(() => harness.close());

const get = (path: string, headers: Record<string, string> = {}) =>
  harness.request('GET', path, { token: shop.public.token, headers });
/** Retries a 503 like a client, because a busy machine may project more slowly than a read waits. */
const getWithRetry = (path: string, headers: Record<string, string>) =>
  waitFor(async () => {
    const reply = await get(path, headers);
    if (reply.status !== 503) return reply;
    expect(reply.headers.get('retry-after')).toBe('1');
    return undefined;
  });
const plain = () => `/api/publication/${shop.publications['Plain shirt']}`;

/** Sends a write whose response does not wait until its event is projected. */
const write = (method: string, path: string, body?: unknown) =>
  harness.request(method, path, {
    token: shop.secret.token,
    headers: { prefer: 'respond-async' },
    ...(body === undefined ? {} : { body }),
  });
const positionOf = (reply: { headers: Headers }) => ({
  'x-catalog-min-position': reply.headers.get('x-catalog-position') ?? '',
});

describe('If-None-Match', () => {
  test.each(['/api/store', '/api/publications', '/api/listings', 'a publication', 'a listing'])(
    'on %s returns 304 if nothing changed',
    async (what) => {
      const by_id = what === 'a listing' ? `/api/listing/${shop.listings.Shirts}` : plain();
      const path = what.startsWith('/') ? what : by_id;
      const etag = (await get(path)).headers.get('etag') ?? '';
      for (const sent of [etag, `W/${etag}`, `"other", ${etag}`]) {
        const again = await get(path, { 'if-none-match': sent });
        expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', etag]);
      }
      expect((await get(path, { 'if-none-match': '"other"' })).status).toBe(200);
    },
  );

  test('returns 200 with another ETag after a change, and the ETag begins with the version', async () => {
    const before = (await get(plain())).headers.get('etag') ?? '';
    const written = await write('PATCH', plain(), { price_amount: 3_100 });
    const after = await getWithRetry(plain(), { 'if-none-match': before, ...positionOf(written) });
    expect(after.status).toBe(200);
    expect(after.body.data.price_amount).toBe(3_100);
    const version = (tag: string | null) => Number(/^"(\d+)-/.exec(tag ?? '')?.[1]);
    expect(version(after.headers.get('etag'))).toBe(version(before) + 1);
  });
});

describe('read your writes', () => {
  test('a read with the position of a write includes the write', async () => {
    for (let n = 0; n < 10; n++) {
      const title = `Written ${n}`;
      const body = { title, price_currency: 'EUR', price_amount: n, listing_id: shop.listings.Shirts };
      const written = await write('POST', '/api/publication', body);
      const minimum = positionOf(written);
      const by_id = await getWithRetry(`/api/publication/${written.body.data.id}`, minimum);
      expect(by_id.body.data).toMatchObject({ title });
      const newest = await getWithRetry('/api/publications?limit=1', minimum);
      expect(namesOf(newest.body.data)).toEqual([title]);
    }
    const deleted = await write('DELETE', plain());
    expect((await getWithRetry(plain(), positionOf(deleted))).status).toBe(404);
  });

  test('a position beyond the log returns 503 with Retry-After after two seconds', async () => {
    const started_ms = Date.now();
    const reply = await get('/api/store', { 'x-catalog-min-position': '999999999999999999' });
    expect([reply.status, reply.body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect(reply.headers.get('retry-after')).toBe('1');
    expect(Date.now() - started_ms).toBeGreaterThanOrEqual(1_900);
  });

  test('an invalid position returns 400', async () => {
    const reply = await get('/api/store', { 'x-catalog-min-position': 'newest' });
    expect([reply.status, reply.body.error.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(reply.body.error.details.field).toBe('X-Catalog-Min-Position');
  });
});

describe('a store that is suspended', () => {
  test('returns 404 STORE_NOT_FOUND for every read soon after, until it is active again', async () => {
    const suspended_shop = await stockShop(harness);
    const paths = [
      ...['/api/store', '/api/listings', '/api/store-listings', '/api/publications', '/api/payment-methods'],
      `/api/publication/${suspended_shop.publications.Wine}`,
      `/api/listing/${suspended_shop.listings.Shirts}`,
      `/api/listing/${suspended_shop.listings.Shirts}/publications`,
      `/api/publication/${suspended_shop.publications.Wine}/reviews`,
    ];
    const codes = async () => {
      const { token } = suspended_shop.public;
      const replies = await Promise.all(paths.map((path) => harness.request('GET', path, { token })));
      return [...new Set(replies.map((reply) => reply.body.error?.code ?? reply.status))];
    };
    const setStatus = async (status: 'active' | 'suspended') => {
      const context = { source: 'cli', request_id: `set-${status}` } as const;
      const target = { environment: 'live', id: suspended_shop.store_id } as const;
      await changeStoreStatus(harness.deps, context, target, status);
      await harness.settled();
    };
    expect(await codes()).toEqual([200]);
    await setStatus('suspended');
    await waitFor(async () => (await codes()).join() === 'STORE_NOT_FOUND');
    await setStatus('active');
    expect(await codes()).toEqual([200]);
  });
});

describe('paths and methods', () => {
  test('an id that is not a UUID returns 400 INVALID_UUID, and ids are not case-sensitive', async () => {
    const bad = await get('/api/publication/7');
    expect([bad.status, bad.body.error.code]).toEqual([400, 'INVALID_UUID']);
    const wine = shop.publications.Wine ?? '';
    expect((await get(`/api/publication/${wine.toUpperCase()}`)).body.data.id).toBe(wine);
  });

  test('another method on a read endpoint returns 405 with Allow', async () => {
    const reply = await harness.request('POST', '/api/publications', { token: shop.secret.token, body: {} });
    expect([reply.status, reply.body.error.code]).toEqual([405, 'OPERATION_NOT_ALLOWED']);
    expect(reply.headers.get('allow')).toContain('GET');
  });
});
