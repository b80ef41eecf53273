import type { IncomingMessage, RequestListener } from 'node:http';
import type { Config } from '../../shared/kernel/config';
import type { Logger } from '../../shared/kernel/log';
import { realSystem, type System } from '../../shared/kernel/system';
import { type MediaWork, startMediaWork } from '../media/work';
import type { PageViewCounter } from '../query/page-view-counter';
import {
  buildCommandApp,
  buildQueryApp,
  PAGE_VIEWS_TIMEOUT_MS,
  startControlLog,
  startPageViewCounter,
} from './apps';
import { listen } from './listen';
import { logDamage, type RuntimeOptions } from './pipeline-runtime';
import { type Pipelines, startPipelines } from './pipelines';
import { ProjectionProcess } from './projection-process';
import { type ReadinessNeeds, readiness, WRITES } from './readiness';
import { openRuntime, type Runtime } from './runtime';
import { StartCatchUp } from './start-catch-up';

export interface Service {
  readonly url: string;
  readonly runtime: Runtime;
  readonly pipelines: Pipelines;
  readonly rendering: MediaWork;
  readonly page_views: PageViewCounter;
  /** Shuts down: accepts no new requests, finishes the running ones, stops the pipelines, closes the stores. */
  close(): Promise<void>;
}

export interface AllInOneOptions
  extends Pick<ReadinessNeeds, 'isDemoReady'>,
    Pick<RuntimeOptions, 'tracing'> {
  /**
   * Where the pipelines run. `own_process` (default) only applies to embedded stores. `this_process` is for tests that
   * make a store of this process fail.
   */
  readonly projections?: 'own_process' | 'this_process';
}

/**
 * Starts command, query, auth and projections of one installation on one address. Listens at once; `/health/ready` shows
 * what is missing. With `isDemoReady`, the service is not ready until it returns true.
 */
export async function startAllInOne(
  config: Config,
  log: Logger,
  system: System = realSystem,
  { isDemoReady, tracing, projections = 'own_process' }: AllInOneOptions = {},
): Promise<Service> {
  const is_embedded = !usesServers(config);
  const damage = logDamage(log);
  const projection_process =
    is_embedded && projections === 'own_process'
      ? new ProjectionProcess({ config, log, has_traces: tracing !== undefined, onDamage: damage.onDamage })
      : undefined;
  const stops: (() => Promise<void>)[] = [async () => projection_process?.stop()];
  const close = async (): Promise<void> => {
    for (const stop of stops.splice(0).reverse()) await stop();
  };
  try {
    const runtime = await openRuntime(config, log, system, {
      tracing,
      damage,
      commits: projection_process?.notifiers,
    });
    stops.push(() => runtime.close());
    projection_process?.start();
    const pipelines = projection_process ?? startPipelines(runtime);
    stops.push(() => pipelines.stop());
    const rendering = startMediaWork(runtime);
    stops.push(() => rendering.stop());
    const catch_up = is_embedded ? new StartCatchUp(runtime, pipelines) : undefined;
    stops.push(async () => catch_up?.stop());
    const ready = readiness(runtime, {
      ...WRITES,
      pipelines,
      ...(catch_up && { catch_up }),
      ...(isDemoReady && { isDemoReady }),
    });
    const page_views = startPageViewCounter(runtime);
    stops.push(() => page_views.stop(PAGE_VIEWS_TIMEOUT_MS));
    const control_log = startControlLog(runtime);
    stops.push(() => control_log.stop());
    const query = await buildQueryApp(runtime, control_log, page_views.record, ready);
    const command = await buildCommandApp(runtime, control_log, ready);
    const listening = await listen(routeRequests(query, command), config.HOST, config.PORT);
    stops.push(() => listening.close());
    return { url: listening.url, runtime, pipelines, rendering, page_views, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Returns whether a server is configured. Then only some of the stores are embedded, or none. */
function usesServers({ EVENTSTORE_URL, MONGODB_URL, REDIS_URL }: Config): boolean {
  return (EVENTSTORE_URL ?? MONGODB_URL ?? REDIS_URL) !== undefined;
}

/** Routes requests as a gateway would: reads and pictures to the query app, writes and tokens to the command app. */
function routeRequests(query: RequestListener, command: RequestListener): RequestListener {
  return (request, response) => (isForQuery(request) ? query(request, response) : command(request, response));
}

function isForQuery({ method, url }: IncomingMessage): boolean {
  if (url?.startsWith('/media/')) return true;
  return !url?.startsWith('/auth') && (method === 'GET' || method === 'HEAD' || method === 'OPTIONS');
}
