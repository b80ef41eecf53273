import type { MediaDocument } from '../../shared/catalog/media/document';
import type { MediaEvent } from '../../shared/catalog/media/media';
import type { MediaUser } from '../../shared/catalog/media/use-document';
import type { Environment } from '../../shared/catalog/realm';
import type { MediaId } from '../../shared/kernel/ids';
import { mediaIdsOfListing, withMediaOfListing } from '../views/listing';
import { foldMedia } from '../views/media';
import { mediaIdsOfPublication, withMediaOfPublication } from '../views/publication';
import { reactToMedia } from '../views/store';
import type { Known, Occasion } from '../views/view';
import { passListing, passPublication, valuesOf } from './pass-on';
import type { UnitOfWork } from './unit-of-work';

/** The media's own document first, then its store, then every publication and listing that refers to it. */
export function foldMediaEvent(
  unit: UnitOfWork,
  event: MediaEvent,
  occasion: Occasion,
  environment: Environment,
): void {
  const { id } = occasion;
  const before = unit.read('media', id);
  const after = foldMedia(before, event, occasion as Occasion<MediaId>, environment);
  if (after === before) return;
  unit.set('media', id, after);
  const transition = { before: before ?? null, after: after ?? null };
  for (const store_id of valuesOf(transition, 'store_id'))
    unit.react('stores', store_id, (view) => reactToMedia(view, id, transition));
  // What too many show was swept before.
  if (!unit.isCrowded(id)) for (const user of unit.usersOf(id)) showMedia(unit, user, id, after);
}

/** Brings the media into one that refers to it; again changes nothing more, as an embed gives way only to a newer one. */
export function showMedia(
  unit: UnitOfWork,
  user: MediaUser,
  media_id: string,
  media: Known<MediaDocument>,
): void {
  if (user.collection === 'publications') {
    const before = unit.read('publications', user.id);
    if (!before || !mediaIdsOfPublication(before).includes(media_id)) return;
    const after = withMediaOfPublication(before, media_id, media);
    unit.set('publications', user.id, after);
    // Others show how many media it has, not which.
    if (after.body !== before.body) passPublication(unit, user.id, before, after);
  } else {
    const before = unit.read('listings', user.id);
    if (!before || !mediaIdsOfListing(before).includes(media_id)) return;
    const after = withMediaOfListing(before, media_id, media);
    unit.set('listings', user.id, after);
    if (after.body !== before.body) passListing(unit, user.id, before, after);
  }
}
