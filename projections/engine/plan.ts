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
  const placesOf = (relation: Counts | ListsFirst): [string, NamedIn][] =>
    namedIn(relation).map((named_in) => [JSON.stringify([relation.collection, named_in]), named_in]);
  const byParent = new Map(
    toParents.flatMap((relation) =>
      placesOf(relation).map(([place, named_in]) => [place, { relation, named_in }] as const),
    ),
  );
  return [...byParent].map(([place, { relation, named_in }]) => {
    const hasSameParent = (other: Counts | ListsFirst): boolean =>
      other.target === child && placesOf(other).some(([other_place]) => other_place === place);
    return {
      collection: relation.collection,
      child,
      named_in,
      counts: counts.filter(hasSameParent),
      lists: lists.filter((list) => hasSameParent(list.relation)),
    };
  });
}

export function namedIn(relation: Counts | ListsFirst): NamedIn[] {
  if (relation.kind === 'counts') return [relation.named_in];
  const { key, field } = relation;
  return [{ key }, ...(field === undefined ? [] : [{ field }])];
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
