import { CatalogError } from '../../kernel/errors';
import {
  MEDIA_ATTEMPTS,
  type MediaTask,
  type MediaTasks,
  type MediaTasksOptions,
  mediaBackoffMs,
} from '../../ports/media-tasks';
import { MediaWorker } from './media-worker';
import { Queues } from './queues';

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
  private readonly workers = new Set<MediaWorker>();
  private closed = false;

  constructor(options: BullmqMediaTasksOptions) {
    const defaults = { prefix: 'catalog', onError: () => {}, onTrouble: () => {}, backoffMs: mediaBackoffMs };
    this.options = { ...defaults, ...options };
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
    const worker = new MediaWorker(QUEUE, { ...this.options, handler, at_once });
    this.workers.add(worker);
    return {
      stop: async () => {
        await worker.stop();
        this.workers.delete(worker);
      },
    };
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.workers].map((worker) => worker.stop()));
    this.queues.close();
  }

  private assertOpen(): void {
    if (this.closed) throw new CatalogError('unavailable', { message: 'the media tasks are closed' });
  }
}
