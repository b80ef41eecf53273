/** Source of time for the client. Tests pass their own. */
export interface Clock {
  /** Returns Unix milliseconds. */
  now(): number;
  /** Resolves after `ms` milliseconds. Rejects with the signal's reason as soon as the signal is aborted. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
}

export const realClock: Clock = {
  now: () => Date.now(),
  wait: (ms, signal) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const waiting = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    return unlessAborted(waiting, signal).finally(() => clearTimeout(timer));
  },
};

/**
 * Settles as `promise` does, or rejects with the signal's reason if the signal is aborted first. Does not cancel the
 * work.
 */
export function unlessAborted<Value>(promise: Promise<Value>, signal?: AbortSignal): Promise<Value> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const abort = (): void => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
