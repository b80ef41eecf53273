import { type Position, START } from '../catalog/events/envelope';

/**
 * Time between two polls. It delays a write on servers by half of it, of about 30 ms, and keeps a process with many
 * waiters from more than 100 reads per second.
 */
const POLL_MS = 10;

interface Waiter {
  readonly partition: number;
  readonly position: Position;
  readonly settle: (reached: boolean) => void;
}

/**
 * Waits for checkpoints of a store. Polls while somebody waits, once for all. `reportMove` reports the moves of this
 * process, so that nobody waits for the next poll.
 */
export class CheckpointWatch {
  private readonly waiters = new Set<Waiter>();
  /** The latest known checkpoint of each partition. */
  private readonly latest: Position[] = [];
  private polling = false;
  private next: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(private readonly readCheckpoints: () => Promise<Position[]>) {}

  /**
   * Resolves with true when the checkpoint is known to be at or after `position`, and with false after `timeout_ms` or when
   * the watch is closed. Never rejects.
   */
  wait(partition: number, position: Position, timeout_ms: number): Promise<boolean> {
    if (this.hasReached(partition, position)) return Promise.resolve(true);
    if (this.closed) return Promise.resolve(false);
    return new Promise((resolve) => {
      const timer = setTimeout(() => waiter.settle(false), timeout_ms);
      const settle = (reached: boolean): void => {
        clearTimeout(timer);
        this.waiters.delete(waiter);
        resolve(reached);
      };
      const waiter: Waiter = { partition, position, settle };
      this.waiters.add(waiter);
      if (!this.next) this.wake();
    });
  }

  /** Reports that the partition's checkpoint has moved to `position`. */
  reportMove(partition: number, position: Position): void {
    if (this.hasReached(partition, position)) return;
    this.latest[partition] = position;
    for (const waiter of [...this.waiters])
      if (this.hasReached(waiter.partition, waiter.position)) waiter.settle(true);
  }

  /** Lets everybody who waits read the checkpoints at once, because another process may have moved one. */
  wake(): void {
    clearTimeout(this.next);
    this.next = undefined;
    if (!this.polling && this.waiters.size > 0) void this.poll();
  }

  /** Pending waits resolve false, and later ones do not poll. */
  close(): void {
    this.closed = true;
    clearTimeout(this.next);
    for (const waiter of [...this.waiters]) waiter.settle(false);
  }

  private hasReached(partition: number, position: Position): boolean {
    return (this.latest[partition] ?? START) >= position;
  }

  private async poll(): Promise<void> {
    this.polling = true;
    // Ignores a failure, because the store may be available again before the waiters time out.
    const positions = await this.readCheckpoints().catch((): Position[] => []);
    this.polling = false;
    for (const [partition, position] of positions.entries()) this.reportMove(partition, position);
    if (this.waiters.size > 0) this.next = setTimeout(() => this.wake(), POLL_MS);
  }
}
