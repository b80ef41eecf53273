import type { ReadyCheck } from '../../shared/http/operational';
import type { Config } from '../../shared/kernel/config';
import type { Logger } from '../../shared/kernel/log';
import type { System } from '../../shared/kernel/system';
import { type MediaWork, startMediaWork } from '../media/work';
import { CommitRelay } from './commit-relay';
import { type DamageReports, logDamage, type RuntimeOptions } from './pipeline-runtime';
import { type Pipelines, startPipelines } from './pipelines';
import { ProjectionProcess } from './projection-process';
import { type ReadinessNeeds, readiness, WRITES } from './readiness';
import { openRuntime, type Runtime } from './runtime';
import { StartCatchUp } from './start-catch-up';

/** The part of the all-in-one service that exists once, however many processes serve its requests. */
export interface Background {
  readonly runtime: Runtime;
  readonly damage: DamageReports;
  /** Undefined if the pipelines run in this process. */
  readonly commits: CommitRelay | undefined;
  readonly pipelines: Pipelines;
  readonly rendering: MediaWork;
  /** Includes the pipelines, the catch-up and the demo. */
  readonly ready: ReadyCheck;
  /** Stops the pipelines and the rendering, and closes the stores. */
  close(): Promise<void>;
}

export interface BackgroundOptions
  extends Pick<ReadinessNeeds, 'isDemoReady'>,
    Pick<RuntimeOptions, 'tracing'> {
  /**
   * Where the pipelines run. `own_process` (default) only applies to embedded stores. `this_process` is for tests that
   * make a store of this process fail.
   */
  readonly projections?: 'own_process' | 'this_process';
}

/** Opens the stores, and starts projecting and rendering. With `isDemoReady`, is not ready until it returns true. */
export async function startBackground(
  config: Config,
  log: Logger,
  system: System,
  { isDemoReady, tracing, projections = 'own_process' }: BackgroundOptions,
): Promise<Background> {
  const is_embedded = !usesServers(config);
  const damage = logDamage(log);
  const commits = is_embedded && projections === 'own_process' ? new CommitRelay() : undefined;
  const { onDamage } = damage;
  const has_traces = tracing !== undefined;
  const projection_process = commits && new ProjectionProcess({ config, log, has_traces, commits, onDamage });
  const stops: (() => Promise<void>)[] = [async () => projection_process?.stop()];
  const close = async (): Promise<void> => {
    for (const stop of stops.splice(0).reverse()) await stop();
  };
  try {
    const runtime = await openRuntime(config, log, system, {
      tracing,
      damage,
      commits: commits?.ownNotifiers(),
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
    return { runtime, damage, commits, pipelines, rendering, ready, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Returns whether a server is configured. Then only some of the stores are embedded, or none. */
function usesServers({ EVENTSTORE_URL, MONGODB_URL, REDIS_URL }: Config): boolean {
  return (EVENTSTORE_URL ?? MONGODB_URL ?? REDIS_URL) !== undefined;
}
