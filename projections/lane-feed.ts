import { setTimeout as sleep } from 'node:timers/promises';
import type { Position, RecordedEvent } from '../shared/contracts/envelope';
import type { Realm } from '../shared/contracts/realm';
import type { Logger } from '../shared/kernel/log';
import type { JobQueue } from '../shared/ports/job-queue';
import { reasonOf } from './errors';
import { least } from './positions';

export interface LaneFeedOptions {
  readonly realm: Realm;
  readonly queue: JobQueue;
  readonly log: Logger;
  /** How far each lane was projected when the feeder began. */
  readonly fed: readonly Position[];
  readonly tick_ms: number;
  readonly hold_ms: number;
}

/** Jobs waiting and running in a lane before the feeder holds back. */
const DEPTH_MAX = 4;
const DEPTH_POLL_MS = 2;

/** What every lane was given: jobs for those with events, and ticks for the idle ones, soon after the head moved. */
export class LaneFeed {
  private readonly options: LaneFeedOptions;
  private readonly fed: Position[];
  /** Full for so long that they are not waited for: a gap in their jobs heals itself from the log. */
  private readonly stuck = new Set<number>();
  private seen: Position;
  private ticked_at_ms = Number.NEGATIVE_INFINITY;
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;

  constructor(options: LaneFeedOptions) {
    this.options = options;
    this.fed = [...options.fed];
    this.seen = this.fedEverywhere();
  }

  /** What every lane has been given at least. */
  fedEverywhere(): Position {
    return least(this.fed);
  }

  fedTo(lane: number): Position {
    return this.fed[lane]!;
  }

  /** The log's next events up to `position`, by lane. Waits while a lane is full. */
  async send(
    position: Position,
    byLane: readonly (readonly RecordedEvent[])[],
    signal: AbortSignal,
  ): Promise<void> {
    for (const [lane, given] of byLane.entries()) {
      const events = given.filter((event) => event.position > this.fed[lane]!);
      if (events.length === 0) continue;
      const room = await this.waitForRoom(lane, signal);
      if (signal.aborted) return;
      if (room) await this.enqueue(lane, position, events);
      else this.fed[lane] = position;
    }
    this.seen = position;
    this.scheduleTick();
  }

  /** Makes the lane's worker compare its checkpoint with what was fed, and read the log where it is behind. */
  async nudge(lane: number): Promise<void> {
    const { realm, queue } = this.options;
    const fed = this.fed[lane]!;
    await queue.enqueue({ realm, lane, prev: fed, last: fed, events: [] });
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private async enqueue(lane: number, last: Position, events: readonly RecordedEvent[]): Promise<void> {
    const { realm, queue } = this.options;
    const prev = this.fed[lane]!;
    // Before the call: a job that is lost with it is a gap for the next one, not a silent hole.
    this.fed[lane] = last;
    await queue.enqueue({ realm, lane, prev, last, events });
  }

  private async waitForRoom(lane: number, signal: AbortSignal): Promise<boolean> {
    const { queue, log, realm, hold_ms } = this.options;
    const since_ms = performance.now();
    while (!signal.aborted) {
      if ((await queue.depth(lane)) < DEPTH_MAX) {
        this.stuck.delete(lane);
        return true;
      }
      if (this.stuck.has(lane)) return false;
      if (performance.now() - since_ms > hold_ms) {
        this.stuck.add(lane);
        log.warn({ realm, lane }, 'a lane stays full; the others go on without it');
        return false;
      }
      await sleep(DEPTH_POLL_MS);
    }
    return false;
  }

  /** At once after a quiet time; otherwise as soon as the last tick is `tick_ms` ago. */
  private scheduleTick(): void {
    if (this.timer || this.stopped || this.fedEverywhere() >= this.seen) return;
    const wait_ms = this.ticked_at_ms + this.options.tick_ms - performance.now();
    this.timer = setTimeout(() => void this.tick(), Math.max(0, wait_ms));
  }

  private async tick(): Promise<void> {
    this.ticked_at_ms = performance.now();
    try {
      for (const lane of this.fed.keys()) {
        if (this.fed[lane]! >= this.seen || (await this.options.queue.depth(lane)) > 0) continue;
        // Not `seen` as it was before the wait: by now the lane may have been given more.
        if (!this.stopped && this.fed[lane]! < this.seen) await this.enqueue(lane, this.seen, []);
      }
    } catch (error) {
      this.options.log.warn(
        { realm: this.options.realm, reason: reasonOf(error) },
        'idle lanes could not be told',
      );
    }
    this.timer = undefined;
    this.scheduleTick();
  }
}
