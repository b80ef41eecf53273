import type { CollectionName, StoredDocument, ViewDocument } from '../shared/contracts/documents';
import {
  type JsonObject,
  type Position,
  type RecordedEvent,
  START,
  type StreamName,
} from '../shared/contracts/envelope';
import type { Visibility } from '../shared/contracts/vocabulary';
import type { DocumentWrite, ViewVersion } from '../shared/ports/view-store';
import { ALL_PARTS } from '../shared/ports/view-store';
import { LostRaceError } from './errors';
import { type LatePositions, standingOf, withoutRepair, withRepair } from './repair';
import type { Known, Reaction, View } from './views/view';

/**
 * Aggregates first, what they are made of last: while a publication's document is not written, its old state is
 * there to tell again what an event did to the aggregates; and once it is written, they are too. A repeat after a
 * crash between two phases therefore finds, for every event, either the transition or no need for it.
 */
const PHASES: readonly (readonly CollectionName[])[] = [
  ['stores'],
  ['listings'],
  ['publications'],
  ['reviews', 'payment_methods', 'accounts', 'api_keys'],
];

/** One document in memory. */
interface Working {
  readonly collection: CollectionName;
  readonly id: string;
  /** The position that it is stored with: the compare of the compare-and-set. Null where it is not stored. */
  readonly expected: Position | null;
  /** Of the newest event that is part of it; an event at or before is not applied to it again. */
  readonly position: Position;
  readonly late: LatePositions;
  readonly view: Known<View>;
  /** As it is stored. */
  readonly stored: Known<View>;
  readonly dirty: boolean;
  /** Lists of entries that must be completed from the stored documents before it is written. */
  readonly incomplete: ReadonlySet<Visibility>;
}

export type { Working as WorkingDocument };

export interface UnitOptions {
  /** Streams that are parked: what documents carry about them is kept. */
  readonly parked: ReadonlyMap<StreamName, unknown>;
  /** The parked stream whose waiting events are folded, and the place that no document may be beyond. */
  readonly late?: { readonly stream: StreamName; readonly limit?: Position };
}

const COMPLETE: ReadonlySet<Visibility> = new Set();
const BOTH: ReadonlySet<Visibility> = new Set(['public', 'private']);
const ENTRY_OWNERS: ReadonlySet<CollectionName> = new Set(['stores', 'listings']);

/** The documents that a run of events touches: each is read once, folded in memory, and written once. */
export class UnitOfWork {
  readonly version: ViewVersion;
  private readonly options: UnitOptions;
  private readonly documents = new Map<CollectionName, Map<string, Working>>();
  /** What the event at hand has changed, as it was before it. */
  private readonly journal = new Map<string, Working>();
  private event: Pick<RecordedEvent, 'position'> = { position: START };

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
    for (const id of missing) if (!here.has(id)) here.set(id, absent(collection, id));
  }

  /** Takes in a document as it was just read. */
  adopt(collection: CollectionName, stored: StoredDocument): void {
    const { position, late } = standingOf(stored);
    const { late: repair } = this.options;
    // A batch beyond the checkpoint is half written: entries could not be completed from the stored documents.
    if (repair?.limit !== undefined && position > repair.limit)
      throw new LostRaceError('the lane is ahead of its checkpoint');
    const { document, id } = stored;
    const view = document && { ...document, state: withoutRepair(document.state) };
    const resumed = repair !== undefined && late.has(repair.stream) && ENTRY_OWNERS.has(collection);
    this.collection(collection).set(id, {
      collection,
      id,
      expected: stored.position,
      position,
      late: this.keptLate(late),
      view,
      stored: view,
      dirty: resumed,
      // Since the retry that broke off here, others may have completed its entries from documents not yet retried.
      incomplete: resumed ? BOTH : COMPLETE,
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
        if (working.position < position || !working.view || working.late.has(stream)) continue;
        const late = new Map([...working.late, [stream, working.position]]);
        documents.set(id, { ...working, late, dirty: true });
      }
  }

  read<V extends View>(collection: CollectionName, id: string): Known<V> {
    return this.working(collection, id).view as Known<V>;
  }

  /** A change that the view itself guards, by its own stream's revision. */
  set(
    collection: CollectionName,
    id: string,
    view: Known<View>,
    incomplete: readonly Visibility[] = [],
  ): void {
    const before = this.working(collection, id);
    this.change(before, view, incomplete, before.late);
  }

  /**
   * A change that another stream's event makes to an aggregate, once: not where the event is part of it already.
   * Gives the view before and after.
   */
  react<V extends View>(
    collection: CollectionName,
    id: string,
    change: (view: Known<V>) => Reaction<Known<V>>,
  ): { readonly before: Known<V>; readonly after: Known<V> } {
    const working = this.working(collection, id);
    const before = working.view as Known<V>;
    if (!this.admits(working)) return { before, after: before };
    const { view, incomplete } = change(before);
    this.change(working, view, incomplete, this.lateAfter(working));
    return { before, after: view };
  }

  /** All that are to be written or, without `dirty`, all that are here. */
  *each(collection: CollectionName, dirty = true): Iterable<Working> {
    for (const working of this.collection(collection).values()) if (working.dirty || !dirty) yield working;
  }

  get dirtyCount(): number {
    let count = 0;
    for (const phase of PHASES)
      for (const collection of phase) for (const _ of this.each(collection)) count++;
    return count;
  }

  get size(): number {
    let size = 0;
    for (const documents of this.documents.values()) size += documents.size;
    return size;
  }

  /** The completed list of entries, which ends the need for it. */
  complete(collection: CollectionName, id: string, view: View): void {
    this.collection(collection).set(id, { ...this.working(collection, id), view, incomplete: COMPLETE });
  }

  /** Every changed document, in the order in which they must land. */
  phases(): DocumentWrite[][] {
    return PHASES.map((phase) => phase.flatMap((name) => [...this.each(name)].map(toWrite))).filter(
      (writes) => writes.length > 0,
    );
  }

  /** The writes of `phases` have landed. */
  written(): void {
    for (const documents of this.documents.values())
      for (const [id, working] of documents) if (working.dirty) documents.set(id, asWritten(working));
  }

  /** Lets go of documents; those that are not written yet stay. */
  forget(collection: CollectionName, ids: Iterable<string>): void {
    const documents = this.collection(collection);
    for (const id of ids) if (!documents.get(id)?.dirty) documents.delete(id);
  }

  /** Lets go of all that is written. */
  forgetAll(): void {
    for (const [name, documents] of this.documents) this.forget(name, [...documents.keys()]);
  }

  private admits(working: Working): boolean {
    // An event may reach a store's document twice: as its publication's and as its listing's transition.
    if (this.journal.has(keyOf(working))) return true;
    const { late } = this.options;
    if (late) return this.event.position > (working.late.get(late.stream) ?? START);
    return this.event.position > working.position;
  }

  private lateAfter(working: Working): LatePositions {
    const { late } = this.options;
    return late ? new Map([...working.late, [late.stream, this.event.position]]) : working.late;
  }

  private change(
    before: Working,
    view: Known<View>,
    incomplete: readonly Visibility[],
    late: LatePositions,
  ): void {
    // Entries that are to be completed take in whatever happens until then, so the position must too.
    const untouched = view === before.view && incomplete.length === 0 && before.incomplete.size === 0;
    if (untouched || (view === undefined && before.view === undefined)) return;
    const key = keyOf(before);
    if (!this.journal.has(key)) this.journal.set(key, before);
    this.collection(before.collection).set(before.id, {
      ...before,
      view,
      late,
      position: this.positionAfter(before),
      dirty: true,
      incomplete: view === null ? COMPLETE : new Set([...before.incomplete, ...incomplete]),
    });
  }

  /** A late event does not move a document's place in the log, for it is not all there was up to it. */
  private positionAfter({ position, expected }: Working): Position {
    if (this.options.late && expected !== null) return position;
    return this.event.position > position ? this.event.position : position;
  }

  private keptLate(late: LatePositions): LatePositions {
    if (late.size === 0) return late;
    return new Map([...late].filter(([stream]) => this.options.parked.has(stream)));
  }

  private working(collection: CollectionName, id: string): Working {
    const working = this.collection(collection).get(id);
    if (!working) throw new Error(`${collection} ${id} was not loaded`);
    return working;
  }

  private collection(name: CollectionName): Map<string, Working> {
    let documents = this.documents.get(name);
    if (!documents) {
      documents = new Map();
      this.documents.set(name, documents);
    }
    return documents;
  }
}

const keyOf = ({ collection, id }: Working): string => `${collection}/${id}`;

function absent(collection: CollectionName, id: string): Working {
  const nothing = { expected: null, position: START, late: new Map(), view: undefined, stored: undefined };
  return { collection, id, ...nothing, dirty: false, incomplete: COMPLETE };
}

/** Positions as stored only grow, so that no two writes of a document look alike to a compare-and-set. */
function storedPosition({ expected, position }: Working): Position {
  return expected !== null && position <= expected ? expected + 1n : position;
}

function toWrite(working: Working): DocumentWrite {
  const { collection, id, expected, view } = working;
  const position = storedPosition(working);
  if (!view) return { collection, id, expected, position, document: null };
  const document = {
    ...view,
    state: withRepair(view.state as JsonObject, working, position),
  } as ViewDocument;
  return { collection, id, expected, position, document };
}

function asWritten(working: Working): Working {
  return { ...working, expected: storedPosition(working), stored: working.view, dirty: false };
}
