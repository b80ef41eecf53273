import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Position } from '../../catalog/events/envelope';
import { CatalogError } from '../../kernel/errors';
import type { LogBatch } from '../../ports/event-store';
import type { ChangeSignal } from './change-signal';

/** How long a subscription rests after the file failed, before it reads again. */
const FAILURE_PAUSE_MS = 500;

/** Follows a log for ever: reads while there is something, then rests until it changes. Any of `signals` ends it. */
export async function* follow(log: {
  readonly after: Position;
  readonly signals: readonly AbortSignal[];
  readonly changes: ChangeSignal;
  readonly read: (after: Position) => Promise<LogBatch>;
}): AsyncGenerator<LogBatch, void, undefined> {
  const rest = new Rest(log.changes, log.signals);
  try {
    let { after } = log;
    let told_caught_up = false;
    while (!rest.ended) {
      // Before the read: a change after that is not slept through.
      rest.begin();
      const batch = await readUnlessFailing(log.read, after);
      if (!batch) await rest.untilChange(FAILURE_PAUSE_MS);
      if (!batch || rest.ended) continue;
      if (batch.events.length > 0 || !told_caught_up) yield batch;
      after = batch.position;
      told_caught_up = batch.caught_up;
      // Reads settle without waiting: between two of them other work of the process gets its turn.
      if (batch.caught_up) await rest.untilChange();
      else await nextTurn();
    }
  } finally {
    rest.stop();
  }
}

/** Undefined where the file fails, so that a subscription outlives an outage. */
async function readUnlessFailing(
  read: (after: Position) => Promise<LogBatch>,
  after: Position,
): Promise<LogBatch | undefined> {
  try {
    return await read(after);
  } catch (error) {
    if (error instanceof CatalogError) return undefined;
    throw error;
  }
}

/** What a subscription does at the log's end. Its end wakes it as a change does. */
class Rest {
  private woken = false;
  private wake: () => void = () => {};
  private readonly signals: readonly AbortSignal[];
  private readonly stopListening: () => void;

  constructor(changes: ChangeSignal, signals: readonly AbortSignal[]) {
    this.signals = signals;
    this.stopListening = changes.listen(this.ring);
    for (const signal of signals) signal.addEventListener('abort', this.ring);
  }

  get ended(): boolean {
    return this.signals.some((signal) => signal.aborted);
  }

  private readonly ring = (): void => {
    this.woken = true;
    this.wake();
    // Also where whoever follows has left without a word: nothing of an ended subscription keeps running.
    if (this.ended) this.stop();
  };

  begin(): void {
    this.woken = false;
  }

  /** Until a ring since `begin`, or `at_most_ms`. */
  async untilChange(at_most_ms?: number): Promise<void> {
    if (this.woken || this.ended) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.wake = resolve;
      if (at_most_ms !== undefined) timer = setTimeout(resolve, at_most_ms);
    });
    clearTimeout(timer);
  }

  stop(): void {
    for (const signal of this.signals) signal.removeEventListener('abort', this.ring);
    this.stopListening();
  }
}
