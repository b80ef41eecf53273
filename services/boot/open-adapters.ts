import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { FileBlobStore } from '../../shared/adapters/files/blob-store';
import { InProcessJobQueue } from '../../shared/adapters/in-process/job-queue';
import { InProcessMediaTasks } from '../../shared/adapters/in-process/media-tasks';
import { SqliteEventStore } from '../../shared/adapters/sqlite/event-store';
import { SqliteIdempotencyStore } from '../../shared/adapters/sqlite/idempotency-store';
import { SqliteRateLimiter } from '../../shared/adapters/sqlite/rate-limiter';
import { SqliteViewStore } from '../../shared/adapters/sqlite/view-store';
import type { Environment, Realm } from '../../shared/catalog/realm';
import { backoff } from '../../shared/kernel/async';
import type { Config } from '../../shared/kernel/config';
import type { BlobArea, BlobStore } from '../../shared/ports/blob-store';
import type { EventStore } from '../../shared/ports/event-store';
import type { IdempotencyStore } from '../../shared/ports/idempotency-store';
import type { JobQueue, LaneJob } from '../../shared/ports/job-queue';
import type { MediaTasks, MediaTasksOptions } from '../../shared/ports/media-tasks';
import type { RateLimiter } from '../../shared/ports/rate-limiter';
import type { ViewStore } from '../../shared/ports/view-store';

/*
 * The one place where an adapter is chosen, port by port: a server's where its address is configured, else the
 * embedded one. An embedded one throws CatalogError('unavailable') where its files cannot be opened; a server need
 * not be there yet. Servers' adapters are loaded here and not above, for with their clients they are most of a start.
 */

/** EVENTSTORE_URL chooses EventStoreDB. */
export async function openEventStore(config: Config, realm: Realm): Promise<EventStore> {
  const { EVENTSTORE_URL: url, EVENTSTORE_NAMESPACE: namespace } = config;
  if (url === undefined)
    return SqliteEventStore.open({ file: join(realmFolder(config, realm), 'events.sqlite') });
  const { EventStoreDbEventStore } =
    require('../../shared/adapters/eventstoredb/event-store') as typeof import('../../shared/adapters/eventstoredb/event-store');
  return EventStoreDbEventStore.open({ url, realm, ...(namespace && { namespace: `${namespace}.` }) });
}

export interface ViewStoreUse {
  /** Nothing is folded from what is read: MONGODB_READ_PREFERENCE may send the reads elsewhere than to the primary. */
  readonly only_reads?: boolean;
}

/** MONGODB_URL chooses MongoDB. */
export async function openViewStore(
  config: Config,
  realm: Realm,
  { only_reads = false }: ViewStoreUse = {},
): Promise<ViewStore> {
  const { MONGODB_URL: url, MONGODB_READ_PREFERENCE } = config;
  if (url === undefined) return SqliteViewStore.open({ folder: realmFolder(config, realm) });
  const { MongoViewStore } =
    require('../../shared/adapters/mongodb/view-store') as typeof import('../../shared/adapters/mongodb/view-store');
  // A key that was revoked is refused within seconds, however far a secondary is behind.
  const elsewhere = only_reads && realm !== 'control';
  return MongoViewStore.open({
    url,
    realm,
    opening_ms: 0,
    ...(elsewhere && { read_preference: MONGODB_READ_PREFERENCE }),
  });
}

export interface JobQueueOptions {
  /** The view store's. */
  readonly lane_count: number;
  /** Told of every failed attempt; `attempt` counts from 1. */
  readonly onError?: (error: unknown, job: LaneJob, attempt: number) => void;
  /** Told of what goes wrong between the queue's server and its workers; they go on by themselves. */
  readonly onTrouble?: (error: unknown) => void;
}

/** A handler fails when a store is away: soon after that is back, so is the lane. */
const backoffMs = backoff(50, 1_000);

/** REDIS_URL chooses BullMQ. */
export async function openJobQueue(config: Config, realm: Realm, given: JobQueueOptions): Promise<JobQueue> {
  const options = { ...given, backoffMs };
  const { REDIS_URL: url, REDIS_PREFIX: prefix } = config;
  if (url === undefined) return new InProcessJobQueue(options);
  const { BullmqJobQueue } =
    require('../../shared/adapters/bullmq/job-queue') as typeof import('../../shared/adapters/bullmq/job-queue');
  return new BullmqJobQueue({ url, realm, prefix, ...options });
}

/** REDIS_URL chooses BullMQ. */
export async function openMediaTasks(config: Config, options: MediaTasksOptions = {}): Promise<MediaTasks> {
  const { REDIS_URL: url, REDIS_PREFIX: prefix } = config;
  if (url === undefined) return new InProcessMediaTasks(options);
  const { BullmqMediaTasks } =
    require('../../shared/adapters/bullmq/media-tasks') as typeof import('../../shared/adapters/bullmq/media-tasks');
  return new BullmqMediaTasks({ url, prefix, ...options });
}

/** REDIS_URL chooses Redis. */
export async function openRateLimiter(config: Config): Promise<RateLimiter> {
  const { REDIS_URL: url, REDIS_PREFIX: prefix } = config;
  if (url === undefined)
    return SqliteRateLimiter.open({ file: join(makeFolder(config.DATA_DIR), 'limits.sqlite') });
  const { RedisRateLimiter } =
    require('../../shared/adapters/redis/rate-limiter') as typeof import('../../shared/adapters/redis/rate-limiter');
  return RedisRateLimiter.open({ url, prefix });
}

/** REDIS_URL chooses Redis. */
export async function openIdempotencyStore(config: Config): Promise<IdempotencyStore> {
  const { REDIS_URL: url, REDIS_PREFIX: prefix } = config;
  if (url !== undefined) {
    const { RedisIdempotencyStore } =
      require('../../shared/adapters/redis/idempotency-store') as typeof import('../../shared/adapters/redis/idempotency-store');
    return RedisIdempotencyStore.open({ url, prefix });
  }
  return SqliteIdempotencyStore.open({ file: join(makeFolder(config.DATA_DIR), 'idempotency.sqlite') });
}

/** MONGODB_URL chooses GridFS. */
export async function openBlobStore(
  config: Config,
  environment: Environment,
  area: BlobArea,
): Promise<BlobStore> {
  const { MONGODB_URL: url } = config;
  if (url !== undefined) {
    const { GridFsBlobStore } =
      require('../../shared/adapters/mongodb/gridfs-blob-store') as typeof import('../../shared/adapters/mongodb/gridfs-blob-store');
    return new GridFsBlobStore({ url, environment, area });
  }
  return FileBlobStore.open({ folder: join(realmFolder(config, environment), 'media', area) });
}

function realmFolder(config: Config, realm: Realm): string {
  makeFolder(config.DATA_DIR);
  return makeFolder(join(config.DATA_DIR, realm));
}

/** For the owner alone: keys' hashes and customers' data are in there. */
function makeFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return path;
}
