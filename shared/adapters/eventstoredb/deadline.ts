import { SilenceError } from './failures';

/**
 * The outcome of `work`, or a `SilenceError` after `timeout_ms` or when `closed` aborts. The client's own deadlines do
 * not cover all that a call waits for (connecting, discovery, flow control). Late outcomes are dropped.
 */
export async function withinDeadline<Result>(
  work: Promise<Result>,
  timeout_ms: number,
  closed: AbortSignal,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const silence = (): void => reject(new SilenceError(`no answer in ${Math.round(timeout_ms)} ms`));
    const timer = setTimeout(silence, timeout_ms);
    closed.addEventListener('abort', silence, { once: true });
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      closed.removeEventListener('abort', silence);
    });
  });
}

/** Resolves early where `signal` aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
