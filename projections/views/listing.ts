import {
  type ListingBody,
  type ListingDocument,
  type ListingEmbed,
  listingCollection,
  listingKeys,
} from '../../shared/catalog/listing/document';
import {
  evolveListing,
  type Listing,
  type ListingEvent,
  type ListingState,
  listingResource,
} from '../../shared/catalog/listing/listing';
import { featuredFirst, type SortOrder } from '../../shared/catalog/sorting';
import type { Visibility } from '../../shared/catalog/vocabulary';
import type { ListingId } from '../../shared/kernel/ids';
import { noKeys, type Occasion, type View } from './view';

const SHELL: ListingDocument = {
  keys: noKeys<ListingDocument['keys']>(listingCollection.keys),
  body: {} as ListingBody,
  state: { listing: null, facets: {}, revision: -1 },
  expansions: { publications: { public: [], private: [] }, media: [] },
};

export const listingView: View<ListingDocument, ListingEvent> = {
  collection: 'listings',
  category: 'listing',
  aggregate: 'listing',
  shell: SHELL,
  fold: (before, event, { id, revision, at }: Occasion<ListingId>) => {
    const known = before?.state.listing;
    const state: ListingState = known ? { tag: 'present', listing: known } : { tag: 'absent' };
    const after = evolveListing(state, event, id, at);
    if (after.tag === 'deleted') return null;
    if (after.tag === 'absent') return before;
    const { listing } = after;
    const base = before ?? SHELL;
    return {
      keys: listingKeys(listing),
      body: { ...listingResource(listing), stats: statsOf(base) } as ListingBody,
      state: { ...base.state, listing, revision },
      expansions: base.expansions,
    };
  },
  derive: (document) => {
    if (!document.state.listing) return document;
    const { stats } = document.body;
    const now = statsOf(document);
    if (stats.media_count === now.media_count && stats.publication_count === now.publication_count)
      return document;
    return { ...document, body: { ...document.body, stats: now } };
  },
};

function statsOf(document: ListingDocument): ListingBody['stats'] {
  return {
    media_count: document.expansions.media.length,
    publication_count: publicationCount(document, 'public'),
  };
}

/** The order of its publications. */
export function entryOrder({ state }: ListingDocument): SortOrder {
  return featuredFirst(state.listing?.default_sort_mode ?? 'created_at_desc');
}

/** How many publications it has, of one visibility or in all. */
export function publicationCount({ state }: ListingDocument, visibility: Visibility | '' = ''): number {
  let count = 0;
  for (const facet in state.facets) if (facet.startsWith(visibility)) count += state.facets[facet]!;
  return count;
}

/** One object for all publications of a listing: many are kept in memory at once. */
const embeds = new WeakMap<Listing, ListingEmbed>();

/** A listing as its publications show it. It must not be a shell. */
export function embedListing({ state }: ListingDocument): ListingEmbed {
  const listing = state.listing!;
  const known = embeds.get(listing);
  if (known) return known;
  const { id, version, visibility } = listing;
  const embed = { id, version, visibility, body: listingResource(listing) };
  embeds.set(listing, embed);
  return embed;
}
