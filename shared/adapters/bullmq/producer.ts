import type { LaneJob } from '../../ports/job-queue';
import { encodeJob, type StoredJob } from './job-codec';
import { type LaneSet, queueName } from './lane-names';
import { Queues } from './queues';

/** Puts jobs at the lanes' ends, and tells how many wait. Fails at once, or in time, where Redis is away or silent. */
export class Producer {
  private readonly queues: Queues<StoredJob>;
  private readonly lanes: LaneSet;

  constructor(url: string, lanes: LaneSet) {
    this.queues = new Queues(url, lanes.prefix, { attempts: 1 });
    this.lanes = lanes;
  }

  async enqueue(job: LaneJob): Promise<void> {
    await this.queues.with(queueName(this.lanes, job.lane), async (queue) => {
      // With every job, and ahead of it on the same connection: where Redis was emptied, this went with the rest.
      const one_at_a_time = this.queues.connection.hset(queue.toKey('meta'), 'concurrency', 1);
      await Promise.all([one_at_a_time, queue.add('events', encodeJob(job))]);
    });
  }

  /** Of the jobs that wait or run. */
  async depth(lane: number): Promise<number> {
    return this.queues.with(queueName(this.lanes, lane), (queue) =>
      queue.getJobCountByTypes('waiting', 'active'),
    );
  }

  close(): void {
    this.queues.close();
  }
}
