import { leaseOwner } from '../../projections/engine/lease';
import { ENVIRONMENTS } from '../../shared/catalog/realm';
import { CatalogError } from '../../shared/kernel/errors';
import { pause } from '../../shared/kernel/pause';
import type { MediaTask } from '../../shared/ports/media-tasks';
import type { Runtime } from '../boot/runtime';
import { makePictures } from './make-pictures';
import { LostTasks } from './recover';
import { sweepOnceADay } from './sweep-daily';

export type MediaWorkParts = Pick<
  Runtime,
  'system' | 'log' | 'events' | 'views' | 'viewStores' | 'blobs' | 'mediaTasks' | 'metrics'
>;

export interface MediaWorkTimes {
  /** Between two looks for media whose task was lost. */
  readonly recover_ms: number;
  /** How long a task is left to whoever holds it before it counts as lost. */
  readonly lost_after_ms: number;
  /** Between two tries to reach a queue that is not there yet. */
  readonly retry_ms: number;
  /** How long a stop waits for a rendering; one that is cut off is done again by the next process. */
  readonly stop_ms: number;
}

const TIMES: MediaWorkTimes = { recover_ms: 5_000, lost_after_ms: 10_000, retry_ms: 1_000, stop_ms: 10_000 };
/** One rendering at a time is what a process' memory is reckoned for. */
const AT_ONCE = 1;

export interface MediaWork {
  stop(): Promise<void>;
}

/**
 * Renders uploads in this process, adds the tasks that were lost, and sweeps what nobody refers to. Starts in the
 * background, whether the servers are there yet or not; any number of processes may do so.
 */
export function startMediaWork(parts: MediaWorkParts, times: Partial<MediaWorkTimes> = {}): MediaWork {
  const { recover_ms, lost_after_ms, retry_ms, stop_ms } = { ...TIMES, ...times };
  const { log, mediaTasks } = parts;
  const owner = leaseOwner();
  const stopping = new AbortController();
  const { signal } = stopping;

  const work = async (): Promise<void> => {
    let working: { stop(): Promise<void> } | undefined;
    for (; working === undefined && !signal.aborted; await pause(working ? 0 : retry_ms, signal)) {
      try {
        working = await mediaTasks.work((task) => render(parts, task), AT_ONCE);
      } catch (error) {
        tell(parts, 'uploads wait for the queue of media tasks', error);
      }
    }
    if (!signal.aborted)
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    const enough = new AbortController();
    await Promise.race([working?.stop(), pause(stop_ms, enough.signal)]);
    enough.abort();
  };
  const recover = async (): Promise<void> => {
    const lost = new LostTasks(parts);
    // What a stop has left behind waits for nobody: the first look takes the youngest, too.
    for (let older_than_ms = 0; !signal.aborted; await pause(recover_ms, signal)) {
      try {
        const added = await lost.round(older_than_ms);
        if (added > 0) log.info({ added }, 'media that were still processing were taken up again');
        older_than_ms = lost_after_ms;
      } catch (error) {
        tell(parts, 'lost media tasks could not be looked for', error);
      }
    }
  };
  const ended = Promise.all([
    work(),
    recover(),
    ...ENVIRONMENTS.map((environment) => sweepOnceADay(parts, environment, owner, signal)),
  ]);
  return {
    stop: async () => {
      stopping.abort();
      await ended;
    },
  };
}

async function render(parts: MediaWorkParts, task: MediaTask): Promise<void> {
  const started_ms = performance.now();
  try {
    const outcome = await makePictures(parts, task);
    if (outcome !== 'nothing') parts.metrics.rendered(outcome, performance.now() - started_ms);
  } catch (error) {
    parts.metrics.rendered('tried_again', performance.now() - started_ms);
    throw error;
  }
}

/** A server that is away is told of elsewhere, once and not with every try. */
function tell({ log }: MediaWorkParts, what: string, error: unknown): void {
  const away = error instanceof CatalogError && error.condition === 'unavailable';
  log[away ? 'debug' : 'warn']({ err: error }, what);
}
