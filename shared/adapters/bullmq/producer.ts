import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { LaneJob } from '../../ports/job-queue';
import { connectImpatient, unavailable, untilReady, within } from '../redis/connection';
import { encodeJob, type StoredJob } from './job-codec';
import { type LaneSet, queueName } from './lane-names';

const COMMAND_MS = 2_000;
const READY_MS = 1_000;
const DEADLINE_MS = 4_500;
/** Nobody reads BullMQ's stream of what happened to each job; kept short, for it is kept per lane. */
const EVENTS_KEPT = 100;

/** Puts jobs at the lanes' ends, and tells how many wait. Fails at once, or in time, where Redis is away or silent. */
export class Producer {
  private readonly connection: Redis;
  private readonly lanes: LaneSet;
  private readonly queues = new Map<number, Promise<Queue<StoredJob>>>();

  constructor(url: string, lanes: LaneSet) {
    this.connection = connectImpatient(url, COMMAND_MS);
    this.lanes = lanes;
  }

  async enqueue(job: LaneJob): Promise<void> {
    await this.withQueue(job.lane, async (queue) => {
      // With every job, and ahead of it on the same connection: where Redis was emptied, this went with the rest.
      const one_at_a_time = this.connection.hset(queue.toKey('meta'), 'concurrency', 1);
      await Promise.all([one_at_a_time, queue.add('events', encodeJob(job))]);
    });
  }

  /** Of the jobs that wait or run. */
  async depth(lane: number): Promise<number> {
    return this.withQueue(lane, (queue) => queue.getJobCountByTypes('waiting', 'active'));
  }

  private async withQueue<Result>(
    lane: number,
    work: (queue: Queue<StoredJob>) => Promise<Result>,
  ): Promise<Result> {
    const done = async (): Promise<Result> => {
      await untilReady(this.connection, READY_MS);
      return work(await this.queueOf(lane));
    };
    try {
      return await within(DEADLINE_MS, done());
    } catch (error) {
      throw unavailable(error);
    }
  }

  private queueOf(lane: number): Promise<Queue<StoredJob>> {
    const known = this.queues.get(lane);
    if (known) return known;
    const opening = this.openQueue(lane);
    this.queues.set(lane, opening);
    // A queue whose first words to Redis failed never recovers: the next call makes another.
    opening.catch(() => this.queues.delete(lane));
    return opening;
  }

  private async openQueue(lane: number): Promise<Queue<StoredJob>> {
    const queue = new Queue<StoredJob>(queueName(this.lanes, lane), {
      connection: this.connection,
      prefix: this.lanes.prefix,
      streams: { events: { maxLen: EVENTS_KEPT } },
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true, attempts: 1 },
    });
    queue.on('error', () => {});
    await queue.waitUntilReady();
    return queue;
  }

  close(): void {
    this.connection.disconnect();
  }
}
