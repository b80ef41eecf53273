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
import type { AnyDocument, Known } from '../views/view';
import { LostRaceError } from './errors';
import { type List, PHASES, plans, reverseIndexes } from './plan';
import type { Reaction } from './related';
import { type LatePositions, standingOf, withoutRepair } from './repair';
import { targetOfUse, type User, userOf } from './reverse-index';
import {
  absent,
  asWritten,
  COMPLETE,
  incompleteAfter,
  keyOf,
  textOf,
  toWrite,
  type WorkingDocument,
} from './working-document';

export interface UnitOptions {
  /** Streams that are parked: what documents carry about them is kept. */
  readonly parked: ReadonlyMap<StreamName, unknown>;
  /** The parked stream whose waiting events are folded, and the place that no document may be beyond. */
  readonly late?: { readonly stream: StreamName; readonly limit?: Position };
  /** An aggregate at the very event is told again what that did, for it may know a part; one beyond it was told all. */
  readonly again?: boolean;
}

/** The documents that a run of events touches: each is read once, folded in memory, and written once. */
export class UnitOfWork {
  readonly version: ViewVersion;
  private readonly options: UnitOptions;
  private readonly documents = new Map<CollectionName, Map<string, WorkingDocument>>();
  /** What the event at hand has changed, as it was before it. */
  private readonly journal = new Map<string, WorkingDocument>();
  /** The ids of the reverse indexes' documents that are here, by what they say is used. */
  private readonly uses = new Map<string, Map<string, CollectionName>>();
  private readonly crowded = new Set<string>();
  /** Lists that a retry which broke off may know more of than the documents that they are of: not done with one write. */
  private readonly unsettled = new Map<string, ReadonlySet<List>>();
  private event: Pick<RecordedEvent, 'position'> = { position: START };
  private text = 0;

  constructor(version: ViewVersion, options: UnitOptions) {
    this.version = version;
    this.options = options;
  }

  /** Reads those that are not here yet. */
  async load(collection: CollectionName, ids: Iterable<string>): Promise<void> {
    const here = this.collection(collection);
    const missing = [...new Set(ids)].filter((id) => !here.has(id));
    if (missing.length === 0) return;
    for (const stored of await this.version.getMany(collection, missing, ALL_PARTS))
      this.adopt(collection, stored);
    for (const id of missing) if (!here.has(id)) this.admit(absent(collection, id));
  }

  /** Takes in a document as it was just read. */
  adopt(collection: CollectionName, stored: StoredDocument): void {
    const { position, late } = standingOf(stored);
    const { late: repair } = this.options;
    const { id } = stored;
    // A batch beyond the checkpoint is half written: entries could not be completed from the stored documents. What is
    // deleted stays so, whoever sees it first, and has no state to keep its place in that a retry ran ahead of.
    if (stored.document && repair?.limit !== undefined && position > repair.limit)
      throw new LostRaceError('the lane is ahead of its checkpoint');
    const document = stored.document && { ...stored.document, state: withoutRepair(stored.document.state) };
    this.text += textOf(document);
    const again = repair !== undefined && late.has(repair.stream) && plans[collection].lists.length > 0;
    const lists = again ? new Set(plans[collection].lists) : undefined;
    if (lists) this.unsettled.set(`${collection}/${id}`, lists);
    this.admit({
      collection,
      id,
      expected: stored.position,
      position,
      late: this.keptLate(late),
      document,
      stored: document,
      dirty: lists !== undefined,
      // Since the retry that broke off here, others may have completed its entries from documents not yet retried.
      incomplete: lists ?? COMPLETE,
    });
  }

  /** From here on, changes belong to this event. */
  begin(event: Pick<RecordedEvent, 'position'>): void {
    this.event = event;
    this.journal.clear();
  }

  /** Undoes what the event at hand has changed. */
  rollback(): void {
    for (const before of this.journal.values()) this.collection(before.collection).set(before.id, before);
    this.journal.clear();
  }

  /** Every document here that is at or beyond the event has it, for none is written ahead without it. */
  noteIncluded({ stream, position }: Pick<RecordedEvent, 'stream' | 'position'>): void {
    for (const documents of this.documents.values())
      for (const [id, working] of documents) {
        if (working.position < position || !working.document || working.late.has(stream)) continue;
        const late = new Map([...working.late, [stream, working.position]]);
        documents.set(id, { ...working, late, dirty: true });
      }
  }

  has(collection: CollectionName, id: string): boolean {
    return this.collection(collection).has(id);
  }

  /** Whether more documents embed this one than are taken into memory at once. */
  isCrowded(id: string): boolean {
    return this.crowded.has(id);
  }

  markCrowded(id: string): void {
    this.crowded.add(id);
  }

  /** What embeds the document, as far as the reverse index is here. */
  usersOf(id: string): User[] {
    return [...(this.uses.get(id) ?? [])].flatMap(([use_id, collection]) => {
      const use = this.read(collection, use_id);
      return use ? [userOf(use)] : [];
    });
  }

  read(collection: CollectionName, id: string): Known<AnyDocument> {
    return this.working(collection, id).document;
  }

  /** Whether the document knows more than the event at hand. */
  isBeyond(collection: CollectionName, id: string): boolean {
    return this.working(collection, id).position > this.event.position;
  }

  /** A change that can be made again: by an event of the document's own stream, or of one that it embeds. */
  set(
    collection: CollectionName,
    id: string,
    document: Known<AnyDocument>,
    incomplete: readonly List[] = [],
  ): void {
    const before = this.working(collection, id);
    this.change(before, { document, incomplete }, before.late);
  }

  /**
   * A change that another stream's event makes to a parent, once: not where the event is part of it already.
   * Gives the document before and after.
   */
  react(
    collection: CollectionName,
    id: string,
    change: (document: Known<AnyDocument>) => Reaction,
  ): { readonly before: Known<AnyDocument>; readonly after: Known<AnyDocument> } {
    const working = this.working(collection, id);
    const before = working.document;
    if (!this.admits(working)) return { before, after: before };
    const reaction = change(before);
    this.change(working, reaction, this.lateAfter(working));
    return { before, after: reaction.document };
  }

  /** All that are to be written. */
  *changed(collection: CollectionName): Iterable<WorkingDocument> {
    for (const working of this.collection(collection).values()) if (working.dirty) yield working;
  }

  get dirtyCount(): number {
    let count = 0;
    for (const phase of PHASES)
      for (const collection of phase) for (const _ of this.changed(collection)) count++;
    return count;
  }

  get size(): number {
    let size = 0;
    for (const documents of this.documents.values()) size += documents.size;
    return size;
  }

  /** About how much memory the documents take, in characters: a few texts make up nearly all of it. */
  get textLength(): number {
    return this.text;
  }

  /** The completed list of entries, which ends the need for it. */
  complete(collection: CollectionName, id: string, document: AnyDocument): void {
    this.collection(collection).set(id, { ...this.working(collection, id), document, incomplete: COMPLETE });
  }

  /** Every changed document, in the order in which they must land. */
  phases(): DocumentWrite[][] {
    return PHASES.map((phase) => phase.flatMap((name) => [...this.changed(name)].map(toWrite))).filter(
      (writes) => writes.length > 0,
    );
  }

  /** The writes of `phases` have landed. */
  written(): void {
    for (const documents of this.documents.values())
      for (const [id, working] of documents)
        if (working.dirty) documents.set(id, asWritten(working, this.unsettled.get(keyOf(working))));
  }

  /** Evicts from memory what the other unit has read, for that may have written it. Keeps unsaved changes. */
  evictThoseOf(other: UnitOfWork): void {
    for (const [collection, documents] of other.documents) this.evict(collection, documents.keys());
  }

  /** Evicts all documents from memory but those with unsaved changes. */
  evictAll(): void {
    for (const [collection, documents] of this.documents) this.evict(collection, [...documents.keys()]);
    this.text = 0;
  }

  private evict(collection: CollectionName, ids: Iterable<string>): void {
    const documents = this.collection(collection);
    for (const id of ids) {
      if (documents.get(id)?.dirty) continue;
      documents.delete(id);
      if (reverseIndexes.has(collection)) this.uses.get(targetOfUse(id))?.delete(id);
    }
  }

  private admits(working: WorkingDocument): boolean {
    // An event may reach a store's document twice: as its publication's and as its listing's transition.
    if (this.journal.has(keyOf(working))) return true;
    const { late, again } = this.options;
    const known = late ? (working.late.get(late.stream) ?? START) : working.position;
    return this.event.position > known || (again === true && this.event.position === known);
  }

  private lateAfter(working: WorkingDocument): LatePositions {
    const { late } = this.options;
    return late ? new Map([...working.late, [late.stream, this.event.position]]) : working.late;
  }

  private change(before: WorkingDocument, { document, incomplete }: Reaction, late: LatePositions): void {
    // Entries that are to be completed take in whatever happens until then, so the position must too.
    const untouched = document === before.document && incomplete.length === 0 && before.incomplete.size === 0;
    if (untouched || (document === undefined && before.document === undefined)) return;
    if (before.document === undefined) this.text += textOf(document);
    const key = keyOf(before);
    if (!this.journal.has(key)) this.journal.set(key, before);
    this.collection(before.collection).set(before.id, {
      ...before,
      document,
      late,
      position: greatest([this.event.position, before.position]),
      dirty: true,
      incomplete: incompleteAfter(before, document, incomplete),
    });
  }

  private keptLate(late: LatePositions): LatePositions {
    if (late.size === 0) return late;
    return new Map([...late].filter(([stream]) => this.options.parked.has(stream)));
  }

  private admit(working: WorkingDocument): void {
    const { collection, id } = working;
    this.collection(collection).set(id, working);
    if (!reverseIndexes.has(collection)) return;
    const target_id = targetOfUse(id);
    this.uses.set(target_id, (this.uses.get(target_id) ?? new Map()).set(id, collection));
  }

  private working(collection: CollectionName, id: string): WorkingDocument {
    const working = this.collection(collection).get(id);
    if (!working) throw new Error(`${collection} ${id} was not loaded`);
    return working;
  }

  private collection(name: CollectionName): Map<string, WorkingDocument> {
    let documents = this.documents.get(name);
    if (!documents) {
      documents = new Map();
      this.documents.set(name, documents);
    }
    return documents;
  }
}
