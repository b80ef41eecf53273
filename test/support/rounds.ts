import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EventStore } from '../../shared/ports/event-store';

/** Turns of the event loop without a new call, after which all work waits for the calls that are open. */
const QUIET_TURNS = 5;

/**
 * Answers the reads of streams and the appends that are open at the same time together, and counts these rounds. So `count`
 * is the length of the longest chain of calls, which decides how long a write takes on a server.
 */
export class Rounds {
  count = 0;
  calls = 0;
  private waiting: (() => void)[] = [];

  constructor(events: Pick<EventStore, 'append' | 'readStream'>) {
    const append = events.append.bind(events);
    const readStream = events.readStream.bind(events);
    events.append = (...args) => this.enter().then(() => append(...args));
    events.readStream = (...args) => this.enter().then(() => readStream(...args));
  }

  /** Returns the rounds and calls of the work. */
  async of(work: () => Promise<unknown>): Promise<{ rounds: number; calls: number }> {
    this.count = 0;
    this.calls = 0;
    await work();
    return { rounds: this.count, calls: this.calls };
  }

  private enter(): Promise<void> {
    this.calls++;
    return new Promise((resolve) => {
      if (this.waiting.push(resolve) === 1) void this.answerWhenQuiet();
    });
  }

  private async answerWhenQuiet(): Promise<void> {
    for (let turns = 0, { length } = this.waiting; turns < QUIET_TURNS; turns++) {
      await nextTurn();
      if (this.waiting.length > length) turns = 0;
      length = this.waiting.length;
    }
    const answered = this.waiting;
    this.waiting = [];
    this.count++;
    for (const answer of answered) answer();
  }
}
