import type { Position, RecordedEvent } from '../../shared/catalog/events/envelope';
import { laneOf } from '../../shared/catalog/events/lanes';
import { greatest, least } from '../../shared/catalog/events/positions';
import type { EventStore } from '../../shared/ports/event-store';
import type { ParkedStream, ViewVersion } from '../../shared/ports/view-store';
import { readLog } from '../engine/read-log';
import { LaneRun } from '../engine/run';

export interface LogFoldOptions {
  readonly version: ViewVersion;
  readonly lane_count: number;
  readonly events: EventStore;
  readonly poison: 'park' | 'throw';
  readonly now: () => number;
  readonly onParked?: (parked: ParkedStream) => void;
}

export interface Advance {
  /** Where each lane is to end; positions that the log has reached. */
  readonly to: readonly Position[];
  readonly signal?: AbortSignal | undefined;
  /** After each batch of the log: its last position, and how many events it had. */
  readonly onBatch?: (position: Position, events: number) => void;
}

const BATCH_SIZE = 2_000;
/** Over all lanes: documents that wait to be written, and documents and characters kept in memory between writes. */
const DIRTY_MAX = 8_000;
const KEPT_MAX = 20_000;
const TEXT_MAX = 64_000_000;
/** All lanes write at least every so many batches: what a broken-off fold has to do again. */
const FLUSH_EVERY = 50;

/**
 * Folds the log into a version that nobody else writes to: one reader for all lanes, documents kept in memory across
 * batches, each written once for many events. Breaking off at any point loses only what was not flushed; a new fold
 * goes on from the version's checkpoints.
 */
export class LogFold {
  private readonly options: LogFoldOptions;
  private readonly runs: readonly LaneRun[];

  private constructor(options: LogFoldOptions, runs: readonly LaneRun[]) {
    this.options = options;
    this.runs = runs;
  }

  static async open(options: LogFoldOptions): Promise<LogFold> {
    const { version, poison, now, onParked } = options;
    const parked = await version.parked();
    const common = { version, parked, poison, now, ...(onParked && { onParked }) };
    const checkpoints = await version.checkpoints();
    return new LogFold(
      options,
      checkpoints.map((checkpoint, lane) => new LaneRun({ ...common, lane, checkpoint })),
    );
  }

  /** Each lane's checkpoint. */
  checkpoints(): Position[] {
    return this.runs.map(({ checkpoint }) => checkpoint);
  }

  /** Brings each lane to its place in `to`, durably; earlier where `signal` aborts. Throws `PoisonError`. */
  async advance({ to, signal, onBatch }: Advance): Promise<void> {
    const after = least(this.checkpoints());
    let batches = 0;
    let reached = after;
    const span = { after, to: greatest(to), batch_size: BATCH_SIZE, signal };
    for await (const batch of readLog(this.options.events, span)) {
      const byLane = this.byLane(batch.events, to);
      await Promise.all(this.runs.map((run, lane) => run.take(byLane[lane]!)));
      reached = batch.position;
      const all = ++batches % FLUSH_EVERY === 0;
      if (all || this.isFull()) await this.flush(reached, to);
      onBatch?.(reached, batch.events.length);
    }
    await this.flush(reached, to);
  }

  private async flush(reached: Position, to: readonly Position[]): Promise<void> {
    for (const [lane, run] of this.runs.entries()) {
      const end = reached < to[lane]! ? reached : to[lane]!;
      if (end > run.checkpoint) await run.flush(end);
    }
    if (this.sum('size') > KEPT_MAX || this.sum('textLength') >= TEXT_MAX)
      for (const run of this.runs) run.evictAll();
  }

  private isFull(): boolean {
    return this.sum('dirtyCount') >= DIRTY_MAX || this.sum('textLength') >= TEXT_MAX;
  }

  private sum(of: 'size' | 'dirtyCount' | 'textLength'): number {
    return this.runs.reduce((total, run) => total + run[of], 0);
  }

  private byLane(events: readonly RecordedEvent[], to: readonly Position[]): RecordedEvent[][] {
    const lanes: RecordedEvent[][] = this.runs.map(() => []);
    for (const event of events) {
      const lane = laneOf(event.metadata.partition_key, this.options.lane_count);
      if (event.position <= to[lane]!) lanes[lane]!.push(event);
    }
    return lanes;
  }
}
