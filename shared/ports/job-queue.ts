import type { Position, RecordedEvent } from '../catalog/events/envelope';
import type { Realm } from '../catalog/realm';

/** A lane's next events: all of the lane's events in (prev, last]. Empty `events` just move the checkpoint on. */
export interface LaneJob {
  readonly realm: Realm;
  readonly lane: number;
  /** `last` of the lane's job before this one; beyond the lane's checkpoint it tells of a lost job. */
  readonly prev: Position;
  readonly last: Position;
  readonly events: readonly RecordedEvent[];
}

/**
 * One realm's lanes.
 *
 * - `enqueue` puts a job at its lane's end; resolves when it is taken in charge. A queue may lose everything it
 *   holds: the checkpoints are the only truth and the feeder feeds again.
 * - `depth` counts a lane's waiting and running jobs: the feeder holds back on it.
 * - `work` runs `handler` for each job: at least once, in order within a lane, one at a time within a lane across
 *   all processes, lanes side by side. Where the handler throws, the same job is tried again with back-off and the
 *   lane waits. `stop` lets the running jobs finish and gives the lanes back.
 */
export interface JobQueue {
  enqueue(job: LaneJob): Promise<void>;
  depth(lane: number): Promise<number>;
  work(handler: (job: LaneJob) => Promise<void>): Promise<{ stop(): Promise<void> }>;
  close(): Promise<void>;
}
