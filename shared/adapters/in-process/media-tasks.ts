import { appendFile, mkdir, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { backoff } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';
import {
  MEDIA_ATTEMPTS,
  type MediaTask,
  type MediaTaskHandler,
  type MediaTaskQueue,
  type MediaTaskQueueOptions,
} from '../../ports/media-tasks';
import { runCounted, type StartCounts } from '../queue-handlers';

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
 * Keeps at most 10,000 waiting tasks in memory. Stores take turns: each turn runs one task of a store. The tasks are lost
 * when the process ends. Only the numbers of unfinished starts are on disk.
 */
export class InProcessMediaTaskQueue implements MediaTaskQueue {
  private readonly onError: NonNullable<MediaTaskQueueOptions['onError']>;
  private readonly backoffMs: (attempt: number) => number;
  /** By store, in the order of their turns, and by media. No store has an empty map. */
  private readonly waiting = new Map<string, Map<string, WaitingTask>>();
  /** Timers of the tasks that wait for their next attempt. */
  private readonly retry_timers = new Map<string, NodeJS.Timeout>();
  private readonly workers = new Set<Worker>();
  private readonly starts: StartFiles;
  private closed = false;

  constructor(options: InProcessMediaTaskQueueOptions) {
    const { folder, onError = () => {}, backoffMs = backoff(1_000, 60_000) } = options;
    this.starts = new StartFiles(folder);
    this.onError = onError;
    this.backoffMs = backoffMs;
  }

  async add(task: MediaTask): Promise<void> {
    this.assertOpen();
    if (!this.retry_timers.has(keyOf(task))) this.wait({ task, attempts: 0 });
  }

  async work(handler: MediaTaskHandler, concurrency: number): Promise<{ stop(): Promise<void> }> {
    this.assertOpen();
    const worker: Worker = { handler, concurrency, running: new Set() };
    this.workers.add(worker);
    this.assignTasks();
    return { stop: () => this.stop(worker) };
  }

  /** Adds a task to those of its store, unless it waits already. If too many wait, drops the newest of the largest store. */
  private wait(next: WaitingTask): void {
    const tasks = this.waiting.get(storeOf(next.task)) ?? new Map<string, WaitingTask>();
    if (tasks.has(keyOf(next.task))) return;
    this.waiting.set(storeOf(next.task), tasks.set(keyOf(next.task), next));
    const stores = [...this.waiting.entries()].sort(([, a], [, b]) => b.size - a.size);
    if (stores.reduce((sum, [, { size }]) => sum + size, 0) > WAITING_MAX) {
      const [store, largest] = stores[0]!;
      largest.delete([...largest.keys()].at(-1)!);
      if (largest.size === 0) this.waiting.delete(store);
    }
    this.assignTasks();
  }

  /** Removes and returns the first task of the store whose turn it is. */
  private take(): WaitingTask | undefined {
    const [store, tasks] = this.waiting.entries().next().value ?? [];
    const [key, next] = tasks?.entries().next().value ?? [];
    if (!store || !tasks || !key) return undefined;
    tasks.delete(key);
    this.waiting.delete(store);
    if (tasks.size > 0) this.waiting.set(store, tasks);
    return next;
  }

  /** Assigns waiting tasks to workers with free capacity. */
  private assignTasks(): void {
    for (;;) {
      const worker = [...this.workers].find(({ running, concurrency }) => running.size < concurrency);
      const next = worker && this.take();
      if (!next) return;
      const running = this.run(worker, next).finally(() => {
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
      await runCounted(handler, task, this.starts);
    } catch (error) {
      const attempt = attempts + 1;
      this.onError(error, task, attempt);
      if (attempt < MEDIA_ATTEMPTS) this.retryLater({ task, attempts: attempt });
    }
  }

  private retryLater(next: WaitingTask): void {
    const key = keyOf(next.task);
    // The task was added again while it ran.
    if (this.closed || this.waiting.get(storeOf(next.task))?.has(key)) return;
    const timer = setTimeout(() => {
      this.retry_timers.delete(key);
      this.wait(next);
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

/**
 * The numbers of unfinished starts in a folder. The file of a media has one byte per start, so a process that dies at any
 * moment leaves a valid number. The numbers survive the process, but not always a power failure.
 */
class StartFiles implements StartCounts {
  constructor(private readonly folder: string) {}

  /** Throws if the disk fails. */
  async add(task: MediaTask): Promise<number> {
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const file = join(this.folder, keyOf(task));
    await appendFile(file, '.', { mode: 0o600 });
    return (await stat(file)).size;
  }

  async set(task: MediaTask, starts: number): Promise<void> {
    const file = join(this.folder, keyOf(task));
    await (starts === 0 ? rm(file, { force: true }) : truncate(file, starts)).catch(() => undefined);
  }
}
