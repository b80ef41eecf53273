import { LogMatch } from '../../projections/engine/log-match';
import { CachedActiveView } from '../../shared/adapters/active-view';
import { WAL_PAGES_MAX_UNATTENDED } from '../../shared/adapters/sqlite/connection';
import { ENVIRONMENTS, type Environment, REALMS, type Realm } from '../../shared/catalog/realm';
import type { Config } from '../../shared/kernel/config';
import type { DamagedFileError } from '../../shared/kernel/errors';
import type { Logger } from '../../shared/kernel/log';
import { Outages } from '../../shared/kernel/outages';
import type { System } from '../../shared/kernel/system';
import { BLOB_AREAS, type BlobArea, type BlobStore } from '../../shared/ports/blob-store';
import type { ActiveView } from '../../shared/ports/document-reader';
import type { EventStore } from '../../shared/ports/event-store';
import type { IdempotencyStore } from '../../shared/ports/idempotency-store';
import type { MediaTaskQueue } from '../../shared/ports/media-tasks';
import type { RateLimiter } from '../../shared/ports/rate-limiter';
import type { ViewStore } from '../../shared/ports/view-store';
import { countedEventStore } from '../metrics/counted-event-store';
import { ServiceMetrics } from '../metrics/service-metrics';
import type { Tracing } from '../tracing/tracing';
import type { Commits } from './commits';
import {
  openBlobStore,
  openEventStore,
  openIdempotencyStore,
  openMediaTasks,
  openRateLimiter,
  openViewStore,
  type StoreReports,
  type ViewStoreUsage,
} from './open-adapters';

/** The opened stores of a process: log and documents of each realm, files of each environment, queues and limits. */
export interface Runtime {
  readonly config: Config;
  readonly log: Logger;
  readonly system: System;
  readonly events: Readonly<Record<Realm, EventStore>>;
  readonly viewStores: Readonly<Record<Realm, ViewStore>>;
  readonly views: Readonly<Record<Realm, ActiveView>>;
  /** Whether the documents of each realm were made from its log. If not, its log refuses appends. */
  readonly log_matches: Readonly<Record<Realm, LogMatch>>;
  readonly blobs: Readonly<Record<Environment, Readonly<Record<BlobArea, BlobStore>>>>;
  readonly mediaTasks: MediaTaskQueue;
  readonly limiter: RateLimiter;
  readonly idempotency: IdempotencyStore;
  readonly metrics: ServiceMetrics;
  readonly outages: Outages;
  /** Undefined in a process without traces. */
  readonly tracing: Tracing | undefined;
  close(): Promise<void>;
}

export interface RuntimeOptions extends ViewStoreUsage {
  readonly tracing?: Tracing | undefined;
  /** Called with what adapters notice about damaged files. Default: logs each file once. */
  readonly onDamage?: OnDamage | undefined;
  /**
   * Exchanges notifications of commits with other processes on the same embedded stores. One of them checkpoints the
   * write-ahead logs.
   */
  readonly commits?: Commits | undefined;
  /** Takes the tasks of this process, if another one renders. */
  readonly media_tasks?: MediaTaskQueue | undefined;
}

export type OnDamage = (damage: Pick<DamagedFileError, 'file' | 'message'>) => void;

/** Opens all stores, even if their servers cannot be reached yet. If one fails, closes the others and rethrows. */
export async function openRuntime(
  config: Config,
  log: Logger,
  system: System,
  options: RuntimeOptions = {},
): Promise<Runtime> {
  const { tracing, commits } = options;
  const opened: { close(): Promise<void> }[] = [];
  const track = async <T extends { close(): Promise<void> }>(opening: Promise<T>): Promise<T> => {
    const resource = await opening;
    opened.push(resource);
    return resource;
  };
  const close = async (): Promise<void> => {
    await Promise.allSettled(opened.reverse().map((resource) => resource.close()));
  };
  try {
    const metrics = new ServiceMetrics();
    const outages = new Outages(log, system.now);
    const reports: StoreReports = {
      outages,
      onDamage: options.onDamage ?? logDamage(log),
      onRecreated: ({ file, moved_to }) =>
        log.warn({ file, moved_to }, 'file was damaged; moved it aside and created an empty one'),
      ...(commits && { wal_pages_max: WAL_PAGES_MAX_UNATTENDED }),
    };
    const reportsOf = (realm: Realm, file: 'log' | 'documents'): StoreReports =>
      commits ? { ...reports, commits: commits.notifierOf(realm, file) } : reports;
    const logs = await forEachName(REALMS, (realm) =>
      track(openEventStore(config, realm, reportsOf(realm, 'log'))),
    );
    const viewStores = await forEachName(REALMS, (realm) =>
      track(
        openViewStore(config, realm, options, {
          ...reportsOf(realm, 'documents'),
          onIndexing: (version, progress) =>
            log.info({ realm, version, ...progress }, 'creating the indexes of a view version'),
          onCleanUpFailure: (error) =>
            log.warn(
              { realm, err: error },
              'creating indexes or dropping old view versions failed; retrying',
            ),
        }),
      ),
    );
    const log_matches = await forEachName(
      REALMS,
      async (realm) => new LogMatch({ realm, events: logs[realm], views: viewStores[realm], log }),
    );
    const events = await forEachName(REALMS, async (realm) => {
      const counted = countedEventStore(logs[realm], realm, metrics, log_matches[realm]);
      return tracing?.eventStore(counted, realm) ?? counted;
    });
    const views = await forEachName(REALMS, async (realm) => {
      const view = new CachedActiveView(viewStores[realm], system.now);
      return tracing?.view(view, realm) ?? view;
    });
    const blobs = await forEachName(ENVIRONMENTS, (environment) =>
      forEachName(BLOB_AREAS, (area) => track(openBlobStore(config, environment, area, reports))),
    );
    const untraced_tasks =
      options.media_tasks ??
      (await track(
        openMediaTasks(
          config,
          {
            onError: (error, task, attempt) =>
              log.error({ err: error, ...task, attempt }, 'media task failed'),
            onWorkerError: (error) =>
              log.debug({ err: error }, 'workers cannot reach the media tasks; reconnecting'),
          },
          reports,
        ),
      ));
    const mediaTasks = tracing?.mediaTasks(untraced_tasks) ?? untraced_tasks;
    const limiter = await track(openRateLimiter(config, system, reports));
    const idempotency = await track(openIdempotencyStore(config, reports));
    return {
      ...{ config, log, system, events, viewStores, views, log_matches, blobs, mediaTasks },
      ...{ limiter, idempotency, metrics, outages, tracing, close },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Returns a function that logs each damaged file once. */
export function logDamage(log: Logger): OnDamage {
  const logged = new Set<string>();
  return ({ file, message }) => {
    if (!logged.has(file)) log.error({ file }, message);
    logged.add(file);
  };
}

/** Calls `make` for each name, one after another. */
async function forEachName<Name extends string, T>(
  names: readonly Name[],
  make: (name: Name) => Promise<T>,
): Promise<Record<Name, T>> {
  const made: Partial<Record<Name, T>> = {};
  for (const name of names) made[name] = await make(name);
  return made as Record<Name, T>;
}
