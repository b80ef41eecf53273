import type { Position, RecordedEvent } from '../../shared/catalog/events/envelope';
import { partitionOf } from '../../shared/catalog/events/partitions';
import { greatest, least } from '../../shared/catalog/events/positions';
import type { EventStore } from '../../shared/ports/event-store';
import { corrected } from '../engine/decoded';
import { readLog } from '../engine/read-log';
import { PartitionRun, type RunOptions } from '../engine/run';

export interface LogFoldOptions extends Omit<RunOptions, 'partition'> {
  readonly partition_count: number;
  readonly events: EventStore;
}

/** Arguments of one `advance`. */
export interface Advance {
  /** Target checkpoint of each partition. The log must already have reached these positions. */
  readonly to: readonly Position[];
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether `to` has positions of documents. At those that no event has written, such as a repair, there is no event.
   * Default: false.
   */
  readonly is_inexact?: boolean;
  /** Called after each batch of the log, with its last position and its number of events. */
  readonly onBatch?: (position: Position, events: number) => void;
}

const BATCH_SIZE = 1_000;
/** Limits, counted over all partitions: documents with unsaved changes, characters in memory. */
const DIRTY_MAX = 4_000;
const TEXT_MAX = 16_000_000;
/** Number of batches after which all partitions are flushed. An interrupted fold repeats at most this many batches. */
const FLUSH_AFTER_BATCHES = 100;

/**
 * Folds the log into a version that no other process writes to. One reader serves all partitions. Documents stay in
 * memory until a flush, so a document is written once for many events. If a fold is interrupted at any point, a new
 * fold continues from the version's checkpoints.
 */
export class LogFold {
  private readonly options: LogFoldOptions;
  private readonly runs: readonly PartitionRun[];
  /** Where to read on: no checkpoint is before it. EventStoreDB reads only from the position of an event. */
  private read_to: Position;

  private constructor(options: LogFoldOptions, runs: readonly PartitionRun[]) {
    this.options = options;
    this.runs = runs;
    this.read_to = least(this.checkpoints());
  }

  static async open(options: LogFoldOptions): Promise<LogFold> {
    const runs = Array.from({ length: options.partition_count }, async (_, partition) => {
      const state = await options.version.partition(partition);
      return new PartitionRun(state, { ...options, partition });
    });
    return new LogFold(options, await Promise.all(runs));
  }

  /** Returns up to where each partition is projected. */
  checkpoints(): Position[] {
    return this.runs.map(({ checkpoint }) => checkpoint);
  }

  /**
   * Projects each partition up to its position in `to` and flushes. Stops earlier if `signal` aborts. Throws
   * `PoisonError` if an event fails to project and `poison` is `throw`.
   */
  async advance({ to, signal, is_inexact = false, onBatch }: Advance): Promise<void> {
    const after = this.read_to;
    let batches = 0;
    let reached = after;
    const range = { after, to: greatest(to), batch_size: BATCH_SIZE, signal };
    for await (const batch of readLog(this.options.events, range)) {
      const byPartition = this.byPartition(await corrected(this.options.events, batch.events), to);
      await Promise.all(this.runs.map((run, partition) => run.take(byPartition[partition]!)));
      reached = batch.position;
      batches++;
      if (batches % FLUSH_AFTER_BATCHES === 0 || this.isFull()) await this.flush(reached, to);
      onBatch?.(reached, batch.events.length);
    }
    await this.flush(reached, to);
    if (!is_inexact && !signal?.aborted) this.read_to = greatest([after, least(to)]);
  }

  private async flush(reached: Position, to: readonly Position[]): Promise<void> {
    for (const [partition, run] of this.runs.entries()) {
      const end = reached < to[partition]! ? reached : to[partition]!;
      if (end > run.checkpoint) await run.flush(end);
    }
    for (const run of this.runs) run.evictAll();
  }

  private isFull(): boolean {
    return this.sum('dirtyCount') >= DIRTY_MAX || this.sum('textLength') >= TEXT_MAX;
  }

  private sum(property: 'dirtyCount' | 'textLength'): number {
    return this.runs.reduce((total, run) => total + run[property], 0);
  }

  private byPartition(events: readonly RecordedEvent[], to: readonly Position[]): RecordedEvent[][] {
    const partitions: RecordedEvent[][] = this.runs.map(() => []);
    for (const event of events) {
      const partition = partitionOf(event.metadata.partition_key, this.options.partition_count);
      if (event.position <= to[partition]!) partitions[partition]!.push(event);
    }
    return partitions;
  }
}
