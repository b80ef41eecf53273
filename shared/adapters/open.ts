import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Realm } from '../contracts/realm';
import type { Config } from '../kernel/config';
import type { EventStore } from '../ports/event-store';
import type { IdempotencyStore } from '../ports/idempotency-store';
import type { JobQueue } from '../ports/job-queue';
import type { RateLimiter } from '../ports/rate-limiter';
import type { ViewStore } from '../ports/view-store';
import { InProcessJobQueue, type InProcessJobQueueOptions } from './in-process/job-queue';
import { SqliteEventStore } from './sqlite/event-store';
import { SqliteIdempotencyStore } from './sqlite/idempotency-store';
import { SqliteRateLimiter } from './sqlite/rate-limiter';
import { SqliteViewStore } from './sqlite/view-store';

/*
 * The one place where an adapter is chosen, port by port: a server's where its address is configured, else the
 * embedded one. All throw CatalogError('unavailable') where theirs cannot be opened.
 */

/** EVENTSTORE_URL chooses the server. */
export async function openEventStore(config: Config, realm: Realm): Promise<EventStore> {
  return SqliteEventStore.open({ file: join(realmFolder(config, realm), 'events.sqlite') });
}

/** MONGODB_URL chooses the server. */
export async function openViewStore(config: Config, realm: Realm): Promise<ViewStore> {
  return SqliteViewStore.open({ folder: realmFolder(config, realm) });
}

/** REDIS_URL chooses the server. */
export async function openJobQueue(
  _config: Config,
  _realm: Realm,
  options: InProcessJobQueueOptions = {},
): Promise<JobQueue> {
  return new InProcessJobQueue(options);
}

/** REDIS_URL chooses the server. */
export async function openRateLimiter(config: Config): Promise<RateLimiter> {
  return SqliteRateLimiter.open({ file: join(makeFolder(config.DATA_DIR), 'limits.sqlite') });
}

/** REDIS_URL chooses the server. */
export async function openIdempotencyStore(config: Config): Promise<IdempotencyStore> {
  return SqliteIdempotencyStore.open({ file: join(makeFolder(config.DATA_DIR), 'idempotency.sqlite') });
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
