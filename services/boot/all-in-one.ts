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
import { type Pipelines, startPipelines } from './pipelines';
import { type ReadinessNeeds, readiness, WRITES } from './readiness';
import { openRuntime, type Runtime, type RuntimeOptions } from './runtime';

export interface Service {
  readonly url: string;
  readonly runtime: Runtime;
  readonly pipelines: Pipelines;
  readonly rendering: MediaWork;
  readonly page_views: PageViewCounter;
  /** Shuts down: accepts no new requests, finishes the running ones, stops the pipelines, closes the stores. */
  close(): Promise<void>;
}

/**
 * Starts command, query, auth and projections in one process on one address. With `isDemoReady`, the service is not
 * ready until it returns true.
 */
export async function startAllInOne(
  config: Config,
  log: Logger,
  system: System = realSystem,
  { isDemoReady, tracing }: Pick<ReadinessNeeds, 'isDemoReady'> & Pick<RuntimeOptions, 'tracing'> = {},
): Promise<Service> {
  const runtime = await openRuntime(config, log, system, { tracing });
  const stops: (() => Promise<void>)[] = [() => runtime.close()];
  const close = async (): Promise<void> => {
    for (const stop of stops.splice(0).reverse()) await stop();
  };
  try {
    const pipelines = startPipelines(runtime);
    stops.push(() => pipelines.stop());
    const rendering = startMediaWork(runtime);
    stops.push(() => rendering.stop());
    if (!usesServers(config)) await waitUntilCaughtUp(pipelines, config, log);
    const ready = readiness(runtime, { ...WRITES, pipelines, ...(isDemoReady ? { isDemoReady } : {}) });
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

/**
 * Waits for at most START_TIMEOUT_S, so that reads include every write from before the restart. After the timeout the
 * service starts anyway, because a long log must not keep it down.
 */
async function waitUntilCaughtUp(pipelines: Pipelines, config: Config, log: Logger): Promise<void> {
  if (!(await pipelines.caughtUp(config.START_TIMEOUT_S * 1000)))
    log.warn(
      { timeout_s: config.START_TIMEOUT_S },
      'the documents have not caught up with the log; reads may be out of date until they have',
    );
}

/** Returns whether a server is configured. It may start after this process, so the process listens without waiting. */
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
