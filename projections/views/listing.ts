import { stateOf } from '../../shared/catalog/events/aggregate';
import {
  type ListingBody,
  type ListingDocument,
  type ListingEmbed,
  listingCollection,
  listingKeys,
  type PlaceEmbed,
  publicationCount,
} from '../../shared/catalog/listing/document';
import {
  childrenCount,
  type Listing,
  type ListingEvent,
  listingAggregate,
  listingResource,
} from '../../shared/catalog/listing/listing';
import { areIdsOf, idsOf } from '../../shared/catalog/media/document';
import { featuredFirst, type SortOrder } from '../../shared/catalog/sorting';
import type { ListingId } from '../../shared/kernel/ids';
import { type EventContext, noKeys, type View } from './view';

const PLACEHOLDER: ListingDocument = {
  keys: noKeys<ListingDocument['keys']>(listingCollection.keys),
  body: {} as ListingBody,
  state: {
    listing: null,
    deleted: null,
    facets: {},
    children: { public: 0, private: 0 },
    revision: -1,
  },
  expansions: { publications: { public: [], private: [] }, media: [] },
};

export const listingView: View<ListingDocument, ListingEvent> = {
  collection: 'listings',
  category: 'listing',
  aggregate: 'listing',
  placeholder: PLACEHOLDER,
  fold: (before, event, { id, revision, occurred_at }: EventContext<ListingId>) => {
    const base = before ?? PLACEHOLDER;
    const current = base.state.deleted ?? stateOf(base.state.listing);
    const after = listingAggregate.evolve(current, event, id, occurred_at);
    // The counts and the list of publications stay: these still name the listing, which may be restored.
    if (after.tag === 'deleted' && after !== current) {
      // It can no longer be restored.
      if (!after.resource) return null;
      const { store_id: deleted_in, deleted_at = null } = after;
      return {
        ...PLACEHOLDER,
        keys: { ...PLACEHOLDER.keys, deleted_in, deleted_at },
        state: { ...base.state, listing: null, deleted: after, revision },
        expansions: { ...base.expansions, media: [] },
      };
    }
    if (after.tag !== 'present') return before;
    const listing = after.resource;
    return {
      keys: listingKeys(listing),
      body: bodyOf(listing, base),
      state: { ...base.state, listing, deleted: null, revision },
      expansions: base.expansions,
    };
  },
  derive: (document) => {
    const { listing } = document.state;
    if (!listing) return document;
    const { stats, media_ids, children_count = 0 } = document.body;
    const is_current =
      children_count === document.state.children.public &&
      stats.publication_count === publicationCount(document.state, ['public']) &&
      areIdsOf(media_ids, document.expansions.media);
    return is_current ? document : { ...document, body: bodyOf(listing, document) };
  },
};

function bodyOf(listing: Listing, document: ListingDocument): ListingBody {
  const media_ids = idsOf(document.expansions.media);
  const publication_count = publicationCount(document.state, ['public']);
  const stats = { media_count: media_ids.length, publication_count };
  const children = childrenCount(document.state.children.public);
  return { ...listingResource(listing), stats, media_ids, ...children } as unknown as ListingBody;
}

/** Returns the order of the listing's publications. */
export function entryOrder({ state }: ListingDocument): SortOrder {
  return featuredFirst(state.listing?.default_sort_mode ?? 'created_at_desc');
}

/** One embed object per listing, shared by all its publications in memory. Saves memory during a rebuild. */
const embeds = new WeakMap<Listing, ListingEmbed>();

/** Returns the copy of the listing that its publications embed. The document must not be a placeholder. */
export function embedListing({ state }: ListingDocument): ListingEmbed {
  const listing = state.listing!;
  const cached = embeds.get(listing);
  if (cached) return cached;
  const { id, version, visibility } = listing;
  const embed = { id, version, visibility, body: listingResource(listing) };
  embeds.set(listing, embed);
  return embed;
}

/** Returns the copy that the publications embed that have the listing among their `listing_ids`. */
export function embedPlace({ state }: ListingDocument): PlaceEmbed {
  const { id, version, visibility } = state.listing!;
  return { id, version, visibility, body: {} };
}
