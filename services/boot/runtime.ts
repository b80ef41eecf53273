import type { Logger } from 'pino';
import { CachedActiveView } from '../../shared/adapters/active-view';
import type { Environment, Realm } from '../../shared/catalog/realm';
import { ENVIRONMENTS, REALMS } from '../../shared/catalog/realm';
import type { Config } from '../../shared/kernel/config';
import type { System } from '../../shared/kernel/system';
import { BLOB_AREAS, type BlobArea, type BlobStore } from '../../shared/ports/blob-store';
import type { EventStore } from '../../shared/ports/event-store';
import type { IdempotencyStore } from '../../shared/ports/idempotency-store';
import type { MediaTasks } from '../../shared/ports/media-tasks';
import type { RateLimiter } from '../../shared/ports/rate-limiter';
import type { ActiveView, ViewStore } from '../../shared/ports/view-store';
import { CountedEventStore } from '../metrics/counted-event-store';
import { ServiceMetrics } from '../metrics/service-metrics';
import {
  openBlobStore,
  openEventStore,
  openIdempotencyStore,
  openMediaTasks,
  openRateLimiter,
  openViewStore,
  type ViewStoreUse,
} from './open-adapters';

/**
 * What every process of the service opens: the log and the documents of each realm, the media's bytes of each
 * environment and the tasks to make pictures, the limiter and the idempotency store, and what it counts.
 */
export interface Runtime {
  readonly config: Config;
  readonly log: Logger;
  readonly system: System;
  readonly events: Readonly<Record<Realm, EventStore>>;
  readonly viewStores: Readonly<Record<Realm, ViewStore>>;
  readonly views: Readonly<Record<Realm, ActiveView>>;
  readonly blobs: Readonly<Record<Environment, Readonly<Record<BlobArea, BlobStore>>>>;
  readonly mediaTasks: MediaTasks;
  readonly limiter: RateLimiter;
  readonly idempotency: IdempotencyStore;
  readonly metrics: ServiceMetrics;
  close(): Promise<void>;
}

/** Opens all realms, whether their servers are there yet or not; what was opened is closed again where one fails. */
export async function openRuntime(
  config: Config,
  log: Logger,
  system: System,
  use: ViewStoreUse = {},
): Promise<Runtime> {
  const opened: { close(): Promise<void> }[] = [];
  const keep = async <T extends { close(): Promise<void> }>(opening: Promise<T>): Promise<T> => {
    const resource = await opening;
    opened.push(resource);
    return resource;
  };
  const close = async (): Promise<void> => {
    await Promise.allSettled(opened.reverse().map((resource) => resource.close()));
  };
  try {
    const metrics = new ServiceMetrics();
    const events = await oneEach(
      REALMS,
      async (realm) => new CountedEventStore(await keep(openEventStore(config, realm)), realm, metrics),
    );
    const viewStores = await oneEach(REALMS, (realm) => keep(openViewStore(config, realm, use)));
    const views = await oneEach(REALMS, async (realm) => new CachedActiveView(viewStores[realm], system.now));
    const blobs = await oneEach(ENVIRONMENTS, (environment) =>
      oneEach(BLOB_AREAS, (area) => keep(openBlobStore(config, environment, area))),
    );
    const mediaTasks = await keep(
      openMediaTasks(config, {
        onError: (error, task, attempt) => log.error({ err: error, ...task, attempt }, 'a media task failed'),
        onTrouble: (error) => log.debug({ err: error }, 'the workers cannot reach the media tasks'),
      }),
    );
    const limiter = await keep(openRateLimiter(config));
    const idempotency = await keep(openIdempotencyStore(config));
    return {
      config,
      log,
      system,
      events,
      viewStores,
      views,
      blobs,
      mediaTasks,
      limiter,
      idempotency,
      metrics,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Makes one for each name, one after the other. */
async function oneEach<Name extends string, T>(
  names: readonly Name[],
  make: (name: Name) => Promise<T>,
): Promise<Record<Name, T>> {
  const made: Partial<Record<Name, T>> = {};
  for (const name of names) made[name] = await make(name);
  return made as Record<Name, T>;
}
