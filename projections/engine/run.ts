import { setImmediate as nextTurn } from 'node:timers/promises';
import { isCorrection } from '../../shared/catalog/events/correction';
import type { Position, RecordedEvent, StreamName } from '../../shared/catalog/events/envelope';
import { timestamp } from '../../shared/kernel/system';
import type { LogMark } from '../../shared/ports/event-store';
import type { DeadLetter, DocumentWrite, PartitionState, ViewVersion } from '../../shared/ports/view-store';
import { decoded } from './decoded';
import { causeOf, LostRaceError, PoisonError, reasonOf } from './errors';
import { foldEvent } from './fold';
import { countDocumentsOf, loadDocumentsOf } from './load';
import { recomputeEntries } from './recompute';
import { runSweep, sweepFor, type WriteChunk } from './sweep';
import { UnitOfWork } from './unit-of-work';

export interface RunOptions {
  readonly version: ViewVersion;
  readonly partition: number;
  /** On an event that cannot be folded: move its stream to the dead-letter list, or throw `PoisonError`. */
  readonly poison: 'dead_letter' | 'throw';
  /** Unix milliseconds, for `failed_at`. */
  readonly now: () => number;
  readonly onDeadLetter?: ((dead_letter: DeadLetter) => void) | undefined;
  /** Called after each batch that was applied. */
  readonly onWritten?: ((partition: number, writes: readonly DocumentWrite[]) => void) | undefined;
  /** A document is crowded if more documents than this embed it. Default: `EMBEDDING_MAX`. */
  readonly embedding_max?: number | undefined;
}

/**
 * Projects one partition of one version. `take` folds the partition's next events in memory. `flush` writes each
 * changed document, the checkpoint and the dead letters in one atomic batch. Workers, rebuilds, verification and retries
 * all use this class.
 *
 * The store applies a batch only if the partition still has the revision that the run read before any document. So all
 * documents that the run has read are of that revision, and each event is folded exactly once.
 *
 * After an error, discard the run. A new run from the stored state produces the same documents.
 *
 * Throws `LostRaceError` if another worker has changed the partition, and what the view store throws.
 */
export class PartitionRun {
  private readonly options: RunOptions;
  private readonly unit: UnitOfWork;
  /** The partition's state in the store. */
  private stored: PartitionState;
  /** The dead letters after the events up to `taken_to`. */
  private readonly dead_letters: Map<StreamName, DeadLetter>;
  private dead_letters_changed = false;
  /** Position up to which each event of the partition is folded or waits because its stream has a dead letter. */
  private taken_to: Position;
  /** The newest event up to `taken_to`. Undefined in a retry, because its events are older than the checkpoint. */
  private mark: LogMark | undefined;

  /** `state` must have been read before any document. */
  constructor(state: PartitionState, options: RunOptions) {
    this.options = options;
    this.stored = state;
    this.dead_letters = new Map(state.dead_letters.map((entry) => [entry.stream, entry]));
    this.taken_to = state.checkpoint;
    this.unit = new UnitOfWork(options.version);
  }

  /** The partition's checkpoint after the last flush. */
  get checkpoint(): Position {
    return this.stored.checkpoint;
  }

  /** Number of documents with unsaved changes. */
  get dirtyCount(): number {
    return this.unit.dirtyCount;
  }

  /** Approximate size of the documents in memory, in characters. */
  get textLength(): number {
    return this.unit.textLength;
  }

  /**
   * Folds the partition's next events. `batch` must have no gaps and be in log order. Skips events up to the checkpoint
   * and events of an earlier call. If the events change very many documents, flushes between chunks of events.
   */
  async take(batch: readonly RecordedEvent[]): Promise<void> {
    const events = batch.filter(({ position }) => position > this.taken_to);
    for (const [index, chunk] of chunksOf(events).entries()) {
      // Do not flush before the first chunk. Between two calls of `take`, the caller decides when to flush.
      if (index > 0) await this.flushIfFull();
      await this.takeChunk(chunk);
    }
  }

  /**
   * Folds the waiting events of a dead letter, removes the dead letter from the list and returns null. If an event cannot
   * be folded, stops at this event and returns its dead letter. A flush between two events writes a dead letter that
   * names the second event. Does not move the checkpoint.
   */
  async retry(dead_letter: DeadLetter, waiting: readonly RecordedEvent[]): Promise<DeadLetter | null> {
    const { stream } = dead_letter;
    for (const event of waiting) {
      const { revision, position } = event;
      if (event !== waiting[0]) this.setDeadLetter({ ...dead_letter, revision, position });
      await this.flushIfFull();
      try {
        await this.takeChunk([event], stream);
      } catch (error) {
        if (!(error instanceof PoisonError)) throw error;
        return this.addDeadLetter(event, error.cause);
      }
    }
    this.dead_letters.delete(stream);
    this.dead_letters_changed = true;
    return null;
  }

  /**
   * Writes all changed documents, moves the checkpoint to `to`, and writes the dead letters. The partition must have no
   * events between the last event that was taken and `to`.
   */
  async flush(to: Position): Promise<void> {
    await recomputeEntries(this.unit);
    await this.apply(this.unit, to);
    this.taken_to = to;
  }

  /** Evicts documents without unsaved changes from memory. */
  evictAll(): void {
    this.unit.evictAll();
  }

  /** Moves the event's stream to the dead-letter list. Returns its dead letter. */
  addDeadLetter(event: RecordedEvent, error: unknown, reason = reasonOf(error)): DeadLetter {
    const { partition, now, onDeadLetter } = this.options;
    const { stream, revision, position } = event;
    const failed_at = timestamp(now());
    const cause = causeOf(error);
    const dead_letter = { stream, partition, revision, position, reason, cause, failed_at };
    this.setDeadLetter(dead_letter);
    onDeadLetter?.(dead_letter);
    return dead_letter;
  }

  private setDeadLetter(dead_letter: DeadLetter): void {
    this.dead_letters.set(dead_letter.stream, dead_letter);
    this.dead_letters_changed = true;
  }

  private async flushIfFull(): Promise<void> {
    if (this.unit.dirtyCount < CHANGED_DOCUMENTS_MAX) return;
    await this.flush(this.taken_to);
    this.unit.evictAll();
  }

  /** Folds the events, except events of streams on the dead-letter list. Folds events of the stream `retried` anyway. */
  private async takeChunk(events: readonly RecordedEvent[], retried?: StreamName): Promise<void> {
    await this.load(events);
    let slice_ends_ms = performance.now() + SLICE_MS;
    // The last sweep covers the events before this index.
    let swept_to = 0;
    for (let i = 0; i < events.length; i++) {
      if (performance.now() > slice_ends_ms) {
        await nextTurn();
        slice_ends_ms = performance.now() + SLICE_MS;
      }
      const event = events[i]!;
      if (event.stream === retried || !this.dead_letters.has(event.stream)) {
        const swept_count = i < swept_to ? 0 : await this.sweepBefore(events, i);
        if (swept_count > 0) {
          // The sweep has evicted the documents that it wrote.
          await this.load(events.slice(i));
          swept_to = i + swept_count;
        }
        this.fold(event, retried !== undefined);
      }
      if (retried !== undefined) continue;
      this.taken_to = event.position;
      this.mark = { position: event.position, event_id: event.id };
    }
  }

  private fold(event: RecordedEvent, is_retry: boolean): void {
    if (isCorrection(event)) return;
    this.unit.beginEvent();
    try {
      foldEvent(this.unit, event, decoded(event));
    } catch (error) {
      this.unit.rollback();
      // Folding is pure, so a second try would fail in the same way.
      if (is_retry || this.options.poison === 'throw') throw new PoisonError(event, error);
      this.addDeadLetter(event, error);
    }
  }

  private load(events: readonly RecordedEvent[]): Promise<void> {
    return loadDocumentsOf(this.unit, events, this.options.embedding_max ?? EMBEDDING_MAX);
  }

  /**
   * Runs a sweep if the event at `index` needs one. Returns the number of events that the sweep covers, or 0. Flushes
   * before the sweep, because a sweep reads the documents that it changes from the store.
   */
  private async sweepBefore(events: readonly RecordedEvent[], index: number): Promise<number> {
    const sweep = sweepFor(this.unit, events, index);
    if (!sweep) return 0;
    await this.flush(this.taken_to);
    await runSweep(sweep, this.options.version, this.writeChunk);
    return sweep.length;
  }

  private readonly writeChunk: WriteChunk = async (update) => {
    const unit = new UnitOfWork(this.options.version);
    await update(unit);
    await recomputeEntries(unit);
    await this.apply(unit, this.checkpoint);
    this.unit.evictDocumentsOf(unit);
  };

  private async apply(unit: UnitOfWork, checkpoint: Position): Promise<void> {
    const { version, partition, onWritten } = this.options;
    const { revision } = this.stored;
    const writes = unit.writes(checkpoint);
    const dead_letters = [...this.dead_letters.values()];
    if (writes.length === 0 && !this.dead_letters_changed && checkpoint === this.checkpoint) return;
    const outcome = await version.apply({
      partition,
      revision,
      checkpoint,
      writes,
      mark: this.mark,
      dead_letters: this.dead_letters_changed ? dead_letters : undefined,
    });
    if (outcome === 'lost_race')
      throw new LostRaceError(`partition ${partition} of version ${version.version}`);
    unit.markWritten(checkpoint);
    onWritten?.(partition, writes);
    this.stored = { checkpoint, revision: revision + 1, dead_letters };
    this.dead_letters_changed = false;
  }
}

/** How long folding may hold the event loop. The process then serves other work, such as health checks, and goes on. */
const SLICE_MS = 5;

/**
 * Bounds the documents in memory: the maximum that the events of one chunk change, and the number of unsaved documents
 * at which a flush is due.
 */
const CHANGED_DOCUMENTS_MAX = 2_000;

/** Divides the events into chunks that change at most `CHANGED_DOCUMENTS_MAX` documents each, without related ones. */
function chunksOf(events: readonly RecordedEvent[]): RecordedEvent[][] {
  const chunks: RecordedEvent[][] = [];
  // Full, so that the first event begins a chunk.
  let documents = CHANGED_DOCUMENTS_MAX;
  for (const event of events) {
    const count = countDocumentsOf(event);
    documents += count;
    if (documents > CHANGED_DOCUMENTS_MAX) {
      chunks.push([]);
      documents = count;
    }
    chunks.at(-1)!.push(event);
  }
  return chunks;
}

/** Bounds the documents of one batch. If more documents embed the changed one, a sweep writes them in chunks. */
const EMBEDDING_MAX = 1_000;
