import type { Position } from '../../shared/catalog/events/envelope';

export type Phase = 'reading' | 'following' | 'verifying' | 'activating';

/** How far a rebuild or verification is. Positions grow with the log; they count events only where its store numbers them so. */
export interface Progress {
  readonly phase: Phase;
  /** Events read in this phase. */
  readonly events_done: number;
  /** Events per second over this phase. */
  readonly rate: number;
  readonly position: Position;
  /** The log's head when the phase began. */
  readonly head: Position;
}

export type OnProgress = (progress: Progress) => void;

/** Counts one phase and tells of it. */
export class ProgressMeter {
  private readonly phase: Phase;
  private readonly head: Position;
  private readonly onProgress: OnProgress | undefined;
  private readonly started_ms = performance.now();
  private events_done = 0;

  constructor(phase: Phase, head: Position, onProgress: OnProgress | undefined) {
    this.phase = phase;
    this.head = head;
    this.onProgress = onProgress;
  }

  get count(): number {
    return this.events_done;
  }

  advance(position: Position, events: number): void {
    this.events_done += events;
    const elapsed_s = (performance.now() - this.started_ms) / 1000;
    const rate = elapsed_s === 0 ? 0 : this.events_done / elapsed_s;
    this.onProgress?.({ phase: this.phase, events_done: this.events_done, rate, position, head: this.head });
  }
}
