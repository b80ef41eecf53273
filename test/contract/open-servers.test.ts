import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BullmqJobQueue } from '../../shared/adapters/bullmq/job-queue';
import { EventStoreDbEventStore } from '../../shared/adapters/eventstoredb/event-store';
import { InProcessJobQueue } from '../../shared/adapters/in-process/job-queue';
import { MongoViewStore } from '../../shared/adapters/mongodb/view-store';
import { openEventStore, openJobQueue, openRateLimiter, openViewStore } from '../../shared/adapters/open';
import { RedisRateLimiter } from '../../shared/adapters/redis/rate-limiter';
import { SqliteEventStore } from '../../shared/adapters/sqlite/event-store';
import { SqliteRateLimiter } from '../../shared/adapters/sqlite/rate-limiter';
import { SqliteViewStore } from '../../shared/adapters/sqlite/view-store';
import { parseConfig } from '../../shared/kernel/config';
import { withTempDir } from '../support/temp-dir';

/** Nothing listens there. */
const NOWHERE = {
  EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
  REDIS_URL: 'redis://127.0.0.1:1',
  MONGODB_URL: 'mongodb://127.0.0.1:1/catalog',
};

async function kinds(given: Record<string, string>): Promise<unknown[]> {
  return withTempDir(async (folder) => {
    const config = parseConfig({ DATA_DIR: folder, ...given });
    const opened = [
      await openEventStore(config, 'live'),
      await openViewStore(config, 'live'),
      await openJobQueue(config, 'live', { lane_count: 8 }),
      await openRateLimiter(config),
    ];
    await Promise.all(opened.map((one) => one.close()));
    return opened.map((one) => one.constructor);
  });
}

const SQLITE = [SqliteEventStore, SqliteViewStore, InProcessJobQueue, SqliteRateLimiter];
const SERVERS = [EventStoreDbEventStore, MongoViewStore, BullmqJobQueue, RedisRateLimiter];

test('each address chooses the server for its port and no other, and none has to be there', async () => {
  const { EVENTSTORE_URL, MONGODB_URL, REDIS_URL } = NOWHERE;
  expect(await kinds({})).toEqual(SQLITE);
  expect(await kinds({ EVENTSTORE_URL })).toEqual([EventStoreDbEventStore, ...SQLITE.slice(1)]);
  expect(await kinds({ MONGODB_URL })).toEqual([SqliteEventStore, MongoViewStore, ...SQLITE.slice(2)]);
  expect(await kinds({ REDIS_URL })).toEqual([...SQLITE.slice(0, 2), ...SERVERS.slice(2)]);
  expect(await kinds(NOWHERE)).toEqual(SERVERS);
});

test('a start without servers loads none of their clients', async () => {
  const open = JSON.stringify(join(__dirname, '../../shared/adapters/open.js'));
  const script = `require(${open}); console.log(Object.keys(require.cache).join('\\n'))`;
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script]);
  expect(stdout).toContain('libsql');
  expect(stdout).not.toMatch(/node_modules\/(@eventstore|mongodb|bullmq|ioredis)\//);
});
