import type { Logger } from 'pino';
import { CachedActiveView } from '../../shared/adapters/active-view';
import type { Environment, Realm } from '../../shared/catalog/realm';
import { ENVIRONMENTS, REALMS } from '../../shared/catalog/realm';
import type { Config } from '../../shared/kernel/config';
import { Outages } from '../../shared/kernel/outages';
import type { System } from '../../shared/kernel/system';
import { BLOB_AREAS, type BlobArea, type BlobStore } from '../../shared/ports/blob-store';
import type { ActiveView } from '../../shared/ports/document-reader';
import type { IdempotencyStore } from '../../shared/ports/idempotency-store';
import type { MediaTaskQueue } from '../../shared/ports/media-tasks';
import type { RateLimiter } from '../../shared/ports/rate-limiter';
import { CountedEventStore } from '../metrics/counted-event-store';
import { ServiceMetrics } from '../metrics/service-metrics';
import { openBlobStore, openIdempotencyStore, openMediaTasks, openRateLimiter } from './open-adapters';
import {
  forEachName,
  OpenedStores,
  openLogsAndDocuments,
  type PipelineRuntime,
  type RuntimeOptions,
  reportsTo,
} from './pipeline-runtime';

/** The opened stores of a process: log and documents of each realm, files of each environment, queues and limits. */
export interface Runtime extends PipelineRuntime {
  readonly views: Readonly<Record<Realm, ActiveView>>;
  readonly blobs: Readonly<Record<Environment, Readonly<Record<BlobArea, BlobStore>>>>;
  readonly mediaTasks: MediaTaskQueue;
  readonly limiter: RateLimiter;
  readonly idempotency: IdempotencyStore;
  readonly metrics: ServiceMetrics;
}

export interface AllRuntimeOptions extends RuntimeOptions {
  /** Takes the tasks of this process, if another one renders. */
  readonly media_tasks?: MediaTaskQueue | undefined;
}

/** Opens all stores, even if their servers cannot be reached yet. If one fails, closes the others and rethrows. */
export async function openRuntime(
  config: Config,
  log: Logger,
  system: System,
  options: AllRuntimeOptions = {},
): Promise<Runtime> {
  const { tracing } = options;
  const stores = new OpenedStores();
  const { track, close } = stores;
  try {
    const metrics = new ServiceMetrics();
    const outages = new Outages(log, system.now);
    const reports = reportsTo(log, outages, options);
    const opened = await openLogsAndDocuments(config, log, reports, options, stores);
    const { logs, viewStores, log_matches } = opened;
    const events = await forEachName(REALMS, async (realm) => {
      const counted = new CountedEventStore(logs[realm], realm, metrics, log_matches[realm]);
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
      config,
      log,
      system,
      events,
      viewStores,
      views,
      log_matches,
      blobs,
      mediaTasks,
      limiter,
      idempotency,
      metrics,
      outages,
      tracing,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
