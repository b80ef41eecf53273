import { type Job, UnrecoverableError } from 'bullmq';
import type { ChainableCommander } from 'ioredis';
import { backoff } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';
import { NO_REPORT, type OutageReport } from '../../kernel/outages';
import {
  MEDIA_ATTEMPTS,
  type MediaTask,
  type MediaTaskHandler,
  type MediaTaskQueue,
  type MediaTaskQueueOptions,
} from '../../ports/media-tasks';
import { runCounted, type StartCounts } from '../queue-handlers';
import { Queues, Workers } from './queues';

export interface BullmqMediaTaskQueueOptions extends MediaTaskQueueOptions {
  /** `redis://…` or `rediss://…`; Redis must be set to `noeviction`. */
  readonly url: string;
  /** Prefix of the keys in Redis; `catalog` by default. */
  readonly prefix?: string;
  /** Receives the failures and successes of calls to the server. */
  readonly report?: OutageReport;
}

const QUEUE = 'media';
/** Time for which the tasks of a store are counted, from its first one. */
const COUNT_S = 600;
/** Time for which unfinished starts of a task are kept, from the last one. */
const STARTS_S = 30 * 24 * 3_600;
/** Lowest priority in BullMQ. */
const PRIORITY_MAX = 2_097_152;

/**
 * Stores tasks as jobs of one BullMQ queue. The job id is the media id, so that a waiting task is not added twice. The
 * job's priority is the number of tasks that its store added in the last ten minutes. So the n-th job of a store comes
 * after the first n - 1 jobs of every other store. The duration of a job has no effect.
 *
 * The constructor does not need the server. If Redis is unavailable, `add` throws `CatalogError('unavailable')` within
 * 5 s, and the workers wait until Redis is available.
 */
export class BullmqMediaTaskQueue implements MediaTaskQueue {
  private readonly options: Required<BullmqMediaTaskQueueOptions>;
  private readonly queues: Queues<MediaTask>;
  private readonly workers = new Set<Workers<MediaTask>>();
  private closed = false;

  constructor(options: BullmqMediaTaskQueueOptions) {
    const callbacks = { onError: () => {}, onWorkerError: () => {}, backoffMs: backoff(1_000, 60_000) };
    this.options = { prefix: 'catalog', report: NO_REPORT, ...callbacks, ...options };
    this.queues = new Queues(this.options, {
      attempts: MEDIA_ATTEMPTS,
      // `backoffStrategy` of the worker computes the delay.
      backoff: { type: 'custom' },
    });
  }

  async add(task: MediaTask): Promise<void> {
    this.assertOpen();
    const jobId = `${task.environment}-${task.media_id}`;
    await this.queues.withQueue(QUEUE, async (queue) => {
      // The workers add tasks again that may be waiting. These do not count.
      if (await queue.getJob(jobId)) return;
      const priority = Math.min(await this.countTask(task), PRIORITY_MAX);
      await queue.add('make-pictures', task, { jobId, priority });
    });
  }

  /** Counts a task of a store. Returns the number of its tasks in the last minutes. */
  private async countTask({ environment, store_id }: MediaTask): Promise<number> {
    const key = `${this.options.prefix}:media-count:${environment}-${store_id}`;
    return lastNumber(this.queues.connection.multi().set(key, 0, 'EX', COUNT_S, 'NX').incr(key));
  }

  private readonly starts: StartCounts = {
    add: (task) =>
      this.queues.withQueue(QUEUE, () => {
        const key = this.startsKey(task);
        const commands = this.queues.connection.multi();
        return lastNumber(commands.set(key, 0, 'EX', STARTS_S, 'NX').expire(key, STARTS_S).incr(key));
      }),
    set: async (task, starts) => {
      const { connection } = this.queues;
      const key = this.startsKey(task);
      const stored = starts === 0 ? connection.del(key) : connection.set(key, starts, 'EX', STARTS_S);
      await stored.catch(() => undefined);
    },
  };

  private startsKey({ environment, media_id }: MediaTask): string {
    return `${this.options.prefix}:media-starts:${environment}-${media_id}`;
  }

  async work(handler: MediaTaskHandler, concurrency: number): Promise<{ stop(): Promise<void> }> {
    this.assertOpen();
    const { onError, onWorkerError, backoffMs } = this.options;
    const workers = new Workers<MediaTask>(this.options);
    const handle = async ({ data: task, attemptsMade }: Job<MediaTask>): Promise<void> => {
      try {
        await runCounted(handler, task, this.starts);
      } catch (error) {
        onError(error, task, attemptsMade + 1);
        throw error;
      }
    };
    const worker = workers.start(QUEUE, handle, {
      concurrency: concurrency,
      // A task fails after MEDIA_ATTEMPTS attempts, also if the process dies in each of them.
      maxStalledCount: MEDIA_ATTEMPTS - 1,
      settings: { backoffStrategy: (attempts) => backoffMs(attempts) },
    });
    worker.on('failed', (_, error) => {
      // If a job stalled too often, BullMQ fails it without calling the handler. So `onError` was not called.
      if (error instanceof UnrecoverableError) onWorkerError(error);
    });
    this.workers.add(workers);
    return workers;
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.workers].map((workers) => workers.stop()));
    this.queues.close();
  }

  private assertOpen(): void {
    if (this.closed) throw new CatalogError('unavailable', { message: 'the media tasks are closed' });
  }
}

/** Runs the commands in a transaction. Returns the result of the last one, which is a number. */
async function lastNumber(commands: ChainableCommander): Promise<number> {
  const [error, value] = (await commands.exec())?.at(-1) ?? [];
  if (error) throw error;
  return Number(value);
}
