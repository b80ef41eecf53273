import type { Expandable, VisibilityFilter } from '../../shared/api/requests/reads';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import type { JsonText } from '../../shared/catalog/json-text';
import type { ListingDocument } from '../../shared/catalog/listing/document';
import type { MediaEmbed } from '../../shared/catalog/media/document';
import type { PublicationDocument } from '../../shared/catalog/publication/document';
import { countFacets } from '../../shared/catalog/publication/facets';
import { featuredFirst } from '../../shared/catalog/sorting';
import type { StoreDocument } from '../../shared/catalog/store/document';
import { EXPANDED_MAX } from '../../shared/catalog/stored-document';
import type { DocumentPart } from '../../shared/ports/view-store';
import { entriesShown, type ReadQuery, showsContainer, visibilitiesOf } from './read';

/**
 * Makes answers of documents. A body is stored as the storefront sees it. Another `visibility` changes its counts, and
 * `expand` adds to it. What an expansion holds is never expanded further.
 */

/** What `expand` adds to each resource (decisions §5). */
export const EXPANSIONS = {
  store: ['listing', 'media'],
  listing: ['publication', 'media'],
  publication: ['listing', 'media'],
} as const satisfies Record<string, readonly Expandable[]>;

type Resource = keyof typeof EXPANSIONS;
export type Presented = JsonObject | JsonText;

/** Returns the parts of a document that `present*` needs for this query. */
export function partsFor(resource: Resource, query: ReadQuery): readonly DocumentPart[] {
  const expanded = EXPANSIONS[resource].some((value) => query.expand.includes(value));
  const counted = resource === 'store' && query.expand.includes('media');
  const recounted = counted || (query.visibility !== 'public' && resource !== 'publication');
  if (!recounted && !expanded) return TEXT_ALONE;
  return [...(recounted ? (['state'] as const) : []), ...(expanded ? (['expansions'] as const) : [])];
}

/** Nothing is added to the body: it is sent as it is stored. */
const TEXT_ALONE: readonly DocumentPart[] = ['json'];

const EXPAND_MEDIA = { expand: 'media' };

export function presentPublication(document: PublicationDocument, query: ReadQuery): Presented {
  if (document.json) return document.json;
  const body: JsonObject = { ...document.body };
  const listing = query.expand.includes('listing') ? document.expansions.listing : null;
  if (listing && showsContainer(query.visibility, listing.visibility)) body.listing = listing.body;
  if (query.expand.includes('media')) {
    const address = urlOf(`/api/publication/${document.body.id}`, query.visibility, EXPAND_MEDIA);
    body.media = mediaCollection(document.expansions.media, document.body.stats.media_count, address);
  }
  return body;
}

export function presentListing(document: ListingDocument, query: ReadQuery): Presented {
  if (document.json) return document.json;
  return bodyOfListing(document, query);
}

function bodyOfListing(document: ListingDocument, query: ReadQuery): JsonObject {
  const filter = query.visibility;
  const body = { ...document.body };
  if (filter !== 'public') {
    const publication_count = countFacets(document.state.facets, visibilitiesOf(filter));
    body.stats = { ...body.stats, publication_count };
  }
  if (query.expand.includes('publication')) {
    const order = featuredFirst(body.default_sort_mode);
    body.publications = collectionOf(
      entriesShown(document.expansions.publications, filter, order).map((entry) => entry.body),
      body.stats.publication_count,
      urlOf(`/api/listing/${body.id}/publications`, filter),
    );
  }
  if (query.expand.includes('media')) {
    const address = urlOf(`/api/listing/${body.id}`, filter, EXPAND_MEDIA);
    body.media = mediaCollection(document.expansions.media, body.stats.media_count, address);
  }
  return body;
}

/** `managed`: the first listings that a visibility other than `public` shows, for entries hold the storefront's counts. */
export function presentStore(
  document: StoreDocument,
  query: ReadQuery,
  managed: readonly ListingDocument[] = [],
): Presented {
  if (document.json) return document.json;
  const filter = query.visibility;
  const body = { ...document.body };
  if (filter !== 'public') body.stats = { ...body.stats, listing_count: countListings(document, filter) };
  if (query.expand.includes('listing'))
    body.listings = collectionOf(
      filter === 'public'
        ? document.expansions.listings.public.map((entry) => entry.body)
        : managed.map((listing) => bodyOfListing(listing, { visibility: filter, expand: [] })),
      body.stats.listing_count,
      urlOf('/api/store-listings', filter, { store_id: body.id }),
    );
  if (query.expand.includes('media')) {
    const address = urlOf('/api/store', filter, { store_id: body.id, ...EXPAND_MEDIA });
    body.media = mediaCollection(document.expansions.media, document.state.media, address);
  }
  return body;
}

/** Needs the store document's `state`. */
export function countListings(store: StoreDocument, filter: VisibilityFilter): number {
  const { listings } = store.state;
  return visibilitiesOf(filter).reduce((total, visibility) => total + listings[visibility], 0);
}

/**
 * No read lists a resource's media: the collection's address is that of the resource with its media. Documents of a
 * schema from before there were media are read until they are rebuilt: they have neither `media` nor its count.
 */
function mediaCollection(
  media: readonly Pick<MediaEmbed, 'body'>[] | undefined,
  total_count: number | undefined,
  address: string,
): JsonObject {
  const bodies = (media ?? []).map(({ body }) => body);
  return collectionOf(bodies, total_count ?? 0, address);
}

/** Makes an expanded collection. `url` is the read that returns all of it. */
function collectionOf(items: readonly JsonObject[], total_count: number, url: string): JsonObject {
  const data = items.slice(0, EXPANDED_MAX);
  return { object: 'collection', data, total_count, has_more: total_count > data.length, url };
}

/** Returns a path below `/api` with the parameters that show the same items as the read that names it. */
function urlOf(path: string, filter: VisibilityFilter, parameters: Record<string, string> = {}): string {
  const query = new URLSearchParams(parameters);
  if (filter !== 'public') query.set('visibility', filter);
  return query.size === 0 ? path : `${path}?${query}`;
}
