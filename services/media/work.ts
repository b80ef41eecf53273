import { once } from 'node:events';
import { leaseOwner } from '../../projections/engine/lease';
import { ENVIRONMENTS, type Environment } from '../../shared/catalog/realm';
import { pause, withTimeout } from '../../shared/kernel/async';
import { CatalogError } from '../../shared/kernel/errors';
import type { MediaId } from '../../shared/kernel/ids';
import { timestamp } from '../../shared/kernel/system';
import type { MediaTask, MediaTasks } from '../../shared/ports/media-tasks';
import type { ActiveView } from '../../shared/ports/view-store';
import { makePictures, type PictureDeps, type PictureOutcome } from './make-pictures';
import { type SweepParts, sweepOnceADay } from './sweep';

export type MediaWorkParts = PictureDeps &
  SweepParts &
  Parameters<typeof sweepOnceADay>[0] & {
    readonly views: Readonly<Record<Environment, ActiveView>>;
    readonly mediaTasks: MediaTasks;
    readonly metrics: { rendered(outcome: RenderingOutcome, duration_ms: number): void };
  };

type RenderingOutcome = Exclude<PictureOutcome, 'nothing'> | 'tried_again';

const TIMES = {
  /** Between two looks for media whose task was lost. */
  recover_ms: 5_000,
  /** How long a task is left to whoever holds it before it counts as lost. */
  lost_after_ms: 10_000,
  /** Between two tries to reach a queue that is not there yet. */
  retry_ms: 1_000,
  /** How long a stop waits for a rendering; one that is cut off is done again by the next process. */
  stop_ms: 10_000,
};
/** One rendering at a time is what a process' memory is reckoned for. */
const AT_ONCE = 1;

export interface MediaWork {
  stop(): Promise<void>;
}

/**
 * Renders uploads in this process, adds the tasks that were lost, and sweeps files that nobody refers to. Starts in the
 * background, whether the servers are there yet or not; any number of processes may do so.
 */
export function startMediaWork(parts: MediaWorkParts, times: Partial<typeof TIMES> = {}): MediaWork {
  const { recover_ms, lost_after_ms, retry_ms, stop_ms } = { ...TIMES, ...times };
  const { log, mediaTasks } = parts;
  const owner = leaseOwner();
  const stopping = new AbortController();
  const { signal } = stopping;

  const work = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        const working = await mediaTasks.work((task) => render(parts, task), AT_ONCE);
        if (!signal.aborted) await once(signal, 'abort');
        await withTimeout(working.stop(), stop_ms, () => undefined);
      } catch (error) {
        tell(parts, 'uploads wait for the queue of media tasks', error);
        await pause(retry_ms, signal);
      }
    }
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

/** Logs a failure. A server that is away is reported elsewhere, once and not with every try. */
function tell({ log }: MediaWorkParts, what: string, error: unknown): void {
  const away = error instanceof CatalogError && error.condition === 'unavailable';
  log[away ? 'debug' : 'warn']({ err: error }, what);
}

/** Media of each environment in a round: enough for a worker until the next one, whatever waits. */
const ROUND = 200;

/**
 * Adds tasks for media that are still `processing`: the queue may lose what it holds, and an upload may end between its
 * event and its task. A task that was not needed costs one read of the media's stream.
 */
class LostTasks {
  /** Where the next round continues, so that media which can never be made hold up no others. */
  private readonly reached = new Map<Environment, string>();

  constructor(private readonly parts: Pick<MediaWorkParts, 'views' | 'system' | 'mediaTasks'>) {}

  /** Looks at some of those that were uploaded more than `older_than_ms` ago. Returns how many tasks it added. */
  async round(older_than_ms: number): Promise<number> {
    const { views, system, mediaTasks } = this.parts;
    const before = timestamp(system.now() - older_than_ms);
    let added = 0;
    for (const environment of ENVIRONMENTS) {
      const view = await views[environment].current();
      const after_id = this.reached.get(environment);
      const from = after_id === undefined ? {} : { after_id };
      const page = await view?.scan('media', { where: { status: 'processing' }, ...from, limit: ROUND });
      for (const { id, document } of page ?? []) {
        if (String(document?.keys.created_at) > before) continue;
        await mediaTasks.add({ environment, media_id: id as MediaId });
        added++;
      }
      if (page?.length === ROUND) this.reached.set(environment, page.at(-1)!.id);
      else this.reached.delete(environment);
    }
    return added;
  }
}
