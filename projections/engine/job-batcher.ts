import type { Position, RecordedEvent } from '../../shared/catalog/events/envelope';
import { least } from '../../shared/catalog/events/positions';
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
  /** Ends all background work. */
  readonly signal: AbortSignal;
}

/** The events of one partition that were read from the log, and how many of them are in jobs. */
interface Partition {
  /** Position up to which events are in jobs or need no job: `last` of the newest job, or the end of an advance. */
  dispatched: Position;
  /** Events for the next job. */
  readonly events: BatchedEvents;
  sending: Promise<void> | undefined;
  /** `last` of each enqueued job with events, until the batcher has seen that the job was projected. */
  readonly unconfirmed: Position[];
}

/** One job runs and one waits. Later events are batched into one job, so a busy partition gets larger jobs. */
const DEPTH_MAX = 2;
/** Time without progress after which the batcher asks the queue whether it still has the partition's jobs. */
const NO_PROGRESS_MS = 100;
/** Limits of a job: the number of its events, and the characters of their texts. One event may have more. */
const JOB_EVENTS_MAX = 1_000;
const JOB_LENGTH_MAX = 4_000_000;
/** Limits of the batched events of one partition. Above them, all but the newest are discarded. */
const BATCHED_MAX = 2_000;
const BATCHED_LENGTH_MAX = 16_000_000;
const AFTER_FAILURE_MS = 500;
/** The least time between two advances of idle partitions, and the share of the time that they take at most. */
const ADVANCE_EVERY_MS = 20;
const ADVANCE_SHARE_MAX = 0.05;

/**
 * Batches each partition's events into jobs. A slow partition does not slow the others: if too many of its events wait,
 * the batcher discards them, and the worker reads them from the log. Idle partitions get no job: the batcher advances
 * their checkpoints itself when the head has moved.
 */
export class JobBatcher {
  private readonly options: JobBatcherOptions;
  private readonly partitions: readonly Partition[];
  private head: Position;
  private advancing: Promise<void> | undefined;

  constructor(options: JobBatcherOptions) {
    this.options = options;
    this.partitions = options.dispatched.map((dispatched) => ({
      dispatched,
      events: new BatchedEvents(),
      sending: undefined,
      unconfirmed: [],
    }));
    this.head = this.leastDispatched();
  }

  /** Returns the position up to which every partition has been dispatched. */
  leastDispatched(): Position {
    return least(this.partitions.map(({ dispatched }) => dispatched));
  }

  dispatchedTo(partition: number): Position {
    return this.partitions[partition]!.dispatched;
  }

  /** Takes the log's next events up to `position`, grouped by partition. */
  take(position: Position, byPartition: readonly (readonly RecordedEvent[])[]): void {
    for (const [index, partition] of this.partitions.entries()) {
      partition.events.add(byPartition[index]!.filter((event) => event.position > partition.dispatched));
      // The `prev` of the next job is then after the checkpoint, so the worker reads the events from the log.
      if (partition.events.is_overfull) partition.dispatched = partition.events.discard();
      this.startSending(partition, index);
    }
    this.head = position;
    this.startAdvancing();
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
    await Promise.all([this.advancing, ...this.partitions.map(({ sending }) => sending)]);
  }

  private startSending(partition: Partition, index: number): void {
    if (partition.events.count === 0 || this.options.signal.aborted) return;
    partition.sending ??= this.send(partition, index).finally(() => {
      partition.sending = undefined;
      // Events may have been taken while `send` was ending.
      this.startSending(partition, index);
      this.startAdvancing();
    });
  }

  private async send(partition: Partition, index: number): Promise<void> {
    const { signal, log } = this.options;
    while (partition.events.count > 0 && !signal.aborted) {
      try {
        if (await this.hasRoom(partition, index)) await this.enqueue(partition, index);
      } catch (error) {
        logRetried(log, error, { partition: index }, 'enqueueing a job failed; retrying');
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
    partition.dispatched = events.at(-1)!.position;
    partition.unconfirmed.push(partition.dispatched);
    await queue.enqueue({ realm, partition: index, prev, last: partition.dispatched, events });
  }

  /** Returns whether another job may be enqueued. If not, first waits up to `NO_PROGRESS_MS` for the oldest job. */
  private async hasRoom({ unconfirmed }: Partition, index: number): Promise<boolean> {
    const { versions, queue, signal } = this.options;
    if (unconfirmed.length < DEPTH_MAX) return true;
    const is_projected = await versions.waitFor(index, unconfirmed[0]!, NO_PROGRESS_MS, signal);
    // If the queue has lost its jobs, the checkpoint does not advance, but the queue is not full.
    if (!is_projected && (await queue.depth(index)) >= DEPTH_MAX) return false;
    unconfirmed.shift();
    return true;
  }

  private startAdvancing(): void {
    if (this.options.signal.aborted || this.idlePartitions().length === 0) return;
    this.advancing ??= this.advance().finally(() => {
      this.advancing = undefined;
      this.startAdvancing();
    });
  }

  /** Returns the idle partitions that are not at the head. */
  private idlePartitions(): [index: number, partition: Partition][] {
    return [...this.partitions.entries()].filter(
      ([, partition]) => isIdle(partition) && partition.dispatched < this.head,
    );
  }

  private async advance(): Promise<void> {
    const { signal, log } = this.options;
    const started_ms = performance.now();
    try {
      await this.advanceIdlePartitions();
    } catch (error) {
      logRetried(log, error, {}, 'advancing idle partitions failed; retrying');
      await pause(AFTER_FAILURE_MS, signal);
    }
    const took_ms = performance.now() - started_ms;
    await pause(Math.max(ADVANCE_EVERY_MS, took_ms / ADVANCE_SHARE_MAX), signal);
  }

  /** Advances the checkpoints of idle partitions to the head. Leaves those whose jobs are not projected yet. */
  private async advanceIdlePartitions(): Promise<void> {
    const to = this.head;
    const idle = this.idlePartitions();
    const advanced = await this.options.versions.advanceIdle(
      idle.map(([partition, { dispatched }]) => ({ partition, from: dispatched, to })),
    );
    for (const [index, partition] of idle) {
      // Events may have been taken during the call. They are after `to`, so `dispatched` may be set to `to`.
      if (!advanced.has(index) || partition.dispatched >= to) continue;
      partition.dispatched = to;
      partition.unconfirmed.length = 0;
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
    return this.count > BATCHED_MAX || (this.count > 1 && this.length > BATCHED_LENGTH_MAX);
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

  /** Discards all events except the newest one. Returns the position of the newest discarded one. */
  discard(): Position {
    const discarded = this.events.splice(0, this.count - 1);
    this.length = textLengthOf(this.events[0]!);
    return discarded.at(-1)!.position;
  }
}

/** Returns the approximate size of the event, in characters. Long texts make up nearly all of it. */
function textLengthOf({ data }: RecordedEvent): number {
  let length = 0;
  for (const value of Object.values(data)) if (typeof value === 'string') length += value.length;
  return length;
}
