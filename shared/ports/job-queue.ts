import type { Position, RecordedEvent } from '../catalog/events/envelope';
import type { Realm } from '../catalog/realm';

/** A batch of one partition: all of the partition's events with positions in (prev, last]. May have no events. */
export interface PartitionJob {
  readonly realm: Realm;
  readonly partition: number;
  /** `last` of the partition's previous job. If the partition's checkpoint is before it, a job was lost. */
  readonly prev: Position;
  /** The checkpoint after the job. */
  readonly last: Position;
  readonly events: readonly RecordedEvent[];
}

/** The job queues of one realm, one per partition. */
export interface JobQueue {
  /**
   * Adds a job at the end of its partition's queue. Resolves when the queue has accepted the job. The queue may lose
   * all jobs at any time: the checkpoints in the view store are the only record of progress, and the dispatcher
   * enqueues lost events again.
   */
  enqueue(job: PartitionJob): Promise<void>;

  /** Returns the number of a partition's waiting and running jobs. The dispatcher uses it for backpressure. */
  depth(partition: number): Promise<number>;

  /**
   * Runs `handler` at least once for each job.
   *
   * - Runs the jobs of a partition in order, and one at a time over all processes. Partitions run in parallel.
   * - If `handler` throws, retries the same job with back-off. The partition waits.
   * - `stop` waits for running jobs. Other processes then take over the partitions, at the latest after some seconds.
   */
  work(handler: (job: PartitionJob) => Promise<void>): Promise<{ stop(): Promise<void> }>;

  close(): Promise<void>;
}
