import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Position } from '../catalog/events/envelope';
import { withTimeout } from '../kernel/async';
import { isOutage } from '../kernel/errors';
import type { LogBatch } from '../ports/event-store';

/** How long a subscription waits after a failed read before it reads again. */
const FAILURE_PAUSE_MS = 500;
/** No read of an adapter takes longer. If one does, it is given up. */
const READ_MS_MAX = 600_000;

/** Says when something may have changed. A hint may be lost, and may come although nothing has changed. */
export interface Hints {
  /** Calls `onHint` at each hint. Returns a function that ends this. */
  listen(onHint: () => void): () => void;
}

export interface FollowedLog {
  readonly after: Position;
  readonly signal: AbortSignal;
  readonly hints: Hints;
  /**
   * Reads the batch after a position. Throws an outage if the store cannot be read now. `has_more` is true if a hint came
   * or the last batch was not at the end of the log, so that the log probably has more events.
   */
  readonly read: (after: Position, has_more: boolean) => Promise<LogBatch>;
  /** Returns how long to wait for a hint after `idle` reads in a row without an event. */
  readonly pollMs: (idle: number) => number;
}

/**
 * Yields the batches of a log until `signal` aborts. Reads are the truth: at the end of the log, it reads again after
 * `pollMs`, or at once after a hint. An outage of the store only delays it. Rethrows every other error of `read`.
 */
export async function* follow(log: FollowedLog): AsyncGenerator<LogBatch, void, undefined> {
  const { signal, pollMs } = log;
  const waiter = new HintWaiter(log.hints, signal);
  let { after } = log;
  let has_more = false;
  let reported_caught_up = false;
  let idle = 0;
  try {
    while (!signal.aborted) {
      // Before the read, so that a change after the read ends the next wait.
      has_more = waiter.reset() || has_more;
      const reading = log.read(after, has_more).catch(ignoreOutage);
      const batch = await withTimeout(reading, READ_MS_MAX, () => undefined, signal);
      if (!batch) await waiter.wait(FAILURE_PAUSE_MS);
      if (!batch || signal.aborted) continue;
      if (batch.events.length > 0 || batch.position > after || !reported_caught_up) yield batch;
      after = batch.position;
      reported_caught_up = batch.caught_up;
      has_more = !batch.caught_up;
      idle = batch.events.length > 0 ? 0 : idle + 1;
      // A read may settle without I/O. Yielding between two of them keeps the process responsive.
      if (has_more) await nextTurn();
      else await waiter.wait(pollMs(idle));
    }
  } finally {
    waiter.stop();
  }
}

function ignoreOutage(error: unknown): undefined {
  if (!isOutage(error)) throw error;
}

/** Waits for a hint. Remembers one that comes between two waits. */
class HintWaiter {
  private hinted = false;
  private wake: () => void = () => {};
  readonly stop: () => void;

  constructor(
    hints: Hints,
    private readonly signal: AbortSignal,
  ) {
    this.stop = hints.listen(() => {
      this.hinted = true;
      this.wake();
    });
    // An iterator that is never resumed does not run its `finally`.
    signal.addEventListener('abort', this.stop, { once: true });
  }

  /** Forgets a hint. Returns whether there was one. */
  reset(): boolean {
    const { hinted } = this;
    this.hinted = false;
    return hinted;
  }

  /** Resolves after a hint since the last `reset`, after `timeout_ms`, or when the signal aborts. */
  async wait(timeout_ms: number): Promise<void> {
    if (this.hinted) return;
    const hint = new Promise<void>((resolve) => {
      this.wake = resolve;
    });
    await withTimeout(hint, timeout_ms, () => undefined, this.signal);
  }
}
