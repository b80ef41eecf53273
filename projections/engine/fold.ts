import type { AccountEvent } from '../../shared/catalog/account/account';
import type { ApiKeyEvent } from '../../shared/catalog/api-key/api-key';
import type { Category, RecordedEvent } from '../../shared/catalog/events/envelope';
import type { ListingEvent } from '../../shared/catalog/listing/listing';
import type { MediaEmbed } from '../../shared/catalog/media/document';
import type { MediaEvent } from '../../shared/catalog/media/media';
import type { PublicationEvent } from '../../shared/catalog/publication/publication';
import type { Environment, Realm } from '../../shared/catalog/realm';
import type { ReviewEvent } from '../../shared/catalog/review/review';
import type { StoreEvent } from '../../shared/catalog/store/store';
import type { AccountId, ApiKeyId, ListingId, PublicationId, StoreId } from '../../shared/kernel/ids';
import { foldAccount } from '../views/account';
import { foldApiKey } from '../views/api-key';
import { foldListing, mediaIdsOfListing } from '../views/listing';
import { embedMedia } from '../views/media';
import { paymentMethodView } from '../views/payment-method';
import {
  type Attachment,
  countReview,
  embedListing,
  foldPublication,
  mediaIdsOfPublication,
} from '../views/publication';
import { reviewView } from '../views/review';
import { foldStore } from '../views/store';
import { type Occasion, unchanged } from '../views/view';
import type { Decoded } from './decoded';
import { foldMediaEvent } from './fold-media';
import { passListing, passPublication, passUses } from './pass-on';
import type { UnitOfWork } from './unit-of-work';

/**
 * Folds one event into the documents of the unit, all of which must be loaded: first the document of the event's own
 * stream, then what is made from it, each from the transition of the one before
 * (media → publication → listing → store, review → publication).
 */
export function foldEvent(
  unit: UnitOfWork,
  recorded: RecordedEvent,
  { category, id, realm, event }: Decoded,
): void {
  const occasion = { id, revision: recorded.revision, at: recorded.metadata.occurred_at };
  const fold = folds[category];
  if (!fold) throw new Error(`no view of ${category} events`);
  fold(unit, event as never, occasion, realm);
}

type Fold<Event> = (unit: UnitOfWork, event: Event, occasion: Occasion, realm: Realm) => void;

const folds: Partial<Record<Category, Fold<never>>> = {
  store: foldStoreEvent,
  listing: foldListingEvent,
  publication: foldPublicationEvent,
  media: (unit, event: MediaEvent, occasion, realm) =>
    foldMediaEvent(unit, event, occasion, realm as Environment),
  review: foldReviewEvent,
  account: (unit, event: AccountEvent, occasion) =>
    unit.set(
      'accounts',
      occasion.id,
      foldAccount(unit.read('accounts', occasion.id), event, occasion as Occasion<AccountId>),
    ),
  api_key: (unit, event: ApiKeyEvent, occasion) =>
    unit.set(
      'api_keys',
      occasion.id,
      foldApiKey(unit.read('api_keys', occasion.id), event, occasion as Occasion<ApiKeyId>),
    ),
};

function foldStoreEvent(unit: UnitOfWork, event: StoreEvent, occasion: Occasion): void {
  const before = unit.read('stores', occasion.id);
  unit.set('stores', occasion.id, foldStore(before, event, occasion as Occasion<StoreId>));
  if (event.type === 'PaymentMethodAdded') {
    const id = event.data.payment_method_id;
    // Added once: what is there, or was removed since, comes from this very event.
    if (unit.read('payment_methods', id) === undefined)
      unit.set('payment_methods', id, paymentMethodView(occasion.id, event.data, occasion.at));
  }
  if (event.type === 'PaymentMethodRemoved') unit.set('payment_methods', event.data.payment_method_id, null);
}

function foldListingEvent(unit: UnitOfWork, event: ListingEvent, occasion: Occasion): void {
  const before = unit.read('listings', occasion.id);
  const { view, incomplete } = foldListing(before, event, occasion as Occasion<ListingId>, (ids, store_id) =>
    embedsOf(unit, ids, store_id),
  );
  unit.set('listings', occasion.id, view, incomplete);
  const user = { collection: 'listings', id: occasion.id, store_id: view?.keys.store_id ?? null } as const;
  if (view !== before) passUses(unit, user, mediaIdsOfListing(before), mediaIdsOfListing(view));
  passListing(unit, occasion.id, before, view);
}

function foldPublicationEvent(unit: UnitOfWork, event: PublicationEvent, occasion: Occasion): void {
  const { id } = occasion;
  const before = unit.read('publications', id);
  const after = foldPublication(
    before,
    event,
    occasion as Occasion<PublicationId>,
    (listing_id, store_id) => attachmentTo(unit, listing_id, store_id),
    (media_ids, store_id) => embedsOf(unit, media_ids, store_id),
  );
  if (after === before) return;
  unit.set('publications', id, after);
  const user = { collection: 'publications', id, store_id: after?.keys.store_id ?? null } as const;
  passUses(unit, user, mediaIdsOfPublication(before), mediaIdsOfPublication(after));
  passPublication(unit, id, before, after);
}

function foldReviewEvent(unit: UnitOfWork, event: ReviewEvent, { id }: Occasion): void {
  // Written once: a review that is there was counted before, for the publication's document is written first.
  if (unit.read('reviews', id) !== undefined) return;
  unit.set('reviews', id, reviewView(id, event.data));
  unit.react('publications', event.data.publication_id, (view) => unchanged(countReview(view, event.data)));
}

/** Where a publication is put: a deleted listing, or another store's, is none. */
function attachmentTo(unit: UnitOfWork, listing_id: string | null, store_id: string): Attachment {
  const view = listing_id === null ? null : unit.read('listings', listing_id);
  const listing = view?.state.listing ?? null;
  if (view === null || (listing && listing.store_id !== store_id)) return { listing_id: null, embed: null };
  return { listing_id, embed: listing && embedListing(listing) };
}

/** Those of the media that are there; what comes later brings itself in. */
function embedsOf(unit: UnitOfWork, media_ids: readonly string[], store_id: string): MediaEmbed[] {
  return media_ids.flatMap((id) => embedMedia(unit.read('media', id), store_id) ?? []);
}
