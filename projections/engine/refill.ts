import type { CollectionName, Key } from '../../shared/catalog/documents';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import type { ListingDocument } from '../../shared/catalog/listing/document';
import { compareByOrder, type SortOrder } from '../../shared/catalog/sorting';
import type { StoreDocument } from '../../shared/catalog/store/document';
import type { Entry } from '../../shared/catalog/stored-document';
import { EXPANDED_MAX } from '../../shared/catalog/stored-document';
import type { Visibility } from '../../shared/catalog/vocabulary';
import { entryOrder, withEntries as withPublications } from '../views/listing';
import { MEDIA_ORDER } from '../views/media';
import { LISTING_ORDER, withEntries as withListedOrMedia } from '../views/store';
import type { Known, View } from '../views/view';
import type { UnitOfWork } from './unit-of-work';
import type { WorkingDocument } from './working-document';

/** Which documents an aggregate's entries are the first of. */
interface Members {
  readonly collection: CollectionName;
  readonly where: Readonly<Record<string, Key>>;
  readonly order: SortOrder;
}

/**
 * Completes the lists of entries that lost one to something beyond the twenty that are kept: an indexed read of the
 * stored documents, corrected by those in memory.
 */
export async function refill(unit: UnitOfWork): Promise<void> {
  for (const { id, view, incomplete } of [...unit.changed('listings')]) {
    if (!view || incomplete.size === 0) continue;
    let listing = view as ListingDocument;
    const order = entryOrder(listing);
    for (const name of incomplete) {
      const visibility = name as Visibility;
      const members = { collection: 'publications', where: { listing_id: id, visibility }, order } as const;
      listing = withPublications(listing, visibility, await firstEntries(unit, members));
    }
    unit.complete('listings', id, listing);
  }
  for (const { id, view, incomplete } of [...unit.changed('stores')]) {
    if (!view || incomplete.size === 0) continue;
    let store = view as StoreDocument;
    for (const name of incomplete) {
      const members: Members =
        name === 'media'
          ? { collection: 'media', where: { store_id: id }, order: MEDIA_ORDER }
          : { collection: 'listings', where: { store_id: id, visibility: name }, order: LISTING_ORDER };
      store = withListedOrMedia(store, name, await firstEntries(unit, members));
    }
    unit.complete('stores', id, store);
  }
}

async function firstEntries(unit: UnitOfWork, { collection, where, order }: Members): Promise<Entry[]> {
  const changed = [...unit.changed(collection)];
  const belongs = (view: Known<View>): boolean =>
    !!view && Object.entries(where).every(([key, value]) => view.keys[key] === value);
  // As many more as may turn out to have changed since they were stored.
  const limit = EXPANDED_MAX + changed.filter(({ stored }) => belongs(stored)).length;
  const stored = await unit.version.find(collection, { where, order, limit });
  const stale = new Set(changed.map(({ id }) => id));
  const entries = stored
    .filter(({ id }) => !stale.has(id))
    .flatMap(({ id, document }) => (document ? [{ id, keys: document.keys, body: document.body }] : []));
  entries.push(...changed.filter(({ view }) => belongs(view)).map(toEntry));
  return entries.sort((a, b) => compareByOrder(order, a, b)).slice(0, EXPANDED_MAX);
}

function toEntry({ id, view }: WorkingDocument): Entry {
  return { id, keys: view!.keys, body: view!.body as JsonObject };
}
