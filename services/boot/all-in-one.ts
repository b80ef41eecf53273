import { availableParallelism } from 'node:os';
import { type Maintain, MaintenanceTasks } from '../../projections/maintenance/tasks';
import type { ReadyCheck } from '../../shared/http/operational';
import type { Config } from '../../shared/kernel/config';
import type { Logger } from '../../shared/kernel/log';
import { realSystem, type System } from '../../shared/kernel/system';
import { type Schedule, startSchedule } from '../command/schedule';
import { type MediaWork, startMediaWork } from '../media/work';
import { startWebhooks } from '../webhooks/work';
import { Commits } from './commits';
import { checkProcessCount, HttpProcesses } from './http-processes';
import type { HttpService } from './http-service';
import { runInProcess } from './maintenance-process';
import { isEmbedded } from './open-adapters';
import { type Pipelines, startPipelines } from './pipelines';
import { runProcess } from './process';
import { ProjectionProcess } from './projection-process';
import { readiness, type StartStep, startOperations, WRITES } from './readiness';
import { logDamage, openRuntime, type Runtime, type RuntimeOptions } from './runtime';

/** The part of the all-in-one service that exists once, however many processes serve its requests. */
interface Background {
  readonly runtime: Runtime;
  readonly pipelines: Pipelines;
  readonly rendering: MediaWork;
  readonly schedule: Schedule;
  /** Includes the pipelines, the catch-up and the demo. */
  readonly ready: ReadyCheck;
  readonly maintain: Maintain;
  /** Starts `count` HTTP processes. */
  startHttpProcesses(count: number): Promise<HttpProcesses>;
  close(): Promise<void>;
}

interface Options extends Pick<RuntimeOptions, 'tracing'> {
  /** What the service waits for before it is ready. The caller deletes what it has added. */
  readonly starting?: Set<StartStep>;
  /**
   * Where the pipelines run. `own_process` (default) only applies to embedded stores. `this_process` is for tests that
   * make a store of this process fail.
   */
  readonly projections?: 'own_process' | 'this_process';
  /** Times of the webhooks. For tests. */
  readonly webhook_times?: Parameters<typeof startWebhooks>[1];
}

/** `close` shuts down: accepts no new requests, finishes the running ones, stops the pipelines, closes the stores. */
export interface Service extends Omit<Background, 'startHttpProcesses'>, HttpService {}

/**
 * Starts command, query, auth and projections of one installation on one address. Listens at once; `/health/ready` shows
 * what is missing. This process serves the requests.
 */
export async function startAllInOne(
  config: Config,
  log: Logger,
  system: System = realSystem,
  options: Options = {},
): Promise<Service> {
  const background = await startBackground(config, log, system, options);
  const { runtime, ready, maintain } = background;
  try {
    // With HTTP processes, this one needs no HTTP modules.
    const { startHttpService } = require('./http-service') as typeof import('./http-service');
    const http = await startHttpService(runtime, startOperations(runtime, ready), { maintain });
    const close = async (): Promise<void> => {
      await http.close();
      await background.close();
    };
    return { ...background, ...http, close };
  } catch (error) {
    await background.close();
    throw error;
  }
}

/** Starts the all-in-one service with `count` HTTP processes. This process serves no requests. */
async function startWithHttpProcesses(config: Config, count: number, log: Logger, options: Options) {
  const background = await startBackground(config, log, realSystem, options);
  let http: HttpProcesses | undefined;
  const close = async (): Promise<void> => {
    await http?.stop();
    await background.close();
  };
  try {
    http = await background.startHttpProcesses(count);
    startOperations(background.runtime, http.ready);
    return { ...background, url: await http.url, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Opens the stores, and starts projecting, rendering, publishing on schedule and webhooks. */
async function startBackground(
  config: Config,
  log: Logger,
  system: System,
  { starting = new Set(), tracing, projections = 'own_process', webhook_times }: Options,
): Promise<Background> {
  const is_embedded = isEmbedded(config);
  const commits = is_embedded && projections === 'own_process' ? new Commits() : undefined;
  const onDamage = logDamage(log);
  const runtime = await openRuntime(config, log, system, { tracing, onDamage, commits });
  const pipelines = commits
    ? new ProjectionProcess({ config, log, commits, onDamage, metrics: runtime.metrics })
    : startPipelines(runtime);
  const rendering = startMediaWork(runtime);
  const schedule = startSchedule(runtime);
  const webhooks = startWebhooks(runtime, webhook_times);
  const maintenance = new MaintenanceTasks((...task) => runInProcess(config, ...task), log);
  const { maintain } = maintenance;
  const stopping = new AbortController();
  if (is_embedded) void catchUp(runtime, pipelines, starting, stopping.signal);
  const ready = readiness(runtime, { ...WRITES, pipelines, starting });
  return {
    ...{ runtime, pipelines, rendering, schedule, ready, maintain },
    startHttpProcesses: (count) =>
      HttpProcesses.start({ runtime, log, count, ready, maintain, onDamage, commits }),
    close: async () => {
      stopping.abort();
      await Promise.all([rendering.stop(), schedule.stop(), webhooks.stop(), maintenance.close()]);
      await pipelines.stop();
      await runtime.close();
    },
  };
}

/**
 * Waits until what is in the log at the call has been projected. Only then, all reads include the writes from before the
 * restart. The service is therefore not ready until then, but for at most START_TIMEOUT_S, because a long log must not
 * keep it out of service.
 */
async function catchUp(
  { config: { START_TIMEOUT_S: timeout_s }, log }: Runtime,
  pipelines: Pipelines,
  starting: Set<StartStep>,
  signal: AbortSignal,
): Promise<void> {
  starting.add('catch_up');
  const began_ms = performance.now();
  const caught_up = await pipelines.caughtUp(timeout_s * 1000);
  starting.delete('catch_up');
  if (signal.aborted) return;
  const waited_s = Math.round((performance.now() - began_ms) / 1_000);
  if (caught_up) log.info('the documents have caught up with the log');
  else
    log.warn(
      { waited_s },
      'the documents have not caught up with the log; until they have, reads are out of date, or 503 if there are none',
    );
}

/** The role `all`. */
export function runAll(): void {
  void runProcess('catalog', async (config, { log, tracing }) => {
    const starting = new Set<StartStep>(config.DEMO === 'off' ? [] : ['demo']);
    const options: Options = { starting, tracing };
    const count = config.WORKERS === 'auto' ? availableParallelism() : config.WORKERS;
    checkProcessCount(count);
    const service =
      count === 1
        ? await startAllInOne(config, log, realSystem, options)
        : await startWithHttpProcesses(config, count, log, options);
    log.info({ url: service.url }, 'listening');
    const stopping = new AbortController();
    const createDemo = async (): Promise<void> => {
      // Loads the demo only if it is wanted.
      const { startDemo } = await import('../demo/start.js');
      return startDemo(service, stopping.signal, () => void starting.delete('demo'));
    };
    // Runs in the background, because the event store may not be reachable yet.
    const demo = starting.has('demo') ? createDemo() : undefined;
    return async () => {
      stopping.abort();
      await service.close();
      await demo;
    };
  });
}
