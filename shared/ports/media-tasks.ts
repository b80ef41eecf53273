import type { Environment } from '../contracts/realm';
import type { MediaId } from '../kernel/ids';

/** An upload whose pictures are to be made. */
export interface MediaTask {
  readonly environment: Environment;
  readonly media_id: MediaId;
}

/**
 * Tasks of all processes. At least once, in no order; what is waiting already may be left out.
 * It may lose everything it holds: the log says which media are still `processing`, and whoever works the queue adds those again.
 *
 * - `add` resolves when the task is taken in charge; throws `CatalogError('unavailable')` where the queue cannot be reached.
 * - `work` runs `handler` on `at_once` tasks at a time in this process. Where the handler throws, the task is tried
 *   again later with back-off, a bounded number of times. `stop` lets the running ones finish.
 */
export interface MediaTasks {
  add(task: MediaTask): Promise<void>;
  work(handler: (task: MediaTask) => Promise<void>, at_once: number): Promise<{ stop(): Promise<void> }>;
  close(): Promise<void>;
}
