import { COLLECTION_NAMES, type CollectionName } from '../../shared/catalog/documents';
import type { Category } from '../../shared/catalog/events/envelope';
import { views } from '../views';
import type { Counts, EmbedsMany, EmbedsOne, ListPart, ListsFirst } from '../views/relation';
import { relations } from '../views/relations';
import type { View } from '../views/view';

/*
 * What the declared relations mean for the engine, worked out once.
 */

/** One list of entries of a document. */
export interface List {
  readonly relation: ListsFirst;
  readonly part: ListPart;
}

/** The documents of one collection that count or list those of another by the same key. */
export interface Parents {
  readonly collection: CollectionName;
  /** The key, and the field of events, that names the parent. */
  readonly by: string;
  readonly counts: readonly Counts[];
  readonly lists: readonly List[];
}

/** All that the engine knows of a collection. */
export interface CollectionPlan {
  /** Undefined for a reverse index. */
  readonly view: View | undefined;
  readonly embedsOne: readonly EmbedsOne[];
  readonly embedsMany: readonly EmbedsMany[];
  readonly lists: readonly List[];
  /** Where its documents are counted and listed. */
  readonly parents: readonly Parents[];
  /** Where its documents are embedded. */
  readonly embeddedOnce: readonly EmbedsOne[];
  readonly embeddedMany: readonly EmbedsMany[];
}

const listsOf = (relation: ListsFirst): List[] => relation.parts.map((part) => ({ relation, part }));

const lists = relations.flatMap((relation) => (relation.kind === 'listsFirst' ? listsOf(relation) : []));
const counted = relations.filter((relation) => relation.kind === 'counts');
const embedsOne = relations.filter((relation) => relation.kind === 'embedsOne');
const embedsMany = relations.filter((relation) => relation.kind === 'embedsMany');

/** The collections that say which documents list an id. */
export const reverseIndexes: ReadonlySet<CollectionName> = new Set(
  embedsMany.map(({ index }) => index.collection),
);

function planOf(name: CollectionName): CollectionPlan {
  return {
    view: views.find(({ collection }) => collection === name),
    embedsOne: embedsOne.filter((relation) => relation.in === name),
    embedsMany: embedsMany.filter((relation) => relation.in === name),
    lists: lists.filter(({ relation }) => relation.in === name),
    parents: parentsOf(name),
    embeddedOnce: embedsOne.filter(({ of }) => of === name),
    embeddedMany: embedsMany.filter(({ of }) => of === name),
  };
}

function parentsOf(name: CollectionName): Parents[] {
  const related = [...counted, ...lists.map(({ relation }) => relation)].filter(({ of }) => of === name);
  const kinds = new Map(related.map((relation) => [`${relation.in} ${relation.by}`, relation]));
  return [...kinds.values()].map(({ in: collection, by }) => ({
    collection,
    by,
    counts: counted.filter((one) => one.of === name && one.in === collection && one.by === by),
    lists: lists.filter(({ relation: one }) => one.of === name && one.in === collection && one.by === by),
  }));
}

export const plans = Object.fromEntries(COLLECTION_NAMES.map((name) => [name, planOf(name)])) as Readonly<
  Record<CollectionName, CollectionPlan>
>;

/** The views that fold the streams of a category. */
export const viewsOf = (category: Category): readonly View[] => viewsByCategory.get(category) ?? [];

const viewsByCategory = new Map(
  views.map(({ category }) => [category, views.filter((view) => view.category === category)]),
);

/**
 * The order in which changed documents must land: what counts, lists or embeds a document before that document, and
 * a reverse index before what it is of. While a document is not written, its previous state is still stored, so a
 * redelivered event produces the same change for the documents made from it; and once it is written, they are too.
 * After a crash between two phases, every event is therefore repeated in full or has no effect left to repeat.
 * `embedsOne` has no place in the order: those embeds are swept before the event itself (see `sweep.ts`).
 */
export const PHASES: readonly (readonly CollectionName[])[] = phases();

function phases(): CollectionName[][] {
  const before: (readonly [CollectionName, CollectionName])[] = [
    ...[...counted, ...embedsMany, ...lists.map(({ relation }) => relation)].map(
      (relation) => [relation.in, relation.of] as const,
    ),
    ...embedsMany.map((relation) => [relation.index.collection, relation.in] as const),
  ];
  const height = (name: CollectionName, above: readonly CollectionName[] = []): number => {
    if (above.includes(name)) throw new Error(`relations in a circle: ${[...above, name].join(' → ')}`);
    const later = before.filter(([first]) => first === name).map(([, second]) => second);
    return Math.max(0, ...later.map((next) => 1 + height(next, [...above, name])));
  };
  const byHeight: CollectionName[][] = [];
  for (const name of COLLECTION_NAMES) {
    const level = height(name);
    byHeight[level] = [...(byHeight[level] ?? []), name];
  }
  return byHeight.reverse();
}
