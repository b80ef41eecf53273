import type { ListingDocument } from '../../shared/catalog/listing/document';
import type { MediaUser } from '../../shared/catalog/media/use-document';
import type { PublicationDocument } from '../../shared/catalog/publication/document';
import { reactToPublication, shownListing } from '../views/listing';
import { mediaUse, useId } from '../views/media-use';
import { shownPublication } from '../views/publication';
import { countPublication, reactToListing } from '../views/store';
import { type Known, type Transition, unchanged } from '../views/view';
import type { UnitOfWork } from './unit-of-work';

/*
 * What a document's change means for the documents that are made from it. All of them must be loaded.
 */

/** To the listings and the store that it was or is in. */
export function passPublication(
  unit: UnitOfWork,
  id: string,
  before: Known<PublicationDocument>,
  after: Known<PublicationDocument>,
): void {
  const transition = { before: shownPublication(before), after: shownPublication(after) };
  for (const listing_id of valuesOf(transition, 'listing_id')) {
    const listing = unit.react('listings', listing_id, (view) =>
      reactToPublication(listing_id, view, id, transition),
    );
    passListing(unit, listing_id, listing.before, listing.after);
  }
  for (const store_id of valuesOf(transition, 'store_id'))
    unit.react('stores', store_id, (view) => unchanged(countPublication(view, transition)));
}

/** To its store. */
export function passListing(
  unit: UnitOfWork,
  id: string,
  before: Known<ListingDocument>,
  after: Known<ListingDocument>,
): void {
  const transition = { before: shownListing(before), after: shownListing(after) };
  for (const store_id of valuesOf(transition, 'store_id'))
    unit.react('stores', store_id, (view) => reactToListing(view, id, transition));
}

/**
 * To what says who refers to which media; `store_id`: of what refers, null where it is deleted. A use that is beyond the
 * event was written by who folds the same events and is further on: it is not gone back with.
 */
export function passUses(
  unit: UnitOfWork,
  used_by: MediaUser & { readonly store_id: string | null },
  before: readonly string[],
  after: readonly string[],
): void {
  const { collection, id, store_id } = used_by;
  if (before === after) return;
  const behind = (media_id: string): boolean => !unit.isBeyond('media_uses', useId(media_id, id));
  for (const media_id of before)
    if (!after.includes(media_id) && behind(media_id)) unit.set('media_uses', useId(media_id, id), null);
  for (const media_id of after)
    if (!before.includes(media_id) && behind(media_id))
      unit.set('media_uses', useId(media_id, id), mediaUse(store_id, media_id, { collection, id }));
}

/** The documents that a transition is of concern to, by the key that names them. */
export function valuesOf(
  { before, after }: Transition<{ readonly keys: Readonly<Record<string, unknown>> }>,
  key: 'listing_id' | 'store_id',
): Set<string> {
  if (before === after) return new Set();
  const values = [before?.keys[key], after?.keys[key]];
  return new Set(values.filter((value): value is string => typeof value === 'string'));
}
