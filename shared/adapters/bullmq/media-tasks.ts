import { type Job, UnrecoverableError, Worker } from 'bullmq';
import { backoff, withTimeout } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';
import {
  MEDIA_ATTEMPTS,
  type MediaTask,
  type MediaTasks,
  type MediaTasksOptions,
} from '../../ports/media-tasks';
import { connectPatient, giveUp, type PatientConnection } from '../redis/connection';
import { Queues, RunningHandlers } from './queues';

export interface BullmqMediaTasksOptions extends MediaTasksOptions {
  /** `redis://…` or `rediss://…`; Redis must be set to `noeviction`. */
  readonly url: string;
  /** Of the keys in Redis, `catalog` by default. */
  readonly prefix?: string;
}

const QUEUE = 'media';
/** A process that dies holds its tasks for about this long, and as long again until another looks. */
const LOCK_MS = 5_000;
const STALLED_EVERY_MS = 2_000;
const RETRY_FETCH_MS = 500;
/** Longer than a worker waits for a job in one command, which BullMQ lets take 10 s at most. */
const SILENCE_MS = 12_000;
const HAND_BACK_MS = 2_000;

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

interface MediaWorkerOptions extends Required<MediaTasksOptions> {
  readonly url: string;
  readonly prefix: string;
  readonly handler: (task: MediaTask) => Promise<void>;
  readonly at_once: number;
}

/** A BullMQ worker on the media queue, over a connection of its own that waits for Redis for as long as it takes. */
class MediaWorker {
  private readonly options: MediaWorkerOptions;
  private readonly redis: PatientConnection;
  private readonly worker: Worker<MediaTask>;
  private readonly running = new RunningHandlers();
  private stopped: Promise<void> | undefined;

  constructor(queue: string, options: MediaWorkerOptions) {
    this.options = options;
    this.redis = connectPatient(options.url, SILENCE_MS);
    this.worker = new Worker<MediaTask>(queue, (job) => this.running.track(this.process(job)), {
      connection: this.redis.connection,
      prefix: options.prefix,
      concurrency: options.at_once,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_EVERY_MS,
      // A picture that takes its process with it every time is not tried for ever.
      maxStalledCount: MEDIA_ATTEMPTS - 1,
      runRetryDelay: RETRY_FETCH_MS,
      settings: { backoffStrategy: (attempts) => options.backoffMs(attempts) },
    });
    this.worker.on('error', (error) => options.onTrouble(error));
    this.worker.on('failed', (_, error) => {
      // Given up without another attempt, which would have told of it.
      if (error instanceof UnrecoverableError) options.onTrouble(error);
    });
  }

  private async process(job: Job<MediaTask>): Promise<void> {
    try {
      await this.options.handler(job.data);
    } catch (error) {
      this.options.onError(error, job.data, job.attemptsMade + 1);
      throw error;
    }
  }

  /** Resolves when the running handlers are through, and Redis knows as far as it can be told. */
  stop(): Promise<void> {
    this.stopped ??= this.close();
    return this.stopped;
  }

  private async close(): Promise<void> {
    const closing = this.worker.close();
    closing.catch(() => undefined);
    await this.running.ended();
    // Redis may be away: a task whose end it was not told of is run again when its lock has run out.
    await withTimeout(closing, HAND_BACK_MS, giveUp).catch(() => undefined);
    this.redis.end();
    await withTimeout(closing, HAND_BACK_MS, giveUp).catch((error) => this.options.onTrouble(error));
  }
}
