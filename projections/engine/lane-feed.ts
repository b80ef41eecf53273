import type { Position, RecordedEvent } from '../../shared/catalog/events/envelope';
import { greatest, least } from '../../shared/catalog/events/positions';
import type { Realm } from '../../shared/catalog/realm';
import { pause } from '../../shared/kernel/async';
import type { Logger } from '../../shared/kernel/log';
import type { JobQueue } from '../../shared/ports/job-queue';
import { reasonOf } from './errors';
import type { FedVersions } from './versions';

export interface LaneFeedOptions {
  readonly realm: Realm;
  readonly queue: JobQueue;
  readonly lanes: Pick<FedVersions, 'reached' | 'moveOn'>;
  readonly log: Logger;
  /** How far each lane was projected when the feeder began. */
  readonly fed: readonly Position[];
  readonly tick_ms: number;
  readonly quiet_tick_ms: number;
  readonly hold_ms: number;
  /** Ends everything that goes on by itself. */
  readonly signal: AbortSignal;
}

/** What a lane waits to be given. */
interface Lane {
  /** `last` of the newest job it was given. */
  fed: Position;
  events: RecordedEvent[];
  /** All of the lane's events up to here were given or stand in `events`. */
  to: Position;
  sending: Promise<void> | undefined;
  /** `last` of the jobs with events that it was given and is not known to be through with. */
  readonly under_way: Position[];
  /** `fed` when a tick found that the lane was not there yet. */
  behind_at: Position | undefined;
  /** Full for so long that it is not waited for: a gap in its jobs heals itself from the log. */
  stuck: boolean;
}

/** One job runs and one waits; what comes meanwhile gathers here and goes as one, so a busy lane gets larger jobs. */
const DEPTH_MAX = 2;
/** How long a full lane may stand still before the queue is asked whether it still has its jobs. */
const STILL_MS = 100;
const GATHERED_POLL_MS = 3;
const JOB_EVENTS_MAX = 1_000;
/** Events that a lane may gather before the reading of the log waits for it. */
const GATHERED_MAX = 2_000;
const AFTER_FAILURE_MS = 500;

/**
 * Gives every lane its jobs, each at its own pace: those with events, and a tick to the idle ones soon after the head
 * moved. Reading waits only where a lane has gathered too much.
 */
export class LaneFeed {
  private readonly options: LaneFeedOptions;
  private readonly lanes: readonly Lane[];
  private seen: Position;
  /** As far as events of this realm were seen; beyond are other realms', which nobody waits for here. */
  private seen_own: Position;
  private ticked_at_ms = Number.NEGATIVE_INFINITY;
  private ticking: Promise<void> | undefined;

  constructor(options: LaneFeedOptions) {
    this.options = options;
    this.lanes = options.fed.map((fed) => ({
      fed,
      events: [],
      to: fed,
      sending: undefined,
      under_way: [],
      behind_at: undefined,
      stuck: false,
    }));
    this.seen = this.fedEverywhere();
    this.seen_own = this.seen;
  }

  /** What every lane has been given at least. */
  fedEverywhere(): Position {
    return least(this.lanes.map(({ fed }) => fed));
  }

  fedTo(lane: number): Position {
    return this.lanes[lane]!.fed;
  }

  /** The log's next events up to `position`, by lane. */
  async take(position: Position, byLane: readonly (readonly RecordedEvent[])[]): Promise<void> {
    for (const [index, given] of byLane.entries()) {
      const lane = this.lanes[index]!;
      const events = given.filter((event) => event.position > lane.to);
      if (events.length === 0) continue;
      lane.events.push(...events);
      lane.to = position;
      this.startSending(lane, index);
    }
    this.seen = position;
    if (byLane.some((events) => events.length > 0)) this.seen_own = position;
    this.startTicking();
    for (const [index, lane] of this.lanes.entries()) await this.holdFor(lane, index);
  }

  /** Makes the lane's worker compare its checkpoint with what was fed, and read the log where it is behind. */
  async nudge(index: number): Promise<void> {
    const { realm, queue } = this.options;
    const { fed } = this.lanes[index]!;
    await queue.enqueue({ realm, lane: index, prev: fed, last: fed, events: [] });
  }

  /** After the signal: resolves when nothing of it runs any more. */
  async ended(): Promise<void> {
    await Promise.all([this.ticking, ...this.lanes.map(({ sending }) => sending)]);
  }

  private startSending(lane: Lane, index: number): void {
    if (lane.events.length === 0 || this.options.signal.aborted) return;
    lane.sending ??= this.send(lane, index).finally(() => {
      lane.sending = undefined;
      // What came while the last one ended is not left lying.
      this.startSending(lane, index);
      this.startTicking();
    });
  }

  private startTicking(): void {
    if (!this.wantsTick()) return;
    this.ticking ??= this.tick().finally(() => {
      this.ticking = undefined;
      this.startTicking();
    });
  }

  private wantsTick(): boolean {
    if (this.options.signal.aborted) return false;
    return this.lanes.some((lane) => isIdle(lane) && lane.fed < this.seen);
  }

  private tickEveryMs(): number {
    const { tick_ms, quiet_tick_ms } = this.options;
    const waited_for = this.lanes.some((lane) => isIdle(lane) && lane.fed < this.seen_own);
    return waited_for ? tick_ms : quiet_tick_ms;
  }

  private async send(lane: Lane, index: number): Promise<void> {
    const { signal, realm, log } = this.options;
    while (lane.events.length > 0 && !signal.aborted) {
      try {
        if (await this.hasRoom(lane, index)) await this.enqueue(lane, index);
      } catch (error) {
        log.warn({ realm, lane: index, reason: reasonOf(error) }, 'a lane could not be given a job');
        await pause(AFTER_FAILURE_MS, signal);
      }
    }
  }

  private async enqueue(lane: Lane, index: number): Promise<void> {
    const { realm, queue } = this.options;
    const events = lane.events.splice(0, JOB_EVENTS_MAX);
    const prev = lane.fed;
    // Before the call: a job that is lost with it is a gap for the next one, not a silent hole.
    lane.fed = lane.events.length === 0 ? lane.to : events.at(-1)!.position;
    if (events.length > 0) lane.under_way.push(lane.fed);
    await queue.enqueue({ realm, lane: index, prev, last: lane.fed, events });
  }

  /** Where it has none, waits a while for it. */
  private async hasRoom({ under_way }: Lane, index: number): Promise<boolean> {
    const { lanes, signal } = this.options;
    if (under_way.length < DEPTH_MAX) return true;
    // A queue that lost its jobs moves no lane, but has room.
    if (!(await lanes.reached(index, under_way[0]!, STILL_MS, signal)) && (await this.isFull(index)))
      return false;
    under_way.shift();
    return true;
  }

  private async isFull(index: number): Promise<boolean> {
    return (await this.options.queue.depth(index)) >= DEPTH_MAX;
  }

  /** Waits until the lane has room; one that has not moved for `hold_ms` is left behind for as long as it is full. */
  private async holdFor(lane: Lane, index: number): Promise<void> {
    const { signal, hold_ms, log, realm } = this.options;
    if (lane.stuck && lane.events.length > 0) lane.stuck = await this.isFull(index);
    let fed = lane.fed;
    let since_ms = performance.now();
    while (lane.events.length > GATHERED_MAX && !lane.stuck && !signal.aborted) {
      await pause(GATHERED_POLL_MS, signal);
      if (lane.fed !== fed) {
        fed = lane.fed;
        since_ms = performance.now();
      } else if (performance.now() - since_ms > hold_ms) {
        lane.stuck = true;
        log.warn({ realm, lane: index }, 'a lane stays full; the others go on without it');
      }
    }
    if (!lane.stuck) return;
    lane.events.length = 0;
    lane.fed = lane.to;
  }

  /** At once after a quiet time; otherwise as soon as the last tick is long enough ago. Again until all are level. */
  private async tick(): Promise<void> {
    const { signal, realm, log, tick_ms } = this.options;
    while (this.wantsTick()) {
      const wait_ms = this.ticked_at_ms + this.tickEveryMs() - performance.now();
      if (wait_ms > 0) {
        // Not all of a long time: events may come meanwhile, and then less is left to wait.
        await pause(Math.min(wait_ms, tick_ms), signal);
        continue;
      }
      this.ticked_at_ms = performance.now();
      try {
        await this.moveIdleLanes();
      } catch (error) {
        log.warn({ realm, reason: reasonOf(error) }, 'idle lanes could not be told of the head');
      }
    }
  }

  /** Those that are through with their jobs are moved at once; one that is not there twice in a row is told by a job. */
  private async moveIdleLanes(): Promise<void> {
    const { lanes, queue, signal } = this.options;
    const to = this.seen;
    const idle = [...this.lanes.entries()].filter(([, lane]) => isIdle(lane) && lane.fed < to);
    const moved = await lanes.moveOn(idle.map(([lane, { fed }]) => ({ lane, from: fed, to })));
    for (const [index, lane] of idle) {
      // Events may have come meanwhile; they are beyond `to`.
      if (moved.has(index) && lane.fed < to) {
        lane.fed = to;
        lane.to = greatest([lane.to, to]);
        lane.under_way.length = 0;
      }
      if (moved.has(index) || !isIdle(lane)) continue;
      const again = lane.behind_at === lane.fed;
      lane.behind_at = lane.fed;
      if (!again || (await queue.depth(index)) > 0) continue;
      // Looked at anew: events may have come during the wait.
      if (signal.aborted || !isIdle(lane) || lane.fed >= this.seen) continue;
      lane.to = this.seen;
      await this.enqueue(lane, index);
    }
  }
}

const isIdle = ({ events, sending }: Lane): boolean => events.length === 0 && !sending;
