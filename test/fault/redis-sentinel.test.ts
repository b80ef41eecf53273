import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { BullmqJobQueue } from '../../shared/adapters/bullmq/job-queue';
import { RedisIdempotencyStore } from '../../shared/adapters/redis/idempotency-store';
import { OwnRedis } from '../support/own-redis';
import { describeWithProgram } from '../support/programs';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

const JOB = { realm: 'live', partition: 0, prev: 0n, last: 5n, events: [] } as const;

describeWithProgram('redis-server', 'Redis with Sentinel', () => {
  test('stores and queues follow the primary to the replica that Sentinel promotes', async () => {
    await withTempDir(async (folder) => {
      const folderOf = (name: string): string => {
        mkdirSync(join(folder, name));
        return join(folder, name);
      };
      const primary = await OwnRedis.start(folderOf('primary'));
      const replica = await OwnRedis.start(
        folderOf('replica'),
        '--replicaof',
        '127.0.0.1',
        String(primary.port),
      );
      const sentinel = await OwnRedis.startSentinel(folderOf('sentinel'), primary);
      const url = `redis+sentinel://127.0.0.1:${sentinel.port}/mymaster`;
      const store = await RedisIdempotencyStore.open({ url });
      const queue = new BullmqJobQueue({ url, realm: 'live' });
      try {
        expect(await store.check()).toBe('ok');
        await queue.enqueue(JOB);
        expect(await queue.depth(0)).toBe(1);
        await waitFor(() => knowsReplica(sentinel), { what: 'Sentinel to know the replica' });

        await primary.stop();
        expect(await waitFor(() => store.check())).toBe('ok');
        await waitFor(() => queue.enqueue({ ...JOB, prev: 5n, last: 9n }).then(() => true));
        expect(await queue.depth(0)).toBeGreaterThan(0);
      } finally {
        await queue.close();
        await store.close();
        for (const server of [sentinel, replica, primary]) await server.stop();
      }
    });
  });
});

/** Without a replica that it knows, Sentinel cannot fail over. */
async function knowsReplica(sentinel: OwnRedis): Promise<boolean> {
  const client = new Redis(sentinel.url);
  try {
    const replicas = (await client.call('SENTINEL', 'replicas', 'mymaster')) as string[][];
    return replicas.some((fields) => fields.join(' ').includes('master-link-status ok'));
  } finally {
    client.disconnect();
  }
}

describeWithProgram('redis-server', 'a maxmemory-policy that deletes data', () => {
  test('is shown until it is corrected', async () => {
    await withTempDir(async (folder) => {
      const server = await OwnRedis.start(folder, '--maxmemory-policy', 'allkeys-lru');
      const store = await RedisIdempotencyStore.open({ url: server.url });
      try {
        expect(await store.check()).toBe('may_evict');
        await server.run([['CONFIG', 'SET', 'maxmemory-policy', 'noeviction']]);
        expect(await store.check()).toBe('ok');
      } finally {
        await store.close();
        await server.stop();
      }
    });
  });
});
