import { type Job, UnrecoverableError } from 'bullmq';
import { backoff } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';
import {
  MEDIA_ATTEMPTS,
  type MediaTask,
  type MediaTasks,
  type MediaTasksOptions,
} from '../../ports/media-tasks';
import { Queues, Workers } from './queues';

export interface BullmqMediaTasksOptions extends MediaTasksOptions {
  /** `redis://…` or `rediss://…`; Redis must be set to `noeviction`. */
  readonly url: string;
  /** Of the keys in Redis, `catalog` by default. */
  readonly prefix?: string;
}

const QUEUE = 'media';

/**
 * Tasks as jobs of one BullMQ queue, each under its media's id, so that one that waits is not added a second time.
 * Needs no server to be there when it is made: `add` then throws `CatalogError('unavailable')` within 5 s, workers wait.
 */
export class BullmqMediaTasks implements MediaTasks {
  private readonly options: Required<BullmqMediaTasksOptions>;
  private readonly queues: Queues<MediaTask>;
  private readonly workers = new Set<Workers<MediaTask>>();
  private closed = false;

  constructor(options: BullmqMediaTasksOptions) {
    const told = { onError: () => {}, onTrouble: () => {}, backoffMs: backoff(1_000, 60_000) };
    this.options = { prefix: 'catalog', ...told, ...options };
    this.queues = new Queues(this.options.url, this.options.prefix, {
      attempts: MEDIA_ATTEMPTS,
      // The worker says how long.
      backoff: { type: 'custom' },
    });
  }

  async add({ environment, media_id }: MediaTask): Promise<void> {
    this.assertOpen();
    const jobId = `${environment}-${media_id}`;
    await this.queues.with(QUEUE, (queue) =>
      queue.add('make-pictures', { environment, media_id }, { jobId }),
    );
  }

  async work(
    handler: (task: MediaTask) => Promise<void>,
    at_once: number,
  ): Promise<{ stop(): Promise<void> }> {
    this.assertOpen();
    const { onError, onTrouble, backoffMs } = this.options;
    const workers = new Workers<MediaTask>(this.options);
    const handle = async ({ data: task, attemptsMade }: Job<MediaTask>): Promise<void> => {
      try {
        await handler(task);
      } catch (error) {
        onError(error, task, attemptsMade + 1);
        throw error;
      }
    };
    const worker = workers.open(QUEUE, handle, {
      concurrency: at_once,
      // A picture that takes its process with it every time is not tried for ever.
      maxStalledCount: MEDIA_ATTEMPTS - 1,
      settings: { backoffStrategy: (attempts) => backoffMs(attempts) },
    });
    worker.on('failed', (_, error) => {
      // Given up without another attempt, which would have told of it.
      if (error instanceof UnrecoverableError) onTrouble(error);
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
