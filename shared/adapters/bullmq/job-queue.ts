import { type Job, WaitingError } from 'bullmq';
import type { RecordedEvent } from '../../catalog/events/envelope';
import { PARTITION_COUNT } from '../../catalog/events/partitions';
import type { Realm } from '../../catalog/realm';
import { backoff } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';
import type { OutageReport } from '../../kernel/outages';
import type { JobQueue, PartitionJob } from '../../ports/job-queue';
import { runUntilSuccess } from '../queue-handlers';
import { Queues, Workers } from './queues';

/**
 * How often an idle worker checks for jobs. Usually BullMQ wakes one worker for a new job, by a marker key that this
 * worker consumes. If this worker dies or stops before it takes the job, BullMQ wakes no other worker, and only this check
 * finds the job. Each check costs two Redis commands.
 */
const CHECK_EVERY_S = 2;

export interface BullmqJobQueueOptions {
  /** `redis://…` or `rediss://…`; Redis must be set to `noeviction`. */
  readonly url: string;
  readonly realm: Realm;
  /** The partition count of the view store. A worker takes jobs of these partitions only. */
  readonly partition_count?: number;
  /** Prefix of the keys in Redis; `catalog` by default. */
  readonly prefix?: string;
  /** Receives the failures and successes of calls to the server. */
  readonly report?: OutageReport;
  /** Called with every failed attempt. `attempt` counts from 1. */
  readonly onError?: (error: unknown, job: PartitionJob, attempt: number) => void;
  /**
   * Called with errors outside of a handler, such as a lost connection or an unreadable job. Workers reconnect on their
   * own.
   */
  readonly onWorkerError?: (error: unknown) => void;
  /** Returns how long to wait after `attempt` failed attempts. Default: 50 ms, doubled each time up to 5 s. */
  readonly backoffMs?: (attempt: number) => number;
}

/** The partitions of one realm. Each partition is a BullMQ queue. All queues of a deployment share the prefix. */
interface PartitionSet {
  readonly realm: Realm;
  readonly prefix: string;
  readonly partition_count: number;
}

/** The name contains "lane", the old word for partition, because processes of an earlier release may use the queue. */
const queueName = ({ realm }: PartitionSet, partition: number): string => `${realm}-lane-${partition}`;

/**
 * Implements one realm's partitions as BullMQ queues. The constructor does not need the server. `enqueue` and `depth`
 * throw `CatalogError('unavailable')` within 5 s if Redis is unavailable; workers wait until it is available. If Redis
 * loses its data or a process stalls, two workers may run the same job at the same time. The view store's
 * compare-and-set then rejects the writes of one of them.
 */
export class BullmqJobQueue implements JobQueue {
  private readonly options: BullmqJobQueueOptions;
  private readonly partitions: PartitionSet;
  private readonly queues: Queues<StoredJob>;
  private readonly workers = new Set<PartitionWorkers>();
  private closed = false;

  constructor(options: BullmqJobQueueOptions) {
    const { url, realm, partition_count = PARTITION_COUNT, prefix = 'catalog' } = options;
    this.options = options;
    this.partitions = { realm, partition_count, prefix };
    this.queues = new Queues({ url, prefix, report: options.report }, { attempts: 1 });
  }

  async enqueue(job: PartitionJob): Promise<void> {
    this.assertOpen();
    await this.queues.withQueue(queueName(this.partitions, job.partition), async (queue) => {
      // Sets BullMQ's global concurrency (`setGlobalConcurrency`): one running job per queue across all processes. The
      // setting is stored in Redis, so it is lost if Redis loses its data. To restore it, the queue sends it before
      // every job, in the same round trip.
      const set_concurrency = this.queues.connection.hset(queue.toKey('meta'), 'concurrency', 1);
      await Promise.all([set_concurrency, queue.add('events', encodeJob(job))]);
    });
  }

  async depth(partition: number): Promise<number> {
    this.assertOpen();
    return this.queues.withQueue(queueName(this.partitions, partition), (queue) =>
      queue.getJobCountByTypes('waiting', 'active'),
    );
  }

  async work(handler: (job: PartitionJob) => Promise<void>): Promise<{ stop(): Promise<void> }> {
    this.assertOpen();
    const workers = new PartitionWorkers(this.options, this.partitions, handler);
    this.workers.add(workers);
    return workers;
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.workers].map((workers) => workers.stop()));
    this.queues.close();
  }

  private assertOpen(): void {
    if (this.closed) throw new CatalogError('unavailable', { message: 'the job queue is closed' });
  }
}

/**
 * Runs one BullMQ worker per partition. Because the global concurrency is 1, at most one of the processes runs a job of a
 * given partition at a time.
 */
class PartitionWorkers extends Workers<StoredJob> {
  constructor(
    private readonly settings: BullmqJobQueueOptions,
    partitions: PartitionSet,
    private readonly handler: (job: PartitionJob) => Promise<void>,
  ) {
    super({ ...settings, prefix: partitions.prefix });
    for (let partition = 0; partition < partitions.partition_count; partition++)
      this.start(queueName(partitions, partition), (job) => this.process(job), {
        concurrency: 1,
        // By default, BullMQ removes a job during which the process died twice. A partition must not lose a job.
        maxStalledCount: Number.MAX_SAFE_INTEGER,
        drainDelay: CHECK_EVERY_S,
      });
  }

  private async process(stored: Job<StoredJob>): Promise<void> {
    let job: PartitionJob;
    try {
      job = decodeJob(stored.data);
    } catch (error) {
      // A retry could not read the data either. Returning without an error completes the job. Its events are not
      // projected, so the checkpoint stops before them. The dispatcher notices that and dispatches the events again.
      this.onWorkerError(error);
      return;
    }
    const { onError = () => {}, backoffMs = backoff(50, 5_000) } = this.settings;
    // BullMQ's own retries are not used: they put the job behind later jobs of the partition.
    const is_done = await runUntilSuccess(
      () => this.handler(job),
      (error, attempt) => onError(error, job, attempt),
      backoffMs,
      this.stopping.signal,
    );
    // With this error, BullMQ marks the job neither as completed nor as failed. Another worker takes it when its lock has
    // expired.
    if (!is_done) throw new WaitingError();
  }
}

type StoredEvent = Omit<RecordedEvent, 'position'> & { readonly position: string };

/**
 * A job as stored in Redis: JSON with positions as decimal text. The field names are a storage format; `lane` is the
 * partition.
 */
interface StoredJob extends Pick<PartitionJob, 'realm'> {
  readonly lane: number;
  readonly prev: string;
  readonly last: string;
  readonly events: readonly StoredEvent[];
}

function encodeJob({ realm, partition, prev, last, events }: PartitionJob): StoredJob {
  return {
    realm,
    lane: partition,
    prev: String(prev),
    last: String(last),
    events: events.map((event) => ({ ...event, position: String(event.position) })),
  };
}

/** Throws if the data is not a job of this queue. */
function decodeJob({ realm, lane, prev, last, events }: StoredJob): PartitionJob {
  return {
    realm,
    partition: lane,
    prev: BigInt(prev),
    last: BigInt(last),
    events: events.map((event) => ({ ...event, position: BigInt(event.position) })),
  };
}
