import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { record } from './durations';

/** Pause between two checks. It grows to a tenth of the time waited so far, because a check may cost milliseconds of CPU. */
const POLL_MS = 5;
const POLL_MS_MAX = 25;
/**
 * Limit for each wait of a test, well below jest's `testTimeout`. Long enough for a machine that is ten times as slow as
 * usual, because it is busy. Nothing waits that long unless it fails.
 */
export const WAIT_MS_MAX = 180_000;

/** A longer wait is reported as late at the end of a run. On an idle machine, few waits take more than a second. */
const LATE_MS = 20_000;
/** Of a check that is named by its source, the report shows this many characters. */
const WHAT_MAX = 120;

/**
 * Limit for a call to a server that is unreachable or silent. The service promises 5 s; the tests allow twelve times that,
 * because the machine may be busy. `npm run bench` measures the promise itself.
 */
export const FAILS_WITHIN_MS = 60_000;
/** Limit until everything works again after a server's return. The service promises 2 s; see `FAILS_WITHIN_MS`. */
export const RECOVERS_WITHIN_MS = 60_000;

/**
 * Calls `check` until it returns a truthy value, and returns that value. Calls it again if it throws, but rejects at once
 * if an `expect` in it failed. Rejects after `timeout_ms`; the message names `what` (by default the source of `check`), and
 * the cause is the last error of `check`, if it threw one.
 */
export async function waitFor<Result>(
  check: () => Result | Promise<Result>,
  { timeout_ms = WAIT_MS_MAX, what }: { timeout_ms?: number; what?: string } = {},
): Promise<Exclude<Awaited<Result>, false | null | undefined | 0 | ''>> {
  const began_ms = Date.now();
  const deadline_ms = began_ms + timeout_ms;
  let last_error: unknown;
  for (;;) {
    try {
      const pending = check();
      const remaining_ms = deadline_ms - Date.now();
      const value = typeof pending === 'object' ? await within(pending, 'one check', remaining_ms) : pending;
      if (value) {
        reportIfLate(what ?? sourceOf(check), began_ms);
        return value as Exclude<Awaited<Result>, false | null | undefined | 0 | ''>;
      }
      last_error = undefined;
    } catch (error) {
      if (isFailedExpect(error)) throw error;
      last_error = error;
    }
    if (Date.now() >= deadline_ms)
      throw new Error(tooLate(timeout_ms, what ?? sourceOf(check)), { cause: last_error });
    const tenth_ms = (Date.now() - began_ms) / 10;
    await sleep(Math.min(Math.max(POLL_MS, tenth_ms), POLL_MS_MAX));
  }
}

/** Calls `attempt` again while a busy server does not answer in time. Rejects with other errors, and after `WAIT_MS_MAX`. */
export async function untilAnswered<Result>(attempt: () => Promise<Result>): Promise<Result> {
  const deadline_ms = Date.now() + WAIT_MS_MAX;
  for (;;)
    try {
      return await attempt();
    } catch (error) {
      const { condition } = error as { condition?: unknown };
      const is_outage = condition === 'unavailable' || condition === 'database_timeout';
      if (!is_outage || Date.now() >= deadline_ms) throw error;
      await sleep(POLL_MS);
    }
}

/** Settles as `promise` does. Rejects after `timeout_ms` with an error that names `what`. */
export async function within<Result>(
  promise: Result | Promise<Result>,
  what: string,
  timeout_ms = WAIT_MS_MAX,
): Promise<Result> {
  const began_ms = Date.now();
  const stop = new AbortController();
  const timeout = sleep(Math.max(timeout_ms, 1), undefined, { signal: stop.signal }).then(() => {
    throw new Error(tooLate(timeout_ms, what));
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    reportIfLate(what, began_ms);
    timeout.catch(() => {});
    stop.abort();
  }
}

const load = (): string => loadavg()[0]!.toFixed(1);

const tooLate = (timeout_ms: number, what: string): string =>
  `waited ${timeout_ms} ms for ${what} (load of the machine: ${load()})`;

/** Records the wait for the report at the end of a run if it was long. */
function reportIfLate(what: string, began_ms: number): void {
  const waited_ms = Date.now() - began_ms;
  if (waited_ms < LATE_MS) return;
  // Programs that are not tests wait, too.
  const test = typeof expect === 'undefined' ? process.argv[1] : expect.getState().currentTestName;
  record({ late: test, what: what.slice(0, WHAT_MAX), seconds: waited_ms / 1000, load: load() });
}

const isFailedExpect = (error: unknown): boolean => error instanceof Error && 'matcherResult' in error;

const sourceOf = (check: () => unknown): string => String(check).replace(/\s+/g, ' ');
