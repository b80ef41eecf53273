import type { Position } from '../../shared/catalog/events/envelope';
import type { IndexProgress } from '../../shared/ports/view-store';

/** A step of a rebuild or verification. */
export type Step = 'reading' | 'indexing' | 'following' | 'verifying';

/**
 * Progress of a rebuild or verification. `position / head` only approximates the fraction that is done, because
 * positions may have gaps.
 */
export interface Progress {
  readonly step: Step;
  /** Events read since the step began. */
  readonly events_done: number;
  /** Mean events per second since the step began. */
  readonly rate: number;
  readonly position: Position;
  /** The log's head when the step began. */
  readonly head: Position;
  /** Only in the step `indexing`, in which no events are read. */
  readonly indexes?: IndexProgress;
}

export type OnProgress = (progress: Progress) => void;

/** Counts the events of one step and calls `onProgress` after each batch. */
export class ProgressMeter {
  private readonly step: Step;
  private readonly head: Position;
  private readonly onProgress: OnProgress | undefined;
  private readonly started_ms = performance.now();
  private events_done = 0;

  constructor(step: Step, head: Position, onProgress: OnProgress | undefined) {
    this.step = step;
    this.head = head;
    this.onProgress = onProgress;
  }

  get count(): number {
    return this.events_done;
  }

  advance(position: Position, event_count: number): void {
    this.events_done += event_count;
    const elapsed_s = (performance.now() - this.started_ms) / 1000;
    const rate = elapsed_s === 0 ? 0 : this.events_done / elapsed_s;
    this.onProgress?.({ step: this.step, events_done: this.events_done, rate, position, head: this.head });
  }
}
