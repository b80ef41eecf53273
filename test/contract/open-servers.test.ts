import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  openBlobStore,
  openEventStore,
  openJobQueue,
  openMediaTasks,
  openRateLimiter,
  openViewStore,
} from '../../services/boot/open-adapters';
import { BullmqJobQueue } from '../../shared/adapters/bullmq/job-queue';
import { BullmqMediaTasks } from '../../shared/adapters/bullmq/media-tasks';
import { EventStoreDbEventStore } from '../../shared/adapters/eventstoredb/event-store';
import { FileBlobStore } from '../../shared/adapters/files/blob-store';
import { InProcessJobQueue } from '../../shared/adapters/in-process/job-queue';
import { InProcessMediaTasks } from '../../shared/adapters/in-process/media-tasks';
import { GridFsBlobStore } from '../../shared/adapters/mongodb/gridfs-blob-store';
import { MongoViewStore } from '../../shared/adapters/mongodb/view-store';
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
      await openBlobStore(config, 'live', 'pictures'),
      await openJobQueue(config, 'live', { lane_count: 8 }),
      await openMediaTasks(config),
      await openRateLimiter(config),
    ];
    await Promise.all(opened.map((one) => one.close()));
    return opened.map((one) => one.constructor);
  });
}

/** In the order of `kinds`: which setting chooses, the embedded one, the server's. */
const CHOICES = [
  ['EVENTSTORE_URL', SqliteEventStore, EventStoreDbEventStore],
  ['MONGODB_URL', SqliteViewStore, MongoViewStore],
  ['MONGODB_URL', FileBlobStore, GridFsBlobStore],
  ['REDIS_URL', InProcessJobQueue, BullmqJobQueue],
  ['REDIS_URL', InProcessMediaTasks, BullmqMediaTasks],
  ['REDIS_URL', SqliteRateLimiter, RedisRateLimiter],
] as const;

test('each address chooses the server for its ports and no other, and none has to be there', async () => {
  for (const given of [{}, NOWHERE, ...Object.entries(NOWHERE).map(([name, url]) => ({ [name]: url }))]) {
    const wanted = CHOICES.map(([setting, embedded, server]) => (setting in given ? server : embedded));
    expect(await kinds(given)).toEqual(wanted);
  }
});

test('a start without servers loads none of their clients', async () => {
  const open = JSON.stringify(join(__dirname, '../../services/boot/open-adapters.js'));
  const script = `require(${open}); console.log(Object.keys(require.cache).join('\\n'))`;
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script]);
  expect(stdout).toContain('libsql');
  expect(stdout).not.toMatch(/node_modules\/(@eventstore|mongodb|bullmq|ioredis)\//);
});
