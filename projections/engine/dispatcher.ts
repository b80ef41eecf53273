import type { Position, RecordedEvent } from '../../shared/catalog/events/envelope';
import { partitionOf } from '../../shared/catalog/events/partitions';
import type { Realm } from '../../shared/catalog/realm';
import { pause } from '../../shared/kernel/async';
import type { Logger } from '../../shared/kernel/log';
import type { EventStore, LogBatch } from '../../shared/ports/event-store';
import type { JobQueue } from '../../shared/ports/job-queue';
import type { ViewStore } from '../../shared/ports/view-store';
import { logRetried } from './errors';
import { JobBatcher } from './job-batcher';
import { takeLease } from './lease';
import type { LogMatch } from './log-match';
import { FOLLOWING_WITHIN_MS, unlessUnusable, type VersionCache } from './versions';

export interface DispatcherParts {
  readonly realm: Realm;
  readonly events: EventStore;
  readonly views: ViewStore;
  readonly versions: VersionCache;
  readonly queue: JobQueue;
  readonly match: LogMatch;
  readonly log: Logger;
  /** The owner of the lease. Unique to this process. */
  readonly owner: string;
  /** Called when dispatching has failed. The dispatcher tries again after a second. */
  readonly onFailure?: (error: unknown) => void;
}

export interface DispatcherTimes {
  /** Time to live of the dispatcher's lease. Another process takes over at most this long after a crash. */
  readonly lease_ttl_ms: number;
  /** Time between two checks for partitions that lost their jobs. */
  readonly watch_ms: number;
}

const DISPATCHER_TIMES: DispatcherTimes = {
  lease_ttl_ms: 5_000,
  watch_ms: 1_000,
};

/** The lease of the process that dispatches the events of a realm. */
const DISPATCHER_LEASE = 'dispatcher';
const BATCH_SIZE = 1_000;
const AFTER_FAILURE_MS = 1_000;

/**
 * Reads the realm's log and enqueues jobs, one queue per partition. A lease in the view store makes sure that only one
 * dispatcher works at a time. If two work at once because a lease has expired, the documents stay correct: workers skip
 * events at or before the partition's checkpoint.
 */
export class Dispatcher {
  private readonly parts: DispatcherParts;
  private readonly times: DispatcherTimes;
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();

  constructor(parts: DispatcherParts, times: Partial<DispatcherTimes> = {}) {
    this.parts = parts;
    this.times = { ...DISPATCHER_TIMES, ...times };
  }

  start(): void {
    this.running = this.run();
  }

  /** Stops dispatching. Resolves when all background work has ended and the lease is released. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        await this.dispatchWhileLeased();
      } catch (error) {
        const { log, onFailure } = this.parts;
        onFailure?.(error);
        logRetried(log, error, {}, 'dispatcher failed; restarting');
        await pause(AFTER_FAILURE_MS, signal);
      }
    }
  }

  private async dispatchWhileLeased(): Promise<void> {
    const { views, owner, log } = this.parts;
    const { signal } = this.stopping;
    await this.untilResumed(signal);
    const lease = await takeLease(views, DISPATCHER_LEASE, owner, this.times.lease_ttl_ms, log);
    if (!lease) return pause(this.times.lease_ttl_ms / 4, signal);
    try {
      await this.dispatch(AbortSignal.any([signal, lease.lost]));
    } finally {
      await lease.release();
    }
  }

  /** Waits while the realm is paused, and then until every worker knows that it is not. */
  private async untilResumed(signal: AbortSignal): Promise<void> {
    const { views, log } = this.parts;
    const since = await views.pausedSince();
    if (since === undefined) return;
    log.info({ since }, 'projections are paused');
    while (!signal.aborted && (await views.pausedSince())) await pause(FOLLOWING_WITHIN_MS, signal);
    await pause(FOLLOWING_WITHIN_MS, signal);
    if (!signal.aborted) log.info('projections are resumed');
  }

  /**
   * Dispatches all events after the checkpoints, until `stop_or_lost` aborts or the realm is paused. Throws
   * `LogMismatchError` if the documents were made from another log, or if the log was replaced meanwhile.
   */
  private async dispatch(stop_or_lost: AbortSignal): Promise<void> {
    const { realm, queue, events, versions, match, log } = this.parts;
    await match.assert();
    const ended = new AbortController();
    const signal = AbortSignal.any([stop_or_lost, ended.signal]);
    const dispatched = await this.startingPositions();
    const batcher = new JobBatcher({ realm, queue, versions, log, signal, dispatched });
    const watching = this.watch(batcher, signal, () => ended.abort());
    try {
      const after = batcher.leastDispatched();
      for await (const batch of events.subscribe({ after, signal, batch_size: BATCH_SIZE }))
        batcher.take(batch.position, this.byPartition(batch));
    } finally {
      ended.abort();
      await Promise.all([watching, batcher.waitForEnd()]);
    }
  }

  /**
   * Wakes the partitions whose jobs the queue has lost, until `signal` aborts. Calls `end` when the realm is paused:
   * workers drop their jobs then, so they must be dispatched again from the checkpoints.
   */
  private async watch(batcher: JobBatcher, signal: AbortSignal, end: () => void): Promise<void> {
    const { log, views } = this.parts;
    let behind: ReadonlyMap<number, Position> = new Map();
    while (!signal.aborted) {
      try {
        if (await views.pausedSince()) return end();
        behind = await this.wakeStalledPartitions(batcher, behind);
      } catch (error) {
        logRetried(log, error, {}, 'check for stalled partitions failed; retrying');
      }
      await pause(this.times.watch_ms, signal);
    }
  }

  /**
   * Wakes the partitions that are behind now and were behind at the previous check, at the same checkpoint. A partition is
   * behind if its queue is empty and the active version's checkpoint is before the dispatched position. Other versions
   * find the gap at their next job.
   *
   * @param before Checkpoints of the partitions that were behind at the previous check.
   * @returns Checkpoints of the partitions that are behind now.
   */
  private async wakeStalledPartitions(
    batcher: JobBatcher,
    before: ReadonlyMap<number, Position>,
  ): Promise<ReadonlyMap<number, Position>> {
    const { versions, queue, log } = this.parts;
    const behind = new Map<number, Position>();
    const active = (await versions.list()).at(-1);
    const checkpoints = active && (await unlessUnusable(active.version.checkpoints()));
    for (const [partition, checkpoint] of (checkpoints ?? []).entries()) {
      if (checkpoint >= batcher.dispatchedTo(partition) || (await queue.depth(partition)) > 0) continue;
      behind.set(partition, checkpoint);
      if (before.get(partition) !== checkpoint) continue;
      log.warn({ partition, checkpoint: String(checkpoint) }, 'partition lost its jobs; waking it');
      await batcher.wake(partition);
    }
    return behind;
  }

  /**
   * Returns the active version's checkpoints, or the head if there is no active version. Other versions may be behind.
   * Workers then detect a gap and read the missing events from the log.
   */
  private async startingPositions(): Promise<Position[]> {
    const { views, events, versions } = this.parts;
    const active = (await versions.list()).at(-1);
    if (active) return active.version.checkpoints();
    const head = await events.head();
    return Array.from({ length: views.partition_count }, () => head);
  }

  private byPartition({ events }: LogBatch): RecordedEvent[][] {
    const { partition_count } = this.parts.views;
    const partitions: RecordedEvent[][] = Array.from({ length: partition_count }, () => []);
    for (const event of events)
      partitions[partitionOf(event.metadata.partition_key, partition_count)]!.push(event);
    return partitions;
  }
}
