import { type DefaultJobOptions, type Job, Queue, Worker, type WorkerOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { withTimeout } from '../../kernel/async';
import type { OutageReport } from '../../kernel/outages';
import {
  type BlockingConnection,
  connectBlocking,
  connectFailFast,
  throwUnavailable,
  toUnavailable,
  waitUntilReady,
} from '../redis/connection';

const COMMAND_MS = 2_000;
const READY_MS = 1_000;
const DEADLINE_MS = 4_500;
/** Length of the event stream that BullMQ keeps for each queue. This service does not read it, so it is short. */
const EVENTS_MAX = 100;

/**
 * BullMQ queues for producers, over one fail-fast connection: calls fail at once if Redis is unavailable, and after a
 * deadline if it does not answer.
 */
export class Queues<Stored> {
  readonly connection: Redis;
  private readonly prefix: string;
  private readonly job_options: DefaultJobOptions;
  private readonly queues = new Map<string, Promise<Queue<Stored>>>();

  constructor(
    { url, prefix, report }: Pick<WorkersOptions, 'url' | 'prefix' | 'report'>,
    job_options: DefaultJobOptions,
  ) {
    this.connection = connectFailFast(url, COMMAND_MS, report);
    this.prefix = prefix;
    this.job_options = job_options;
  }

  /** Runs `work` with the queue. Throws `CatalogError('unavailable')` after at most 5 s if Redis does not answer. */
  async withQueue<Result>(name: string, work: (queue: Queue<Stored>) => Promise<Result>): Promise<Result> {
    const run = async (): Promise<Result> => {
      await waitUntilReady(this.connection, READY_MS);
      return work(await this.queue(name));
    };
    try {
      return await withTimeout(run(), DEADLINE_MS, throwUnavailable(this.connection));
    } catch (error) {
      throw toUnavailable(this.connection, error);
    }
  }

  private queue(name: string): Promise<Queue<Stored>> {
    const opened = this.queues.get(name);
    if (opened) return opened;
    const opening = this.open(name);
    this.queues.set(name, opening);
    // A BullMQ queue whose first commands failed never becomes ready, so the next call opens a new one.
    opening.catch(() => this.queues.delete(name));
    return opening;
  }

  private async open(name: string): Promise<Queue<Stored>> {
    const queue = new Queue<Stored>(name, {
      connection: this.connection,
      prefix: this.prefix,
      streams: { events: { maxLen: EVENTS_MAX } },
      // BullMQ ignores a new job if it already stores a job with this id, even an ended one. So ended jobs are removed.
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true, ...this.job_options },
    });
    // Without a listener, an error event would end the process. Each call reports its own failure.
    queue.on('error', () => {});
    await queue.waitUntilReady();
    return queue;
  }

  close(): void {
    this.connection.disconnect();
  }
}

/** How long a job is locked after its process died. Another worker takes the job at the next check for stalled jobs. */
const LOCK_MS = 5_000;
const STALLED_EVERY_MS = 2_000;
const RETRY_FETCH_MS = 500;
/** Longer than the longest blocking command: BullMQ blocks for at most 10 s. */
const SILENCE_MS = 12_000;
/** How long a stopping worker waits for Redis when it closes. */
const CLOSE_MS = 2_000;

export interface WorkersOptions {
  readonly url: string;
  readonly prefix: string;
  /** Receives the failures and successes of calls to the server. */
  readonly report?: OutageReport | undefined;
  /** Called with errors outside of a handler, such as a lost connection. Workers reconnect on their own. */
  readonly onWorkerError?: ((error: unknown) => void) | undefined;
}

/** Runs BullMQ workers over a blocking connection: while Redis is unavailable, the workers wait. */
export class Workers<Stored> {
  readonly stopping = new AbortController();
  protected readonly onWorkerError: (error: unknown) => void;
  private readonly prefix: string;
  private readonly redis: BlockingConnection;
  private readonly workers: Worker<Stored>[] = [];
  private readonly running = new Set<Promise<void>>();
  private stopped: Promise<void> | undefined;

  constructor(options: WorkersOptions) {
    this.onWorkerError = options.onWorkerError ?? (() => {});
    this.prefix = options.prefix;
    this.redis = connectBlocking(options.url, SILENCE_MS, options.report);
  }

  /** Starts a worker on the queue. */
  start(
    queue: string,
    handle: (job: Job<Stored>) => Promise<void>,
    options: Omit<WorkerOptions, 'connection'>,
  ): Worker<Stored> {
    const worker = new Worker<Stored>(queue, (job) => this.track(handle(job)), {
      connection: this.redis.connection,
      prefix: this.prefix,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_EVERY_MS,
      runRetryDelay: RETRY_FETCH_MS,
      ...options,
    });
    worker.on('error', (error) => this.onWorkerError(error));
    this.workers.push(worker);
    return worker;
  }

  private track(work: Promise<void>): Promise<void> {
    this.running.add(work);
    const remove = (): void => void this.running.delete(work);
    work.then(remove, remove);
    return work;
  }

  /**
   * Waits for the running handlers, marks their jobs in Redis as ended, and closes the connection. If Redis is
   * unavailable, resolves without marking the jobs. Their locks then expire, and other workers run them again.
   */
  stop(): Promise<void> {
    this.stopped ??= this.close();
    return this.stopped;
  }

  private async close(): Promise<void> {
    this.stopping.abort();
    const closing = Promise.allSettled(this.workers.map((worker) => worker.close()));
    // `closing` resolves only when Redis responds, which may take forever. So this waits for the handlers themselves.
    while (this.running.size > 0) await Promise.allSettled(this.running);
    await withTimeout(closing, CLOSE_MS, () => undefined);
    this.redis.end();
    await withTimeout(closing, CLOSE_MS, throwUnavailable(this.redis.connection)).catch((error) =>
      this.onWorkerError(error),
    );
  }
}
