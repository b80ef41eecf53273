import type { CollectionName, Key } from '../shared/contracts/documents';
import { compareByOrder, type SortOrder } from '../shared/contracts/sorting';
import type { Visibility } from '../shared/contracts/vocabulary';
import type { UnitOfWork } from './unit-of-work';
import { ENTRY_COUNT, type Entry } from './views/entries';
import { entryOrder, type ListingView, withEntries as withPublications } from './views/listing';
import { LISTING_ORDER, type StoreView, withEntries as withListings } from './views/store';
import type { Known, View } from './views/view';
import type { WorkingDocument } from './working-document';

/** Which documents an aggregate's entries are the first of. */
interface Members {
  readonly collection: CollectionName;
  readonly parent: string;
  readonly parent_id: string;
  readonly visibility: Visibility;
  readonly order: SortOrder;
}

/**
 * Completes the lists of entries that lost one to something beyond the twenty that are kept: an indexed read of the
 * stored documents, corrected by those in memory.
 */
export async function refill(unit: UnitOfWork): Promise<void> {
  for (const { id, view, incomplete } of [...unit.changed('listings')])
    if (view && incomplete.size > 0) {
      const order = entryOrder(view as ListingView);
      const members = { collection: 'publications', parent: 'listing_id', parent_id: id, order } as const;
      unit.complete(
        'listings',
        id,
        await refilled(unit, view as ListingView, incomplete, members, withPublications),
      );
    }
  for (const { id, view, incomplete } of [...unit.changed('stores')])
    if (view && incomplete.size > 0) {
      const members = {
        collection: 'listings',
        parent: 'store_id',
        parent_id: id,
        order: LISTING_ORDER,
      } as const;
      unit.complete('stores', id, await refilled(unit, view as StoreView, incomplete, members, withListings));
    }
}

async function refilled<V extends View>(
  unit: UnitOfWork,
  view: V,
  incomplete: ReadonlySet<Visibility>,
  members: Omit<Members, 'visibility'>,
  withEntries: (view: V, visibility: Visibility, list: readonly Entry[]) => V,
): Promise<V> {
  let next = view;
  for (const visibility of incomplete)
    next = withEntries(next, visibility, await firstEntries(unit, { ...members, visibility }));
  return next;
}

async function firstEntries(unit: UnitOfWork, members: Members): Promise<Entry[]> {
  const { collection, parent, parent_id, visibility, order } = members;
  const changed = [...unit.changed(collection)];
  const belongs = (view: Known<View>): boolean =>
    view?.keys[parent] === parent_id && view.keys.visibility === visibility;
  // As many more as may turn out to have changed since they were stored.
  const limit = ENTRY_COUNT + changed.filter(({ stored }) => belongs(stored)).length;
  const where: Record<string, Key> = { [parent]: parent_id, visibility };
  const stored = await unit.version.find(collection, { where, order, limit });
  const stale = new Set(changed.map(({ id }) => id));
  const entries = stored
    .filter(({ id }) => !stale.has(id))
    .flatMap(({ id, document }) => (document ? [{ id, keys: document.keys, body: document.body }] : []));
  entries.push(...changed.filter(({ view }) => belongs(view)).map(toEntry));
  return entries.sort((a, b) => compareByOrder(order, a, b)).slice(0, ENTRY_COUNT);
}

function toEntry({ id, view }: WorkingDocument): Entry {
  return { id, keys: view!.keys, body: view!.body };
}
