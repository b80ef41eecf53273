import type { CollectionName } from '../../shared/catalog/documents';
import type { DomainEvent } from '../../shared/catalog/events/codec';
import type { Category } from '../../shared/catalog/events/envelope';
import type { Realm } from '../../shared/catalog/realm';
import type { Document, Key } from '../../shared/catalog/stored-document';

/**
 * A document of any collection while it is folded. Documents are immutable: a change returns a new object, and a
 * function that changes nothing returns the same object. The engine compares references to detect changes.
 */
export type AnyDocument = Document<Readonly<Record<string, Key>>, object, object, object>;

/**
 * A document, or why there is none. `undefined`: no document with this id was ever stored. `null`: the document was
 * deleted (tombstone), and no document with this id is created again.
 */
export type MaybeDocument<Shape> = Shape | null | undefined;

/** The metadata of an event that views may use. */
export interface EventContext<Id extends string = string> {
  /** The id of the event's stream. */
  readonly id: Id;
  readonly realm: Realm;
  /** The number of the event in its stream, from 0. */
  readonly revision: number;
  /** ISO 8601. */
  readonly occurred_at: string;
}

/**
 * Folds the events of a category into the documents of one collection. A document may also contain data of related
 * documents: copies, lists and counts. `relations.ts` declares these, and the engine keeps them up to date.
 *
 * Views must be pure: no clock, no randomness, no I/O. Otherwise a rebuild would produce different documents.
 */
export interface View<Shape extends AnyDocument = AnyDocument, Event extends DomainEvent = DomainEvent> {
  readonly collection: CollectionName;
  readonly category: Category;
  /** Returns the id of the event's document, or undefined if it has none. Default: the stream's id. */
  idOf?(event: Event): string | undefined;
  /**
   * The name of a field of `state`. The field contains the aggregate: the state to which `evolve` folds the document's
   * own events. The field is null in a placeholder.
   */
  readonly aggregate?: string;
  /**
   * The placeholder document. The engine creates it when a related document must be counted or listed in a document
   * that does not exist yet. A document may not exist yet because its own events come later in the log, or because they
   * wait on the dead-letter list.
   */
  readonly placeholder?: Shape;
  /**
   * Returns the document after an event of its own stream, `before` if the event changes nothing, or null if the event
   * deletes the document. Must copy the counts, embeds and lists from `before`, or from the placeholder if `before` is
   * undefined.
   *
   * The engine does not call it for a deleted document, and calls it once for each event.
   */
  fold(before: MaybeDocument<Shape>, event: Event, context: EventContext): MaybeDocument<Shape>;
  /**
   * Updates the keys and the fields of `body` that depend on related documents, such as `stats`. Returns the same
   * document if nothing changed.
   */
  derive?(document: Shape): Shape;
}

/** Returns the keys of a placeholder, all null, so that no query finds it. */
export function noKeys<Keys extends AnyDocument['keys']>(
  definitions: { readonly [Name in keyof Keys]: unknown },
): Keys {
  return Object.fromEntries(Object.keys(definitions).map((name) => [name, null])) as Keys;
}
