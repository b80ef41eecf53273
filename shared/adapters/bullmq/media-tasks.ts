import { type Job, UnrecoverableError } from 'bullmq';
import { backoff } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';
import {
  MEDIA_ATTEMPTS,
  type MediaTask,
  type MediaTaskQueue,
  type MediaTaskQueueOptions,
} from '../../ports/media-tasks';
import { Queues, Workers } from './queues';

export interface BullmqMediaTaskQueueOptions extends MediaTaskQueueOptions {
  /** `redis://…` or `rediss://…`; Redis must be set to `noeviction`. */
  readonly url: string;
  /** Prefix of the keys in Redis; `catalog` by default. */
  readonly prefix?: string;
}

const QUEUE = 'media';
/** Time for which the tasks of a store are counted, from its first one. */
const COUNT_S = 600;
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
    this.options = { prefix: 'catalog', ...callbacks, ...options };
    this.queues = new Queues(this.options.url, this.options.prefix, {
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
    const [, counted] =
      (await this.queues.connection.multi().set(key, 0, 'EX', COUNT_S, 'NX').incr(key).exec()) ?? [];
    const [error, count] = counted ?? [];
    if (error) throw error;
    return Number(count);
  }

  async work(
    handler: (task: MediaTask) => Promise<void>,
    concurrency: number,
  ): Promise<{ stop(): Promise<void> }> {
    this.assertOpen();
    const { onError, onWorkerError, backoffMs } = this.options;
    const workers = new Workers<MediaTask>(this.options);
    const handle = async ({ data: task, attemptsMade }: Job<MediaTask>): Promise<void> => {
      try {
        await handler(task);
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
    this.queues.close();
  }

  private assertOpen(): void {
    if (this.closed) throw new CatalogError('unavailable', { message: 'the media tasks are closed' });
  }
}
