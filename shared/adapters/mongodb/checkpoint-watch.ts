import { setTimeout as sleep } from 'node:timers/promises';
import type { Position } from '../../contracts/envelope';

const POLL_MS_MIN = 2;
const POLL_MS_MAX = 25;

interface Waiter {
  readonly lane: number;
  readonly position: Position;
  readonly done: (reached: boolean) => void;
}

/**
 * Waits for checkpoints by asking for them, for a store that tells of no changes. However many wait, one question
 * at a time is under way; while nothing moves the pauses grow from 2 to 25 ms.
 */
export class CheckpointWatch {
  private readonly read: () => Promise<Position[]>;
  private readonly waiters = new Set<Waiter>();
  private pause_ms = POLL_MS_MIN;
  private polling = false;

  constructor(read: () => Promise<Position[]>) {
    this.read = read;
  }

  /** True as soon as the lane's checkpoint is seen at or past `position`; false after `timeout_ms`, however the store does. */
  wait(lane: number, position: Position, timeout_ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => waiter.done(false), timeout_ms);
      const done = (reached: boolean): void => {
        clearTimeout(timer);
        this.waiters.delete(waiter);
        resolve(reached);
      };
      const waiter: Waiter = { lane, position, done };
      this.waiters.add(waiter);
      this.pause_ms = POLL_MS_MIN;
      if (!this.polling) void this.poll();
    });
  }

  private async poll(): Promise<void> {
    this.polling = true;
    while (this.waiters.size > 0) {
      // A store that is away may be back before the waiters' time is up.
      const positions = await this.read().catch((): Position[] => []);
      for (const waiter of [...this.waiters]) {
        const position = positions[waiter.lane];
        if (position !== undefined && position >= waiter.position) waiter.done(true);
      }
      if (this.waiters.size === 0) break;
      await sleep(this.pause_ms);
      this.pause_ms = Math.min(this.pause_ms * 1.5, POLL_MS_MAX);
    }
    this.polling = false;
  }
}
