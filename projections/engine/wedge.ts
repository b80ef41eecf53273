import type { Position } from '../../shared/catalog/events/envelope';
import type { Realm } from '../../shared/catalog/realm';
import { pause } from '../../shared/kernel/async';
import type { Logger } from '../../shared/kernel/log';
import type { JobQueue } from '../../shared/ports/job-queue';
import { reasonOf } from './errors';
import type { FedVersions } from './fed-versions';
import type { LaneFeed } from './lane-feed';

export interface WedgeWatch {
  readonly realm: Realm;
  readonly queue: JobQueue;
  readonly fed: FedVersions;
  readonly log: Logger;
  readonly feed: LaneFeed;
  readonly signal: AbortSignal;
  readonly every_ms: number;
}

/**
 * A queue may lose what it holds. A lane whose queue is empty and whose checkpoint has stood behind what was fed for
 * two looks in a row is nudged, until `signal` aborts.
 */
export async function watchForWedges(watch: WedgeWatch): Promise<void> {
  const { signal, log, realm, every_ms } = watch;
  const before = new Map<number, Position>();
  while (!signal.aborted) {
    await pause(every_ms, signal);
    if (signal.aborted) return;
    try {
      await look(watch, before);
    } catch (error) {
      log.warn({ realm, reason: reasonOf(error) }, 'the lanes could not be looked at');
    }
  }
}

/** `before`: the checkpoints at which lanes stood behind at the last look. */
async function look(
  { fed, queue, feed, log, realm }: WedgeWatch,
  before: Map<number, Position>,
): Promise<void> {
  const active = (await fed.list()).at(-1);
  if (!active) return;
  const checkpoints = await active.version.checkpoints();
  for (const [lane, checkpoint] of checkpoints.entries()) {
    const behind = checkpoint < feed.fedTo(lane) && (await queue.depth(lane)) === 0;
    if (behind && before.get(lane) === checkpoint) {
      log.warn({ realm, lane, checkpoint: String(checkpoint) }, 'a lane lost its jobs and is fed again');
      await feed.nudge(lane);
    }
    if (behind) before.set(lane, checkpoint);
    else before.delete(lane);
  }
}
