import { compareByOrder } from '../../shared/catalog/sorting';
import type { Entry, Key } from '../../shared/catalog/stored-document';
import { ALL_PARTS } from '../../shared/ports/view-store';
import type { AnyDocument, Known } from '../views/view';
import { type List, PHASES } from './plan';
import { entryOf, withEntries } from './related';
import type { UnitOfWork } from './unit-of-work';

/**
 * Recomputes the lists of entries that lost one to something beyond those that are kept: an indexed read of the stored
 * documents, corrected by those in memory.
 */
export async function recomputeEntries(unit: UnitOfWork): Promise<void> {
  for (const collection of PHASES.flat().reverse())
    for (const { id, document, incomplete } of [...unit.changed(collection)]) {
      if (!document || incomplete.size === 0) continue;
      let complete = document;
      for (const list of incomplete)
        complete = withEntries(complete, list, await firstEntries(unit, list, id, document));
      unit.complete(collection, id, complete);
    }
}

async function firstEntries(
  unit: UnitOfWork,
  list: List,
  id: string,
  document: AnyDocument,
): Promise<Entry[]> {
  const { of, by, max, as } = list.relation;
  const order = list.relation.order(document);
  const where: Record<string, Key> = { [by]: id, ...(list.part === null ? {} : { visibility: list.part }) };
  const belongs = (item: Known<AnyDocument>): item is AnyDocument =>
    !!item && Object.entries(where).every(([key, value]) => item.keys[key] === value);
  const changed = [...unit.changed(of)];
  // As many more as may turn out to have changed since they were stored.
  const limit = max + changed.filter(({ stored }) => belongs(stored)).length;
  const parts = as ? ALL_PARTS : [];
  const found = await unit.version.find(of, { where, order, limit, parts });
  const stale = new Set(changed.map((item) => item.id));
  const items = [...found.filter((item) => !stale.has(item.id)), ...changed];
  return items
    .flatMap((item) => (belongs(item.document) ? [entryOf(list, item.id, item.document)] : []))
    .sort((a, b) => compareByOrder(order, a, b))
    .slice(0, max);
}
