import { type Position, START } from '../catalog/events/envelope';

const POLL_MS_MIN = 2;
export const POLL_MS_MAX = 25;
/** The interval for partitions whose moves are reported. Only finds moves whose report was lost. */
const POLL_REPORTED_MS = 100;

interface Waiter {
  readonly partition: number;
  readonly position: Position;
  readonly settle: (reached: boolean) => void;
}

/**
 * Waits for checkpoints of a store. `reportMove` reports the moves of this process, and those
 * of other processes if they send notifications. Polling finds all others. All waiters share one poll at a time. While no
 * checkpoint moves, the polling interval grows from `poll_ms_min` to 25 ms. If the last move of a partition was reported, the interval
 * for that partition is 100 ms from the start, because the next move will probably be reported, too.
 */
export class CheckpointWatch {
  private readonly readCheckpoints: () => Promise<Position[]>;
  private readonly poll_ms_min: number;
  private readonly waiters = new Set<Waiter>();
  /** The latest known checkpoint of each partition. */
  private readonly latest: Position[] = [];
  /** The partitions whose last move was reported. */
  private readonly reported = new Set<number>();
  private pause_ms: number;
  private polling = false;
  private next: { readonly at_ms: number; readonly timer: NodeJS.Timeout } | undefined;

  constructor(readCheckpoints: () => Promise<Position[]>, poll_ms_min = POLL_MS_MIN) {
    this.readCheckpoints = readCheckpoints;
    this.poll_ms_min = poll_ms_min;
    this.pause_ms = poll_ms_min;
  }

  /**
   * Resolves with true when the checkpoint is known to be at or after `position`, and with false after `timeout_ms`. Never
   * rejects.
   */
  wait(partition: number, position: Position, timeout_ms: number): Promise<boolean> {
    if (this.hasReached(partition, position)) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => waiter.settle(false), timeout_ms);
      const settle = (reached: boolean): void => {
        clearTimeout(timer);
        this.waiters.delete(waiter);
        resolve(reached);
      };
      const waiter: Waiter = { partition, position, settle };
      this.waiters.add(waiter);
      this.pause_ms = this.poll_ms_min;
      this.pollWithin(this.reported.has(partition) ? POLL_REPORTED_MS : 0);
    });
  }

  /** Reports that the partition's checkpoint has moved to `position`. */
  reportMove(partition: number, position: Position): void {
    this.reported.add(partition);
    if (this.hasReached(partition, position)) return;
    this.latest[partition] = position;
    this.settleReached();
  }

  /** Lets everybody who waits read the checkpoints at once, because another process may have moved one. */
  wake(): void {
    if (this.waiters.size > 0) this.pollWithin(0);
  }

  /** Pending waits resolve false. */
  close(): void {
    clearTimeout(this.next?.timer);
    for (const waiter of [...this.waiters]) waiter.settle(false);
  }

  private hasReached(partition: number, position: Position): boolean {
    return (this.latest[partition] ?? START) >= position;
  }

  private settleReached(): void {
    for (const waiter of [...this.waiters])
      if (this.hasReached(waiter.partition, waiter.position)) waiter.settle(true);
  }

  /** Schedules a poll in `wait_ms`, unless a poll is running or is scheduled for an earlier time. */
  private pollWithin(wait_ms: number): void {
    const at_ms = performance.now() + wait_ms;
    if (this.polling || (this.next && this.next.at_ms <= at_ms)) return;
    clearTimeout(this.next?.timer);
    this.next = { at_ms, timer: setTimeout(() => void this.poll(), wait_ms) };
  }

  private async poll(): Promise<void> {
    this.next = undefined;
    if (this.waiters.size === 0) return;
    this.polling = true;
    // Ignores a failure, because the store may be available again before the waiters time out.
    const positions = await this.readCheckpoints().catch((): Position[] => []);
    this.polling = false;
    for (const [partition, position] of positions.entries()) {
      if (this.hasReached(partition, position)) continue;
      this.latest[partition] = position;
      this.reported.delete(partition);
    }
    this.settleReached();
    if (this.waiters.size === 0) return;
    const is_any_unreported = [...this.waiters].some(({ partition }) => !this.reported.has(partition));
    this.pollWithin(is_any_unreported ? this.pause_ms : POLL_REPORTED_MS);
    this.pause_ms = Math.min(this.pause_ms * 1.5, POLL_MS_MAX);
  }
}
