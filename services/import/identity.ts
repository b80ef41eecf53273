import { hash } from 'node:crypto';
import type { Store } from '../../shared/catalog/store/store';
import { deriveId, type ListingId, type MediaId, type PublicationId } from '../../shared/kernel/ids';
import type { Fields } from './item';

/**
 * The fields of a store that are part of every derived id. An id is derived from these fields, the name of the item in
 * the file, and a generation. The format of the file is not part of it, so a repeated import finds the same resources in
 * any format.
 *
 * The generation starts at 1. The id of a deleted resource cannot be used again, so the import then tries the next
 * generation.
 */
export type StoreIdentity = Pick<Store, 'id' | 'created_at'>;

export function publicationIdOf(
  store: StoreIdentity,
  external_id: string,
  generation: number,
): PublicationId {
  return derive(store, 'publication', external_id, generation);
}

/** Returns the id of the listing with this name. The case of the name has no effect. */
export function listingIdOf(store: StoreIdentity, name: string, generation: number): ListingId {
  return derive(store, 'listing', listingKey(name), generation);
}

/** Returns the id of the media for an image URL. Several publications with this URL share the media. */
export function mediaIdOf(store: StoreIdentity, url: string, generation: number): MediaId {
  return derive(store, 'media', url, generation);
}

export const listingKey = (name: string): string =>
  name.normalize('NFC').trim().replace(/\s+/g, ' ').toLowerCase();

/** Returns a hash of the fields of a review. The order of the fields has no effect. */
export function contentHash(fields: Fields): string {
  const sorted = Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));
  return hash('sha256', JSON.stringify(sorted), 'hex');
}

function derive<Id extends PublicationId | ListingId | MediaId>(
  store: StoreIdentity,
  kind: string,
  name: string,
  generation: number,
): Id {
  const suffix = generation === 1 ? [] : [`n${generation}`];
  return deriveId<Id>(Date.parse(store.created_at), store.id, kind, name, ...suffix);
}

/** `absent` if there is no resource with the id, or if it belongs to another store. */
export type Presence = 'absent' | 'present' | 'deleted';

/** Returns the first generation of an id whose resource is not deleted, and whether that resource exists. */
export async function findUsable<Id>(
  idOf: (generation: number) => Id,
  presenceOf: (id: Id) => Promise<Presence>,
): Promise<{ readonly id: Id; readonly is_present: boolean }> {
  for (let generation = 1; ; generation++) {
    const id = idOf(generation);
    const presence = await presenceOf(id);
    if (presence !== 'deleted') return { id, is_present: presence === 'present' };
  }
}
