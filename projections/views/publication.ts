import type { ListingEmbed } from '../../shared/catalog/listing/document';
import type { Listing } from '../../shared/catalog/listing/listing';
import { listingResource } from '../../shared/catalog/listing/listing';
import type { MediaDocument, MediaEmbed } from '../../shared/catalog/media/document';
import {
  NOT_FEATURED,
  type PublicationBody,
  type PublicationDocument,
  type PublicationKeys,
  publicationCollection,
  publicationKeys,
  type ReviewCounts,
} from '../../shared/catalog/publication/document';
import { facetKey } from '../../shared/catalog/publication/facets';
import {
  evolvePublication,
  type Publication,
  type PublicationEvent,
  type PublicationState,
  publicationResource,
} from '../../shared/catalog/publication/publication';
import type { ReviewFields } from '../../shared/catalog/review/review';
import { publicationWords } from '../../shared/catalog/search/words';
import type { Visibility } from '../../shared/catalog/vocabulary';
import type { PublicationId } from '../../shared/kernel/ids';
import { embedMedia, withEmbed } from './media';
import type { Known, Occasion } from './view';

/** Where a publication hangs; `embed` is null while only the listing's id is known. */
export interface Attachment {
  readonly listing_id: string | null;
  readonly embed: ListingEmbed | null;
}

const NO_REVIEWS: ReviewCounts = { count: 0, sum: 0, distribution: { 1: 0, 2: 0, 3: 0, 4: 0, 5: 0 } };
const DETACHED: Attachment = { listing_id: null, embed: null };
const KEY_NAMES = Object.keys(publicationCollection.keys);
const NO_KEYS = Object.fromEntries(KEY_NAMES.map((name) => [name, null])) as unknown as PublicationKeys;

/**
 * One event of the publication's own stream. `attach` looks up the listing that the event names, `embed` the media.
 * Gives the same view where the event is part of it already or changes nothing, null where the publication is deleted.
 */
export function foldPublication(
  before: Known<PublicationDocument>,
  event: PublicationEvent,
  { id, revision, at }: Occasion<PublicationId>,
  attach: (listing_id: string | null, store_id: string) => Attachment,
  embed: (media_ids: readonly string[], store_id: string) => readonly MediaEmbed[],
): Known<PublicationDocument> {
  if (before === null || (before && revision <= before.state.revision)) return before;
  const publication = before?.state.publication ?? null;
  const state: PublicationState = publication ? { tag: 'present', publication } : { tag: 'absent' };
  const after = evolvePublication(state, event, id, at);
  if (after.tag === 'deleted') return null;
  if (after.tag === 'absent') return before;
  const named = event.type === 'PublicationCreated' || event.type === 'PublicationMovedToListing';
  const attachment = named
    ? attach(after.publication.listing_id, after.publication.store_id)
    : attachmentOf(before ?? undefined);
  const arranged = event.type === 'PublicationCreated' || event.type === 'PublicationMediaArranged';
  const media = arranged
    ? embed(after.publication.media_ids, after.publication.store_id)
    : (before?.expansions.media ?? []);
  const reviews = before?.state.reviews ?? NO_REVIEWS;
  const words = wordsAfter(before, after.publication);
  return render(after.publication, { reviews, revision, attachment, media, words });
}

/** The listing was changed, or deleted (null). Gives the same view where it knew that or hangs elsewhere. */
export function withListing(
  view: PublicationDocument,
  listing_id: string,
  listing: Listing | null,
): PublicationDocument {
  if (view.keys.listing_id !== listing_id) return view;
  if (!listing)
    return {
      ...view,
      keys: { ...view.keys, listing_id: null },
      expansions: { ...view.expansions, listing: null },
    };
  const known = view.expansions.listing;
  if (known && known.version >= listing.version) return view;
  return { ...view, expansions: { ...view.expansions, listing: embedListing(listing) } };
}

/** The ids that it refers to, whether they exist or not. */
export function mediaIdsOfPublication(view: Known<PublicationDocument>): readonly string[] {
  return view?.state.publication?.media_ids ?? [];
}

/** One of its media came, changed or went. Gives the same view where it knew that. */
export function withMediaOfPublication(
  view: PublicationDocument,
  media_id: string,
  after: Known<MediaDocument>,
): PublicationDocument {
  const { publication } = view.state;
  if (!publication) return view;
  const known = view.expansions.media;
  const media = withEmbed(known, publication.media_ids, media_id, embedMedia(after, publication.store_id));
  if (media === known) return view;
  const body = media.length === known.length ? view.body : bodyOf(publication, media);
  return { ...view, body, expansions: { ...view.expansions, media } };
}

/** Counts a review; a deleted publication stays deleted, one that is not there yet begins as a shell. */
export function countReview(
  before: Known<PublicationDocument>,
  review: ReviewFields,
): Known<PublicationDocument> {
  if (before === null) return null;
  const view = before ?? shell();
  const { count, sum, distribution } = view.state.reviews;
  const rating = String(review.rating);
  const reviews: ReviewCounts = {
    count: count + 1,
    sum: sum + review.rating,
    distribution: { ...distribution, [rating]: (distribution[rating] ?? 0) + 1 },
  };
  return { ...view, state: { ...view.state, reviews } };
}

/** What others see of the document: nothing where it is deleted or a shell. */
export function shownPublication(view: Known<PublicationDocument>): PublicationDocument | null {
  return view?.state.publication ? view : null;
}

/** Under which a listing's and a store's `facets` count it. */
export function facetOf({ keys }: PublicationDocument): string {
  return facetKey(keys.visibility as Visibility, {
    featured: keys.featured_rank !== NOT_FEATURED,
    free_shipping: keys.free_shipping === 1,
    in_stock: keys.in_stock === 1,
  });
}

/** One object for all publications of a listing: many are kept in memory at once. */
const embeds = new WeakMap<Listing, ListingEmbed>();

export function embedListing(listing: Listing): ListingEmbed {
  const known = embeds.get(listing);
  if (known) return known;
  const { id, version, visibility } = listing;
  const embed = { id, version, visibility, body: listingResource(listing) };
  embeds.set(listing, embed);
  return embed;
}

function attachmentOf(view: PublicationDocument | undefined): Attachment {
  if (!view) return DETACHED;
  return { listing_id: view.keys.listing_id, embed: view.expansions.listing };
}

function shell(): PublicationDocument {
  return {
    keys: NO_KEYS,
    body: {} as PublicationBody,
    state: { publication: null, reviews: NO_REVIEWS, revision: -1 },
    expansions: { listing: null, media: [] },
  };
}

interface Parts {
  readonly reviews: ReviewCounts;
  readonly revision: number;
  readonly attachment: Attachment;
  readonly media: readonly MediaEmbed[];
  readonly words: readonly string[];
}

function render(
  publication: Publication,
  { reviews, revision, attachment: { listing_id, embed }, media, words }: Parts,
): PublicationDocument {
  return {
    keys: publicationKeys(publication, listing_id),
    body: bodyOf(publication, media),
    state: { publication, reviews, revision },
    expansions: { listing: embed, media },
    words,
  };
}

const bodyOf = (publication: Publication, media: readonly MediaEmbed[]): PublicationBody =>
  publicationResource(publication, media.length) as PublicationBody;

/** Most events leave the text alone, and a long one takes its time. */
function wordsAfter(before: PublicationDocument | undefined, after: Publication): readonly string[] {
  const known = before?.state.publication;
  const same =
    known?.title === after.title &&
    known.description === after.description &&
    known.description_html === after.description_html;
  return (same && before?.words) || publicationWords(after);
}
