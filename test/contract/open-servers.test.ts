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
import { BullmqMediaTaskQueue } from '../../shared/adapters/bullmq/media-tasks';
import { EventStoreDbEventStore } from '../../shared/adapters/eventstoredb/event-store';
import { FileBlobStore } from '../../shared/adapters/files/blob-store';
import { InProcessJobQueue } from '../../shared/adapters/in-process/job-queue';
import { InProcessMediaTaskQueue } from '../../shared/adapters/in-process/media-tasks';
import { GridFsBlobStore } from '../../shared/adapters/mongodb/gridfs-blob-store';
import { MongoViewStore } from '../../shared/adapters/mongodb/view-store';
import { RedisRateLimiter } from '../../shared/adapters/redis/rate-limiter';
import { SqliteEventStore } from '../../shared/adapters/sqlite/event-store';
import { SqliteRateLimiter } from '../../shared/adapters/sqlite/rate-limiter';
import { SqliteViewStore } from '../../shared/adapters/sqlite/view-store';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import { withTempDir } from '../support/temp-dir';

/** URLs at which no server listens. */
const UNREACHABLE = {
  EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
  REDIS_URL: 'redis://127.0.0.1:1',
  MONGODB_URL: 'mongodb://127.0.0.1:1/catalog',
};

async function openedClasses(settings: Record<string, string>): Promise<unknown[]> {
  return withTempDir(async (folder) => {
    const config = parseConfig({ DATA_DIR: folder, ...settings });
    const opened = [
      await openEventStore(config, 'live'),
      await openViewStore(config, 'live'),
      await openBlobStore(config, 'live', 'pictures'),
      await openJobQueue(config, 'live', { partition_count: 8 }),
      await openMediaTasks(config),
      await openRateLimiter(config, realSystem),
    ];
    await Promise.all(opened.map((one) => one.close()));
    return opened.map((one) => one.constructor);
  });
}

/**
 * Per port: the setting that selects the adapter, the embedded adapter, the server adapter. In the order of
 * `openedClasses`.
 */
const CHOICES = [
  ['EVENTSTORE_URL', SqliteEventStore, EventStoreDbEventStore],
  ['MONGODB_URL', SqliteViewStore, MongoViewStore],
  ['MONGODB_URL', FileBlobStore, GridFsBlobStore],
  ['REDIS_URL', InProcessJobQueue, BullmqJobQueue],
  ['REDIS_URL', InProcessMediaTaskQueue, BullmqMediaTaskQueue],
  ['REDIS_URL', SqliteRateLimiter, RedisRateLimiter],
] as const;

test('each server URL selects the server adapters of its own ports only, and opening needs no running server', async () => {
  for (const settings of [
    {},
    UNREACHABLE,
    ...Object.entries(UNREACHABLE).map(([name, url]) => ({ [name]: url })),
  ]) {
    const expected = CHOICES.map(([setting, embedded, server]) => (setting in settings ? server : embedded));
    expect(await openedClasses(settings)).toEqual(expected);
  }
});

test('opening the embedded adapters loads no server client library', async () => {
  const open = JSON.stringify(join(__dirname, '../../services/boot/open-adapters.js'));
  const script = `require(${open}); console.log(Object.keys(require.cache).join('\\n'))`;
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script]);
  expect(stdout).toContain('libsql');
  expect(stdout).not.toMatch(/node_modules\/(@eventstore|mongodb|bullmq|ioredis)\//);
});
