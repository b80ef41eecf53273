import { pause } from '../kernel/async';
import { type MediaTask, type MediaTaskHandler, TaskCrashError } from '../ports/media-tasks';

/** What the embedded queues and those on a server do alike. */

/**
 * Runs the handler of a job until it succeeds. Returns false if `stopping` aborts first. `onError` is called with every
 * failed attempt, counted from 1; `backoffMs` returns how long to wait after it.
 */
export async function runUntilSuccess(
  run: () => Promise<void>,
  onError: (error: unknown, attempt: number) => void,
  backoffMs: (attempt: number) => number,
  stopping: AbortSignal,
): Promise<boolean> {
  for (let attempt = 1; !stopping.aborted; attempt++) {
    try {
      await run();
      return true;
    } catch (error) {
      onError(error, attempt);
    }
    await pause(backoffMs(attempt), stopping);
  }
  return false;
}

/** The stored numbers of unfinished starts of each media. */
export interface StartCounts {
  /** Adds one to the number. Returns the new number. */
  add(task: MediaTask): Promise<number>;
  /** Sets the number to a lower one. If that fails, it stays too high. Never rejects. */
  set(task: MediaTask, starts: number): Promise<void>;
}

/** Runs the handler of a media task with the number of unfinished starts, as `MediaTaskQueue` describes it. */
export async function runCounted(
  handler: MediaTaskHandler,
  task: MediaTask,
  counts: StartCounts,
): Promise<void> {
  const starts = await counts.add(task);
  try {
    await handler(task, starts);
  } catch (error) {
    if (!(error instanceof TaskCrashError)) await counts.set(task, starts - 1);
    throw error;
  }
  await counts.set(task, 0);
}
