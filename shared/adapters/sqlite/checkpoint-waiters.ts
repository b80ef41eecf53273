import type { Position } from '../../catalog/events/envelope';
import type { ChangeSignal } from './change-signal';

interface Waiter {
  readonly lane: number;
  readonly position: Position;
  readonly settle: (reached: boolean) => void;
}

/** Those who wait for a lane to reach a position; however many, the checkpoints are read once per change. */
export class CheckpointWaiters {
  private readonly changes: ChangeSignal;
  private readonly readCheckpoints: () => Position[];
  private readonly waiters = new Set<Waiter>();
  private stopListening: (() => void) | undefined;

  constructor(changes: ChangeSignal, readCheckpoints: () => Position[]) {
    this.changes = changes;
    this.readCheckpoints = readCheckpoints;
  }

  /** True as soon as the lane is there, false after `timeout_ms` or where the waiting is closed. */
  wait(lane: number, position: Position, timeout_ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => waiter.settle(false), timeout_ms);
      const waiter: Waiter = {
        lane,
        position,
        settle: (reached) => {
          clearTimeout(timer);
          this.remove(waiter);
          resolve(reached);
        },
      };
      this.waiters.add(waiter);
      this.stopListening ??= this.changes.listen(() => this.look());
      // The lane may have got there between the caller's own look and the listening.
      this.look();
    });
  }

  private look(): void {
    let reached: Position[];
    try {
      reached = this.readCheckpoints();
    } catch {
      return; // The file cannot be read at the moment; the waiters' time goes on.
    }
    for (const waiter of [...this.waiters]) if (reached[waiter.lane]! >= waiter.position) waiter.settle(true);
  }

  private remove(waiter: Waiter): void {
    this.waiters.delete(waiter);
    if (this.waiters.size > 0) return;
    this.stopListening?.();
    this.stopListening = undefined;
  }

  close(): void {
    for (const waiter of [...this.waiters]) waiter.settle(false);
  }
}
