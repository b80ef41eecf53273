import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type Position,
  parseStreamName,
  type RecordedEvent,
  type StreamName,
} from '../../shared/catalog/events/envelope';
import { timestamp } from '../../shared/kernel/system';
import type { LogMark } from '../../shared/ports/event-store';
import type { DeadLetter, ViewVersion } from '../../shared/ports/view-store';
import { decoded } from './decoded';
import { LostRaceError, PoisonError, reasonOf } from './errors';
import { foldEvent } from './fold';
import { countDocumentsOf, loadDocumentsOf } from './load';
import { viewsOf } from './plan';
import { recomputeEntries } from './recompute';
import { runSweep, sweepFor, type WriteChunk } from './sweep';
import { UnitOfWork } from './unit-of-work';

export interface RunOptions {
  readonly version: ViewVersion;
  readonly partition: number;
  /** The partition's checkpoint, just read. */
  readonly checkpoint: Position;
  /**
   * The partition's dead letters, read together with its checkpoint. Events of their streams are left out.
   */
  readonly dead_letters: readonly DeadLetter[];
  /** On an event that cannot be folded: move its stream to the dead-letter list, or throw `PoisonError`. */
  readonly poison: 'dead_letter' | 'throw';
  /** Unix milliseconds, for `failed_at`. */
  readonly now: () => number;
  readonly onDeadLetter?: (dead_letter: DeadLetter) => void;
  /** Dead-letter stream to retry: only its waiting events are folded, and the checkpoint does not move. */
  readonly retried_stream?: StreamName;
  /** A document is crowded if more documents than this embed it. Default: 1,000. */
  readonly embedding_max?: number;
}

/** Changes to the dead-letter list that a flush writes together with the documents. */
export interface DeadLetterChanges {
  readonly add_dead_letters?: readonly DeadLetter[];
  readonly remove_dead_letters?: readonly StreamName[];
}

/**
 * Projects one partition of one version. `take` folds the partition's next events in memory. `flush` writes each
 * changed document once and moves the checkpoint last. Workers, rebuilds, verification and retries all use this class.
 *
 * Invariant: a checkpoint at position p means that every event of the partition up to p is in the documents or on the
 * dead-letter list. Therefore the checkpoint is written last. See `docs/architecture.md#invariants`.
 *
 * After an error, discard the run. A new run from the stored checkpoint produces the same documents.
 *
 * Throws `LostRaceError` if another worker has advanced this partition's checkpoint or changed a document, and what the
 * view store throws.
 */
export class PartitionRun {
  private readonly options: RunOptions;
  private readonly dead_letters: Map<StreamName, DeadLetter>;
  /** The partition's dead letters in the store. */
  private readonly stored_dead_letters: Map<StreamName, DeadLetter>;
  private readonly unit: UnitOfWork;
  /** Dead letters of the events that were left out since the last flush. */
  private readonly new_dead_letters = new Map<StreamName, DeadLetter>();
  /** The partition's checkpoint in the store. */
  private stored: Position;
  /** Position up to which the partition's events have been folded or left out. */
  private folded: Position;
  /** The newest event that was folded or left out. A retry has none, because its events are older than the checkpoint. */
  private mark: LogMark | undefined;

  constructor(options: RunOptions) {
    this.options = options;
    this.dead_letters = new Map(options.dead_letters.map((entry) => [entry.stream, entry]));
    this.stored_dead_letters = new Map(this.dead_letters);
    this.stored = options.checkpoint;
    this.folded = options.checkpoint;
    this.unit = this.openUnit({ limit: options.checkpoint });
  }

  /** The partition's checkpoint after the last flush. */
  get checkpoint(): Position {
    return this.stored;
  }

  /** Whether the partition had dead letters after the last flush. */
  get has_dead_letters(): boolean {
    return this.stored_dead_letters.size > 0;
  }

  /** Number of documents with unsaved changes. */
  get dirtyCount(): number {
    return this.unit.dirtyCount;
  }

  /** Number of documents in memory. */
  get size(): number {
    return this.unit.size;
  }

  /** Approximate size of the documents in memory, in characters. */
  get textLength(): number {
    return this.unit.textLength;
  }

  /**
   * Folds the partition's next events. `batch` must have no gaps and be in log order. Skips events that an earlier call
   * has taken. If the events change very many documents, flushes between portions of them.
   */
  async take(batch: readonly RecordedEvent[]): Promise<void> {
    const { retried_stream } = this.options;
    const events = retried_stream ? batch : batch.filter(({ position }) => position > this.folded);
    for (const [index, chunk] of chunksOf(events).entries()) {
      // Not before the first chunk: between two calls, the caller decides when to flush.
      if (index > 0 && this.unit.dirtyCount >= CHANGED_DOCUMENTS_MAX) {
        await this.flush(this.folded);
        this.unit.evictAll();
      }
      await this.takeChunk(chunk);
    }
  }

  private async takeChunk(events: readonly RecordedEvent[]): Promise<void> {
    const { retried_stream } = this.options;
    await this.load(events);
    let slice_ends_ms = performance.now() + SLICE_MS;
    for (let i = 0, swept_to = 0; i < events.length; i++) {
      if (performance.now() > slice_ends_ms) {
        await nextTurn();
        slice_ends_ms = performance.now() + SLICE_MS;
      }
      const event = events[i]!;
      const dead_letter = this.dead_letters.get(event.stream);
      if (dead_letter && event.stream !== retried_stream) {
        this.leaveOut(event, dead_letter);
        continue;
      }
      if (this.new_dead_letters.size > 0) await this.flush(this.folded);
      const swept_count = i < swept_to ? 0 : await this.sweepBefore(events, i);
      if (swept_count > 0) {
        await this.load(events.slice(i));
        swept_to = i + swept_count;
      }
      await this.fold(event);
    }
  }

  /** Moves the event's stream to the dead-letter list and leaves the event out. */
  async moveToDeadLetters(event: RecordedEvent, error: unknown): Promise<void> {
    await this.load([event]);
    // An earlier attempt may have written a parent with this event, and then failed to write the event's own document.
    // A retry must not count the event in that parent again.
    this.unit.recordIncluded(event);
    const dead_letter = deadLetterAt(event, this.options.partition, error, this.options.now());
    this.leaveOut(event, dead_letter);
    this.options.onDeadLetter?.(dead_letter);
  }

  /**
   * Writes all changed documents, then moves the checkpoint to `to`. The partition must have no events between the last
   * event that was taken and `to`.
   */
  async flush(to: Position, changes: DeadLetterChanges = {}): Promise<void> {
    await recomputeEntries(this.unit);
    await this.apply(this.unit, this.stored, to, changes);
    this.stored = to;
    this.folded = to;
  }

  /** Evicts documents without unsaved changes from memory. */
  evictAll(): void {
    this.unit.evictAll();
  }

  private async fold(event: RecordedEvent): Promise<void> {
    this.unit.setCurrentEvent(event);
    try {
      foldEvent(this.unit, event, decoded(event));
    } catch (error) {
      this.unit.rollback();
      // Do not try again: folding is pure, so it would fail in the same way.
      if (this.options.poison === 'throw') throw new PoisonError(event, error);
      await this.moveToDeadLetters(event, error);
    }
    if (!this.options.retried_stream) this.pass(event);
  }

  /** Notes that the event is folded or left out. */
  private pass({ position, id }: RecordedEvent): void {
    this.folded = position;
    if (!this.options.retried_stream) this.mark = { position, event_id: id };
  }

  /**
   * Leaves out an event of a dead-letter stream. The next flush writes the dead letter again for each event that was
   * left out: a retry may run at the same time and remove the dead letter, although this event still waits.
   *
   * Invariant: a document that is ahead of the checkpoint includes every event between the checkpoint and its position.
   * To keep it, `take` flushes after it has left out an event, before it folds the next one. The checkpoint is then at
   * the left-out event.
   *
   * Without this flush, a crash could leave a document after the left-out event, with the checkpoint still before the
   * event. The repeated batch might fold the event, because the stream may have left the dead-letter list meanwhile.
   * But the document would ignore the event because of its position. See `docs/architecture.md#dead-letters`.
   */
  private leaveOut(event: RecordedEvent, dead_letter: DeadLetter): void {
    this.dead_letters.set(event.stream, dead_letter);
    this.new_dead_letters.set(event.stream, dead_letter);
    this.pass(event);
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
    await this.flush(this.folded);
    await runSweep(sweep, (options, fold) => this.writeChunk(options, fold));
    return sweep.length;
  }

  private async writeChunk(...[options, fold]: Parameters<WriteChunk>): ReturnType<WriteChunk> {
    const { version, partition, retried_stream } = this.options;
    // During a retry, workers may advance the checkpoint. `at_same_checkpoint`: read the checkpoint before folding, so
    // that the write fails if it has moved since. Otherwise read it after folding, so that the write succeeds.
    const readCheckpoint = async () => (retried_stream ? version.checkpoint(partition) : this.stored);
    const limit = options.at_same_checkpoint ? await readCheckpoint() : undefined;
    const unit = this.openUnit(limit === undefined ? {} : { limit, apply_at_equal_position: true });
    const page = await fold(unit);
    await recomputeEntries(unit);
    const checkpoint = limit ?? (await readCheckpoint());
    await this.apply(unit, checkpoint, checkpoint, {});
    this.unit.evictDocumentsOf(unit);
    return page;
  }

  private async apply(
    unit: UnitOfWork,
    from: Position,
    to: Position,
    changes: DeadLetterChanges,
  ): Promise<void> {
    const { version, partition } = this.options;
    const phases = unit.writesByPhase();
    const add_dead_letters = [...this.new_dead_letters.values(), ...(changes.add_dead_letters ?? [])];
    const remove_dead_letters = changes.remove_dead_letters ?? [];
    if (
      phases.length === 0 &&
      add_dead_letters.length === 0 &&
      remove_dead_letters.length === 0 &&
      to === from
    )
      return;
    const outcome = await version.apply({
      partition,
      from,
      to,
      phases,
      ...(this.mark && { mark: this.mark }),
      add_dead_letters,
      remove_dead_letters,
      expected_dead_letters: [...this.stored_dead_letters.values()].filter(({ stream }) =>
        hasLoadedDocumentOf(unit, stream),
      ),
    });
    if (outcome === 'lost_race')
      throw new LostRaceError(`partition ${partition} of version ${version.version}`);
    unit.markWritten();
    for (const stream of remove_dead_letters) this.stored_dead_letters.delete(stream);
    for (const dead_letter of add_dead_letters) this.stored_dead_letters.set(dead_letter.stream, dead_letter);
    this.new_dead_letters.clear();
  }

  private openUnit({
    limit,
    apply_at_equal_position = false,
  }: {
    limit?: Position;
    apply_at_equal_position?: boolean;
  } = {}): UnitOfWork {
    const { version, retried_stream: stream } = this.options;
    const common = { dead_letters: this.dead_letters, apply_at_equal_position };
    if (stream === undefined) return new UnitOfWork(version, common);
    return new UnitOfWork(version, {
      ...common,
      retry: { stream, ...(limit === undefined ? {} : { limit }) },
    });
  }
}

/** How long events are folded at once. The process then serves other work, such as health checks, before the next. */
const SLICE_MS = 5;

/** The most documents that the events of one chunk change, and the most unsaved changes before a flush. */
const CHANGED_DOCUMENTS_MAX = 2_000;

/** Divides the events into chunks that each change at most 2,000 documents, apart from related ones. */
function chunksOf(events: readonly RecordedEvent[]): RecordedEvent[][] {
  const chunks: RecordedEvent[][] = [];
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

/**
 * Returns whether the unit has read a document of the stream. If the stream is a dead letter, the document may be absent.
 * A batch that names it then does not write it, so no compare-and-set notices that a retry has created it.
 */
function hasLoadedDocumentOf(unit: UnitOfWork, stream: StreamName): boolean {
  const parsed = parseStreamName(stream);
  return (
    parsed !== undefined &&
    viewsOf(parsed.category).some(({ collection }) => unit.isLoaded(collection, parsed.id))
  );
}

const EMBEDDING_MAX = 1_000;

/** Returns the dead letter of an event. */
export function deadLetterAt(
  event: RecordedEvent,
  partition: number,
  error: unknown,
  now_ms: number,
): DeadLetter {
  const { stream, revision, position } = event;
  return { stream, partition, revision, position, reason: reasonOf(error), failed_at: timestamp(now_ms) };
}
