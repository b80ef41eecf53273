import { setImmediate as nextTurn } from 'node:timers/promises';
import { backoff } from '../../kernel/async';
import { CatalogError } from '../../kernel/errors';
import {
  MEDIA_ATTEMPTS,
  type MediaTask,
  type MediaTasks,
  type MediaTasksOptions,
} from '../../ports/media-tasks';

/** Where nobody works in this process, its tasks are left to whoever adds again what is still `processing`. */
const HELD_MAX = 10_000;

type Handler = (task: MediaTask) => Promise<void>;

/** A task that waits for a worker, and how often it was tried. */
interface Waiting {
  readonly task: MediaTask;
  readonly attempts: number;
}

interface Worker {
  readonly handler: Handler;
  readonly at_once: number;
  readonly running: Set<Promise<void>>;
}

const keyOf = ({ environment, media_id }: MediaTask): string => `${environment}-${media_id}`;

/** Tasks in memory, ten thousand at most: what waits is lost with the process. */
export class InProcessMediaTasks implements MediaTasks {
  private readonly onError: NonNullable<MediaTasksOptions['onError']>;
  private readonly backoffMs: (attempt: number) => number;
  private readonly waiting = new Map<string, Waiting>();
  /** Between two attempts. */
  private readonly resting = new Map<string, NodeJS.Timeout>();
  private readonly workers = new Set<Worker>();
  private closed = false;

  constructor({ onError = () => {}, backoffMs = backoff(1_000, 60_000) }: MediaTasksOptions = {}) {
    this.onError = onError;
    this.backoffMs = backoffMs;
  }

  async add(task: MediaTask): Promise<void> {
    this.assertOpen();
    if (this.waiting.has(keyOf(task)) || this.resting.has(keyOf(task))) return;
    if (this.waiting.size >= HELD_MAX) return;
    this.waiting.set(keyOf(task), { task, attempts: 0 });
    this.start();
  }

  async work(handler: Handler, at_once: number): Promise<{ stop(): Promise<void> }> {
    this.assertOpen();
    const worker: Worker = { handler, at_once, running: new Set() };
    this.workers.add(worker);
    this.start();
    return { stop: () => this.stop(worker) };
  }

  /** Gives what waits to workers that have a hand free. */
  private start(): void {
    for (const [key, next] of this.waiting) {
      const worker = [...this.workers].find(({ running, at_once }) => running.size < at_once);
      if (!worker) return;
      this.waiting.delete(key);
      const running = this.run(worker, next).finally(() => {
        worker.running.delete(running);
        this.start();
      });
      worker.running.add(running);
    }
  }

  private async run({ handler }: Worker, { task, attempts }: Waiting): Promise<void> {
    // Handlers may settle without ever waiting: between two tasks other work of the process gets its turn.
    await nextTurn();
    try {
      await handler(task);
    } catch (error) {
      const attempt = attempts + 1;
      this.onError(error, task, attempt);
      if (attempt < MEDIA_ATTEMPTS) this.rest({ task, attempts: attempt });
    }
  }

  private rest(next: Waiting): void {
    const key = keyOf(next.task);
    // Added again while it ran: it waits already.
    if (this.closed || this.waiting.has(key)) return;
    const timer = setTimeout(() => {
      this.resting.delete(key);
      this.waiting.set(key, next);
      this.start();
    }, this.backoffMs(next.attempts));
    this.resting.set(key, timer);
  }

  private async stop(worker: Worker): Promise<void> {
    this.workers.delete(worker);
    await Promise.all(worker.running);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.waiting.clear();
    for (const timer of this.resting.values()) clearTimeout(timer);
    this.resting.clear();
    await Promise.all([...this.workers].map((worker) => this.stop(worker)));
  }

  private assertOpen(): void {
    if (this.closed) throw new CatalogError('unavailable', { message: 'the media tasks are closed' });
  }
}
