import type { CollectionName } from '../../shared/catalog/documents';
import type { RecordedEvent } from '../../shared/catalog/events/envelope';
import type { MediaUser } from '../../shared/catalog/media/use-document';
import { mediaIdsOfListing } from '../views/listing';
import { useId } from '../views/media-use';
import { mediaIdsOfPublication } from '../views/publication';
import { type Decoded, decodedOrNothing } from './decoded';
import type { UnitOfWork } from './unit-of-work';

type Ids = Map<CollectionName, Set<string>>;

/**
 * Reads every document that folding these events may ask for, round by round: what the events name, what refers to
 * the media that change, then the listings, stores and uses of media of what was found. A media that more than
 * `users_max` refer to is marked as crowded instead. Events that cannot be read name nothing.
 */
export async function loadTouched(
  unit: UnitOfWork,
  events: readonly RecordedEvent[],
  users_max: number,
): Promise<void> {
  const named: Ids = new Map();
  /** With the store that it was uploaded to, where the events tell. */
  const media = new Map<string, string | undefined>();
  for (const event of events) {
    const known = decodedOrNothing(event);
    if (known) addTouched(named, known);
    if (known?.category !== 'media') continue;
    const uploaded_to = known.event.type === 'MediaUploaded' ? known.event.data.store_id : undefined;
    media.set(known.id, uploaded_to ?? media.get(known.id));
  }
  await loadAll(unit, named);
  const changed = [...media].flatMap(([media_id, uploaded_to]) => {
    const store_id = unit.read('media', media_id)?.keys.store_id ?? uploaded_to;
    return typeof store_id === 'string' ? [{ store_id, media_id }] : [];
  });
  await Promise.all(changed.map((one) => findUses(unit, one, users_max)));
  for (const { store_id, media_id } of changed) {
    add(named, 'stores', store_id);
    if (!unit.isCrowded(media_id))
      for (const { collection, id } of unit.usersOf(media_id)) add(named, collection, id);
  }
  await loadAll(unit, named);
  await loadParents(unit, named);
}

/** Those that refer to a media, and what is made of them. */
export async function loadUsers(unit: UnitOfWork, users: readonly MediaUser[]): Promise<void> {
  const named: Ids = new Map();
  for (const { collection, id } of users) add(named, collection, id);
  await loadAll(unit, named);
  await loadParents(unit, named);
}

async function loadParents(unit: UnitOfWork, named: Ids): Promise<void> {
  const parents: Ids = new Map();
  for (const collection of ['publications', 'listings'] as const)
    for (const id of named.get(collection) ?? []) {
      const view = unit.read(collection, id);
      if (view && 'listing_id' in view.keys) add(parents, 'listings', view.keys.listing_id);
      add(parents, 'stores', view?.keys.store_id);
      for (const media_id of mediaIdsOf(unit, collection, id))
        add(parents, 'media_uses', useId(media_id, id));
    }
  await loadAll(unit, parents);
}

/**
 * Those of the media's own store, for no other shows it, and another's documents are another lane's. Uses that are
 * here already may have changed since they were stored.
 */
async function findUses(
  unit: UnitOfWork,
  where: { readonly store_id: string; readonly media_id: string },
  users_max: number,
): Promise<void> {
  const { media_id } = where;
  const uses = await unit.version.scan('media_uses', { where, limit: users_max + 1 });
  if (uses.length > users_max) unit.markCrowded(media_id);
  else for (const use of uses) if (!unit.has('media_uses', use.id)) unit.adopt('media_uses', use);
}

function mediaIdsOf(unit: UnitOfWork, collection: CollectionName, id: string): readonly string[] {
  if (collection === 'publications') return mediaIdsOfPublication(unit.read(collection, id));
  if (collection === 'listings') return mediaIdsOfListing(unit.read(collection, id));
  return [];
}

async function loadAll(unit: UnitOfWork, ids: Ids): Promise<void> {
  await Promise.all([...ids].map(([collection, some]) => unit.load(collection, some)));
}

function addTouched(ids: Ids, { category, id, event }: Decoded): void {
  const data = event.data as Readonly<Record<string, unknown>>;
  switch (category) {
    case 'store':
      add(ids, 'stores', id);
      add(ids, 'payment_methods', data.payment_method_id);
      break;
    case 'listing':
      add(ids, 'listings', id);
      add(ids, 'stores', data.store_id);
      addMedia(ids, id, data.media_ids);
      break;
    case 'publication':
      add(ids, 'publications', id);
      add(ids, 'listings', data.listing_id);
      add(ids, 'stores', data.store_id);
      addMedia(ids, id, data.media_ids);
      break;
    case 'media':
      add(ids, 'media', id);
      add(ids, 'stores', data.store_id);
      break;
    case 'review':
      add(ids, 'reviews', id);
      add(ids, 'publications', data.publication_id);
      break;
    case 'account':
      add(ids, 'accounts', id);
      break;
    case 'api_key':
      add(ids, 'api_keys', id);
      break;
  }
}

function addMedia(ids: Ids, user_id: string, media_ids: unknown): void {
  for (const media_id of Array.isArray(media_ids) ? media_ids : []) {
    add(ids, 'media', media_id);
    add(ids, 'media_uses', useId(String(media_id), user_id));
  }
}

function add(ids: Ids, collection: CollectionName, id: unknown): void {
  if (typeof id !== 'string') return;
  const set = ids.get(collection);
  if (set) set.add(id);
  else ids.set(collection, new Set([id]));
}
