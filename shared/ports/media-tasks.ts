import type { Environment } from '../catalog/realm';
import type { MediaId } from '../kernel/ids';

/** An upload whose pictures are to be made. */
export interface MediaTask {
  readonly environment: Environment;
  readonly media_id: MediaId;
}

/**
 * Tasks of all processes. At least once, in no order; what waits or runs already may be left out, so a task is to be
 * added after what it works on is in the log.
 * It may lose everything it holds: the log says which media are still `processing`, and whoever works the queue adds those again.
 *
 * - `add` resolves when the task is taken in charge; throws `CatalogError('unavailable')` within 5 s where the queue
 *   cannot be reached.
 * - `work` runs `handler` on `at_once` tasks at a time in this process. Where the handler throws, the task is tried
 *   again later with back-off, a bounded number of times, and then forgotten. `stop` lets the running ones finish.
 */
export interface MediaTasks {
  add(task: MediaTask): Promise<void>;
  work(handler: (task: MediaTask) => Promise<void>, at_once: number): Promise<{ stop(): Promise<void> }>;
  close(): Promise<void>;
}

export interface MediaTasksOptions {
  /** Told of every failed attempt; `attempt` counts from 1. */
  readonly onError?: (error: unknown, task: MediaTask, attempt: number) => void;
  /** Told of what goes wrong between the queue's server and its workers; they go on by themselves. */
  readonly onTrouble?: (error: unknown) => void;
  /** How long to wait after that many failed attempts; 1 s doubling to a minute by default. */
  readonly backoffMs?: (attempt: number) => number;
}

/** With the default back-off they take a minute: longer troubles are for whoever adds again what is still `processing`. */
export const MEDIA_ATTEMPTS = 6;
