import type { CollectionName, StoredDocument } from '../../shared/catalog/documents';
import {
  type Position,
  type RecordedEvent,
  START,
  type StreamName,
} from '../../shared/catalog/events/envelope';
import { greatest } from '../../shared/catalog/events/positions';
import type { DocumentWrite, ViewVersion } from '../../shared/ports/view-store';
import { ALL_PARTS } from '../../shared/ports/view-store';
import type { AnyDocument, MaybeDocument } from '../views/view';
import { LostRaceError } from './errors';
import { appliedPositionsOf, type LatePositions, withoutAppliedPositions } from './late-events';
import { type List, PHASES, plans, reverseIndexes } from './plan';
import type { ChangeResult } from './related';
import { type EmbeddingAddress, embeddingAddressOf, targetIdOf } from './reverse-index';
import {
  absent,
  afterWrite,
  keyOf,
  NO_LISTS,
  staleListsAfter,
  textLengthOf,
  toWrite,
  type WorkingDocument,
} from './working-document';

export interface UnitOptions {
  /** Streams on the dead-letter list. The late positions of other streams are removed when a document is loaded. */
  readonly dead_letters: ReadonlyMap<StreamName, unknown>;
  /**
   * Set during a retry. `stream` is the dead-letter stream that is retried. Loading a document with a log position
   * after `limit` throws `LostRaceError`.
   */
  readonly retry?: { readonly stream: StreamName; readonly limit?: Position };
  /**
   * Whether to change a parent whose log position equals the position of the event. Set for sweeps: all chunks of a
   * sweep change the same parent at the same position, so a parent at this position may lack the later chunks.
   */
  readonly apply_at_equal_position?: boolean;
}

/**
 * The documents that folding a batch of events reads or changes. Each document is read once, changed in memory, and
 * written once.
 */
export class UnitOfWork {
  readonly version: ViewVersion;
  private readonly options: UnitOptions;
  private readonly documents = new Map<CollectionName, Map<string, WorkingDocument>>();
  /** The documents that the current event has changed, as they were before this event. */
  private readonly journal: WorkingDocument[] = [];
  /** Counts the calls of `setCurrentEvent`. */
  private event_number = 0;
  /**
   * The loaded references: the id of the target document → the id of the reference → the collection of the
   * reference.
   */
  private readonly references = new Map<string, Map<string, CollectionName>>();
  private readonly crowded = new Set<string>();
  /**
   * Lists that a retry must recompute at each of its flushes, by document. They are the lists of documents that an
   * earlier, interrupted retry of the same stream has written.
   *
   * The interrupted retry wrote these documents with their new entries, before the items themselves (see `PHASES`).
   * Since then, a worker may have recomputed a list from the store and so have removed entries of items that are not
   * stored. This retry does not place these entries again, because the document's late position shows that it includes
   * the events. It recomputes the list instead. It does so at each flush, because an item may be created only by an
   * event that this retry folds after an earlier flush.
   */
  private readonly always_stale_lists = new Map<string, ReadonlySet<List>>();
  private event: Pick<RecordedEvent, 'position'> = { position: START };
  private text_length = 0;

  constructor(version: ViewVersion, options: UnitOptions) {
    this.version = version;
    this.options = options;
  }

  /** Reads the documents that are not in memory yet. */
  async load(collection: CollectionName, ids: Iterable<string>): Promise<void> {
    const loaded = this.loadedDocuments(collection);
    const missing = [...new Set(ids)].filter((id) => !loaded.has(id));
    if (missing.length === 0) return;
    for (const stored of await this.version.getMany(collection, missing, ALL_PARTS))
      this.addStored(collection, stored);
    for (const id of missing) if (!loaded.has(id)) this.add(absent(collection, id));
  }

  /** Adds a document that was just read from the store. */
  addStored(collection: CollectionName, stored: StoredDocument): void {
    const { log_position, late_positions } = appliedPositionsOf(stored);
    const { retry } = this.options;
    const { id } = stored;
    // If a document is after the limit, a worker is writing a batch or has crashed while it wrote one. The store then
    // contains old and new documents, so lists that are recomputed from the store would be wrong.
    // Tombstones are not checked. A tombstone has no state, so its log position is unknown. Its stored position cannot
    // replace it: when a retry deletes a document, it may store a position after the limit. Using a tombstone is safe,
    // because it never changes.
    if (stored.document && retry?.limit !== undefined && log_position > retry.limit)
      throw new LostRaceError('a document is ahead of the checkpoint');
    const document = stored.document && {
      ...stored.document,
      state: withoutAppliedPositions(stored.document.state),
    };
    this.text_length += textLengthOf(document);
    const written_by_retry =
      retry !== undefined && late_positions.has(retry.stream) && plans[collection].lists.length > 0;
    const lists = written_by_retry ? new Set(plans[collection].lists) : undefined;
    if (lists) this.always_stale_lists.set(`${collection}/${id}`, lists);
    this.add({
      collection,
      id,
      expected: stored.position,
      log_position,
      late_positions: this.onlyDeadLetterStreams(late_positions),
      document,
      stored: document,
      dirty: lists !== undefined,
      stale_lists: lists ?? NO_LISTS,
      changed_by: 0,
    });
  }

  /** Sets the current event. The changes that follow are changes by this event. */
  setCurrentEvent(event: Pick<RecordedEvent, 'position'>): void {
    this.event = event;
    this.event_number++;
    this.journal.length = 0;
  }

  /** Undoes the changes of the current event. */
  rollback(): void {
    for (const before of this.journal) this.loadedDocuments(before.collection).set(before.id, before);
    this.journal.length = 0;
  }

  /**
   * Records, in each loaded document of the event's store at or after the event's position, that the document includes
   * the event. Call it before the event is left out. Documents of other stores are also loaded, because their events are
   * in the same batch or because events name them. Their partitions may be further, and their writes are not ours.
   *
   * Why these documents include the event: the event is after the checkpoint, so an earlier, interrupted attempt has
   * written them. That attempt had folded the event. If it had left the event out, it would have flushed and moved the
   * checkpoint before it folded a later event.
   */
  recordIncluded({
    stream,
    position,
    metadata,
  }: Pick<RecordedEvent, 'stream' | 'position' | 'metadata'>): void {
    for (const documents of this.documents.values())
      for (const [id, working] of documents) {
        const { log_position } = working;
        if (log_position < position || !working.document || working.late_positions.has(stream)) continue;
        if (isOfAnother(working, metadata.partition_key)) continue;
        const late_positions = new Map([...working.late_positions, [stream, log_position]]);
        documents.set(id, { ...working, late_positions, dirty: true });
      }
  }

  isLoaded(collection: CollectionName, id: string): boolean {
    return this.loadedDocuments(collection).has(id);
  }

  /** Returns whether too many documents embed this one to load them. They are swept instead (see `sweep.ts`). */
  isCrowded(id: string): boolean {
    return this.crowded.has(id);
  }

  markCrowded(id: string): void {
    this.crowded.add(id);
  }

  /** Returns the documents that embed the document `target_id`, from the references in memory. */
  embeddingDocumentsOf(target_id: string): EmbeddingAddress[] {
    return [...(this.references.get(target_id) ?? [])].flatMap(([reference_id, collection]) => {
      const reference = this.read(collection, reference_id);
      return reference ? [embeddingAddressOf(reference)] : [];
    });
  }

  read(collection: CollectionName, id: string): MaybeDocument<AnyDocument> {
    return this.workingDocument(collection, id).document;
  }

  /** Returns whether the document's log position is after the current event. */
  isAfterEvent(collection: CollectionName, id: string): boolean {
    return this.workingDocument(collection, id).log_position > this.event.position;
  }

  /**
   * Sets a document. Use it only for a change that has no effect if it is repeated: by an event of the document's own
   * stream (the revision shows a repetition), or of an embed (the version shows it). For a change by an event of
   * another stream use `updateParent`.
   */
  set(
    collection: CollectionName,
    id: string,
    document: MaybeDocument<AnyDocument>,
    made_stale: readonly List[] = [],
  ): void {
    const before = this.workingDocument(collection, id);
    this.change(before, { document, made_stale }, before.late_positions);
  }

  /**
   * Changes a parent by an event of a child, or a document by a tally. Does nothing if the document already includes the
   * event: otherwise a redelivered event would be counted twice. Returns the parent before and after the change.
   */
  updateParent(
    collection: CollectionName,
    id: string,
    change: (parent: MaybeDocument<AnyDocument>) => ChangeResult,
  ): { readonly before: MaybeDocument<AnyDocument>; readonly after: MaybeDocument<AnyDocument> } {
    const working = this.workingDocument(collection, id);
    const before = working.document;
    if (this.includesCurrentEvent(working)) return { before, after: before };
    const result = change(before);
    this.change(working, result, this.latePositionsAfter(working));
    return { before, after: result.document };
  }

  /** Yields the documents with unsaved changes. */
  *changedDocuments(collection: CollectionName): Iterable<WorkingDocument> {
    for (const working of this.loadedDocuments(collection).values()) if (working.dirty) yield working;
  }

  /** Number of documents with unsaved changes. */
  get dirtyCount(): number {
    let count = 0;
    for (const phase of PHASES)
      for (const collection of phase) for (const _ of this.changedDocuments(collection)) count++;
    return count;
  }

  /** Number of documents in memory. */
  get size(): number {
    let size = 0;
    for (const documents of this.documents.values()) size += documents.size;
    return size;
  }

  /** Approximate size of the documents in memory, in characters. Long texts make up nearly all of it. */
  get textLength(): number {
    return this.text_length;
  }

  /** Sets a document whose stale lists have been recomputed. */
  setRecomputed(collection: CollectionName, id: string, document: AnyDocument): void {
    this.loadedDocuments(collection).set(id, {
      ...this.workingDocument(collection, id),
      document,
      stale_lists: NO_LISTS,
    });
  }

  /** Returns a write for every changed document, grouped by phase in the order of `PHASES`. */
  writesByPhase(): DocumentWrite[][] {
    return PHASES.map((phase) =>
      phase.flatMap((name) => [...this.changedDocuments(name)].map(toWrite)),
    ).filter((writes) => writes.length > 0);
  }

  /** Marks all documents as stored. Call it after the writes of `writesByPhase` are durable. */
  markWritten(): void {
    for (const documents of this.documents.values())
      for (const [id, working] of documents)
        if (working.dirty)
          documents.set(id, afterWrite(working, this.always_stale_lists.get(keyOf(working))));
  }

  /**
   * Evicts the documents that `other` has loaded, because `other` may have written them. Keeps documents with unsaved
   * changes.
   */
  evictDocumentsOf(other: UnitOfWork): void {
    for (const [collection, documents] of other.documents) this.evict(collection, documents.keys());
  }

  /** Evicts all documents without unsaved changes from memory. */
  evictAll(): void {
    for (const [collection, documents] of this.documents) this.evict(collection, [...documents.keys()]);
    this.text_length = 0;
  }

  private evict(collection: CollectionName, ids: Iterable<string>): void {
    const documents = this.loadedDocuments(collection);
    for (const id of ids) {
      if (documents.get(id)?.dirty) continue;
      documents.delete(id);
      if (reverseIndexes.has(collection)) this.references.get(targetIdOf(id))?.delete(id);
    }
  }

  private includesCurrentEvent(working: WorkingDocument): boolean {
    // One event may change the document of a store twice: through a publication and through its listing. The second
    // change must be applied although the first one has moved the document to the position of the event.
    if (working.changed_by === this.event_number) return false;
    const { retry, apply_at_equal_position } = this.options;
    const included_to = retry ? (working.late_positions.get(retry.stream) ?? START) : working.log_position;
    const { position } = this.event;
    return position < included_to || (position === included_to && apply_at_equal_position !== true);
  }

  private latePositionsAfter({ late_positions }: WorkingDocument): LatePositions {
    const { retry } = this.options;
    return retry ? new Map([...late_positions, [retry.stream, this.event.position]]) : late_positions;
  }

  private change(
    before: WorkingDocument,
    { document, made_stale }: ChangeResult,
    late_positions: LatePositions,
  ): void {
    // A stale list is recomputed at the flush and then reflects every event of the batch. So each of these events must
    // advance the log position of the document, even an event that changes nothing else in the document.
    const is_unchanged =
      document === before.document && made_stale.length === 0 && before.stale_lists.size === 0;
    if (is_unchanged || (document === undefined && before.document === undefined)) return;
    if (before.document === undefined) this.text_length += textLengthOf(document);
    const { collection, id, expected, stored, log_position, changed_by } = before;
    if (changed_by !== this.event_number) this.journal.push(before);
    // Without a spread, which V8 copies slowly: this runs several times for each event.
    this.loadedDocuments(collection).set(id, {
      collection,
      id,
      expected,
      log_position: greatest([this.event.position, log_position]),
      late_positions,
      document,
      stored,
      dirty: true,
      stale_lists: staleListsAfter(before, document, made_stale),
      changed_by: this.event_number,
    });
  }

  private onlyDeadLetterStreams(late_positions: LatePositions): LatePositions {
    if (late_positions.size === 0) return late_positions;
    return new Map([...late_positions].filter(([stream]) => this.options.dead_letters.has(stream)));
  }

  private add(working: WorkingDocument): void {
    const { collection, id } = working;
    this.loadedDocuments(collection).set(id, working);
    if (!reverseIndexes.has(collection)) return;
    const target_id = targetIdOf(id);
    this.references.set(target_id, (this.references.get(target_id) ?? new Map()).set(id, collection));
  }

  private workingDocument(collection: CollectionName, id: string): WorkingDocument {
    const working = this.loadedDocuments(collection).get(id);
    if (!working) throw new Error(`${collection} ${id} was not loaded`);
    return working;
  }

  private loadedDocuments(name: CollectionName): Map<string, WorkingDocument> {
    let documents = this.documents.get(name);
    if (!documents) {
      documents = new Map();
      this.documents.set(name, documents);
    }
    return documents;
  }
}

/** Returns whether a document is known to belong to another store. A placeholder does not know its store yet. */
function isOfAnother({ collection, id, document }: WorkingDocument, partition_key: string): boolean {
  const store_id = collection === 'stores' ? id : document?.keys.store_id;
  return typeof store_id === 'string' && store_id !== partition_key;
}
