import type { CollectionName } from '../../shared/catalog/documents';
import type { RecordedEvent } from '../../shared/catalog/events/envelope';
import type { EmbedsMany, EmbedsOne } from '../views/relation';
import type { Tally } from '../views/tally';
import type { AnyDocument, EventContext, MaybeDocument, View } from '../views/view';
import type { Decoded } from './decoded';
import { type ParentRelation, plans, talliesOf, viewsOf } from './plan';
import {
  afterChildChange,
  afterOwnEvent,
  changedParentIds,
  embeddedIds,
  existingOrNull,
  isFieldList,
  type Transition,
  updateEmbedsMany,
  updateEmbedsOne,
} from './related';
import { type EmbeddingAddress, referenceId, toReference } from './reverse-index';
import type { UnitOfWork } from './unit-of-work';

/**
 * Folds one event into the documents of the unit. Every document that the event changes must have been loaded. Folds
 * the documents of the event's own stream first. Then propagates each change to the documents that embed, list or count
 * them (publication → media, listing, store; media → publication, listing, store; review → publication). Events of a
 * tally have no own document: their numbers are added to documents of other streams.
 *
 * Folding is a pure function of the documents and the event: the same log gives the same documents.
 */
export function foldEvent(unit: UnitOfWork, recorded: RecordedEvent, decoded: Decoded): void {
  const views = viewsOf(decoded.category);
  const tallies = talliesOf(decoded.category);
  if (views.length + tallies.length === 0) throw new Error(`no view of ${decoded.category} events`);
  for (const view of views) {
    const id = view.idOf ? view.idOf(decoded.event) : decoded.id;
    if (id !== undefined) foldInto(unit, view, id, recorded, decoded);
  }
  for (const tally of tallies)
    for (const [id, number] of Object.entries(tally.numbersOf(decoded.event))) addTo(unit, tally, id, number);
}

/** Adds the number to a document of another stream. */
function addTo(unit: UnitOfWork, { collection, add }: Tally, id: string, number: number): void {
  const before = unit.read(collection, id);
  const start = before === undefined ? plans[collection].view?.placeholder : before;
  if (!start) return;
  const after = add(start, number);
  unit.set(collection, id, after);
  propagateToParents(unit, collection, id, before, after);
}

/**
 * Applies an event of the document's own stream by its view alone. Embeds, lists and counts stay as they are. A deleted
 * document stays deleted.
 */
export function applyOwnEvent(
  view: View,
  before: MaybeDocument<AnyDocument>,
  { revision, metadata }: RecordedEvent,
  { id, realm, event }: Decoded,
): MaybeDocument<AnyDocument> {
  if (before === null) return null;
  const context: EventContext = { id, realm, revision, occurred_at: metadata.occurred_at };
  return view.fold(before, event, context);
}

function foldInto(unit: UnitOfWork, view: View, id: string, recorded: RecordedEvent, decoded: Decoded): void {
  const { collection } = view;
  const before = unit.read(collection, id);
  const folded = applyOwnEvent(view, before, recorded, decoded);
  if (folded === before) return;
  const { document, made_stale } = folded
    ? afterOwnEvent(collection, before, folded, (other, other_id) => unit.read(other, other_id))
    : { document: folded, made_stale: [] };
  const counted = before === undefined ? withEmbeddingCounts(unit, collection, id, document) : document;
  unit.set(collection, id, counted, made_stale);
  for (const relation of plans[collection].embedsMany)
    updateReverseIndex(unit, relation, id, before, counted);
  propagateToParents(unit, collection, id, before, counted);
  // A sweep has updated the copies of a crowded document before this event.
  if (plans[collection].incomingEmbedsMany.length === 0 || unit.isCrowded(id)) return;
  for (const embedding of unit.embeddingDocumentsOf(id))
    updateEmbedIn(unit, embedding, collection, id, counted);
}

/**
 * Returns a new document with the counts of the documents that embed it already. Until now, no document could count
 * them. From now on, `propagateToParents` keeps the counts.
 */
function withEmbeddingCounts(
  unit: UnitOfWork,
  collection: CollectionName,
  id: string,
  created: MaybeDocument<AnyDocument>,
): MaybeDocument<AnyDocument> {
  if (plans[collection].incomingEmbedsMany.length === 0) return created;
  let document = created;
  for (const embedding of unit.embeddingDocumentsOf(id)) {
    const after = existingOrNull(embedding.collection, unit.read(embedding.collection, embedding.id));
    for (const relation of plans[embedding.collection].parents)
      if (relation.collection === collection && 'field' in relation.named_in)
        document = afterChildChange(relation, id, document, embedding.id, { before: null, after }).document;
  }
  return document;
}

/**
 * Updates the copy of document `id` that the document at `embedding` contains. `target` is document `id` after its
 * change. Repeating the call changes nothing, because only a newer version replaces a copy.
 */
export function updateEmbedIn(
  unit: UnitOfWork,
  embedding: EmbeddingAddress,
  collection: CollectionName,
  id: string,
  target: MaybeDocument<AnyDocument>,
): void {
  const before = unit.read(embedding.collection, embedding.id);
  if (!before) return;
  let after = before;
  for (const relation of plans[collection].incomingEmbedsMany)
    if (relation.collection === embedding.collection) after = updateEmbedsMany(after, relation, id, target);
  if (after === before) return;
  unit.set(embedding.collection, embedding.id, after);
  // The parents of the embedding document depend on its keys and its body. An embed changes no key. Of its embeds, the
  // body may contain only their ids. If the body is the same, there is nothing to propagate.
  if (after.body !== before.body) propagateToParents(unit, embedding.collection, embedding.id, before, after);
}

/**
 * Updates the copy of document `target_id` that a document embeds through the relation. `target` is that document after its
 * change. The parents that list the embedding document by a field must have been loaded.
 */
export function updateEmbedOneIn(
  unit: UnitOfWork,
  relation: EmbedsOne,
  id: string,
  target_id: string,
  target: AnyDocument | null,
): void {
  const { collection } = relation;
  const before = unit.read(collection, id);
  if (!before) return;
  const after = updateEmbedsOne(before, relation, target_id, target);
  unit.set(collection, id, after);
  if (after.body !== before.body) propagateToParents(unit, collection, id, before, after, isFieldList);
}

/** Propagates a document's change to its parents (the documents that count or list it) and to their own parents. */
function propagateToParents(
  unit: UnitOfWork,
  collection: CollectionName,
  id: string,
  before: MaybeDocument<AnyDocument>,
  after: MaybeDocument<AnyDocument>,
  isConcerned: (relation: ParentRelation) => boolean = () => true,
): void {
  const transition = { before: existingOrNull(collection, before), after: existingOrNull(collection, after) };
  if (hasSameKeysAndBody(transition)) return;
  for (const relation of plans[collection].parents.filter(isConcerned))
    for (const parent_id of changedParentIds(relation, transition)) {
      const parent = unit.read(relation.collection, parent_id);
      const changed = afterChildChange(relation, parent_id, parent, id, transition);
      unit.set(relation.collection, parent_id, changed.document, changed.made_stale);
      propagateToParents(unit, relation.collection, parent_id, parent, changed.document);
    }
}

/** If it returns true, the parents need no change: they depend only on the keys and the body of a child. */
function hasSameKeysAndBody({ before, after }: Transition): boolean {
  return before?.keys === after?.keys && before?.body === after?.body;
}

/**
 * Adds references to the documents that the document now embeds, and deletes those to documents that it no longer
 * embeds.
 */
function updateReverseIndex(
  unit: UnitOfWork,
  relation: EmbedsMany,
  id: string,
  before: MaybeDocument<AnyDocument>,
  after: MaybeDocument<AnyDocument>,
): void {
  const { collection } = relation.index;
  const old_ids = embeddedIds(relation, before);
  const new_ids = embeddedIds(relation, after);
  if (old_ids === new_ids) return;
  const set = (target_id: string, reference: AnyDocument | null): void =>
    unit.set(collection, referenceId(target_id, id), reference);
  for (const target_id of old_ids) if (!new_ids.includes(target_id)) set(target_id, null);
  for (const target_id of new_ids)
    if (!old_ids.includes(target_id)) set(target_id, toReference(relation, after!, target_id, id));
}
