import { hash } from 'node:crypto';
import { HANDLE_MAX, handleField, slugOf } from '../../shared/catalog/input-rules';
import type { ListingId, MediaId, PublicationId } from '../../shared/kernel/ids';
import { derivedIdOf, type StoreIdentity } from '../command/derived-ids';
import type { Fields, ListingName } from './item';

export type { StoreIdentity };

export function publicationIdOf(
  store: StoreIdentity,
  external_id: string,
  generation: number,
): PublicationId {
  return derivedIdOf(store, 'publication', external_id, generation);
}

/** Returns the id of the listing with this name. The case of the name has no effect. */
export function listingIdOf(store: StoreIdentity, name: ListingName, generation: number): ListingId {
  return derivedIdOf(store, 'listing', listingKey(name), generation);
}

/** Returns the id of the media for an image URL. Several publications with this URL share the media. */
export function mediaIdOf(store: StoreIdentity, url: string, generation: number): MediaId {
  return derivedIdOf(store, 'media', url, generation);
}

/** Returns the name of a listing, and its key if it has one. */
export const partsOfName = (listing: ListingName): { readonly name: string; readonly key?: string } =>
  typeof listing === 'string' ? { name: listing } : listing;

/** Returns a text that is the same for equal names. The case of the name has no effect. */
export function listingKey(listing: ListingName): string {
  const { name, key } = partsOfName(listing);
  const folded = name.normalize('NFC').trim().replace(/\s+/g, ' ').toLowerCase();
  // No name contains a line break.
  return key === undefined ? folded : `${folded}\n${key}`;
}

/**
 * Converts a handle of another system to a handle of this service. Returns an empty text if no letter or digit remains.
 */
export function handleOf(text: string): string {
  // A cell may have 4 MB.
  const { success, data } = handleField.safeParse(text.slice(0, HANDLE_MAX + 1).toLowerCase());
  return success ? data : slugOf(text);
}

/** Returns a hash of the fields of a review. The order of the fields has no effect. */
export function contentHash(fields: Fields): string {
  const sorted = Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));
  return hash('sha256', JSON.stringify(sorted), 'hex');
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
