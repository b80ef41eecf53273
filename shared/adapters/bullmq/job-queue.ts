import { LANE_COUNT } from '../../catalog/events/lanes';
import type { Realm } from '../../catalog/realm';
import { CatalogError } from '../../kernel/errors';
import type { JobQueue, LaneJob } from '../../ports/job-queue';
import type { LaneSet } from './lane-names';
import { LaneWorkers } from './lane-workers';
import { Producer } from './producer';

const RETRY_MS_MIN = 50;
const RETRY_MS_MAX = 5_000;

export interface BullmqJobQueueOptions {
  /** `redis://…` or `rediss://…`; Redis must be set to `noeviction`. */
  readonly url: string;
  readonly realm: Realm;
  /** The view store's; a worker takes these lanes and no others. */
  readonly lane_count?: number;
  /** Of the keys in Redis, `catalog` by default. */
  readonly prefix?: string;
  /** Told of every failed attempt; `attempt` counts from 1. */
  readonly onError?: (error: unknown, job: LaneJob, attempt: number) => void;
  /** Told of what goes wrong between Redis and the workers; they go on by themselves. */
  readonly onTrouble?: (error: unknown) => void;
  /** How long to wait after that many failed attempts; 50 ms doubling to 5 s by default. */
  readonly backoffMs?: (attempt: number) => number;
  /** How often a worker looks for jobs that nobody told it of; 2 s by default. */
  readonly look_every_s?: number;
}

const doubling = (attempt: number): number => Math.min(RETRY_MS_MIN * 2 ** (attempt - 1), RETRY_MS_MAX);

/**
 * One realm's lanes as BullMQ queues. Needs no server to be there when it is made. `enqueue` and `depth` throw
 * `CatalogError('unavailable')` within 5 s where Redis is away; workers wait for it. Where Redis is emptied, or a
 * process stalls, a job may run twice at once: the view store's compare-and-set makes one of the two the loser.
 */
export class BullmqJobQueue implements JobQueue {
  private readonly options: BullmqJobQueueOptions;
  private readonly lanes: LaneSet;
  private readonly producer: Producer;
  private readonly workers = new Set<LaneWorkers>();
  private closed = false;

  constructor(options: BullmqJobQueueOptions) {
    const { url, realm, lane_count = LANE_COUNT, prefix = 'catalog' } = options;
    this.options = options;
    this.lanes = { realm, lane_count, prefix };
    this.producer = new Producer(url, this.lanes);
  }

  async enqueue(job: LaneJob): Promise<void> {
    this.assertOpen();
    await this.producer.enqueue(job);
  }

  async depth(lane: number): Promise<number> {
    this.assertOpen();
    return this.producer.depth(lane);
  }

  async work(handler: (job: LaneJob) => Promise<void>): Promise<{ stop(): Promise<void> }> {
    this.assertOpen();
    const {
      url,
      onError = () => {},
      onTrouble = () => {},
      backoffMs = doubling,
      look_every_s,
    } = this.options;
    const told = { onError, onTrouble, backoffMs, look_every_s };
    const workers = new LaneWorkers(url, { lanes: this.lanes, handler, ...told });
    this.workers.add(workers);
    return {
      stop: async () => {
        await workers.stop();
        this.workers.delete(workers);
      },
    };
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.workers].map((workers) => workers.stop()));
    this.producer.close();
  }

  private assertOpen(): void {
    if (this.closed) throw new CatalogError('unavailable', { message: 'the job queue is closed' });
  }
}
