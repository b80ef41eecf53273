import { revokeApiKey } from '../../services/command/api-key';
import type { CatalogClient } from '../../shared/client';
import type { ApiKeyId } from '../../shared/kernel/ids';
import { realSystem } from '../../shared/kernel/system';
import { fetch } from '../support/fetch';
import { HandClock } from '../support/hand-clock';
import { type Harness, type Shop, startHarness } from '../support/harness';
import { ownNames } from '../support/own-servers';

const TEA = { price_currency: 'USD', price_amount: 1_250 };
const LIMITS = { RATE_LIMIT_PUBLIC: '60/40/5', RATE_LIMIT_SECRET: '6000/100000/1000' };

/** The clock of both the service and the client, so that time passes for the service when the client waits. */
const clock = new HandClock();
/** How far the service's clock is ahead of the client's. */
const skew = { ms: 0 };
let harness: Harness;
let shop: Shop;

beforeAll(async () => {
  const system = { ...realSystem, now: () => clock.now() + skew.ms };
  // On the embedded stores, because a test cannot move the clock of Redis.
  harness = await startHarness({ environment: LIMITS, system, servers: ownNames({}) });
});
afterAll(() => harness.close());
beforeEach(async () => {
  skew.ms = 0;
  shop = await harness.newShop();
  clock.waits_ms.length = 0;
});

/** Makes a client, of the public key by default, and records the paths of its requests. */
function recordingClient(
  key = shop.public,
  options: object = {},
): { client: CatalogClient; paths: string[] } {
  const paths: string[] = [];
  const fetch_: typeof fetch = (input, init) => {
    paths.push(new URL(String(input)).pathname);
    return fetch(input, init);
  };
  return { client: harness.client(key, { fetch: fetch_, clock, random: () => 0, ...options }), paths };
}

/** Creates a publication, at another time than all earlier ones. */
async function createPublication(merchant: CatalogClient, title: string): Promise<void> {
  clock.now_ms += 1;
  await merchant.publications.create({ ...TEA, title });
}

/** Creates `count` publications and returns their titles, oldest first. */
async function createPublications(count: number): Promise<string[]> {
  const merchant = recordingClient(shop.secret).client;
  const titles = Array.from({ length: count }, (_, index) => `Tea ${index + 1}`);
  for (const title of titles) await createPublication(merchant, title);
  return titles;
}

describe('tokens', () => {
  test('live for `ttlMinutes`', async () => {
    const { client, paths } = recordingClient(shop.secret, { ttlMinutes: 60 });
    await client.store.get();
    clock.now_ms += 59 * 60_000;
    await client.store.get();
    expect(paths.filter((path) => path === '/auth/token')).toHaveLength(1);
  });

  test('a token that the service rejects as expired is replaced once for all concurrent calls', async () => {
    const { client, paths } = recordingClient(shop.secret);
    await client.store.get();
    skew.ms = 1_000_000;
    const stores = await Promise.all(Array.from({ length: 5 }, () => client.store.get()));
    expect(stores.map(({ id }) => id)).toEqual(Array(5).fill(shop.store_id));
    expect(paths.filter((path) => path === '/auth/token')).toHaveLength(2);
    expect(clock.waits_ms).toEqual([]);
  });

  test('a token of a revoked key is not replaced', async () => {
    const { client, paths } = recordingClient(shop.secret);
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
  test('a client that is rate limited waits and then reads the rest of the list', async () => {
    const titles = await createPublications(12);
    const { client } = recordingClient();
    const read: string[] = [];
    for await (const { title } of client.publications.list({ limit: 1, sort: 'created_at', order: 'asc' }))
      read.push(title);
    expect(read).toEqual(titles);
    // A burst of five requests, then one per second.
    expect(clock.waits_ms).toEqual(Array(7).fill(1_000));
  });

  test('a client that has used up its daily limit fails without waiting', async () => {
    const { client } = recordingClient();
    const readUntilRefused = async (): Promise<void> => {
      // The daily limit is 40 requests.
      for (let reads = 0; reads <= 40; reads++) await client.store.get();
    };
    await expect(readUntilRefused()).rejects.toMatchObject({ status: 429, code: 'RATE_LIMIT_EXCEEDED' });
    expect(clock.waits_ms.every((ms) => ms <= 2_000)).toBe(true);
  });

  test('an abort ends the wait', async () => {
    const controller = new AbortController();
    const wait = async (ms: number, signal?: AbortSignal): Promise<void> => {
      expect(ms).toBe(1_000);
      controller.abort(new Error('aborted by the caller'));
      signal?.throwIfAborted();
    };
    const { client, paths } = recordingClient(shop.public, { clock: { now: clock.now, wait } });
    const read = () => client.store.get({}, { signal: controller.signal });
    for (let reads = 1; reads <= 5; reads++) await read();
    await expect(read()).rejects.toThrow('aborted by the caller');
    expect(paths).toHaveLength(7);
  });
});

describe('pages', () => {
  test('an iteration yields every item once, although items are created meanwhile', async () => {
    const titles = await createPublications(7);
    const merchant = recordingClient(shop.secret).client;
    const read: string[] = [];
    // Newest first: each new item moves one item to the next page.
    for await (const { title } of merchant.publications.list({ limit: 3 })) {
      read.push(title);
      if (read.length <= 2) await createPublication(merchant, 'Late');
    }
    expect(read).toEqual(titles.toReversed());
  });

  test('an iteration misses no item, although items before it are deleted meanwhile', async () => {
    const titles = await createPublications(7);
    const { client } = recordingClient(shop.secret);
    const read: string[] = [];
    for await (const { id, title } of client.publications.list({ limit: 3 })) {
      read.push(title);
      await client.publications.delete(id);
    }
    expect(read).toEqual(titles.toReversed());
  });

  test('a page has its counts; an iteration starts at `page` of the query', async () => {
    const titles = await createPublications(5);
    const { client } = recordingClient(shop.secret);
    const list = client.publications.list({ limit: 2, page: 2, sort: 'created_at', order: 'asc' });
    const { data, meta } = await list.page(3);
    expect(data.map(({ title }) => title)).toEqual(titles.slice(4));
    expect(meta.pagination).toEqual({ page: 3, limit: 2, total_pages: 3, total_items: 5 });
    const { next_cursor } = (await list.page()).meta.pagination;
    const last = client.publications.list({
      ...{ limit: 2, cursor: next_cursor },
      sort: 'created_at',
      order: 'asc',
    });
    expect((await last.page()).data).toEqual(data);
    expect(await last.all()).toEqual(data);
    expect((await list.page()).meta.page).toBe(2);
    expect((await list.all()).map(({ title }) => title)).toEqual(titles.slice(2));
    expect(await client.publications.list({ page: 9 }).all()).toEqual([]);
  });

  test('an iteration that stops early reads no further page', async () => {
    await createPublications(5);
    const { client, paths } = recordingClient(shop.secret);
    for await (const _first of client.publications.list({ limit: 2 })) break;
    expect(paths).toEqual(['/auth/token', '/api/publications']);
  });
});
