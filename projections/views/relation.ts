import type { CollectionName, DocumentOf } from '../../shared/catalog/documents';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import type { SortOrder } from '../../shared/catalog/sorting';
import { type Visibility, visibilitySchema } from '../../shared/catalog/vocabulary';
import type { AnyDocument } from './view';

/*
 * A relation declares that the documents of one collection contain data of other documents: copies, lists or counts.
 * There are four kinds. Each relation is declared once, in `relations.ts`. From the declarations, the engine derives
 * which documents to load, update, recompute and sweep, and in which order to write them.
 *
 * In every relation:
 *
 * - `collection` is the collection of the documents that contain the data.
 * - `name` is the field of these documents that contains it.
 * - `target` is the collection of the documents that the data comes from.
 *
 * Related documents belong to one store, and so to one partition. If an id names a document of another store, the
 * engine ignores it: it copies, lists and counts nothing.
 */

/** A copy of a document inside another one. The engine replaces it only by a newer version. */
export interface Embed {
  readonly id: string;
  readonly version: number;
  readonly body: JsonObject;
}

/**
 * `expansions[name]` is a copy of one target document, or null. Of the parents of the embedding document, a change of the
 * copy is only propagated to those that list it by `ListsFirst.field`. What the others contain of it must not depend on
 * the copy (see `ListsFirst.entryBody`).
 */
export interface EmbedsOne {
  readonly kind: 'embedsOne';
  readonly collection: CollectionName;
  readonly name: string;
  readonly target: CollectionName;
  /**
   * A field of the embedding aggregate and of the events that set it, and a key of the embedding document. It contains
   * the id of the target document, which may be deleted: then the embed is null.
   */
  readonly key: string;
  toEmbed(target: AnyDocument): Embed;
  /** Returns the number of documents that embed `target`. `target` may be a placeholder. */
  countEmbeddingDocuments(target: AnyDocument): number;
}

/**
 * `expansions[name]` contains copies of several target documents, in the order of the ids in `field`. Target documents
 * that do not exist are left out. The body of the embedding document may contain the ids of the copies, but nothing else
 * of them.
 */
export interface EmbedsMany {
  readonly kind: 'embedsMany';
  readonly collection: CollectionName;
  readonly name: string;
  readonly target: CollectionName;
  /** A field of the embedding aggregate and of the events that set it. It contains the ids of the target documents. */
  readonly field: string;
  toEmbed(target: AnyDocument): Embed;
  readonly index: ReverseIndex;
}

/**
 * A reverse index of `embedsMany` relations. Its documents are called references: one for each pair of an embedding
 * document and a target document. The engine maintains them.
 */
export interface ReverseIndex {
  readonly collection: CollectionName;
  /** The key of a reference that contains the id of the target document. */
  readonly key: string;
}

/**
 * `expansions[name]` contains the first `max` target documents that name this document in their key `key`, or also in
 * `field`. The engine replaces an entry when the keys or the body of its document change.
 */
export interface ListsFirst {
  readonly kind: 'listsFirst';
  readonly max: number;
  readonly collection: CollectionName;
  readonly name: string;
  readonly target: CollectionName;
  readonly key: string;
  /** The `field` of an `embedsMany` relation whose ids are of other documents than the one in `key`. */
  readonly field?: string;
  /** Returns the keys of a document as an entry of the list of document `parent_id`. Default: its own keys. */
  entryKeys?(keys: AnyDocument['keys'], parent_id: string): AnyDocument['keys'];
  /**
   * Which lists there are. `[null]`: `expansions[name]` is one list of all target documents. Otherwise, it is an object
   * with one list for each of these visibilities.
   */
  readonly visibilities: readonly ListVisibility[];
  /** Returns the body of the document as an entry of the list of document `parent_id`. Default: its own body. */
  entryBody?(target: AnyDocument, parent_id: string): JsonObject;
  orderOf(document: AnyDocument): SortOrder;
  /** Returns the number of all items of the list, of which the list contains the first `max`. */
  totalOf(document: AnyDocument, visibility: ListVisibility): number;
}

/** The visibility of the documents in a list. Null: the list contains documents of both. */
export type ListVisibility = Visibility | null;

/**
 * `state[name]` contains the number of target documents that name this document, for each facet: a group that `facetOf`
 * names, such as a visibility, a rating or a combination of flags. The facet of a target document must depend only on
 * its own stream, not on the documents that it embeds.
 */
export interface Counts {
  readonly kind: 'counts';
  readonly collection: CollectionName;
  readonly name: string;
  readonly target: CollectionName;
  readonly named_in: NamedIn;
  /** Returns the group of the target document in document `parent_id`. */
  facetOf(target: AnyDocument, parent_id: string): string;
  /** Returns `counts` after `change` was added to the number of the facet. */
  add(counts: unknown, facet: string, change: 1 | -1): unknown;
}

/**
 * Where a target document names the documents that count it.
 *
 * - `key`: a key of the target document, and a field of its events. It contains the id of one document.
 * - `field`: the `field` of an `embedsMany` relation. It contains the ids of the documents that the target document
 *   embeds. A document that is created counts the target documents that name it already.
 */
export type NamedIn = { readonly key: string } | { readonly field: string };

export type Relation = EmbedsOne | EmbedsMany | ListsFirst | Counts;

type Names<Fields> = keyof Fields & string;
type ExpansionName<Name extends CollectionName> = Names<DocumentOf<Name>['expansions']>;
type KeyName<Name extends CollectionName> = Names<DocumentOf<Name>['keys']>;

export function embedsOne<Embedding extends CollectionName, Target extends CollectionName>(
  collection: Embedding,
  name: ExpansionName<Embedding>,
  options: {
    readonly target: Target;
    readonly key: KeyName<Embedding>;
    toEmbed(target: DocumentOf<Target>): Embed;
    countEmbeddingDocuments(target: DocumentOf<Target>): number;
  },
): Relation {
  return { kind: 'embedsOne', collection, name, ...options };
}

export function embedsMany<Embedding extends CollectionName, Target extends CollectionName>(
  collection: Embedding,
  name: ExpansionName<Embedding>,
  options: {
    readonly target: Target;
    readonly field: string;
    toEmbed(target: DocumentOf<Target>): Embed;
    readonly index: ReverseIndex;
  },
): Relation {
  return { kind: 'embedsMany', collection, name, ...options };
}

export function listsFirst<Containing extends CollectionName, Target extends CollectionName>(
  max: number,
  collection: Containing,
  name: ExpansionName<Containing>,
  options: {
    readonly target: Target;
    readonly key: KeyName<Target>;
    readonly field?: string;
    entryKeys?(keys: DocumentOf<Target>['keys'], parent_id: string): DocumentOf<Target>['keys'];
    /** Set it for one list per visibility. Default: one list of all target documents. */
    readonly split_by?: 'visibility';
    entryBody?(target: DocumentOf<Target>, parent_id: string): JsonObject;
    orderOf(document: DocumentOf<Containing>): SortOrder;
    totalOf(document: DocumentOf<Containing>, visibility: ListVisibility): number;
  },
): Relation {
  const { split_by, ...rest } = options;
  const visibilities = split_by === 'visibility' ? visibilitySchema.options : [null];
  return { kind: 'listsFirst', max, collection, name, visibilities, ...rest };
}

export function counts<
  Counting extends CollectionName,
  Name extends Names<DocumentOf<Counting>['state']>,
  Target extends CollectionName,
>(
  collection: Counting,
  name: Name,
  options: {
    readonly target: Target;
    readonly named_in: { readonly key: KeyName<Target> } | { readonly field: string };
    facetOf(target: DocumentOf<Target>, parent_id: string): string;
    add(
      counts: DocumentOf<Counting>['state'][Name],
      facet: string,
      change: 1 | -1,
    ): DocumentOf<Counting>['state'][Name];
  },
): Relation {
  return { kind: 'counts', collection, name, ...options };
}
