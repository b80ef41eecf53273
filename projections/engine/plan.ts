import { COLLECTION_NAMES, type CollectionName } from '../../shared/catalog/documents';
import type { Category } from '../../shared/catalog/events/envelope';
import { tallies, views } from '../views';
import type { Counts, EmbedsMany, EmbedsOne, ListsFirst, ListVisibility, NamedIn } from '../views/relation';
import { relations } from '../views/relations';
import type { Tally } from '../views/tally';
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
  /** The collection of the children. */
  readonly child: CollectionName;
  /** Where a child names its parents. */
  readonly named_in: NamedIn;
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
  // Relations with the same parent collection that name the parents in the same place are one `ParentRelation`.
  const placeOf = (relation: Counts | ListsFirst): string =>
    JSON.stringify([relation.collection, namedIn(relation)]);
  const byParent = new Map(toParents.map((relation) => [placeOf(relation), relation]));
  return [...byParent].map(([place, relation]) => {
    const hasSameParent = (other: Counts | ListsFirst): boolean =>
      other.target === child && placeOf(other) === place;
    return {
      collection: relation.collection,
      child,
      named_in: namedIn(relation),
      counts: counts.filter(hasSameParent),
      lists: lists.filter((list) => hasSameParent(list.relation)),
    };
  });
}

function namedIn(relation: Counts | ListsFirst): NamedIn {
  return relation.kind === 'counts' ? relation.named_in : { key: relation.key };
}

export const plans = Object.fromEntries(COLLECTION_NAMES.map((name) => [name, planOf(name)])) as Readonly<
  Record<CollectionName, CollectionPlan>
>;

/** Returns the views that fold the streams of a category. */
export const viewsOf = (category: Category): readonly View[] => viewsByCategory.get(category) ?? [];

const viewsByCategory = new Map(
  views.map(({ category }) => [category, views.filter((view) => view.category === category)]),
);

/** Returns the tallies of a category's events. */
export const talliesOf = (category: Category): readonly Tally[] => talliesByCategory.get(category) ?? [];

const talliesByCategory = new Map(
  tallies.map(({ category }) => [category, tallies.filter((tally) => tally.category === category)]),
);

/**
 * The order in which changed documents are written. A document that counts or lists other documents (a parent) is
 * written before these other documents. A reverse index is written before the documents that it indexes, and after the
 * documents that count these.
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
 * Relations that embed do not affect the order. A sweep updates the copies before the event itself is folded (see
 * `sweep.ts`). All other copies of an `embedsMany` relation are compared with their target again when an event of the
 * target is redelivered, also if the target already includes the event (see `foldInto` in `fold.ts`).
 */
export const PHASES: readonly (readonly CollectionName[])[] = phases();

function phases(): CollectionName[][] {
  const write_order: { readonly earlier: CollectionName; readonly later: CollectionName }[] = [
    ...[...counts, ...lists.map(({ relation }) => relation)].map(({ collection, target }) => ({
      earlier: collection,
      later: target,
    })),
    ...embedsMany.flatMap(({ index, collection, target }) => [
      { earlier: target, later: index.collection },
      { earlier: index.collection, later: collection },
    ]),
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
