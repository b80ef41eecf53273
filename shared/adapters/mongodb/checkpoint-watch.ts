import { type Position, START } from '../../catalog/events/envelope';

const POLL_MS_MIN = 2;
const POLL_MS_MAX = 25;

interface Waiter {
  readonly lane: number;
  readonly position: Position;
  readonly done: (reached: boolean) => void;
}

/**
 * Waits for checkpoints, for a store that tells of no changes: what this process moves it says itself, and the others'
 * moves are asked for. However many wait, one question at a time is under way. While nothing moves the pauses grow
 * from 2 to 25 ms; for a lane whose last move came from here they are 25 ms, for the next one most likely does too.
 */
export class CheckpointWatch {
  private readonly read: () => Promise<Position[]>;
  private readonly waiters = new Set<Waiter>();
  /** As far as each lane was seen. */
  private readonly seen: Position[] = [];
  /** Lanes whose last move came from this process. */
  private readonly own = new Set<number>();
  private pause_ms = POLL_MS_MIN;
  private looking = false;
  private next: { readonly at_ms: number; readonly timer: NodeJS.Timeout } | undefined;

  constructor(read: () => Promise<Position[]>) {
    this.read = read;
  }

  /** True as soon as the lane's checkpoint is seen at or past `position`; false after `timeout_ms`, however the store does. */
  wait(lane: number, position: Position, timeout_ms: number): Promise<boolean> {
    if (this.hasSeen(lane, position)) return Promise.resolve(true);
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
      this.lookWithin(this.own.has(lane) ? POLL_MS_MAX : 0);
    });
  }

  /** This process has moved the lane's checkpoint to `position`. */
  moved(lane: number, position: Position): void {
    this.own.add(lane);
    if (this.hasSeen(lane, position)) return;
    this.seen[lane] = position;
    this.tell();
  }

  private hasSeen(lane: number, position: Position): boolean {
    return (this.seen[lane] ?? START) >= position;
  }

  private tell(): void {
    for (const waiter of [...this.waiters]) if (this.hasSeen(waiter.lane, waiter.position)) waiter.done(true);
  }

  private lookWithin(wait_ms: number): void {
    const at_ms = performance.now() + wait_ms;
    if (this.looking || (this.next && this.next.at_ms <= at_ms)) return;
    clearTimeout(this.next?.timer);
    this.next = { at_ms, timer: setTimeout(() => void this.look(), wait_ms) };
  }

  private async look(): Promise<void> {
    this.next = undefined;
    if (this.waiters.size === 0) return;
    this.looking = true;
    // A store that is away may be back before the waiters' time is up.
    const positions = await this.read().catch((): Position[] => []);
    this.looking = false;
    for (const [lane, position] of positions.entries()) {
      if (this.hasSeen(lane, position)) continue;
      this.seen[lane] = position;
      this.own.delete(lane);
    }
    this.tell();
    if (this.waiters.size === 0) return;
    const others = [...this.waiters].some(({ lane }) => !this.own.has(lane));
    this.lookWithin(others ? this.pause_ms : POLL_MS_MAX);
    this.pause_ms = Math.min(this.pause_ms * 1.5, POLL_MS_MAX);
  }
}
