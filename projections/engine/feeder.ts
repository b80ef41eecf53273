import type { Position, RecordedEvent } from '../../shared/catalog/events/envelope';
import { laneOf } from '../../shared/catalog/events/lanes';
import type { Realm } from '../../shared/catalog/realm';
import { pause } from '../../shared/kernel/async';
import type { Logger } from '../../shared/kernel/log';
import type { EventStore, LogBatch } from '../../shared/ports/event-store';
import type { JobQueue } from '../../shared/ports/job-queue';
import type { ViewStore } from '../../shared/ports/view-store';
import { reasonOf } from './errors';
import { LaneFeed } from './lane-feed';
import { takeLease } from './lease';
import type { FedVersions } from './versions';

export interface FeederParts {
  readonly realm: Realm;
  readonly events: EventStore;
  readonly views: ViewStore;
  readonly fed: FedVersions;
  readonly queue: JobQueue;
  readonly log: Logger;
  /** Unique to this process. */
  readonly owner: string;
}

export interface FeederTimes {
  /** How long after a feeder's death another one may take over. */
  readonly lease_ttl_ms: number;
  /** How often idle lanes are told of the head's move at most. */
  readonly tick_ms: number;
  /** The same where only other realms' events moved the head. */
  readonly quiet_tick_ms: number;
  /** How often lanes are looked at for lost jobs. */
  readonly watch_ms: number;
  /** How long one full lane may hold up the others. */
  readonly hold_ms: number;
}

const FEEDER_TIMES: FeederTimes = {
  lease_ttl_ms: 5_000,
  tick_ms: 100,
  quiet_tick_ms: 1_000,
  watch_ms: 1_000,
  hold_ms: 5_000,
};

const LEASE = 'feeder';
const BATCH_SIZE = 1_000;
const AFTER_FAILURE_MS = 1_000;

/**
 * Follows the realm's log and turns it into jobs, one lane's events each. One feeder works at a time, by a lease of
 * the view store; two at once do no harm, for workers skip what they know.
 */
export class Feeder {
  private readonly parts: FeederParts;
  private readonly times: FeederTimes;
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();

  constructor(parts: FeederParts, times: Partial<FeederTimes> = {}) {
    this.parts = parts;
    this.times = { ...FEEDER_TIMES, ...times };
  }

  start(): void {
    this.running = this.run();
  }

  /** Resolves when nothing of it runs any more and the lease is given back. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        await this.feedWhileLeased();
      } catch (error) {
        const { realm, log } = this.parts;
        log.warn({ realm, reason: reasonOf(error) }, 'the feeder failed and starts again');
        await pause(AFTER_FAILURE_MS, signal);
      }
    }
  }

  private async feedWhileLeased(): Promise<void> {
    const { views, owner, log } = this.parts;
    const { signal } = this.stopping;
    const lease = await takeLease(views, LEASE, owner, this.times.lease_ttl_ms, log);
    if (!lease) return pause(this.times.lease_ttl_ms / 4, signal);
    try {
      await this.feed(AbortSignal.any([signal, lease.lost]));
    } finally {
      await lease.release();
    }
  }

  private async feed(until: AbortSignal): Promise<void> {
    const { realm, queue, events, fed: lanes, log } = this.parts;
    const ended = new AbortController();
    const signal = AbortSignal.any([until, ended.signal]);
    const from = await this.startingPoints();
    const feed = new LaneFeed({ realm, queue, lanes, log, signal, fed: from, ...this.times });
    const watching = this.watch(feed, signal);
    try {
      const after = feed.fedEverywhere();
      for await (const batch of events.subscribe({ after, signal, batch_size: BATCH_SIZE }))
        await feed.take(batch.position, this.byLane(batch));
    } finally {
      ended.abort();
      await Promise.all([watching, feed.ended()]);
    }
  }

  /**
   * A queue may lose what it holds. Feeds a lane again, until `signal` aborts, when its queue is empty and its
   * checkpoint has stood behind what was fed for two looks in a row.
   */
  private async watch(feed: LaneFeed, signal: AbortSignal): Promise<void> {
    const { log, realm } = this.parts;
    let behind: ReadonlyMap<number, Position> = new Map();
    while (!signal.aborted) {
      await pause(this.times.watch_ms, signal);
      if (signal.aborted) return;
      try {
        behind = await this.nudgeStuckLanes(feed, behind);
      } catch (error) {
        log.warn({ realm, reason: reasonOf(error) }, 'the lanes could not be looked at');
      }
    }
  }

  /** `before`: the checkpoints at which lanes stood behind at the last look. Returns those of this look. */
  private async nudgeStuckLanes(
    feed: LaneFeed,
    before: ReadonlyMap<number, Position>,
  ): Promise<ReadonlyMap<number, Position>> {
    const { fed, queue, log, realm } = this.parts;
    const behind = new Map<number, Position>();
    const active = (await fed.list()).at(-1);
    for (const [lane, checkpoint] of ((await active?.version.checkpoints()) ?? []).entries()) {
      if (checkpoint >= feed.fedTo(lane) || (await queue.depth(lane)) > 0) continue;
      behind.set(lane, checkpoint);
      if (before.get(lane) !== checkpoint) continue;
      log.warn({ realm, lane, checkpoint: String(checkpoint) }, 'a lane lost its jobs and is fed again');
      await feed.nudge(lane);
    }
    return behind;
  }

  /** Each lane's checkpoint in the active version; the others read the log themselves where they are behind. */
  private async startingPoints(): Promise<bigint[]> {
    const { views, events, fed } = this.parts;
    const active = (await fed.list()).at(-1);
    if (active) return active.version.checkpoints();
    const head = await events.head();
    return Array.from({ length: views.lane_count }, () => head);
  }

  private byLane({ events }: LogBatch): RecordedEvent[][] {
    const { lane_count } = this.parts.views;
    const lanes: RecordedEvent[][] = Array.from({ length: lane_count }, () => []);
    for (const event of events) lanes[laneOf(event.metadata.partition_key, lane_count)]!.push(event);
    return lanes;
  }
}
