import type { Position, RecordedEvent, StreamName } from '../shared/contracts/envelope';
import { timestamp } from '../shared/kernel/system';
import type { ParkedStream, ViewVersion } from '../shared/ports/view-store';
import { decoded } from './decoded';
import { LostRaceError, PoisonError, reasonOf } from './errors';
import { foldEvent } from './fold';
import { refill } from './refill';
import { type Sweep, sweepFor, sweepPublications } from './sweep';
import { loadTouched } from './touched';
import { UnitOfWork } from './unit-of-work';

export interface RunOptions {
  readonly version: ViewVersion;
  readonly lane: number;
  /** The lane's, as just read. */
  readonly checkpoint: Position;
  /** The version's parked streams: their events wait. */
  readonly parked: ReadonlyMap<StreamName, ParkedStream>;
  /** What becomes of an event that cannot be folded: its stream is parked, or `PoisonError` is thrown. */
  readonly poison: 'park' | 'throw';
  /** Unix milliseconds, for `parked_at`. */
  readonly now: () => number;
  readonly onParked?: (parked: ParkedStream) => void;
  /** The parked stream whose waiting events, and no others, are folded now; the checkpoint stays where it is. */
  readonly late?: StreamName;
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
  /** Parked by this run, or waiting behind what was: told to the view store with the next flush. */
  private readonly parking = new Map<StreamName, ParkedStream>();
  private stored: Position;
  private folded: Position;

  constructor(options: RunOptions) {
    this.options = options;
    this.parked = new Map(options.parked);
    this.stored = options.checkpoint;
    this.folded = options.checkpoint;
    this.unit = this.openUnit(options.checkpoint);
  }

  /** The lane's checkpoint as this run has left it. */
  get checkpoint(): Position {
    return this.stored;
  }

  get dirtyCount(): number {
    return this.unit.dirtyCount;
  }

  /** The lane's next events, all of them, in order; those taken already are skipped. */
  async take(given: readonly RecordedEvent[]): Promise<void> {
    const { late } = this.options;
    const events = late ? given : given.filter(({ position }) => position > this.folded);
    await loadTouched(this.unit, events);
    for (let i = 0, swept = 0; i < events.length; i++) {
      const event = events[i]!;
      if (!this.waits(event)) {
        const sweep = i < swept ? undefined : sweepFor(this.unit, events.slice(i, i + SWEEP_LENGTH_MAX));
        if (sweep) {
          await this.sweep(sweep);
          await loadTouched(this.unit, events.slice(i));
          swept = i + sweep.length;
        }
        this.fold(event);
      }
      if (!late) this.folded = event.position;
    }
  }

  /** Writes what was folded; `to` is at or beyond the last event taken, with none of the lane's in between. */
  async flush(to: Position, streams: ParkingChanges = {}): Promise<void> {
    await refill(this.unit);
    await this.apply(this.unit, this.stored, to, streams);
    this.stored = to;
    this.folded = to;
  }

  /** Lets go of documents in memory beyond `limit`; a long run calls it after a flush. */
  trim(limit: number): void {
    if (this.unit.size > limit) this.unit.forgetAll();
  }

  private fold(event: RecordedEvent): void {
    this.unit.begin(event);
    try {
      foldEvent(this.unit, event, decoded(event));
    } catch (error) {
      this.unit.rollback();
      // Folding is pure: what fails once fails again, so there is nothing to wait for.
      if (this.options.poison === 'throw') throw new PoisonError(event, error);
      this.park(event, error);
    }
  }

  /** Parked streams are told again with each event that waits, so that a retry at the same time cannot lose it. */
  private waits(event: RecordedEvent): boolean {
    const parked = this.parked.get(event.stream);
    if (!parked || this.options.late === event.stream) return false;
    this.parking.set(event.stream, parked);
    return true;
  }

  private park(event: RecordedEvent, error: unknown): void {
    const parked = parkedAt(event, this.options.lane, error, this.options.now());
    this.parked.set(event.stream, parked);
    this.parking.set(event.stream, parked);
    this.options.onParked?.(parked);
  }

  /** What came before must be stored, for the publications are read from the store. */
  private async sweep(sweep: Sweep): Promise<void> {
    await this.flush(this.folded);
    const { version, lane, late } = this.options;
    const seen = await sweepPublications(
      sweep,
      () => this.openUnit(),
      async (unit) => {
        // A lane moves on while a stream is retried; what a sweep writes does not depend on how far it is.
        const at = late ? await version.checkpoint(lane) : this.stored;
        await this.apply(unit, at, at, {});
      },
    );
    this.unit.forget('publications', seen);
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

  private openUnit(limit?: Position): UnitOfWork {
    const { version, late: stream } = this.options;
    if (stream === undefined) return new UnitOfWork(version, { parked: this.parked });
    const late = { stream, ...(limit === undefined ? {} : { limit }) };
    return new UnitOfWork(version, { parked: this.parked, late });
  }
}

/** A patch gives a few events; a longer run of one listing's events is swept in parts. */
const SWEEP_LENGTH_MAX = 16;

export function parkedAt(event: RecordedEvent, lane: number, error: unknown, now_ms: number): ParkedStream {
  const { stream, revision, position } = event;
  return { stream, lane, revision, position, reason: reasonOf(error), parked_at: timestamp(now_ms) };
}
