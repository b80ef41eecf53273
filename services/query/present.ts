import type { Expandable, VisibilityFilter } from '../../shared/api/requests/reads';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import type { JsonText } from '../../shared/catalog/json-text';
import { type ListingDocument, publicationCount } from '../../shared/catalog/listing/document';
import { childrenCount } from '../../shared/catalog/listing/listing';
import type { MediaEmbed } from '../../shared/catalog/media/document';
import { NOT_FEATURED, type PublicationDocument, placesOf } from '../../shared/catalog/publication/document';
import { shownVariants } from '../../shared/catalog/publication/price-history';
import { placesIn } from '../../shared/catalog/publication/publication';
import { SHOWN_VARIANTS_MAX, variantResource } from '../../shared/catalog/publication/variants';
import { featuredFirst, orderOf } from '../../shared/catalog/sorting';
import type { StoreDocument } from '../../shared/catalog/store/document';
import { EXPANDED_MAX } from '../../shared/catalog/stored-document';
import type { Visibility } from '../../shared/catalog/vocabulary';
import type { DocumentPart } from '../../shared/ports/view-store';
import { isContainerVisible, type ReadQuery, visibilitiesOf, visibleEntries } from './read';

/**
 * Turns documents into the resources of a response. A stored body is what a storefront sees (visibility `public`).
 * Another `visibility` changes its counts, and `expand` adds resources to it. Resources inside an expansion are not
 * expanded.
 */

/** The values of `expand` that each resource supports (docs/interface/reads.md#expansion). */
export const EXPANSIONS = {
  store: ['listing', 'media'],
  listing: ['publication', 'media'],
  publication: ['listing', 'media', 'variants'],
} as const satisfies Record<string, readonly Expandable[]>;

type Resource = keyof typeof EXPANSIONS;
export type Presented = JsonObject | JsonText;

/** Returns whether the query adds something to the resource. */
export function isExpanded(resource: Resource, { expand }: ReadQuery): boolean {
  return EXPANSIONS[resource].some((value) => expand.includes(value));
}

/** Returns the document parts that the `present…` functions need for the query. */
export function partsFor(resource: Resource, query: ReadQuery): readonly DocumentPart[] {
  const expanded = isExpanded(resource, query);
  // The settings of a store and its numbers of media are in its `state` only.
  const is_store = resource === 'store';
  if (query.visibility === 'public' && !expanded && !is_store) return TEXT_ONLY;
  const needs_all_variants = resource === 'publication' && query.expand.includes('variants');
  const needs_state =
    is_store || needs_all_variants || (query.visibility !== 'public' && resource !== 'publication');
  return [...(needs_state ? (['state'] as const) : []), ...(expanded ? (['expansions'] as const) : [])];
}

/** For a response that is the stored body: it is sent as text, without parsing. */
const TEXT_ONLY: readonly DocumentPart[] = ['json'];

export function presentPublication(document: PublicationDocument, query: ReadQuery): Presented {
  if (document.json) return document.json;
  const { id } = document.body;
  const { store_id, listing_id } = document.keys;
  const body: JsonObject = { ...document.body };
  // The stored body leaves out the ids of private listings.
  if (query.visibility !== 'public') {
    if (listing_id !== null) body.listing_id = listing_id;
    const places = [...placesOf(document.keys)];
    const positions = places.flatMap(([id, position]) => (position === NOT_FEATURED ? [] : [[id, position]]));
    Object.assign(
      body,
      placesIn(
        places.map(([id]) => id),
        Object.fromEntries(positions),
      ),
    );
  }
  const listing = query.expand.includes('listing') ? document.expansions.listing : null;
  if (listing && isContainerVisible(query.visibility, listing.visibility)) body.listing = listing.body;
  if (query.expand.includes('media')) {
    const address = mediaUrl(query.visibility, { store_id, publication_id: id });
    body.media = mediaCollection(document.expansions.media, document.body.stats.media_count, address);
  }
  if (query.expand.includes('variants')) body.variants = variantCollection(document, query.visibility);
  return body;
}

/** Returns the first variants: from the state if it was read, otherwise the variants that a list shows. */
function variantCollection({ body, state, expansions }: PublicationDocument, filter: VisibilityFilter) {
  const variants = state.publication ? shownVariants(state.publication) : (expansions.variants ?? []);
  const resources = variants
    .slice(0, SHOWN_VARIANTS_MAX)
    .map((variant) => variantResource(variant, body.id, body.media_ids));
  const total_count = (body.variant_count as number | undefined) ?? 0;
  return collectionOf(
    resources,
    total_count,
    urlOf(`/api/publication/${body.id}/variants`, filter),
    resources.length,
  );
}

export function presentListing(document: ListingDocument, query: ReadQuery): Presented {
  if (document.json) return document.json;
  return bodyOfListing(document, query);
}

function bodyOfListing(document: ListingDocument, query: ReadQuery): JsonObject {
  const filter = query.visibility;
  const { children_count, ...others } = document.body;
  const body = { ...others };
  // The numbers of children are absent in a document of an earlier release, which is read until a rebuild.
  const { children } = document.state;
  const counts_others = filter !== 'public' && children !== undefined;
  Object.assign(body, childrenCount(counts_others ? countOf(children, filter) : (children_count ?? 0)));
  if (filter !== 'public') {
    const publication_count = publicationCount(document.state, visibilitiesOf(filter));
    body.stats = { ...body.stats, publication_count };
  }
  if (query.expand.includes('publication')) {
    const order = featuredFirst(body.default_sort_mode);
    body.publications = collectionOf(
      visibleEntries(document.expansions.publications, filter, order, (visibility) =>
        publicationCount(document.state, [visibility]),
      ).map((entry) => entry.body),
      body.stats.publication_count,
      urlOf(`/api/listing/${body.id}/publications`, filter),
    );
  }
  if (query.expand.includes('media')) {
    const address = mediaUrl(filter, { store_id: document.keys.store_id, listing_id: body.id });
    body.media = mediaCollection(document.expansions.media, body.stats.media_count, address);
  }
  return body;
}

/**
 * Returns the store resource. `counted_listings`: the store's first listings, if the visibility is not `public`. The
 * entries in the store's document cannot be used then, because they contain the counts for `public`.
 */
export function presentStore(
  document: StoreDocument,
  query: ReadQuery,
  counted_listings: readonly ListingDocument[] = [],
): JsonObject {
  const filter = query.visibility;
  const body = { ...document.body };
  if (filter !== 'public') body.stats = { ...body.stats, listing_count: countListings(document, filter) };
  if (query.expand.includes('listing'))
    body.listings = collectionOf(
      filter === 'public'
        ? document.expansions.listings.public.map((entry) => entry.body)
        : counted_listings.map((listing) => bodyOfListing(listing, { visibility: filter, expand: [] })),
      body.stats.listing_count,
      urlOf('/api/store-listings', filter, { store_id: body.id }),
    );
  if (query.expand.includes('media')) {
    body.media = storeMedia(document, filter, mediaUrl(filter, { store_id: body.id }));
  }
  return body;
}

/** Returns the store's newest media that the filter shows. */
function storeMedia(document: StoreDocument, filter: VisibilityFilter, address: string): JsonObject {
  const entries = visibleEntries(
    document.expansions.media,
    filter,
    orderOf('created_at_desc'),
    (visibility) => document.state.media[visibility],
  );
  return mediaCollection(entries, countOf(document.state.media, filter), address);
}

/** Returns the number of listings that the filter shows. Needs the `state` part of the document. */
export function countListings(store: StoreDocument, filter: VisibilityFilter): number {
  return countOf(store.state.listings, filter);
}

function countOf(counts: Readonly<Record<Visibility, number>>, filter: VisibilityFilter): number {
  return visibilitiesOf(filter).reduce((total, visibility) => total + counts[visibility], 0);
}

/** Returns the expanded media. */
function mediaCollection(
  media: readonly Pick<MediaEmbed, 'body'>[],
  total_count: number,
  address: string,
): JsonObject {
  const bodies = media.map(({ body }) => body);
  return collectionOf(bodies, total_count, address);
}

/** Returns an expanded collection. `url` is the endpoint that returns all its items. */
function collectionOf(
  items: readonly JsonObject[],
  total_count: number,
  url: string,
  max = EXPANDED_MAX,
): JsonObject {
  const data = items.slice(0, max);
  return { object: 'collection', data, total_count, has_more: total_count > data.length, url };
}

/** Returns the path that lists the media of a store, or the media that one publication or listing of it uses. */
function mediaUrl(
  filter: VisibilityFilter,
  { store_id, ...user }: { readonly store_id: string | null; readonly [user: string]: string | null },
): string {
  return urlOf('/api/media', filter, { store_id: store_id ?? '', ...user } as Record<string, string>);
}

/** Returns a path below `/api` with the query parameters that select the same items as the current read. */
function urlOf(path: string, filter: VisibilityFilter, parameters: Record<string, string> = {}): string {
  const query = new URLSearchParams(parameters);
  if (filter !== 'public') query.set('visibility', filter);
  return query.size === 0 ? path : `${path}?${query}`;
}
