import { COLLECTION_NAMES } from '../../shared/catalog/documents';
import { compareByOrder } from '../../shared/catalog/sorting';
import { type Entry, EXPANDED_BYTES_MAX, type Key } from '../../shared/catalog/stored-document';
import type { ListsFirst } from '../views/relation';
import type { AnyDocument, MaybeDocument } from '../views/view';
import { fitting } from './entries';
import { inView } from './errors';
import type { List } from './plan';
import { embeddedIds, entryOf, withEntries } from './related';
import type { UnitOfWork } from './unit-of-work';

/**
 * Recomputes the stale lists of entries. Reads the first items of each list from the store by an index, and replaces
 * items with unsaved changes by the documents in memory.
 */
export async function recomputeEntries(unit: UnitOfWork): Promise<void> {
  for (const collection of COLLECTION_NAMES)
    for (const { id, document, stale_lists } of [...unit.changedDocuments(collection)]) {
      if (!document || stale_lists.size === 0) continue;
      let recomputed = document;
      for (const list of stale_lists)
        recomputed = withEntries(recomputed, list, await firstEntries(unit, list, id, document));
      unit.setRecomputed(collection, id, recomputed);
    }
}

async function firstEntries(
  unit: UnitOfWork,
  list: List,
  id: string,
  document: AnyDocument,
): Promise<readonly Entry[]> {
  const { relation, visibility } = list;
  const { target: collection, key, max } = relation;
  const order = inView(() => relation.orderOf(document));
  const where: Record<string, Key> = { [key]: id, ...(visibility === null ? {} : { visibility }) };
  const isItem = (item: MaybeDocument<AnyDocument>): item is AnyDocument =>
    !!item &&
    (visibility === null || item.keys.visibility === visibility) &&
    (item.keys[key] === id || namesInField(relation, id, item));
  const changed = [...unit.changedDocuments(collection)];
  // Read more than `max`, because each item with unsaved changes may leave the list.
  const limit = max + changed.filter(({ stored }) => isItem(stored)).length;
  // An entry needs the keys and the body, which every read returns.
  const found = await unit.version.find(collection, { where, order, limit, parts: [] });
  const changed_ids = new Set(changed.map((item) => item.id));
  const items = [
    ...found.filter((item) => !changed_ids.has(item.id)),
    ...changed.filter((item) => isItem(item.document)),
  ];
  const entries = inView(() =>
    items
      .flatMap((item) => (item.document ? [entryOf(list, id, item.id, item.document)] : []))
      .sort((a, b) => compareByOrder(order, a, b))
      .slice(0, max),
  );
  return fitting(entries, EXPANDED_BYTES_MAX);
}

/** Returns whether the item names document `id` in the field of the relation. */
const namesInField = ({ target, field }: ListsFirst, id: string, item: AnyDocument): boolean =>
  field !== undefined && embeddedIds({ collection: target, field }, item).includes(id);
