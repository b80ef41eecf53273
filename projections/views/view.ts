import type { Document, Key } from '../../shared/catalog/stored-document';
import type { Visibility } from '../../shared/catalog/vocabulary';

/**
 * A document of any collection while it is folded. Documents are values: a change gives a new one, and what changes
 * nothing gives the same one back, so that "was it changed" is a comparison of references.
 */
export type View = Document<Readonly<Record<string, Key>>, object, object, object>;

/** What is known of a document: `undefined` was never there, `null` was deleted for good. */
export type Known<V> = V | null | undefined;

/** What an event did to a document that others are made from; `null` where there is nothing to show. */
export interface Transition<V> {
  readonly before: V | null;
  readonly after: V | null;
}

/** The lists of entries that a document may have: one of each visibility, and a store's media. */
export type EntryList = Visibility | 'media';

/** A view after a change, and the lists of entries in it that only the stored documents can complete. */
export interface Reaction<V> {
  readonly view: V;
  readonly incomplete: readonly EntryList[];
}

/** Where an event stands: the stream's id, the event's revision in it and its time. */
export interface Occasion<Id extends string = string> {
  readonly id: Id;
  readonly revision: number;
  /** ISO 8601, `occurred_at`. */
  readonly at: string;
}

export const unchanged = <V>(view: V): Reaction<V> => ({ view, incomplete: [] });
