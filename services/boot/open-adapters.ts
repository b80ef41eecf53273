import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { FileBlobStore } from '../../shared/adapters/files/blob-store';
import { InProcessJobQueue } from '../../shared/adapters/in-process/job-queue';
import { InProcessMediaTaskQueue } from '../../shared/adapters/in-process/media-tasks';
import type { OnIndexing } from '../../shared/adapters/mongodb/view-store';
import type { CommitNotifier } from '../../shared/adapters/sqlite/commit-notifier';
import type { OnDamage } from '../../shared/adapters/sqlite/connection';
import type { OnRecreated } from '../../shared/adapters/sqlite/disposable-file';
import { SqliteEventStore } from '../../shared/adapters/sqlite/event-store';
import { IDEMPOTENCY_FILE, SqliteIdempotencyStore } from '../../shared/adapters/sqlite/idempotency-store';
import { LIMITS_FILE, SqliteRateLimiter } from '../../shared/adapters/sqlite/rate-limiter';
import { SqliteViewStore } from '../../shared/adapters/sqlite/view-store';
import { type Environment, REALMS, type Realm } from '../../shared/catalog/realm';
import { backoff } from '../../shared/kernel/async';
import type { Config } from '../../shared/kernel/config';
import type { OutageReport, Outages, Server } from '../../shared/kernel/outages';
import type { System } from '../../shared/kernel/system';
import type { BlobArea, BlobStore } from '../../shared/ports/blob-store';
import type { EventStore } from '../../shared/ports/event-store';
import type { IdempotencyStore } from '../../shared/ports/idempotency-store';
import type { JobQueue, PartitionJob } from '../../shared/ports/job-queue';
import type { MediaTaskQueue, MediaTaskQueueOptions } from '../../shared/ports/media-tasks';
import type { RateLimiter } from '../../shared/ports/rate-limiter';
import type { ViewStore } from '../../shared/ports/view-store';

/*
 * Chooses the adapter of each port: the server's if its address is configured, otherwise the embedded one.
 * - An embedded adapter throws CatalogError('unavailable') if its files cannot be opened. It replaces a damaged file
 *   whose content may be lost (docs/operations/failures.md#damaged-files).
 * - A server adapter opens even if the server cannot be reached yet.
 * - `require` loads a server adapter only when it is used, because its client library takes most of the start-up time.
 */

const EVENTS = 'events.sqlite';

/** Takes what adapters notice: damaged files and commits of embedded ones, outages of servers. */
export interface StoreReports {
  readonly onDamage?: OnDamage;
  readonly onRecreated?: OnRecreated;
  readonly commits?: CommitNotifier;
  readonly outages?: Outages;
  /** See `SqliteOptions`. For the files of `filesWrittenByRequests`. */
  readonly wal_pages_max?: number | undefined;
}

/** How the background work of a view store is reported. */
export interface ViewStoreReports extends StoreReports {
  readonly onIndexing?: OnIndexing;
  readonly onCleanUpFailure?: (error: unknown) => void;
}

/** Opens the log of a realm: EventStoreDB if EVENTSTORE_URL is set, otherwise SQLite. */
export async function openEventStore(
  config: Config,
  realm: Realm,
  reports: StoreReports = {},
): Promise<EventStore> {
  const { EVENTSTORE_URL: url, EVENTSTORE_NAMESPACE: namespace } = config;
  if (url === undefined)
    return SqliteEventStore.open({ file: join(realmFolder(config, realm), EVENTS), ...reports });
  const { EventStoreDbEventStore } =
    require('../../shared/adapters/eventstoredb/event-store') as typeof import('../../shared/adapters/eventstoredb/event-store');
  return EventStoreDbEventStore.open({
    url,
    realm,
    ...(namespace && { namespace: `${namespace}.` }),
    ...reportTo(reports.outages, 'event_store'),
  });
}

export interface ViewStoreUsage {
  /** True if the process only serves reads and projects nothing. MONGODB_READ_PREFERENCE then applies to its reads. */
  readonly only_reads?: boolean;
}

/** Opens the documents of a realm: MongoDB if MONGODB_URL is set, otherwise SQLite. */
export async function openViewStore(
  config: Config,
  realm: Realm,
  { only_reads = false }: ViewStoreUsage = {},
  { onIndexing, onCleanUpFailure, ...reports }: ViewStoreReports = {},
): Promise<ViewStore> {
  const { MONGODB_URL: url, MONGODB_READ_PREFERENCE } = config;
  if (url === undefined) return SqliteViewStore.open({ folder: realmFolder(config, realm), ...reports });
  const { MongoViewStore } =
    require('../../shared/adapters/mongodb/view-store') as typeof import('../../shared/adapters/mongodb/view-store');
  // Keys are always read from the primary, so that a revoked key is refused within seconds even if a secondary lags.
  const read_preference = only_reads && realm !== 'control' ? MONGODB_READ_PREFERENCE : 'primary';
  return MongoViewStore.open({
    ...{ url, realm, opening_ms: 0, read_preference },
    ...(onIndexing && { onIndexing }),
    ...(onCleanUpFailure && { onCleanUpFailure }),
  });
}

export interface JobQueueOptions {
  /** The partition count of the view store. */
  readonly partition_count: number;
  /** Called with the error of every failed attempt. `attempt` counts from 1. */
  readonly onError?: (error: unknown, job: PartitionJob, attempt: number) => void;
  /** Called with connection errors between Redis and the workers. Workers reconnect on their own. */
  readonly onWorkerError?: (error: unknown) => void;
}

/** A job fails while a store is unavailable. At most one second after the store is back, the job is retried. */
const backoffMs = backoff(50, 1_000);

/**
 * Opens the job queue of a realm: BullMQ if REDIS_URL is set, otherwise a queue in this process. The few changes of the
 * `control` realm always use a queue in the process that dispatches them, so that a revocation does not depend on Redis
 * (docs/decisions/0019-every-process-follows-the-control-log.md).
 */
export async function openJobQueue(
  config: Config,
  realm: Realm,
  queue_options: JobQueueOptions,
  { outages }: StoreReports = {},
): Promise<JobQueue> {
  const options = { ...queue_options, backoffMs };
  const { REDIS_URL: url, REDIS_PREFIX: prefix } = config;
  if (url === undefined || realm === 'control') return new InProcessJobQueue(options);
  const { BullmqJobQueue } =
    require('../../shared/adapters/bullmq/job-queue') as typeof import('../../shared/adapters/bullmq/job-queue');
  return new BullmqJobQueue({ url, realm, prefix, ...options, ...reportTo(outages, 'redis') });
}

/** Opens the queue of media tasks: BullMQ if REDIS_URL is set, otherwise a queue in this process. */
export async function openMediaTasks(
  config: Config,
  options: MediaTaskQueueOptions = {},
  { outages }: StoreReports = {},
): Promise<MediaTaskQueue> {
  const { REDIS_URL: url, REDIS_PREFIX: prefix } = config;
  if (url === undefined)
    return new InProcessMediaTaskQueue({ folder: join(config.DATA_DIR, 'media-tasks'), ...options });
  const { BullmqMediaTaskQueue } =
    require('../../shared/adapters/bullmq/media-tasks') as typeof import('../../shared/adapters/bullmq/media-tasks');
  return new BullmqMediaTaskQueue({ url, prefix, ...options, ...reportTo(outages, 'redis') });
}

/** Opens the rate limiter: Redis, with its own clock, if REDIS_URL is set, otherwise SQLite. */
export async function openRateLimiter(
  config: Config,
  { now }: Pick<System, 'now'>,
  { onDamage, onRecreated, outages, wal_pages_max }: StoreReports = {},
): Promise<RateLimiter> {
  const { REDIS_URL: url, REDIS_PREFIX: prefix } = config;
  if (url === undefined)
    return SqliteRateLimiter.open({
      file: join(makeFolder(config.DATA_DIR), LIMITS_FILE),
      ...{ now, wal_pages_max, onDamage, onRecreated },
    });
  const { RedisRateLimiter } =
    require('../../shared/adapters/redis/rate-limiter') as typeof import('../../shared/adapters/redis/rate-limiter');
  return RedisRateLimiter.open({ url, prefix, ...reportTo(outages, 'redis') });
}

/** Opens the idempotency store: Redis if REDIS_URL is set, otherwise SQLite. */
export async function openIdempotencyStore(
  config: Config,
  { onDamage, onRecreated, outages, wal_pages_max }: StoreReports = {},
): Promise<IdempotencyStore> {
  const { REDIS_URL: url, REDIS_PREFIX: prefix } = config;
  if (url !== undefined) {
    const { RedisIdempotencyStore } =
      require('../../shared/adapters/redis/idempotency-store') as typeof import('../../shared/adapters/redis/idempotency-store');
    return RedisIdempotencyStore.open({ url, prefix, ...reportTo(outages, 'redis') });
  }
  return SqliteIdempotencyStore.open({
    file: join(makeFolder(config.DATA_DIR), IDEMPOTENCY_FILE),
    ...{ wal_pages_max, onDamage, onRecreated },
  });
}

/** Opens the files of an environment and area: GridFS if MONGODB_URL is set, otherwise a folder. */
export async function openBlobStore(
  config: Config,
  environment: Environment,
  area: BlobArea,
  { onDamage, onRecreated, outages }: StoreReports = {},
): Promise<BlobStore> {
  const { MONGODB_URL: url } = config;
  if (url !== undefined) {
    const { GridFsBlobStore } =
      require('../../shared/adapters/mongodb/gridfs-blob-store') as typeof import('../../shared/adapters/mongodb/gridfs-blob-store');
    return new GridFsBlobStore({ url, environment, area, ...reportTo(outages, 'view_store') });
  }
  realmFolder(config, environment);
  const folder = mediaFolder(config.DATA_DIR, environment, area);
  return FileBlobStore.open({ folder, onDamage, onRecreated });
}

/** Returns whether all stores are embedded. With a server, only some of them are, or none. */
export const isEmbedded = ({ EVENTSTORE_URL, MONGODB_URL, REDIS_URL }: Config): boolean =>
  (EVENTSTORE_URL ?? MONGODB_URL ?? REDIS_URL) === undefined;

/** Returns the embedded files that a service with HTTP writes. It writes no documents. */
export function filesWrittenByRequests({ DATA_DIR }: Config): string[] {
  const logs = REALMS.map((realm) => eventsFile(DATA_DIR, realm));
  return [join(DATA_DIR, LIMITS_FILE), join(DATA_DIR, IDEMPOTENCY_FILE), ...logs];
}

/** Returns the file of an embedded log. */
export const eventsFile = (data_dir: string, realm: Realm): string => join(data_dir, realm, EVENTS);

/** Returns the folder of embedded files of an environment and area. */
export const mediaFolder = (data_dir: string, environment: Environment, area: BlobArea): string =>
  join(data_dir, environment, 'media', area);

/** The folder in which a back-up or a restore collects the files until it is complete. */
export const INCOMPLETE = 'incomplete';

function realmFolder(config: Config, realm: Realm): string {
  if (existsSync(join(config.DATA_DIR, INCOMPLETE)))
    throw new Error(
      `A restore into ${resolve(config.DATA_DIR)} was interrupted. Empty the folder and run it again.`,
    );
  makeFolder(config.DATA_DIR);
  return makeFolder(join(config.DATA_DIR, realm));
}

/** Returns whether there is a catalog to open. A log on a server counts as one. Throws if the folder may not be read. */
export function hasCatalog(config: Config): boolean {
  if (config.EVENTSTORE_URL !== undefined) return true;
  try {
    return statSync(join(config.DATA_DIR, 'control'), { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    throw new Error(
      `Not permitted to read the folder ${resolve(config.DATA_DIR)}. Run the command as the user of the service.`,
    );
  }
}

/** Creates a folder that only its owner can read: it will contain key hashes and customer data. */
function makeFolder(path: string): string {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    if (!/^(EEXIST|ENOTDIR)$/.test((error as NodeJS.ErrnoException).code ?? '')) throw error;
    throw new Error(
      `Cannot create the folder ${resolve(path)}: it is a file, or in one. Set DATA_DIR to a folder.`,
    );
  }
  return path;
}

function reportTo(outages: Outages | undefined, server: Server): { report?: OutageReport } {
  return outages ? { report: outages.of(server) } : {};
}
