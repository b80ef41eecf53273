import { Redis } from 'ioredis';
import { RedisIdempotencyStore } from '../../shared/adapters/redis/idempotency-store';
import type { IdempotencyStore } from '../../shared/ports/idempotency-store';
import { bounded } from '../support/bounded';
import { aName, describeOn } from '../support/real-servers';
import { type OwnServer, startOwnServer } from '../support/servers/own-server';
import { waitFor } from '../support/wait-for';
import { idempotencyStoreContract } from './idempotency-store.contract';

const NOW_MS = Date.parse('2026-01-31T12:00:00.000Z');
const KEY = { api_key_id: 'a', idempotency_key: 'once' };
const CLAIM = {
  fingerprint: 'f',
  holder: 'h',
  now_ms: NOW_MS,
  locked_until_ms: NOW_MS + 10_000,
  expires_at_ms: NOW_MS + 86_400_000,
  records_max: 10,
};

describeOn('REDIS_URL', 'on a real server', (url) => {
  idempotencyStoreContract('Redis', async () => {
    const prefix = aName();
    const opened: RedisIdempotencyStore[] = [];
    const openAnother = async (): Promise<RedisIdempotencyStore> => {
      const store = await RedisIdempotencyStore.open({ url, prefix });
      opened.push(store);
      return store;
    };
    const dispose = async (): Promise<void> => {
      for (const store of opened) await store.close();
    };
    return { store: await openAnother(), openAnother, dispose };
  });

  test('Redis expires operations itself', async () => {
    const prefix = aName();
    const store = await RedisIdempotencyStore.open({ url, prefix });
    await store.claim(KEY, CLAIM);
    await store.storeAnswer(KEY, 'h', { status: 200, headers: {}, body: '' }, CLAIM.expires_at_ms);
    const redis = new Redis(url);
    const names = await redis.keys(`${prefix}:*`);
    expect(names).toHaveLength(2);
    for (const name of names) {
      expect(await redis.pttl(name)).toBeGreaterThan(86_400_000);
      expect(await redis.pttl(name)).toBeLessThan(2 * 86_400_000);
    }
    redis.disconnect();
    await store.close();
  });
});

describeOn('REDIS_URL', 'the idempotency store while Redis stops and restarts', () => {
  let server: OwnServer;
  let store: IdempotencyStore;

  beforeAll(async () => {
    server = await startOwnServer('redis');
    store = bounded(await RedisIdempotencyStore.open({ url: server.url }), 'idempotency store');
  });
  afterAll(async () => {
    await store.close();
    await server.dispose();
  });

  test('check reports a Redis that answers but has no memory to write', async () => {
    const redis = new Redis(server.url);
    try {
      await redis.config('SET', 'maxmemory', '1');
      expect(await store.check()).toBe('not_writable');
      await expect(store.claim({ ...KEY, idempotency_key: 'full' }, CLAIM)).rejects.toMatchObject({
        condition: 'unavailable',
      });
    } finally {
      await redis.config('SET', 'maxmemory', '0');
      redis.disconnect();
    }
    expect(await store.check()).toBe('ok');
  });

  test('a claim fails while Redis is stopped, and succeeds when it is back', async () => {
    await store.claim(KEY, CLAIM);
    await server.kill();
    await expect(store.claim({ ...KEY, idempotency_key: 'two' }, CLAIM)).rejects.toMatchObject({
      condition: 'unavailable',
    });
    await expect(store.check()).rejects.toMatchObject({ condition: 'unavailable' });
    await server.start();
    await waitFor(() => store.check().then(() => true));
    const claimed = await store.claim({ ...KEY, idempotency_key: 'two' }, CLAIM);
    expect(claimed).toMatchObject({ outcome: 'claimed', resumed: false });
  });
});
