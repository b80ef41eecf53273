import type { Expandable, VisibilityFilter } from '../../shared/api/requests/reads';
import type { ViewDocument } from '../../shared/catalog/documents';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import type { JsonText } from '../../shared/catalog/json-text';
import { countFacets } from '../../shared/catalog/publication/facets';
import { featuredFirst } from '../../shared/catalog/sorting';
import type { DocumentPart } from '../../shared/ports/view-store';
import { collectionOf, entriesShown, urlOf } from './collection';
import type { ReadQuery } from './read-query';
import {
  defaultSortMode,
  listingEntries,
  listingOf,
  listingState,
  mediaOf,
  publicationEntries,
  storeState,
} from './stored-shapes';
import { showsContainer, visibilitiesOf } from './visibility';

/**
 * Documents as answers. A body is stored as the storefront's view shows it; another `visibility` changes its
 * counts, and `expand` adds to it. What an expansion holds is never expanded further.
 */

/** What `expand` adds to each resource (decisions §5). */
export const EXPANSIONS = {
  store: ['listing', 'media'],
  listing: ['publication', 'media'],
  publication: ['listing', 'media'],
} as const satisfies Record<string, readonly Expandable[]>;

type Resource = keyof typeof EXPANSIONS;
export type Presented = JsonObject | JsonText;

/** The parts of a document that `present*` needs for this query. */
export function partsFor(resource: Resource, query: ReadQuery): readonly DocumentPart[] {
  const expanded = EXPANSIONS[resource].some((value) => query.expand.includes(value));
  const counted = resource === 'store' && query.expand.includes('media');
  const recounted = counted || (query.visibility !== 'public' && resource !== 'publication');
  if (!recounted && !expanded) return TEXT_ALONE;
  return [...(recounted ? (['state'] as const) : []), ...(expanded ? (['expansions'] as const) : [])];
}

/** Nothing is added to the body: it goes out as it is stored. */
const TEXT_ALONE: readonly DocumentPart[] = ['json'];

export function presentPublication(document: ViewDocument, query: ReadQuery): Presented {
  if (document.json) return document.json;
  const body = { ...document.body };
  const listing = query.expand.includes('listing') ? listingOf(document) : null;
  if (listing && showsContainer(query.visibility, listing.visibility)) body.listing = listing.body;
  if (query.expand.includes('media')) body.media = mediaCollection(document, 'publication', query.visibility);
  return body;
}

export function presentListing(document: ViewDocument, query: ReadQuery): Presented {
  if (document.json) return document.json;
  return bodyOfListing(document, query);
}

function bodyOfListing(document: ViewDocument, query: ReadQuery): JsonObject {
  const filter = query.visibility;
  const body = { ...document.body };
  if (filter !== 'public') {
    const publication_count = countFacets(listingState(document).facets, visibilitiesOf(filter));
    body.stats = { ...(body.stats as JsonObject), publication_count };
  }
  if (query.expand.includes('publication')) {
    const order = featuredFirst(defaultSortMode(document));
    body.publications = collectionOf(
      entriesShown(publicationEntries(document), filter, order).map((entry) => entry.body),
      (body.stats as { publication_count: number }).publication_count,
      urlOf(`/api/listing/${body.id}/publications`, filter),
    );
  }
  if (query.expand.includes('media')) body.media = mediaCollection(document, 'listing', filter);
  return body;
}

/** `managed`: the first listings that a visibility other than `public` shows, for entries hold the storefront's counts. */
export function presentStore(
  document: ViewDocument,
  query: ReadQuery,
  managed: readonly ViewDocument[] = [],
): Presented {
  if (document.json) return document.json;
  const filter = query.visibility;
  const body = { ...document.body };
  if (filter !== 'public')
    body.stats = { ...(body.stats as JsonObject), listing_count: countListings(document, filter) };
  if (query.expand.includes('listing'))
    body.listings = collectionOf(
      filter === 'public'
        ? listingEntries(document).public.map((entry) => entry.body)
        : managed.map((listing) => bodyOfListing(listing, { visibility: filter, expand: [] })),
      (body.stats as { listing_count: number }).listing_count,
      urlOf('/api/store-listings', filter, { store_id: String(body.id) }),
    );
  if (query.expand.includes('media')) body.media = mediaCollection(document, 'store', filter);
  return body;
}

/** Needs the store document's `state`. */
export function countListings(store: ViewDocument, filter: VisibilityFilter): number {
  const { listings } = storeState(store);
  return visibilitiesOf(filter).reduce((total, visibility) => total + listings[visibility], 0);
}

/** No read lists a resource's media: the collection's address is that of the resource with its media. */
function mediaCollection(document: ViewDocument, resource: Resource, filter: VisibilityFilter): JsonObject {
  const { id, stats } = document.body as { id: string; stats?: { media_count?: number } };
  const total_count = resource === 'store' ? storeState(document).media : stats?.media_count;
  const path = resource === 'store' ? '/api/store' : `/api/${resource}/${id}`;
  const named: Record<string, string> = resource === 'store' ? { store_id: id } : {};
  return collectionOf(
    mediaOf(document),
    total_count ?? 0,
    urlOf(path, filter, { ...named, expand: 'media' }),
  );
}
