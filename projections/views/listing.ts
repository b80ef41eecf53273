import {
  type ListingBody,
  type ListingDocument,
  type ListingDocumentState,
  type ListingExpansions,
  type ListingKeys,
  listingKeys,
} from '../../shared/catalog/listing/document';
import {
  evolveListing,
  type ListingEvent,
  type ListingState,
  listingResource,
} from '../../shared/catalog/listing/listing';
import type { MediaDocument, MediaEmbed } from '../../shared/catalog/media/document';
import type { PublicationDocument } from '../../shared/catalog/publication/document';
import { addToFacet, type Facets } from '../../shared/catalog/publication/facets';
import { featuredFirst, type SortOrder } from '../../shared/catalog/sorting';
import type { Entries, Entry } from '../../shared/catalog/stored-document';
import { type Visibility, visibilitySchema } from '../../shared/catalog/vocabulary';
import type { ListingId } from '../../shared/kernel/ids';
import { NO_ENTRIES, placeTransition, reorderEntries } from './entries';
import { embedMedia, withEmbed } from './media';
import { facetOf } from './publication';
import { type Known, type Occasion, type Reaction, type Transition, unchanged } from './view';

const NO_KEYS: ListingKeys = {
  store_id: null,
  visibility: null,
  created_at: null,
  name_fold: null,
  version: null,
};
const NO_BODY = {} as ListingBody;
const SHELL: ListingDocumentState = { listing: null, facets: {}, revision: -1 };

/** The order of its publications. */
export function entryOrder(view: ListingDocument): SortOrder {
  return featuredFirst(view.state.listing?.default_sort_mode ?? 'created_at_desc');
}

/** How many publications it has; entries of each visibility are the first of as many. */
export function publicationTotals(facets: Facets): Record<Visibility, number> {
  const totals = { public: 0, private: 0 };
  for (const [key, count] of Object.entries(facets)) totals[visibilityOfFacet(key)] += count;
  return totals;
}

/** The listing as the event leaves it; the same where the event is known already or changes nothing. */
function evolvedListing(
  before: Known<ListingDocument>,
  event: ListingEvent,
  { id, revision, at }: Occasion<ListingId>,
): ListingState {
  const listing = before?.state.listing ?? null;
  const state: ListingState = listing ? { tag: 'present', listing } : { tag: 'absent' };
  if (before === null || (before && revision <= before.state.revision)) return state;
  return evolveListing(state, event, id, at);
}

/** One event of the listing's own stream; `embed` looks up the media that it names. Null where it is deleted. */
export function foldListing(
  before: Known<ListingDocument>,
  event: ListingEvent,
  occasion: Occasion<ListingId>,
  embed: (media_ids: readonly string[], store_id: string) => readonly MediaEmbed[],
): Reaction<Known<ListingDocument>> {
  if (before === null || (before && occasion.revision <= before.state.revision)) return unchanged(before);
  const after = evolvedListing(before, event, occasion);
  if (after.tag === 'deleted') return unchanged(null);
  if (after.tag === 'absent') return unchanged(before);
  const state = { ...(before?.state ?? SHELL), listing: after.listing, revision: occasion.revision };
  const arranged = event.type === 'ListingCreated' || event.type === 'ListingMediaArranged';
  const media = arranged
    ? embed(after.listing.media_ids, after.listing.store_id)
    : (before?.expansions.media ?? []);
  const view = render(state, { publications: before?.expansions.publications ?? NO_ENTRIES, media });
  const reordered = before?.state.listing?.default_sort_mode !== after.listing.default_sort_mode;
  return before && reordered ? reorder(view) : unchanged(view);
}

/** A publication came into the listing, changed within it, or left. A deleted listing stays deleted. */
export function reactToPublication(
  listing_id: string,
  before: Known<ListingDocument>,
  publication_id: string,
  transition: Transition<PublicationDocument>,
): Reaction<Known<ListingDocument>> {
  if (before === null) return unchanged(null);
  const within = {
    before: transition.before?.keys.listing_id === listing_id ? transition.before : null,
    after: transition.after?.keys.listing_id === listing_id ? transition.after : null,
  };
  if (!within.before && !within.after) return unchanged(before);
  const view = before ?? render(SHELL, { publications: NO_ENTRIES, media: [] });
  const facets = moveFacet(view.state.facets, within);
  const totals = publicationTotals(facets);
  const { publications } = view.expansions;
  const { entries, incomplete } = placeTransition(
    publications,
    publication_id,
    within,
    totals,
    entryOrder(view),
  );
  if (facets === view.state.facets && entries === publications) return { view, incomplete };
  return { view: withPublications(view, facets, totals.public, entries), incomplete };
}

/** The ids that it refers to, whether they exist or not. */
export function mediaIdsOfListing(view: Known<ListingDocument>): readonly string[] {
  return view?.state.listing?.media_ids ?? [];
}

/** One of its media came, changed or went. Gives the same view where it knew that. */
export function withMediaOfListing(
  view: ListingDocument,
  media_id: string,
  after: Known<MediaDocument>,
): ListingDocument {
  const { listing } = view.state;
  if (!listing) return view;
  const known = view.expansions.media;
  const media = withEmbed(known, listing.media_ids, media_id, embedMedia(after, listing.store_id));
  if (media === known) return view;
  const expansions = { ...view.expansions, media };
  return media.length === known.length ? { ...view, expansions } : render(view.state, expansions);
}

/** The counts after a publication's transition; the same where it counts as before. */
export function moveFacet(facets: Facets, { before, after }: Transition<PublicationDocument>): Facets {
  const left = before && facetOf(before);
  const joined = after && facetOf(after);
  if (left === joined) return facets;
  const without = left ? addToFacet(facets, left, -1) : facets;
  return joined ? addToFacet(without, joined, 1) : without;
}

export function withEntries(
  view: ListingDocument,
  visibility: Visibility,
  list: readonly Entry[],
): ListingDocument {
  const publications = { ...view.expansions.publications, [visibility]: list };
  return { ...view, expansions: { ...view.expansions, publications } };
}

/** What others see of the document: nothing where it is deleted or a shell. */
export function shownListing(view: Known<ListingDocument>): ListingDocument | null {
  return view?.state.listing ? view : null;
}

function visibilityOfFacet(key: string): Visibility {
  return key.startsWith('public:') ? 'public' : 'private';
}

function reorder(view: ListingDocument): Reaction<ListingDocument> {
  const totals = publicationTotals(view.state.facets);
  let next = view;
  const incomplete: Visibility[] = [];
  for (const visibility of visibilitySchema.options) {
    const list = view.expansions.publications[visibility];
    const placed = reorderEntries(list, totals[visibility], entryOrder(view));
    next = withEntries(next, visibility, placed.list);
    if (placed.incomplete) incomplete.push(visibility);
  }
  return { view: next, incomplete };
}

/** The same listing with other publications: what tells of the listing itself is kept, for this is done all the time. */
function withPublications(
  view: ListingDocument,
  facets: Facets,
  publication_count: number,
  entries: Entries,
): ListingDocument {
  const { stats } = view.body;
  const counted = view.state.listing && stats.publication_count !== publication_count;
  const body = counted ? { ...view.body, stats: { ...stats, publication_count } } : view.body;
  const expansions = { ...view.expansions, publications: entries };
  return { keys: view.keys, body, state: { ...view.state, facets }, expansions };
}

function render(state: ListingDocumentState, expansions: ListingExpansions): ListingDocument {
  const { listing, facets } = state;
  if (!listing) return { keys: NO_KEYS, body: NO_BODY, state, expansions };
  const stats = {
    media_count: expansions.media.length,
    publication_count: publicationTotals(facets).public,
  };
  const body = { ...listingResource(listing), stats } as ListingBody;
  return { keys: listingKeys(listing), body, state, expansions };
}
