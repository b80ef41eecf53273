import { setImmediate as nextTurn } from 'node:timers/promises';
import { backoff } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';
import {
  MEDIA_ATTEMPTS,
  type MediaTask,
  type MediaTaskHandler,
  type MediaTaskQueue,
  type MediaTaskQueueOptions,
  TaskCrashError,
} from '../../ports/media-tasks';
import { FairQueue } from './fair-queue';
import { StartCounts } from './start-counts';

/**
 * Limits the memory of a process without workers. A worker adds dropped tasks again later, because their media are still
 * `processing`.
 */
const WAITING_MAX = 10_000;

export interface InProcessMediaTaskQueueOptions extends MediaTaskQueueOptions {
  /** Folder for the numbers of unfinished starts. Created if it does not exist. Several processes may share it. */
  readonly folder: string;
}

/** A task that waits for a worker. */
interface WaitingTask {
  readonly task: MediaTask;
  /** Failed attempts so far. */
  readonly attempts: number;
}

interface Worker {
  readonly handler: MediaTaskHandler;
  readonly concurrency: number;
  readonly running: Set<Promise<void>>;
}

const keyOf = ({ environment, media_id }: MediaTask): string => `${environment}-${media_id}`;
const storeOf = ({ environment, store_id }: MediaTask): string => `${environment}-${store_id}`;

/**
 * Keeps at most 10,000 waiting tasks in memory, and shares the time fairly among their stores (`fair-queue.ts`). The
 * tasks are lost when the process ends. Only the numbers of unfinished starts are on disk.
 */
export class InProcessMediaTaskQueue implements MediaTaskQueue {
  private readonly onError: NonNullable<MediaTaskQueueOptions['onError']>;
  private readonly backoffMs: (attempt: number) => number;
  private readonly waiting = new FairQueue<WaitingTask>(WAITING_MAX);
  /** Timers of the tasks that wait for their next attempt. */
  private readonly retry_timers = new Map<string, NodeJS.Timeout>();
  private readonly workers = new Set<Worker>();
  private readonly starts: StartCounts;
  private closed = false;

  constructor(options: InProcessMediaTaskQueueOptions) {
    const { folder, onError = () => {}, backoffMs = backoff(1_000, 60_000) } = options;
    this.starts = new StartCounts(folder);
    this.onError = onError;
    this.backoffMs = backoffMs;
  }

  async add(task: MediaTask): Promise<void> {
    this.assertOpen();
    if (this.retry_timers.has(keyOf(task))) return;
    this.waiting.add(storeOf(task), keyOf(task), { task, attempts: 0 });
    this.assignTasks();
  }

  async work(handler: MediaTaskHandler, concurrency: number): Promise<{ stop(): Promise<void> }> {
    this.assertOpen();
    const worker: Worker = { handler, concurrency, running: new Set() };
    this.workers.add(worker);
    this.assignTasks();
    return { stop: () => this.stop(worker) };
  }

  /** Assigns waiting tasks to workers with free capacity. */
  private assignTasks(): void {
    for (;;) {
      const worker = [...this.workers].find(({ running, concurrency }) => running.size < concurrency);
      const next = worker && this.waiting.take();
      if (!next) return;
      const started_ms = performance.now();
      const running = this.run(worker, next).finally(() => {
        this.waiting.end(storeOf(next.task), performance.now() - started_ms);
        worker.running.delete(running);
        this.assignTasks();
      });
      worker.running.add(running);
    }
  }

  private async run({ handler }: Worker, { task, attempts }: WaitingTask): Promise<void> {
    // A handler may settle without any I/O. Yielding between two tasks keeps the process responsive.
    await nextTurn();
    try {
      await this.handle(handler, task);
    } catch (error) {
      const attempt = attempts + 1;
      this.onError(error, task, attempt);
      if (attempt < MEDIA_ATTEMPTS) this.retryLater({ task, attempts: attempt });
    }
  }

  private async handle(handler: MediaTaskHandler, task: MediaTask): Promise<void> {
    const starts = await this.starts.add(keyOf(task));
    try {
      await handler(task, starts);
    } catch (error) {
      if (!(error instanceof TaskCrashError)) await this.starts.set(keyOf(task), starts - 1);
      throw error;
    }
    await this.starts.set(keyOf(task), 0);
  }

  private retryLater(next: WaitingTask): void {
    const key = keyOf(next.task);
    // The task was added again while it ran.
    if (this.closed || this.waiting.has(storeOf(next.task), key)) return;
    const timer = setTimeout(() => {
      this.retry_timers.delete(key);
      this.waiting.add(storeOf(next.task), key, next);
      this.assignTasks();
    }, this.backoffMs(next.attempts));
    this.retry_timers.set(key, timer);
  }

  private async stop(worker: Worker): Promise<void> {
    this.workers.delete(worker);
    await Promise.all(worker.running);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.waiting.clear();
    for (const timer of this.retry_timers.values()) clearTimeout(timer);
    this.retry_timers.clear();
    await Promise.all([...this.workers].map((worker) => this.stop(worker)));
  }

  private assertOpen(): void {
    if (this.closed) throw new CatalogError('unavailable', { message: 'the media tasks are closed' });
  }
}
