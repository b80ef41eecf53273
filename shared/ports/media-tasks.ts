import type { Environment } from '../catalog/realm';
import type { MediaId, StoreId } from '../kernel/ids';

/** A task for a worker: to render the pictures of an upload. */
export interface MediaTask {
  readonly environment: Environment;
  /** The store of the media. The queue schedules fairly over stores. */
  readonly store_id: StoreId;
  readonly media_id: MediaId;
}

/**
 * A queue of tasks, shared by all processes.
 *
 * `add`
 * - Adds a task. Resolves when the queue has accepted it.
 * - May do nothing if the same task already waits or runs. Append the events that a task reads before you add it.
 *   Otherwise the running task may already have read the log without them, and no other task would read them.
 * - Throws `CatalogError('unavailable')` within 5 s if the queue cannot be reached.
 * - The queue may lose all tasks at any time. The worker looks for media that are `processing` for a long time and adds
 *   their tasks again.
 *
 * `work`
 * - Runs `handler` at least once for each task.
 * - Schedules fairly over stores: the tasks of one store do not hold up those of another for longer than the task that
 *   runs. In process, stores with waiting tasks take turns. On BullMQ, stores that added fewer tasks in the last minutes
 *   come first. Within a store, the order is roughly that of the calls of `add`.
 * - Runs up to `concurrency` tasks in parallel in this process.
 * - If `handler` throws, retries the task with back-off, up to `MEDIA_ATTEMPTS` attempts. Then drops the task.
 * - Passes `starts` to the handler: how many starts of tasks for this media are unfinished, this start included. A start
 *   is stored before the handler runs. It stays counted if the process dies or the handler throws `TaskCrashError`. Any
 *   other error removes it from the count. When a handler succeeds, the count begins at 0 again; on a server also 30 days
 *   after the last start. The count is kept when the task is dropped and added again, and when the process restarts.
 * - `stop` waits for running tasks.
 */
export interface MediaTaskQueue {
  add(task: MediaTask): Promise<void>;
  work(handler: MediaTaskHandler, concurrency: number): Promise<{ stop(): Promise<void> }>;
  close(): Promise<void>;
}

/** `starts`: the unfinished starts, at least 1. */
export type MediaTaskHandler = (task: MediaTask, starts: number) => Promise<void>;

/** Thrown by a handler if the task crashed the process that it ran in, and may be the reason. */
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
 * Maximum number of attempts per task. With the default back-off they take about 30 s. If an outage is longer, the task
 * is dropped. The worker adds it again when it finds that the media is still `processing`.
 */
export const MEDIA_ATTEMPTS = 6;
