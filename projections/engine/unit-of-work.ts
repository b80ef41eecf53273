import { COLLECTION_NAMES, type CollectionName, type StoredDocument } from '../../shared/catalog/documents';
import type { Position } from '../../shared/catalog/events/envelope';
import { ALL_PARTS, type DocumentWrite, type ViewVersion } from '../../shared/ports/view-store';
import type { AnyDocument, MaybeDocument } from '../views/view';
import { type List, reverseIndexes } from './plan';
import type { ChangeResult } from './related';
import { type EmbeddingAddress, embeddingAddressOf, targetIdOf } from './reverse-index';
import {
  absent,
  afterWrite,
  NO_LISTS,
  staleListsAfter,
  textLengthOf,
  toWrite,
  type WorkingDocument,
} from './working-document';

/**
 * The documents that folding a batch of events reads or changes. Each document is read once, changed in memory, and
 * written once.
 */
export class UnitOfWork {
  readonly version: ViewVersion;
  private readonly documents = new Map<CollectionName, Map<string, WorkingDocument>>();
  /** The documents that the current event has changed, as they were before each change. */
  private readonly journal: WorkingDocument[] = [];
  /**
   * The loaded references: the id of the target document → the id of the reference → the collection of the
   * reference.
   */
  private readonly references = new Map<string, Map<string, CollectionName>>();
  private readonly crowded = new Set<string>();
  private text_length = 0;
  /** Documents whose texts are not counted yet. Only a rebuild asks for `textLength`, and counting takes long. */
  private uncounted: MaybeDocument<AnyDocument>[] = [];

  constructor(version: ViewVersion) {
    this.version = version;
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
  addStored(collection: CollectionName, { id, position, document }: StoredDocument): void {
    this.uncounted.push(document);
    const stored = { stored_at: position, document, stored: document };
    this.add({ collection, id, ...stored, dirty: false, stale_lists: NO_LISTS });
  }

  /** Begins an event. `rollback` undoes the changes that follow. */
  beginEvent(): void {
    this.journal.length = 0;
  }

  /** Undoes the changes of the current event. */
  rollback(): void {
    for (const before of this.journal.reverse())
      this.loadedDocuments(before.collection).set(before.id, before);
    this.journal.length = 0;
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

  /** Changes a document by the current event. */
  set(
    collection: CollectionName,
    id: string,
    document: MaybeDocument<AnyDocument>,
    made_stale: readonly List[] = [],
  ): void {
    this.change(this.workingDocument(collection, id), { document, made_stale });
  }

  /** Yields the documents with unsaved changes. */
  *changedDocuments(collection: CollectionName): Iterable<WorkingDocument> {
    for (const working of this.loadedDocuments(collection).values()) if (working.dirty) yield working;
  }

  /** Number of documents with unsaved changes. */
  get dirtyCount(): number {
    let count = 0;
    for (const name of COLLECTION_NAMES) for (const _ of this.changedDocuments(name)) count++;
    return count;
  }

  /** Approximate size of the documents in memory, in characters. Long texts make up nearly all of it. */
  get textLength(): number {
    for (const document of this.uncounted) this.text_length += textLengthOf(document);
    this.uncounted = [];
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

  /** Returns a write for every changed document, in a batch that ends at `checkpoint`. */
  writes(checkpoint: Position): DocumentWrite[] {
    return COLLECTION_NAMES.flatMap((name) =>
      [...this.changedDocuments(name)].map((working) => toWrite(working, checkpoint)),
    );
  }

  /** Marks all documents as stored. Call it after the `writes` are durable. */
  markWritten(checkpoint: Position): void {
    for (const documents of this.documents.values())
      for (const [id, working] of documents)
        if (working.dirty) documents.set(id, afterWrite(working, checkpoint));
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
    this.uncounted = [];
  }

  private evict(collection: CollectionName, ids: Iterable<string>): void {
    const documents = this.loadedDocuments(collection);
    for (const id of ids) {
      if (documents.get(id)?.dirty) continue;
      documents.delete(id);
      if (reverseIndexes.has(collection)) this.references.get(targetIdOf(id))?.delete(id);
    }
  }

  private change(before: WorkingDocument, { document, made_stale }: ChangeResult): void {
    if (document === before.document && made_stale.length === 0) return;
    if (before.document === undefined) this.uncounted.push(document);
    const { collection, id, stored_at, stored } = before;
    this.journal.push(before);
    // Without a spread, which V8 copies slowly: this runs several times for each event.
    this.loadedDocuments(collection).set(id, {
      collection,
      id,
      stored_at,
      document,
      stored,
      dirty: true,
      stale_lists: staleListsAfter(before, document, made_stale),
    });
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
