import type { IncomingMessage, RequestListener } from 'node:http';
import type { Config } from '../../shared/kernel/config';
import type { Logger } from '../../shared/kernel/log';
import { realSystem, type System } from '../../shared/kernel/system';
import { type MediaWork, startMediaWork } from '../media/work';
import type { ViewCounter } from '../query/view-counter';
import { buildCommandApp, buildQueryApp, startViewCounting, VIEWS_TIMEOUT_MS } from './apps';
import { listen } from './listen';
import { type Pipelines, startPipelines } from './pipelines';
import { readiness, WRITES } from './readiness';
import { openRuntime, type Runtime } from './runtime';

export interface Service {
  readonly url: string;
  readonly runtime: Runtime;
  readonly pipelines: Pipelines;
  readonly rendering: MediaWork;
  readonly views: ViewCounter;
  /** Takes no new request, finishes those running, stops projecting, closes every file. */
  close(): Promise<void>;
}

/** Command, query, auth and projections in one process on one address. */
export async function startAllInOne(
  config: Config,
  log: Logger,
  system: System = realSystem,
): Promise<Service> {
  const runtime = await openRuntime(config, log, system);
  const stops: (() => Promise<void>)[] = [() => runtime.close()];
  const close = async (): Promise<void> => {
    for (const next of stops.splice(0).reverse()) await next();
  };
  try {
    const pipelines = startPipelines(runtime);
    stops.push(() => pipelines.stop());
    const rendering = startMediaWork(runtime);
    stops.push(() => rendering.stop());
    if (!usesServers(config)) await untilLevel(pipelines, config, log);
    const ready = readiness(runtime, { ...WRITES, pipelines });
    const views = startViewCounting(runtime);
    stops.push(() => views.stop(VIEWS_TIMEOUT_MS));
    const query = await buildQueryApp(runtime, views.record, ready);
    const command = await buildCommandApp(runtime, ready);
    const listening = await listen(dispatch(query, command), config.HOST, config.PORT);
    stops.push(() => listening.close());
    return { url: listening.url, runtime, pipelines, rendering, views, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Reads should not answer from before the last stop; but a log that takes long does not keep the service down. */
async function untilLevel(pipelines: Pipelines, config: Config, log: Logger): Promise<void> {
  if (!(await pipelines.caughtUp(config.START_TIMEOUT_S * 1000)))
    log.warn('listening before the documents have caught up with the log');
}

/** A server may come later than this process, which then listens meanwhile and says what it waits for. */
function usesServers({ EVENTSTORE_URL, MONGODB_URL, REDIS_URL }: Config): boolean {
  return (EVENTSTORE_URL ?? MONGODB_URL ?? REDIS_URL) !== undefined;
}

/** As a gateway would: reads and pictures to the query app, writes and tokens to the command app. */
function dispatch(query: RequestListener, command: RequestListener): RequestListener {
  return (request, response) => (isForQuery(request) ? query(request, response) : command(request, response));
}

function isForQuery({ method, url }: IncomingMessage): boolean {
  if (url?.startsWith('/media/')) return true;
  return !url?.startsWith('/auth') && (method === 'GET' || method === 'HEAD' || method === 'OPTIONS');
}
