import { COLLECTION_NAMES, type CollectionName } from '../../shared/catalog/documents';
import type { Category } from '../../shared/catalog/events/envelope';
import { views } from '../views';
import type { Counts, EmbedsMany, EmbedsOne, ListsFirst, ListVisibility } from '../views/relation';
import { relations } from '../views/relations';
import type { View } from '../views/view';

/*
 * Derives from the declared relations, once at start, what the engine needs to know about each collection.
 */

/** One list of entries of a document. */
export interface List {
  readonly relation: ListsFirst;
  readonly visibility: ListVisibility;
}

/**
 * How the documents of one collection (the children) are counted or listed in the documents of another (the parents).
 */
export interface ParentRelation {
  /** The collection of the parents. */
  readonly collection: CollectionName;
  /** The key of a child, and the field of its events, that contains the parent's id. */
  readonly key: string;
  readonly counts: readonly Counts[];
  readonly lists: readonly List[];
}

/** How the documents of one collection relate to others. */
export interface CollectionPlan {
  /** Undefined for a reverse index. */
  readonly view: View | undefined;
  /** The documents that these documents embed, and the lists that they contain. */
  readonly embedsOne: readonly EmbedsOne[];
  readonly embedsMany: readonly EmbedsMany[];
  readonly lists: readonly List[];
  /** The parents of these documents. */
  readonly parents: readonly ParentRelation[];
  /** The relations of other collections that embed these documents. */
  readonly incomingEmbedsOne: readonly EmbedsOne[];
  readonly incomingEmbedsMany: readonly EmbedsMany[];
}

const listsOf = (relation: ListsFirst): List[] =>
  relation.visibilities.map((visibility) => ({ relation, visibility }));

const lists = relations.flatMap((relation) => (relation.kind === 'listsFirst' ? listsOf(relation) : []));
const counts = relations.filter((relation) => relation.kind === 'counts');
const embedsOne = relations.filter((relation) => relation.kind === 'embedsOne');
const embedsMany = relations.filter((relation) => relation.kind === 'embedsMany');

/** The collections that are reverse indexes of `embedsMany` relations. */
export const reverseIndexes: ReadonlySet<CollectionName> = new Set(
  embedsMany.map(({ index }) => index.collection),
);

function planOf(name: CollectionName): CollectionPlan {
  return {
    view: views.find(({ collection }) => collection === name),
    embedsOne: embedsOne.filter(({ collection }) => collection === name),
    embedsMany: embedsMany.filter(({ collection }) => collection === name),
    lists: lists.filter(({ relation }) => relation.collection === name),
    parents: parentsOf(name),
    incomingEmbedsOne: embedsOne.filter(({ target }) => target === name),
    incomingEmbedsMany: embedsMany.filter(({ target }) => target === name),
  };
}

function parentsOf(child: CollectionName): ParentRelation[] {
  const toParents = [...counts, ...lists.map(({ relation }) => relation)].filter(
    ({ target }) => target === child,
  );
  // Relations with the same parent collection and the same key are one `ParentRelation`.
  const byParent = new Map(toParents.map((relation) => [`${relation.collection} ${relation.key}`, relation]));
  return [...byParent.values()].map(({ collection, key }) => {
    const hasSameParent = (relation: Counts | ListsFirst): boolean =>
      relation.target === child && relation.collection === collection && relation.key === key;
    return {
      collection,
      key,
      counts: counts.filter(hasSameParent),
      lists: lists.filter(({ relation }) => hasSameParent(relation)),
    };
  });
}

export const plans = Object.fromEntries(COLLECTION_NAMES.map((name) => [name, planOf(name)])) as Readonly<
  Record<CollectionName, CollectionPlan>
>;

/** Returns the views that fold the streams of a category. */
export const viewsOf = (category: Category): readonly View[] => viewsByCategory.get(category) ?? [];

const viewsByCategory = new Map(
  views.map(({ category }) => [category, views.filter((view) => view.category === category)]),
);

/**
 * The order in which changed documents are written. A document that counts or lists other documents (a parent), or that
 * embeds several, is written before these other documents. A reverse index is written before the documents that it
 * indexes.
 *
 * Reason: a worker may crash between two phases. The batch is then projected again.
 *
 * - If a child was not written, the store still contains its previous state. The event is applied to the child again
 *   and results in the same change to its parents. A parent that was already written includes the event, which its
 *   position shows, so it ignores the change.
 * - If a child was written, its revision shows that it includes the event, so its parents are not changed again. They
 *   already include the change, because they were written in an earlier phase.
 *
 * So no change is lost, and no document is counted twice. See
 * `docs/architecture.md#between-a-document-and-its-checkpoint`.
 *
 * `embedsOne` relations do not affect the order: a sweep updates these copies before the event itself is folded (see
 * `sweep.ts`).
 */
export const PHASES: readonly (readonly CollectionName[])[] = phases();

function phases(): CollectionName[][] {
  const write_order: { readonly earlier: CollectionName; readonly later: CollectionName }[] = [
    ...[...counts, ...embedsMany, ...lists.map(({ relation }) => relation)].map(({ collection, target }) => ({
      earlier: collection,
      later: target,
    })),
    ...embedsMany.map(({ index, collection }) => ({ earlier: index.collection, later: collection })),
  ];
  /**
   * Returns the number of phases that must follow the phase of this collection. `path`: collections on the way here.
   */
  const countLaterPhases = (name: CollectionName, path: readonly CollectionName[] = []): number => {
    if (path.includes(name)) throw new Error(`relations form a cycle: ${[...path, name].join(' → ')}`);
    const next = write_order.filter(({ earlier }) => earlier === name).map(({ later }) => later);
    return Math.max(0, ...next.map((child) => 1 + countLaterPhases(child, [...path, name])));
  };
  const from_last: CollectionName[][] = [];
  for (const name of COLLECTION_NAMES) {
    const index = countLaterPhases(name);
    from_last[index] = [...(from_last[index] ?? []), name];
  }
  return from_last.reverse();
}
