import { randomUUID } from 'node:crypto';
import { type Pipeline, startPipeline } from '../projections/pipeline';
import { openJobQueue } from '../shared/adapters/open';
import { REALMS } from '../shared/contracts/realm';
import type { Runtime } from './runtime';

export interface Pipelines {
  readonly all: readonly Pipeline[];
  /** Resolves true when every realm's documents are level with its log as it stands now, false after `timeout_ms`. */
  caughtUp(timeout_ms: number): Promise<boolean>;
  stop(): Promise<void>;
}

/** Feeder and workers of every realm, in this process. */
export async function startPipelines(runtime: Runtime): Promise<Pipelines> {
  const owner = randomUUID();
  const stops: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const next of stops.splice(0).reverse()) await next();
  };
  const all: Pipeline[] = [];
  try {
    for (const realm of REALMS) {
      const { config, log, system, events, viewStores } = runtime;
      const onError = (error: unknown): void =>
        log.error({ realm, err: error }, 'a lane job failed and is tried again');
      const queue = await openJobQueue(config, realm, { lane_count: viewStores[realm].lane_count, onError });
      stops.push(() => queue.close());
      const parts = {
        events: events[realm],
        views: viewStores[realm],
        queue,
        system,
        log: log.child({ realm }),
      };
      const pipeline = await startPipeline({ realm, owner, ...parts });
      stops.push(() => pipeline.stop());
      all.push(pipeline);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    all,
    stop,
    caughtUp: (timeout_ms) =>
      within(
        timeout_ms,
        all.map((pipeline) => pipeline.caughtUp()),
      ),
  };
}

async function within(timeout_ms: number, waits: readonly Promise<void>[]): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), timeout_ms);
  });
  try {
    return await Promise.race([Promise.all(waits).then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
