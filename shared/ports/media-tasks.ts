import type { Environment } from '../catalog/realm';
import type { MediaId, StoreId } from '../kernel/ids';

/** A task for a worker: to render the pictures of an upload. */
export interface MediaTask {
  readonly environment: Environment;
  /** The store of the media. The queue schedules fairly over stores. */
  readonly store_id: StoreId;
  readonly media_id: MediaId;
}

/** A queue of tasks, shared by all processes. */
export interface MediaTaskQueue {
  /**
   * Adds a task. Resolves when the queue has accepted the task.
   *
   * - May do nothing if the same task already waits or runs. Append the events that a task reads before you add the
   *   task. Otherwise the running task may have read the log before these events, and no other task would read them.
   * - Throws `CatalogError('unavailable')` within 5 s if the queue cannot be reached.
   * - The queue may lose all tasks at any time. The worker adds tasks again for media that stay `processing` for
   *   long.
   */
  add(task: MediaTask): Promise<void>;

  /**
   * Runs `handler` at least once for each task.
   *
   * - Schedules fairly over stores, so that many tasks of one store do not hold up another store. The in-process
   *   queue takes one task of each store in turn. BullMQ prefers stores that added fewer tasks in the last minutes.
   *   The tasks of one store run roughly in the order in which they were added.
   * - Runs up to `concurrency` tasks in parallel in this process.
   * - If `handler` throws, retries the task with back-off, up to `MEDIA_ATTEMPTS` attempts. Then drops the task.
   * - Passes `starts` to the handler: the number of unfinished starts of tasks for this media, including this start.
   *   The queue stores a start before it calls the handler. If the process dies or the handler throws
   *   `TaskCrashError`, the start stays unfinished. After any other error, the start does not count. When a handler
   *   succeeds, the count begins at 0 again. BullMQ forgets the count 30 days after the last start. The queue keeps
   *   the count when a task is dropped and added again, and when the process restarts.
   * - `stop` waits for running tasks.
   */
  work(handler: MediaTaskHandler, concurrency: number): Promise<{ stop(): Promise<void> }>;

  close(): Promise<void>;
}

/** `starts`: the number of unfinished starts, at least 1 (see `work`). */
export type MediaTaskHandler = (task: MediaTask, starts: number) => Promise<void>;

/** Thrown by a handler if the process in which the task ran crashed. The task may be the reason. */
export class TaskCrashError extends Error {
  override readonly name = 'TaskCrashError';
}

export interface MediaTaskQueueOptions {
  /** Called after every failed attempt. `attempt` starts at 1. */
  readonly onError?: (error: unknown, task: MediaTask, attempt: number) => void;
  /** Called with errors of a worker that are not errors of a task, such as connection errors. Workers reconnect. */
  readonly onWorkerError?: (error: unknown) => void;
  /** Returns the pause after `attempt` failed attempts, in milliseconds. Default: 1 s, doubling up to 60 s. */
  readonly backoffMs?: (attempt: number) => number;
}

/**
 * Maximum number of attempts per task. With the default back-off, the attempts take about 30 s. If an outage is longer,
 * the queue drops the task, and the worker adds the task again because the media is still `processing`.
 */
export const MEDIA_ATTEMPTS = 6;
