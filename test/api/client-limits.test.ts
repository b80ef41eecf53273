import { revokeApiKey } from '../../services/command/api-key';
import type { CatalogClient } from '../../shared/client';
import type { ApiKeyId } from '../../shared/kernel/ids';
import { realSystem } from '../../shared/kernel/system';
import { HandClock } from '../support/hand-clock';
import { type Harness, type Shop, startHarness } from '../support/harness';

const TEA = { price_currency: 'USD', price_amount: 1_250 };
const LIMITS = { RATE_LIMIT_PUBLIC: '60/40/5', RATE_LIMIT_SECRET: '6000/100000/1000' };

/** One time for the service and the client, so that what the client waits is what the service sees go by. */
const clock = new HandClock();
/** How far the service is ahead of the client. */
const skew = { ms: 0 };
let harness: Harness;
let shop: Shop;

beforeAll(async () => {
  const system = { ...realSystem, now: () => clock.now() + skew.ms };
  harness = await startHarness({ environment: LIMITS, system });
});
afterAll(() => harness.close());
beforeEach(async () => {
  skew.ms = 0;
  shop = await harness.newShop();
  clock.waits_ms.length = 0;
});

/** Of a public key, unless it says otherwise; with the paths that it sends to. */
function counted(key = shop.public, options: object = {}): { client: CatalogClient; paths: string[] } {
  const paths: string[] = [];
  const fetch_: typeof fetch = (input, init) => {
    paths.push(new URL(String(input)).pathname);
    return fetch(input, init);
  };
  return { client: harness.client(key, { fetch: fetch_, clock, random: () => 0, ...options }), paths };
}

/** Each at a time of its own. */
async function make(merchant: CatalogClient, title: string): Promise<void> {
  clock.now_ms += 1;
  await merchant.publications.create({ ...TEA, title });
}

async function stock(count: number): Promise<string[]> {
  const merchant = counted(shop.secret).client;
  const titles = Array.from({ length: count }, (_, index) => `Tea ${index + 1}`);
  for (const title of titles) await make(merchant, title);
  return titles;
}

describe('tokens', () => {
  test('one is got for many calls, and renewed before it expires', async () => {
    const { client, paths } = counted(shop.secret);
    await Promise.all(Array.from({ length: 10 }, () => client.store.get()));
    expect(paths.filter((path) => path === '/auth/token')).toHaveLength(1);
    clock.now_ms += 869_000;
    await client.store.get();
    expect(paths.filter((path) => path === '/auth/token')).toHaveLength(1);
    clock.now_ms += 2_000;
    await Promise.all(Array.from({ length: 10 }, () => client.store.get()));
    expect(paths.filter((path) => path === '/auth/token')).toHaveLength(2);
  });

  test('live as long as they are asked to', async () => {
    const { client, paths } = counted(shop.secret, { ttlMinutes: 60 });
    await client.store.get();
    clock.now_ms += 59 * 60_000;
    await client.store.get();
    expect(paths.filter((path) => path === '/auth/token')).toHaveLength(1);
  });

  test('one that the service takes for expired is replaced once for all who were refused', async () => {
    const { client, paths } = counted(shop.secret);
    await client.store.get();
    skew.ms = 1_000_000;
    const stores = await Promise.all(Array.from({ length: 5 }, () => client.store.get()));
    expect(stores.map(({ id }) => id)).toEqual(Array(5).fill(shop.store_id));
    expect(paths.filter((path) => path === '/auth/token')).toHaveLength(2);
    expect(clock.waits_ms).toEqual([]);
  });

  test('one of a revoked key is not', async () => {
    const { client, paths } = counted(shop.secret);
    await client.store.get();
    const context = { source: 'cli', request_id: 'revoking' } as const;
    await revokeApiKey(harness.deps, context, shop.secret.id as ApiKeyId);
    await harness.settled();
    clock.now_ms += 5_000;
    await expect(client.store.get()).rejects.toMatchObject({ status: 401, code: 'REVOKED_API_KEY' });
    expect(paths.filter((path) => path === '/auth/token')).toHaveLength(1);
  });
});

describe('rate limits', () => {
  test('are waited out, so that a list is read whole', async () => {
    const titles = await stock(12);
    const { client } = counted();
    const read: string[] = [];
    for await (const { title } of client.publications.list({ limit: 1, sort: 'created_at', order: 'asc' }))
      read.push(title);
    expect(read).toEqual(titles);
    // Five at once, then one a second.
    expect(clock.waits_ms).toEqual(Array(7).fill(1_000));
  });

  test('of a day are told of at once', async () => {
    const { client } = counted();
    const spent = async (): Promise<void> => {
      for (;;) await client.store.get();
    };
    await expect(spent()).rejects.toMatchObject({ status: 429, code: 'RATE_LIMIT_EXCEEDED' });
    expect(clock.waits_ms.every((ms) => ms <= 2_000)).toBe(true);
  });

  test('are waited for no longer than the signal allows', async () => {
    const leaving = new AbortController();
    const wait = async (ms: number, signal?: AbortSignal): Promise<void> => {
      expect(ms).toBe(1_000);
      leaving.abort(new Error('the visitor left'));
      signal?.throwIfAborted();
    };
    const { client, paths } = counted(shop.public, { clock: { now: clock.now, wait } });
    const visit = () => client.store.get({}, { signal: leaving.signal });
    for (let visits = 1; visits <= 5; visits++) await visit();
    await expect(visit()).rejects.toThrow('the visitor left');
    expect(paths).toHaveLength(7);
  });
});

describe('pages', () => {
  test('an iteration gives every item once, though others are made meanwhile', async () => {
    const titles = await stock(7);
    const merchant = counted(shop.secret).client;
    const read: string[] = [];
    // Newest first: each one made pushes one item to the next page.
    for await (const { title } of merchant.publications.list({ limit: 3 })) {
      read.push(title);
      if (read.length <= 2) await make(merchant, 'Late');
    }
    expect(read).toEqual(titles.toReversed());
  });

  test('one page has its counts; an iteration begins where the query says', async () => {
    const titles = await stock(5);
    const { client } = counted(shop.secret);
    const list = client.publications.list({ limit: 2, page: 2, sort: 'created_at', order: 'asc' });
    const { data, meta } = await list.page(3);
    expect(data.map(({ title }) => title)).toEqual(titles.slice(4));
    expect(meta.pagination).toEqual({ page: 3, limit: 2, total_pages: 3, total_items: 5 });
    expect((await list.page()).meta.page).toBe(2);
    expect((await list.all()).map(({ title }) => title)).toEqual(titles.slice(2));
    expect(await client.publications.list({ page: 9 }).all()).toEqual([]);
  });

  test('who stops early reads no further page', async () => {
    await stock(5);
    const { client, paths } = counted(shop.secret);
    for await (const _first of client.publications.list({ limit: 2 })) break;
    expect(paths).toEqual(['/auth/token', '/api/publications']);
  });
});
