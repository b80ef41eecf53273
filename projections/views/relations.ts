import { publicationCount } from '../../shared/catalog/listing/document';
import { keysInListings } from '../../shared/catalog/publication/document';
import { addToFacet, countFacets } from '../../shared/catalog/publication/facets';
import { orderOf } from '../../shared/catalog/sorting';
import { EXPANDED_MAX } from '../../shared/catalog/stored-document';
import { type Visibility, visibilitySchema } from '../../shared/catalog/vocabulary';
import { embedListing, embedPlace, entryOrder } from './listing';
import { embedMedia } from './media';
import { entryBody, facetInListing, facetOf } from './publication';
import { counts, embedsMany, embedsOne, listsFirst, type Relation } from './relation';

/** The collection is still called `media_uses`, because its name is stored. */
const mediaReferences = { collection: 'media_uses', key: 'media_id' } as const;
const NEWEST_FIRST = orderOf('created_at_desc');

const addToVisibility = (
  totals: Readonly<Record<Visibility, number>>,
  visibility: string,
  change: 1 | -1,
): Readonly<Record<Visibility, number>> => ({
  ...totals,
  [visibility]: totals[visibility as Visibility] + change,
});

/** Every relation between documents. With `split_by`, the `visibility` that `totalOf` receives is never null. */
export const relations: readonly Relation[] = [
  embedsOne('publications', 'listing', {
    target: 'listings',
    key: 'listing_id',
    toEmbed: embedListing,
    countEmbeddingDocuments: ({ state }) => countFacets(state.facets, visibilitySchema.options),
  }),
  embedsMany('publications', 'listings', {
    target: 'listings',
    field: 'listing_ids',
    toEmbed: embedPlace,
    index: { collection: 'places', key: 'listing_id' },
  }),
  embedsMany('publications', 'media', {
    target: 'media',
    field: 'media_ids',
    toEmbed: embedMedia,
    index: mediaReferences,
  }),
  embedsMany('listings', 'media', {
    target: 'media',
    field: 'media_ids',
    toEmbed: embedMedia,
    index: mediaReferences,
  }),

  counts('listings', 'facets', {
    target: 'publications',
    named_in: { key: 'listing_id' },
    facetOf: facetInListing,
    add: addToFacet,
  }),
  counts('listings', 'facets', {
    target: 'publications',
    named_in: { field: 'listing_ids' },
    facetOf: facetInListing,
    add: addToFacet,
  }),
  // The facet of a child does not depend on its own children, so the change of a count ends at the parent.
  counts('listings', 'children', {
    target: 'listings',
    named_in: { key: 'parent_id' },
    facetOf: ({ keys }) => keys.visibility ?? 'private',
    add: addToVisibility,
  }),
  counts('stores', 'facets', {
    target: 'publications',
    named_in: { key: 'store_id' },
    facetOf,
    add: addToFacet,
  }),
  counts('stores', 'listings', {
    target: 'listings',
    named_in: { key: 'store_id' },
    facetOf: ({ keys }) => keys.visibility ?? 'private',
    add: addToVisibility,
  }),
  counts('stores', 'media', {
    target: 'media',
    named_in: { key: 'store_id' },
    facetOf: ({ keys }) => keys.visibility ?? 'private',
    add: addToVisibility,
  }),
  counts('media', 'uses', {
    target: 'publications',
    named_in: { field: 'media_ids' },
    facetOf: ({ keys }) => keys.visibility ?? 'private',
    add: addToVisibility,
  }),
  counts('media', 'uses', {
    target: 'listings',
    named_in: { field: 'media_ids' },
    facetOf: ({ keys }) => keys.visibility ?? 'private',
    add: addToVisibility,
  }),
  counts('publications', 'reviews', {
    target: 'reviews',
    named_in: { key: 'publication_id' },
    facetOf: ({ keys }) => String(keys.rating),
    add: ({ count, sum, distribution }, rating, change) => ({
      count: count + change,
      sum: sum + Number(rating) * change,
      distribution: { ...distribution, [rating]: (distribution[rating] ?? 0) + change },
    }),
  }),

  listsFirst(EXPANDED_MAX, 'listings', 'publications', {
    target: 'publications',
    key: 'listing_id',
    field: 'listing_ids',
    split_by: 'visibility',
    entryBody,
    entryKeys: (keys, listing_id) => keysInListings(keys, [listing_id]),
    orderOf: entryOrder,
    totalOf: ({ state }, visibility) => publicationCount(state, [visibility ?? 'public']),
  }),
  listsFirst(EXPANDED_MAX, 'stores', 'listings', {
    target: 'listings',
    key: 'store_id',
    split_by: 'visibility',
    orderOf: () => NEWEST_FIRST,
    totalOf: ({ state }, visibility) => state.listings[visibility ?? 'public'],
  }),
  listsFirst(EXPANDED_MAX, 'stores', 'media', {
    target: 'media',
    key: 'store_id',
    split_by: 'visibility',
    orderOf: () => NEWEST_FIRST,
    totalOf: ({ state }, visibility) => state.media[visibility ?? 'public'],
  }),
];
