import type { Position, RecordedEvent } from '../../shared/catalog/events/envelope';
import { greatest, least } from '../../shared/catalog/events/positions';
import type { Realm } from '../../shared/catalog/realm';
import { pause } from '../../shared/kernel/async';
import type { Logger } from '../../shared/kernel/log';
import type { JobQueue } from '../../shared/ports/job-queue';
import { logRetried } from './errors';
import type { VersionCache } from './versions';

export interface JobBatcherOptions {
  readonly realm: Realm;
  readonly queue: JobQueue;
  readonly versions: Pick<VersionCache, 'waitFor' | 'advanceIdle'>;
  readonly log: Logger;
  /** Each partition's checkpoint when the dispatcher started. */
  readonly dispatched: readonly Position[];
  /** See `DispatcherTimes`. */
  readonly tick_ms: number;
  readonly quiet_tick_ms: number;
  readonly pause_max_ms: number;
  /** Ends all background work. */
  readonly signal: AbortSignal;
}

/** The events of one partition that were read from the log, and how many of them are in jobs. */
interface Partition {
  /** Position up to which events are in jobs or need no job: `last` of the newest job, or the end of an advance. */
  dispatched: Position;
  /** Events for the next job. */
  readonly events: BatchedEvents;
  /** Position up to which all events of the partition are in jobs or in `events`. */
  taken: Position;
  sending: Promise<void> | undefined;
  /** `last` of each enqueued job with events, until the batcher has seen that the job was projected. */
  readonly unconfirmed: Position[];
  /** Value of `dispatched` when an attempt to advance this partition last found its checkpoint before `dispatched`. */
  behind_at: Position | undefined;
  /**
   * Whether the partition has been full for `pause_max_ms`. Its events are discarded; the worker reads them from the log.
   */
  stalled: boolean;
}

/** One job runs and one waits. Later events are batched into one job, so a busy partition gets larger jobs. */
const DEPTH_MAX = 2;
/** Time without progress after which the batcher asks the queue whether it still has the partition's jobs. */
const NO_PROGRESS_MS = 100;
const BATCHED_POLL_MS = 3;
/** Limits of a job: the number of its events, and the characters of their texts. One event may have more. */
const JOB_EVENTS_MAX = 1_000;
const JOB_LENGTH_MAX = 4_000_000;
/** Limits of the batched events of one partition above which reading of the log pauses. */
const BATCHED_MAX = 2_000;
const BATCHED_LENGTH_MAX = 16_000_000;
const AFTER_FAILURE_MS = 500;
/** The share of the time that advancing idle partitions takes, unless it takes longer than this share of `tick_ms`. */
const TICK_SHARE_MAX = 0.05;

/**
 * Batches each partition's events into jobs. A slow partition does not slow the others, unless it has so many batched
 * events that reading of the log pauses (backpressure). Idle partitions get no job: the batcher advances their
 * checkpoints itself when the head has moved.
 */
export class JobBatcher {
  private readonly options: JobBatcherOptions;
  private readonly partitions: readonly Partition[];
  private head: Position;
  /**
   * Position of the last batch with events of this realm. Nothing in this realm waits for positions after it, because
   * they belong to events of other realms.
   */
  private own_head: Position;
  private ticked_at_ms = Number.NEGATIVE_INFINITY;
  /** How long the last advance of idle partitions took. */
  private tick_took_ms = 0;
  /** Whether an idle partition could not be advanced in the last round, because it waits for a job. */
  private is_held_back = false;
  private ticking: Promise<void> | undefined;

  constructor(options: JobBatcherOptions) {
    this.options = options;
    this.partitions = options.dispatched.map((dispatched) => ({
      dispatched,
      events: new BatchedEvents(),
      taken: dispatched,
      sending: undefined,
      unconfirmed: [],
      behind_at: undefined,
      stalled: false,
    }));
    this.head = this.leastDispatched();
    this.own_head = this.head;
  }

  /** Returns the position up to which every partition has been dispatched. */
  leastDispatched(): Position {
    return least(this.partitions.map(({ dispatched }) => dispatched));
  }

  dispatchedTo(partition: number): Position {
    return this.partitions[partition]!.dispatched;
  }

  /**
   * Takes the log's next events up to `position`, grouped by partition. Waits while a partition has too many batched
   * events.
   */
  async take(position: Position, byPartition: readonly (readonly RecordedEvent[])[]): Promise<void> {
    for (const [index, batch] of byPartition.entries()) {
      const partition = this.partitions[index]!;
      const events = batch.filter((event) => event.position > partition.taken);
      if (events.length === 0) continue;
      partition.events.add(events);
      partition.taken = position;
      this.startSending(partition, index);
    }
    this.head = position;
    if (byPartition.some((events) => events.length > 0)) this.own_head = position;
    this.startTicking();
    for (const [index, partition] of this.partitions.entries()) await this.waitForRoom(partition, index);
  }

  /**
   * Enqueues an empty job at the position that was dispatched last. A worker then compares the checkpoint with this
   * position. If jobs were lost, the checkpoint is before it, and the worker reads the missing events from the log.
   */
  async wake(index: number): Promise<void> {
    const { realm, queue } = this.options;
    const { dispatched } = this.partitions[index]!;
    await queue.enqueue({ realm, partition: index, prev: dispatched, last: dispatched, events: [] });
  }

  /** Resolves when all background work has ended. Call it after `signal` has aborted. */
  async waitForEnd(): Promise<void> {
    await Promise.all([this.ticking, ...this.partitions.map(({ sending }) => sending)]);
  }

  private startSending(partition: Partition, index: number): void {
    if (partition.events.count === 0 || this.options.signal.aborted) return;
    partition.sending ??= this.send(partition, index).finally(() => {
      partition.sending = undefined;
      // Events may have been taken while `send` was ending.
      this.startSending(partition, index);
      this.startTicking();
    });
  }

  private startTicking(): void {
    if (!this.needsTick()) return;
    this.ticking ??= this.tick().finally(() => {
      this.ticking = undefined;
      this.startTicking();
    });
  }

  private needsTick(): boolean {
    if (this.options.signal.aborted) return false;
    return this.partitions.some((partition) => isIdle(partition) && partition.dispatched < this.head);
  }

  private tickIntervalMs(): number {
    const { tick_ms, quiet_tick_ms } = this.options;
    const own_events = this.partitions.some(
      (partition) => isIdle(partition) && partition.dispatched < this.own_head,
    );
    if (own_events && this.is_held_back) return tick_ms;
    // A read with a token of several stores waits for the partitions of all of them, also for idle ones.
    return own_events ? Math.min(tick_ms, this.tick_took_ms / TICK_SHARE_MAX) : quiet_tick_ms;
  }

  private async send(partition: Partition, index: number): Promise<void> {
    const { signal, realm, log } = this.options;
    while (partition.events.count > 0 && !signal.aborted) {
      try {
        if (await this.hasRoom(partition, index)) await this.enqueue(partition, index);
      } catch (error) {
        logRetried(log, error, { realm, partition: index }, 'enqueueing a job failed; retrying');
        await pause(AFTER_FAILURE_MS, signal);
      }
    }
  }

  private async enqueue(partition: Partition, index: number): Promise<void> {
    const { realm, queue } = this.options;
    const events = partition.events.takeJob();
    const prev = partition.dispatched;
    // Set `dispatched` before the call. If the call fails, this job is lost. The `prev` of the next job is then after
    // the checkpoint, so the worker detects the gap and reads the events from the log.
    partition.dispatched = partition.events.count === 0 ? partition.taken : events.at(-1)!.position;
    if (events.length > 0) partition.unconfirmed.push(partition.dispatched);
    await queue.enqueue({ realm, partition: index, prev, last: partition.dispatched, events });
  }

  /** Returns whether another job may be enqueued. If not, first waits up to `NO_PROGRESS_MS` for the oldest job. */
  private async hasRoom({ unconfirmed }: Partition, index: number): Promise<boolean> {
    const { versions, signal } = this.options;
    if (unconfirmed.length < DEPTH_MAX) return true;
    // If the queue has lost its jobs, the checkpoint does not advance, but the queue is not full.
    if (
      !(await versions.waitFor(index, unconfirmed[0]!, NO_PROGRESS_MS, signal)) &&
      (await this.isFull(index))
    )
      return false;
    unconfirmed.shift();
    return true;
  }

  private async isFull(index: number): Promise<boolean> {
    return (await this.options.queue.depth(index)) >= DEPTH_MAX;
  }

  /**
   * Waits while the partition has too many batched events. If no job is enqueued for `pause_max_ms`, discards the
   * events, so that other partitions continue. The next job of the partition then shows a gap, and the worker reads the
   * events from the log.
   */
  private async waitForRoom(partition: Partition, index: number): Promise<void> {
    const { signal, pause_max_ms, log, realm } = this.options;
    if (partition.stalled && partition.events.count > 0) partition.stalled = await this.isFull(index);
    let { dispatched } = partition;
    let since_ms = performance.now();
    while (partition.events.is_overfull && !partition.stalled && !signal.aborted) {
      await pause(BATCHED_POLL_MS, signal);
      if (partition.dispatched !== dispatched) {
        dispatched = partition.dispatched;
        since_ms = performance.now();
      } else if (performance.now() - since_ms > pause_max_ms) {
        partition.stalled = true;
        log.warn({ realm, partition: index }, 'partition stalled; other partitions continue');
      }
    }
    if (!partition.stalled) return;
    partition.events.clear();
    partition.dispatched = partition.taken;
  }

  /** Advances the idle partitions until all are at the head. Waits `tickIntervalMs()` between two rounds. */
  private async tick(): Promise<void> {
    const { signal, realm, log, tick_ms } = this.options;
    while (this.needsTick()) {
      const wait_ms = this.ticked_at_ms + this.tickIntervalMs() - performance.now();
      if (wait_ms > 0) {
        // Wait in short steps, because events of this realm may arrive meanwhile and shorten the wait.
        await pause(Math.min(wait_ms, tick_ms), signal);
        continue;
      }
      this.ticked_at_ms = performance.now();
      try {
        await this.advanceIdlePartitions();
      } catch (error) {
        logRetried(log, error, { realm }, 'advancing idle partitions failed; retrying');
        await pause(tick_ms, signal);
      }
      this.tick_took_ms = performance.now() - this.ticked_at_ms;
    }
  }

  /**
   * Advances the idle partitions whose jobs have all been projected. If a partition is found behind twice in a row and
   * its queue is empty, its jobs were lost, so enqueues a job for it.
   */
  private async advanceIdlePartitions(): Promise<void> {
    const { versions, queue, signal } = this.options;
    const to = this.head;
    const idle = [...this.partitions.entries()].filter(
      ([, partition]) => isIdle(partition) && partition.dispatched < to,
    );
    const advanced = await versions.advanceIdle(
      idle.map(([partition, { dispatched }]) => ({ partition, from: dispatched, to })),
    );
    this.is_held_back = idle.some(([index]) => !advanced.has(index));
    for (const [index, partition] of idle) {
      // Events may have been taken during the call. They are after `to`, so `dispatched` may be set to `to`.
      if (advanced.has(index) && partition.dispatched < to) {
        partition.dispatched = to;
        partition.taken = greatest([partition.taken, to]);
        partition.unconfirmed.length = 0;
      }
      if (advanced.has(index) || !isIdle(partition)) continue;
      const behind_twice = partition.behind_at === partition.dispatched;
      partition.behind_at = partition.dispatched;
      if (!behind_twice || (await queue.depth(index)) > 0) continue;
      // Check again: events may have been taken during the wait.
      if (signal.aborted || !isIdle(partition) || partition.dispatched >= this.head) continue;
      partition.taken = this.head;
      await this.enqueue(partition, index);
    }
  }
}

const isIdle = ({ events, sending }: Partition): boolean => events.count === 0 && !sending;

/** The batched events of one partition. Keeps their size, because it is compared after each batch of the log. */
class BatchedEvents {
  private readonly events: RecordedEvent[] = [];
  private length = 0;

  get count(): number {
    return this.events.length;
  }

  get is_overfull(): boolean {
    return this.count > BATCHED_MAX || this.length > BATCHED_LENGTH_MAX;
  }

  add(events: readonly RecordedEvent[]): void {
    this.events.push(...events);
    for (const event of events) this.length += textLengthOf(event);
  }

  /** Removes and returns the events of the next job: at least one if there are any. */
  takeJob(): RecordedEvent[] {
    let [end, job_length] = [0, 0];
    for (const event of this.events.slice(0, JOB_EVENTS_MAX)) {
      const length = job_length + textLengthOf(event);
      if (end > 0 && length > JOB_LENGTH_MAX) break;
      job_length = length;
      end++;
    }
    this.length -= job_length;
    return this.events.splice(0, end);
  }

  clear(): void {
    this.events.length = 0;
    this.length = 0;
  }
}

/** Returns the approximate size of the event, in characters. Long texts make up nearly all of it. */
function textLengthOf({ data }: RecordedEvent): number {
  let length = 0;
  for (const value of Object.values(data)) if (typeof value === 'string') length += value.length;
  return length;
}
