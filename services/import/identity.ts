import { hash } from 'node:crypto';
import type { Store } from '../../shared/catalog/store/store';
import { deriveId, type ListingId, type MediaId, type PublicationId } from '../../shared/kernel/ids';
import type { Fields } from './item';

/**
 * Ids follow from the store and what the file calls the thing, whatever the format, so that the same import again
 * finds what it wrote. What a merchant deleted since stays deleted: the import goes on under the next `generation`,
 * counted from 1.
 */
export type StoreIdentity = Pick<Store, 'id' | 'created_at'>;

export function publicationIdOf(
  store: StoreIdentity,
  external_id: string,
  generation: number,
): PublicationId {
  return derive(store, 'publication', external_id, generation);
}

/** One listing per name, in whatever case it is written. */
export function listingIdOf(store: StoreIdentity, name: string, generation: number): ListingId {
  return derive(store, 'listing', listingKey(name), generation);
}

/** One media per address, whichever publications show it. */
export function mediaIdOf(store: StoreIdentity, url: string, generation: number): MediaId {
  return derive(store, 'media', url, generation);
}

export const listingKey = (name: string): string =>
  name.normalize('NFC').trim().replace(/\s+/g, ' ').toLowerCase();

/** A hash of everything that the review says, in any order of its fields. */
export function wordsOf(fields: Fields): string {
  const said = Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));
  return hash('sha256', JSON.stringify(said), 'hex');
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
