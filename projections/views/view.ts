import type { CollectionName } from '../../shared/catalog/documents';
import type { DomainEvent } from '../../shared/catalog/events/codec';
import type { Category } from '../../shared/catalog/events/envelope';
import type { Realm } from '../../shared/catalog/realm';
import type { Document, Key } from '../../shared/catalog/stored-document';

/**
 * A document of any collection while it is folded. Documents are values: a change gives a new one, and what changes
 * nothing gives the same one back, so that "was it changed" is a comparison of references.
 */
export type AnyDocument = Document<Readonly<Record<string, Key>>, object, object, object>;

/** What is known of a document: `undefined` was never there, `null` was deleted for good. */
export type Known<Shape> = Shape | null | undefined;

/** Where an event stands: the stream's id and realm, the event's revision in the stream and its time. */
export interface Occasion<Id extends string = string> {
  readonly id: Id;
  readonly realm: Realm;
  readonly revision: number;
  /** ISO 8601, `occurred_at`. */
  readonly at: string;
}

/**
 * How documents of one collection follow from the events of their own streams. What they show of other documents is
 * declared in `relations.ts` and kept up to date by the engine.
 */
export interface View<Shape extends AnyDocument = AnyDocument, Event extends DomainEvent = DomainEvent> {
  readonly collection: CollectionName;
  readonly category: Category;
  /** The document that the event concerns; undefined where it concerns none. By default the one with the stream's id. */
  idOf?(event: Event): string | undefined;
  /**
   * The field of `state` that holds the aggregate as its own events left it. It is null in a shell: a document that
   * others have brought about, while its own stream did not come (that one may be parked).
   */
  readonly aggregate?: string;
  readonly shell?: Shape;
  /**
   * The document after an event of its own stream; the same one where the event changes nothing, null where it
   * deletes it. Called once for each revision, and never after the deletion. Leaves to the engine what the document
   * shows of others: it hands on what `before`, or else the shell, has of that.
   */
  fold(before: Known<Shape>, event: Event, occasion: Occasion): Known<Shape>;
  /** Brings up to date what keys and body say of other documents; the same document where nothing has changed. */
  derive?(document: Shape): Shape;
}

/** Returns the keys of a shell, all null, so that no query finds it. */
export function noKeys<Keys extends AnyDocument['keys']>(
  columns: { readonly [Name in keyof Keys]: unknown },
): Keys {
  return Object.fromEntries(Object.keys(columns).map((name) => [name, null])) as Keys;
}
