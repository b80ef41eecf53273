import { once } from 'node:events';
import { leaseOwner } from '../../projections/engine/lease';
import { ENVIRONMENTS, type Environment } from '../../shared/catalog/realm';
import { ImageRejectedError } from '../../shared/images/inspect';
import type { RenderedImage } from '../../shared/images/render';
import { pause, withTimeout } from '../../shared/kernel/async';
import type { MediaId, StoreId } from '../../shared/kernel/ids';
import { logBackgroundFailure } from '../../shared/kernel/log';
import { timestamp } from '../../shared/kernel/system';
import type { ActiveView } from '../../shared/ports/document-reader';
import {
  MEDIA_ATTEMPTS,
  type MediaTask,
  type MediaTaskQueue,
  TaskCrashError,
} from '../../shared/ports/media-tasks';
import { makePictures, type PictureDeps, type PictureOutcome } from './make-pictures';
import { type RenderLimits, renderInProcess } from './render-process';
import { type SweepParts, sweepOnceADay } from './stored-files';

export type MediaWorkParts = PictureDeps &
  SweepParts &
  Parameters<typeof sweepOnceADay>[0] & {
    readonly views: Readonly<Record<Environment, ActiveView>>;
    readonly mediaTasks: MediaTaskQueue;
    readonly metrics: { renderingFinished(outcome: RenderingOutcome, duration_ms: number): void };
  };

type RenderingOutcome = Exclude<PictureOutcome, 'nothing'> | 'tried_again';

const TIMES = {
  /** Time between two searches for media whose task was lost. */
  recover_ms: 5_000,
  /** Age of an upload from which its task counts as lost if the media is still `processing`. */
  lost_after_ms: 10_000,
  /** Time between two attempts to reach the queue. */
  retry_ms: 1_000,
  /** How long a shutdown waits for a rendering. If it is interrupted, another process repeats it. */
  stop_ms: 10_000,
};
/** Concurrent renderings. One uses all cores, and up to 1.6 GB. */
const CONCURRENCY = 1;

export interface MediaWork {
  stop(): Promise<void>;
}

/**
 * Starts the media work of this process in the background: renders uploads (`render-process.ts`), adds lost tasks, and
 * sweeps unused files (`stored-files.ts`). It waits for servers that cannot be reached yet. Any number of processes may run it.
 */
export function startMediaWork(
  parts: MediaWorkParts,
  times: Partial<typeof TIMES> = {},
  limits: Partial<RenderLimits> = {},
): MediaWork {
  const { recover_ms, lost_after_ms, retry_ms, stop_ms } = { ...TIMES, ...times };
  const { log, mediaTasks } = parts;
  const owner = leaseOwner();
  const stopping = new AbortController();
  const { signal } = stopping;
  const rendering = new AbortController();
  const render: Render = (bytes) => renderInProcess(bytes, rendering.signal, limits);

  const work = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        const worker = await mediaTasks.work(
          (task, starts) => runTask(parts, render, task, starts),
          CONCURRENCY,
        );
        if (!signal.aborted) await once(signal, 'abort');
        await withTimeout(worker.stop(), stop_ms, () => undefined);
      } catch (error) {
        logBackgroundFailure(log, error, 'cannot reach the queue of media tasks; retrying');
        await pause(retry_ms, signal);
      }
    }
  };
  const recover = async (): Promise<void> => {
    const lost = new LostTasks(parts);
    // The first search has no minimum age, so that tasks which a previous process left unfinished are repeated at once.
    for (let older_than_ms = 0; !signal.aborted; await pause(recover_ms, signal)) {
      try {
        const added = await lost.round(older_than_ms);
        if (added > 0) log.info({ added }, 'added lost media tasks');
        older_than_ms = lost_after_ms;
      } catch (error) {
        logBackgroundFailure(log, error, 'search for lost media tasks failed; retrying');
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
      rendering.abort();
    },
  };
}

type Render = (bytes: Uint8Array) => Promise<RenderedImage>;

async function runTask(
  parts: MediaWorkParts,
  render: Render,
  task: MediaTask,
  starts: number,
): Promise<void> {
  const started_ms = performance.now();
  try {
    const outcome = await makePictures(parts, task, async (bytes) => {
      try {
        return await renderUnlessCrashing(render, bytes, starts);
      } catch (error) {
        if (error instanceof ImageRejectedError)
          parts.log[error.reason === 'crashes' ? 'error' : 'info'](
            { ...task, reason: error.reason, err: error.cause },
            'an upload cannot be rendered',
          );
        throw error;
      }
    });
    if (outcome !== 'nothing') parts.metrics.renderingFinished(outcome, performance.now() - started_ms);
  } catch (error) {
    parts.metrics.renderingFinished('tried_again', performance.now() - started_ms);
    throw error;
  }
}

/**
 * Renders an upload. Rejects the file once `MEDIA_ATTEMPTS` renderings of it have ended with a crash: of the rendering
 * process alone, or of the whole service. Both end if a container runs out of memory.
 */
async function renderUnlessCrashing(
  render: Render,
  bytes: Uint8Array,
  starts: number,
): Promise<RenderedImage> {
  if (starts > MEDIA_ATTEMPTS) throw new ImageRejectedError('crashes');
  try {
    return await render(bytes);
  } catch (error) {
    if (!(error instanceof TaskCrashError) || starts < MEDIA_ATTEMPTS) throw error;
    throw new ImageRejectedError('crashes', { cause: error });
  }
}

/** Media that a round checks per environment. A worker renders fewer than this until the next round. */
const ROUND_SIZE = 200;

/**
 * Adds tasks for media that are still `processing`. A task can be lost if the queue loses its data, or if the process
 * stops after it appended the event of an upload. An unnecessary task costs one read of the media's stream.
 */
class LostTasks {
  /** The next round starts after this id. Otherwise media whose rendering always fails would fill every round. */
  private readonly next_after_id = new Map<Environment, string>();

  constructor(private readonly parts: Pick<MediaWorkParts, 'views' | 'system' | 'mediaTasks'>) {}

  /** Checks the next media that were uploaded more than `older_than_ms` ago. Returns how many tasks it added. */
  async round(older_than_ms: number): Promise<number> {
    const { views, system, mediaTasks } = this.parts;
    const before = timestamp(system.now() - older_than_ms);
    let added = 0;
    for (const environment of ENVIRONMENTS) {
      const view = await views[environment].current();
      const after_id = this.next_after_id.get(environment);
      const from = after_id === undefined ? {} : { after_id };
      const page = await view?.scan('media', { where: { status: 'processing' }, ...from, limit: ROUND_SIZE });
      for (const { id, document } of page ?? []) {
        if (String(document?.keys.created_at) > before) continue;
        const store_id = document?.keys.store_id as StoreId;
        await mediaTasks.add({ environment, store_id, media_id: id as MediaId });
        added++;
      }
      if (page?.length === ROUND_SIZE) this.next_after_id.set(environment, page.at(-1)!.id);
      else this.next_after_id.delete(environment);
    }
    return added;
  }
}
