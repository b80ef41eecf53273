import type { Position, RecordedEvent, StreamName } from '../../shared/catalog/events/envelope';
import { timestamp } from '../../shared/kernel/system';
import type { ParkedStream, ViewVersion } from '../../shared/ports/view-store';
import { decoded } from './decoded';
import { LostRaceError, PoisonError, reasonOf } from './errors';
import { foldEvent } from './fold';
import { loadFor } from './load';
import { recomputeEntries } from './recompute';
import { type InChunk, sweep, sweepFor } from './sweep';
import { UnitOfWork } from './unit-of-work';

export interface RunOptions {
  readonly version: ViewVersion;
  readonly lane: number;
  /** The lane's, as just read. */
  readonly checkpoint: Position;
  /** The lane's parked streams, read with its checkpoint: their events wait. */
  readonly parked: readonly ParkedStream[];
  /** What becomes of an event that cannot be folded: its stream is parked, or `PoisonError` is thrown. */
  readonly poison: 'park' | 'throw';
  /** Unix milliseconds, for `parked_at`. */
  readonly now: () => number;
  readonly onParked?: (parked: ParkedStream) => void;
  /** The parked stream whose waiting events, and no others, are folded now; the checkpoint stays where it is. */
  readonly late?: StreamName;
  /** What more documents embed is swept; default 1,000. */
  readonly users_max?: number;
}

/** What becomes of the late stream with a flush. */
export interface ParkingChanges {
  readonly park?: readonly ParkedStream[];
  readonly unpark?: readonly StreamName[];
}

/**
 * The only loop that folds and applies. One lane of one version: `take` folds the lane's next events in memory,
 * `flush` writes every changed document once and then moves the checkpoint. Whatever throws in between leaves a
 * run that is to be thrown away; a new one from the checkpoint ends in the same documents.
 * Throws `LostRaceError` where another one works on the lane, and what the view store throws.
 */
export class LaneRun {
  private readonly options: RunOptions;
  private readonly parked: Map<StreamName, ParkedStream>;
  private readonly unit: UnitOfWork;
  /** Streams of the events that were left out since the last flush. */
  private readonly parking = new Map<StreamName, ParkedStream>();
  private stored: Position;
  private folded: Position;

  constructor(options: RunOptions) {
    this.options = options;
    this.parked = new Map(options.parked.map((entry) => [entry.stream, entry]));
    this.stored = options.checkpoint;
    this.folded = options.checkpoint;
    this.unit = this.openUnit({ limit: options.checkpoint });
  }

  /** The lane's checkpoint as this run has left it. */
  get checkpoint(): Position {
    return this.stored;
  }

  /** Documents that wait to be written. */
  get dirtyCount(): number {
    return this.unit.dirtyCount;
  }

  /** Documents in memory. */
  get size(): number {
    return this.unit.size;
  }

  /** Of the documents in memory, in characters. */
  get textLength(): number {
    return this.unit.textLength;
  }

  /** The lane's next events, all of them, in order; those taken already are skipped. */
  async take(given: readonly RecordedEvent[]): Promise<void> {
    const { late } = this.options;
    const events = late ? given : given.filter(({ position }) => position > this.folded);
    await this.load(events);
    for (let i = 0, swept = 0; i < events.length; i++) {
      const event = events[i]!;
      const parked = this.parked.get(event.stream);
      if (parked && late !== event.stream) {
        this.leaveOut(event, parked);
        continue;
      }
      if (this.parking.size > 0) await this.flush(this.folded);
      const length = i < swept ? 0 : await this.sweepBefore(events, i);
      if (length > 0) {
        await this.load(events.slice(i));
        swept = i + length;
      }
      await this.fold(event);
    }
  }

  /** Parks the event's stream, as it cannot be written although it can be folded. */
  async park(event: RecordedEvent, error: unknown): Promise<void> {
    await this.load([event]);
    // An aggregate that was written with it before its own document failed must not count it again in a retry.
    this.unit.noteIncluded(event);
    const parked = parkedAt(event, this.options.lane, error, this.options.now());
    this.leaveOut(event, parked);
    this.options.onParked?.(parked);
  }

  /** Writes what was folded; `to` is at or beyond the last event taken, with none of the lane's in between. */
  async flush(to: Position, streams: ParkingChanges = {}): Promise<void> {
    await recomputeEntries(this.unit);
    await this.apply(this.unit, this.stored, to, streams);
    this.stored = to;
    this.folded = to;
  }

  /** Evicts documents from memory. A long run calls it after a flush where they are too many. */
  evictAll(): void {
    this.unit.evictAll();
  }

  private async fold(event: RecordedEvent): Promise<void> {
    this.unit.begin(event);
    try {
      foldEvent(this.unit, event, decoded(event));
    } catch (error) {
      this.unit.rollback();
      // Folding is pure: what fails once fails again, so there is nothing to wait for.
      if (this.options.poison === 'throw') throw new PoisonError(event, error);
      await this.park(event, error);
    }
    if (!this.options.late) this.folded = event.position;
  }

  /**
   * A batch ends with an event that is left out (`take` flushes before it folds another). No document is then ever
   * ahead of the checkpoint without that event, so a batch that broke off half-way means the same whether the stream
   * is still parked at its repeat or not. The parking is told again with each event that waits, so that a retry at
   * the same time cannot lose it.
   */
  private leaveOut(event: RecordedEvent, parked: ParkedStream): void {
    this.parked.set(event.stream, parked);
    this.parking.set(event.stream, parked);
    this.folded = event.position;
  }

  private load(events: readonly RecordedEvent[]): Promise<void> {
    return loadFor(this.unit, events, this.options.users_max ?? USERS_MAX);
  }

  /**
   * Sweeps what the event at `index` calls for, and gives how many events that stands for. What came before must be
   * stored, for a sweep reads what it changes from the store.
   */
  private async sweepBefore(events: readonly RecordedEvent[], index: number): Promise<number> {
    const due = sweepFor(this.unit, events, index);
    if (!due) return 0;
    await this.flush(this.folded);
    await sweep(due, (guarded, fold) => this.writeChunk(guarded, fold));
    return due.length;
  }

  private async writeChunk(guarded: boolean, fold: Parameters<InChunk>[1]): ReturnType<InChunk> {
    const { version, lane, late } = this.options;
    // A lane moves on while a stream is retried. What an unguarded chunk writes does not depend on how far it is.
    const standing = async () => (late ? version.checkpoint(lane) : this.stored);
    const limit = guarded ? await standing() : undefined;
    const unit = this.openUnit(limit === undefined ? {} : { limit, again: true });
    const chunk = await fold(unit);
    await recomputeEntries(unit);
    const at = limit ?? (await standing());
    await this.apply(unit, at, at, {});
    this.unit.evictThoseOf(unit);
    return chunk;
  }

  private async apply(
    unit: UnitOfWork,
    from: Position,
    to: Position,
    streams: ParkingChanges,
  ): Promise<void> {
    const { version, lane } = this.options;
    const phases = unit.phases();
    const park = [...this.parking.values(), ...(streams.park ?? [])];
    const unpark = streams.unpark ?? [];
    if (phases.length === 0 && park.length === 0 && unpark.length === 0 && to === from) return;
    const outcome = await version.apply({ lane, from, to, phases, park, unpark });
    if (outcome === 'lost_race') throw new LostRaceError(`lane ${lane} of version ${version.version}`);
    unit.written();
    this.parking.clear();
  }

  private openUnit({ limit, again = false }: { limit?: Position; again?: boolean } = {}): UnitOfWork {
    const { version, late: stream } = this.options;
    const common = { parked: this.parked, again };
    if (stream === undefined) return new UnitOfWork(version, common);
    return new UnitOfWork(version, {
      ...common,
      late: { stream, ...(limit === undefined ? {} : { limit }) },
    });
  }
}

const USERS_MAX = 1_000;

export function parkedAt(event: RecordedEvent, lane: number, error: unknown, now_ms: number): ParkedStream {
  const { stream, revision, position } = event;
  return { stream, lane, revision, position, reason: reasonOf(error), parked_at: timestamp(now_ms) };
}
