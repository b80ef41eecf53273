import type { CollectionName, DocumentOf } from '../../shared/catalog/documents';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import type { SortOrder } from '../../shared/catalog/sorting';
import { type Visibility, visibilitySchema } from '../../shared/catalog/vocabulary';
import type { AnyDocument } from './view';

/*
 * The four ways in which a document shows others. A relation is declared once, in `relations.ts`; the engine derives
 * from it which documents an event touches, what is loaded, propagated, recomputed and swept, and in which order
 * documents are written. Related documents belong to one store: what names another store's document shows nothing of it.
 */

/** A document as shown inside another. It gives way only to a newer version of itself. */
export interface Embed {
  readonly id: string;
  readonly version: number;
  readonly body: JsonObject;
}

/**
 * `expansions[name]` is one document of collection `of`, or null. `by` is the field of the aggregate, and of the events
 * that set it, with the other's id. It is a key, too: the id while the other may exist, null once it was deleted.
 * What others show of the embedding document must not depend on the embed.
 */
export interface EmbedsOne {
  readonly kind: 'embedsOne';
  readonly in: CollectionName;
  readonly name: string;
  readonly of: CollectionName;
  readonly by: string;
  as(other: AnyDocument): Embed;
  /** How many documents embed this one; it may be a shell. */
  embeddedIn(other: AnyDocument): number;
}

/**
 * `expansions[name]` are those of several documents of collection `of` that exist, in the order in which `by`, a field
 * of the aggregate and of the events that set it, lists their ids. Their number may be part of the body.
 */
export interface EmbedsMany {
  readonly kind: 'embedsMany';
  readonly in: CollectionName;
  readonly name: string;
  readonly of: CollectionName;
  readonly by: string;
  as(other: AnyDocument): Embed;
  readonly index: ReverseIndex;
}

/** The collection that says which documents list an id, and its key that holds the id. The engine maintains it. */
export interface ReverseIndex {
  readonly collection: CollectionName;
  readonly key: string;
}

/**
 * `expansions[name]` are the first `max` documents of collection `of` whose key `by` is the document's id: one list, or
 * one of each visibility. An entry is made anew when the keys or the body of what it shows change.
 */
export interface ListsFirst {
  readonly kind: 'listsFirst';
  readonly max: number;
  readonly in: CollectionName;
  readonly name: string;
  readonly of: CollectionName;
  readonly by: string;
  readonly parts: readonly ListPart[];
  order(document: AnyDocument): SortOrder;
  /** How many documents the list of this part is the first of. */
  total(document: AnyDocument, part: ListPart): number;
  /** What an entry shows of a document besides its keys; its body by default. */
  as?(listed: AnyDocument): JsonObject;
}

/** The items of a visibility, or null: all of them. */
export type ListPart = Visibility | null;

/**
 * `state[name]` counts the documents of collection `of` whose key `by` is the document's id, by facet. A facet depends
 * on what the counted document's own stream says, never on what it embeds.
 */
export interface Counts {
  readonly kind: 'counts';
  readonly in: CollectionName;
  readonly name: string;
  readonly of: CollectionName;
  readonly by: string;
  facet(counted: AnyDocument): string;
  add(counts: unknown, facet: string, change: 1 | -1): unknown;
}

export type Relation = EmbedsOne | EmbedsMany | ListsFirst | Counts;

type Names<Part> = keyof Part & string;
type Expansion<In extends CollectionName> = Names<DocumentOf<In>['expansions']>;
type KeyName<Name extends CollectionName> = Names<DocumentOf<Name>['keys']>;

export function embedsOne<In extends CollectionName, Of extends CollectionName>(
  collection: In,
  name: Expansion<In>,
  options: {
    readonly of: Of;
    readonly by: KeyName<In>;
    as(other: DocumentOf<Of>): Embed;
    embeddedIn(other: DocumentOf<Of>): number;
  },
): Relation {
  return { kind: 'embedsOne', in: collection, name, ...options };
}

export function embedsMany<In extends CollectionName, Of extends CollectionName>(
  collection: In,
  name: Expansion<In>,
  options: {
    readonly of: Of;
    readonly by: string;
    as(other: DocumentOf<Of>): Embed;
    readonly index: ReverseIndex;
  },
): Relation {
  return { kind: 'embedsMany', in: collection, name, ...options };
}

export function listsFirst<In extends CollectionName, Of extends CollectionName>(
  max: number,
  collection: In,
  name: Expansion<In>,
  options: {
    readonly of: Of;
    readonly by: KeyName<Of>;
    /** One list of each; one of all by default. */
    readonly per?: 'visibility';
    order(document: DocumentOf<In>): SortOrder;
    total(document: DocumentOf<In>, part: ListPart): number;
    as?(listed: DocumentOf<Of>): JsonObject;
  },
): Relation {
  const { per, ...rest } = options;
  const parts = per === 'visibility' ? visibilitySchema.options : [null];
  return { kind: 'listsFirst', max, in: collection, name, parts, ...rest };
}

export function counts<
  In extends CollectionName,
  Name extends Names<DocumentOf<In>['state']>,
  Of extends CollectionName,
>(
  collection: In,
  name: Name,
  options: {
    readonly of: Of;
    readonly by: KeyName<Of>;
    facet(counted: DocumentOf<Of>): string;
    add(counts: DocumentOf<In>['state'][Name], facet: string, change: 1 | -1): DocumentOf<In>['state'][Name];
  },
): Relation {
  return { kind: 'counts', in: collection, name, ...options };
}
