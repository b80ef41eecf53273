import type { CollectionName } from '../shared/contracts/documents';
import type { RecordedEvent } from '../shared/contracts/envelope';
import { type Decoded, decodedOrNothing } from './decoded';
import type { UnitOfWork } from './unit-of-work';
import { type ListingView, mediaIdsOfListing } from './views/listing';
import { type MediaUse, useId } from './views/media-use';
import { mediaIdsOfPublication, type PublicationView } from './views/publication';
import type { View } from './views/view';

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
  const changed_media = new Set<string>();
  for (const event of events) {
    const known = decodedOrNothing(event);
    if (known) addTouched(named, known);
    if (known?.category === 'media') changed_media.add(known.id);
  }
  await loadAll(unit, named);
  await Promise.all([...changed_media].map((media_id) => findUses(unit, media_id, users_max)));
  for (const media_id of changed_media)
    if (!unit.isCrowded(media_id))
      for (const { collection, id } of unit.usersOf(media_id)) add(named, collection, id);
  await loadAll(unit, named);
  await loadParents(unit, named);
}

/** Those that refer to a media, and what is made of them. */
export async function loadUsers(unit: UnitOfWork, users: readonly MediaUse[]): Promise<void> {
  const named: Ids = new Map();
  for (const { collection, id } of users) add(named, collection, id);
  await loadAll(unit, named);
  await loadParents(unit, named);
}

async function loadParents(unit: UnitOfWork, named: Ids): Promise<void> {
  const parents: Ids = new Map();
  for (const collection of ['publications', 'listings', 'media'] as const)
    for (const id of named.get(collection) ?? []) {
      const view = unit.read<View>(collection, id);
      add(parents, 'listings', view?.keys.listing_id);
      add(parents, 'stores', view?.keys.store_id);
      for (const media_id of mediaIdsOf(unit, collection, id))
        add(parents, 'media_uses', useId(media_id, id));
    }
  await loadAll(unit, parents);
}

/** Uses that are here already may have changed since they were stored. */
async function findUses(unit: UnitOfWork, media_id: string, users_max: number): Promise<void> {
  const page = { where: { media_id }, limit: users_max + 1 };
  const uses = await unit.version.scan('media_uses', page);
  if (uses.length > users_max) unit.markCrowded(media_id);
  else for (const use of uses) if (!unit.has('media_uses', use.id)) unit.adopt('media_uses', use);
}

function mediaIdsOf(unit: UnitOfWork, collection: CollectionName, id: string): readonly string[] {
  if (collection === 'publications') return mediaIdsOfPublication(unit.read<PublicationView>(collection, id));
  if (collection === 'listings') return mediaIdsOfListing(unit.read<ListingView>(collection, id));
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
