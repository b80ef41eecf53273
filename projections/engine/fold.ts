import type { CollectionName } from '../../shared/catalog/documents';
import type { RecordedEvent } from '../../shared/catalog/events/envelope';
import type { EmbedsMany } from '../views/relation';
import type { AnyDocument, Known, Occasion, View } from '../views/view';
import type { Decoded } from './decoded';
import { plans, viewsOf } from './plan';
import { afterOwnEvent, idsIn, reactTo, shownOf, type Transition, withOneOfMany } from './related';
import { type User, useDocument, useId } from './reverse-index';
import type { UnitOfWork } from './unit-of-work';

/**
 * Folds one event into the documents of the unit, all of which must be loaded: first the documents of the event's own
 * stream, then those that show them, each from the transition of the one before
 * (media → publication → listing → store, review → publication).
 */
export function foldEvent(unit: UnitOfWork, recorded: RecordedEvent, decoded: Decoded): void {
  const folding = viewsOf(decoded.category);
  if (folding.length === 0) throw new Error(`no view of ${decoded.category} events`);
  for (const view of folding) {
    const id = view.idOf ? view.idOf(decoded.event) : decoded.id;
    if (id !== undefined) foldInto(unit, view, id, recorded, decoded);
  }
}

/** The document after the event, as its view alone has it; the same one where the event is part of it already. */
export function foldedBy(
  view: View,
  before: Known<AnyDocument>,
  { revision, metadata }: RecordedEvent,
  { id, realm, event }: Decoded,
): Known<AnyDocument> {
  if (before === null) return null;
  if (before && revision <= ((before.state as { revision?: number }).revision ?? -1)) return before;
  const occasion: Occasion = { id, realm, revision, at: metadata.occurred_at };
  return view.fold(before, event, occasion);
}

function foldInto(unit: UnitOfWork, view: View, id: string, recorded: RecordedEvent, decoded: Decoded): void {
  const { collection } = view;
  const before = unit.read(collection, id);
  const folded = foldedBy(view, before, recorded, decoded);
  if (folded === before) return;
  const { document, incomplete } = folded
    ? afterOwnEvent(collection, before, folded, (of, other_id) => unit.read(of, other_id))
    : { document: folded, incomplete: [] };
  unit.set(collection, id, document, incomplete);
  for (const relation of plans[collection].embedsMany) indexUses(unit, relation, id, before, document);
  propagate(unit, collection, id, before, document);
  // What too many embed was swept before.
  if (plans[collection].embeddedMany.length > 0 && !unit.isCrowded(id))
    for (const user of unit.usersOf(id)) embedInto(unit, user, collection, id, document);
}

/** Brings a document into one that embeds it; again changes nothing more, as an embed gives way only to a newer one. */
export function embedInto(
  unit: UnitOfWork,
  user: User,
  collection: CollectionName,
  id: string,
  other: Known<AnyDocument>,
): void {
  const before = unit.read(user.collection, user.id);
  if (!before) return;
  let after = before;
  for (const relation of plans[collection].embeddedMany)
    if (relation.in === user.collection) after = withOneOfMany(after, relation, id, other);
  if (after === before) return;
  unit.set(user.collection, user.id, after);
  // Others show how many it embeds, not which.
  if (after.body !== before.body) propagate(unit, user.collection, user.id, before, after);
}

/** Tells the documents that count or list this one of its change, and those that count or list them in turn. */
function propagate(
  unit: UnitOfWork,
  collection: CollectionName,
  id: string,
  before: Known<AnyDocument>,
  after: Known<AnyDocument>,
): void {
  const transition = { before: shownOf(collection, before), after: shownOf(collection, after) };
  if (isShownAlike(transition)) return;
  for (const parents of plans[collection].parents)
    for (const parent_id of parentIds(transition, parents.by)) {
      const parent = unit.react(parents.collection, parent_id, (known) =>
        reactTo(parents, parent_id, known, id, transition),
      );
      propagate(unit, parents.collection, parent_id, parent.before, parent.after);
    }
}

/** Whether others show the document as before: they see its keys and body, not what it embeds or lists. */
function isShownAlike({ before, after }: Transition): boolean {
  return before?.keys === after?.keys && before?.body === after?.body;
}

function parentIds({ before, after }: Transition, by: string): Set<string> {
  const values = [before?.keys[by], after?.keys[by]];
  return new Set(values.filter((value) => typeof value === 'string'));
}

/**
 * Says in the reverse index what the document lists now. An entry that is beyond the event was written by a worker that
 * folds the same events and is further on: it is left as it is.
 */
function indexUses(
  unit: UnitOfWork,
  relation: EmbedsMany,
  id: string,
  before: Known<AnyDocument>,
  after: Known<AnyDocument>,
): void {
  const { collection } = relation.index;
  const listed = idsIn(relation, before);
  const lists = idsIn(relation, after);
  if (listed === lists) return;
  const set = (target_id: string, use: AnyDocument | null): void => {
    const use_id = useId(target_id, id);
    if (!unit.isBeyond(collection, use_id)) unit.set(collection, use_id, use);
  };
  for (const target_id of listed) if (!lists.includes(target_id)) set(target_id, null);
  for (const target_id of lists)
    if (!listed.includes(target_id)) set(target_id, useDocument(relation, after!, target_id, id));
}
