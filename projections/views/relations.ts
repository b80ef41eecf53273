import { addToFacet } from '../../shared/catalog/publication/facets';
import { orderOf } from '../../shared/catalog/sorting';
import { EXPANDED_MAX } from '../../shared/catalog/stored-document';
import { embedListing, entryOrder, publicationCount } from './listing';
import { embedMedia } from './media';
import { facetOf } from './publication';
import { counts, embedsMany, embedsOne, listsFirst, type Relation } from './relation';

const mediaUses = { collection: 'media_uses', key: 'media_id' } as const;
const NEWEST_FIRST = orderOf('created_at_desc');

/** What documents show of others. */
export const relations: readonly Relation[] = [
  embedsOne('publications', 'listing', {
    of: 'listings',
    by: 'listing_id',
    as: embedListing,
    embeddedIn: (listing) => publicationCount(listing),
  }),
  embedsMany('publications', 'media', { of: 'media', by: 'media_ids', as: embedMedia, index: mediaUses }),
  embedsMany('listings', 'media', { of: 'media', by: 'media_ids', as: embedMedia, index: mediaUses }),

  counts('listings', 'facets', { of: 'publications', by: 'listing_id', facet: facetOf, add: addToFacet }),
  counts('stores', 'facets', { of: 'publications', by: 'store_id', facet: facetOf, add: addToFacet }),
  counts('stores', 'listings', {
    of: 'listings',
    by: 'store_id',
    facet: ({ keys }) => keys.visibility ?? 'private',
    add: (counts, visibility, change) => ({
      ...counts,
      [visibility]: counts[visibility as keyof typeof counts] + change,
    }),
  }),
  counts('stores', 'media', {
    of: 'media',
    by: 'store_id',
    facet: () => 'all',
    add: (count, _, change) => count + change,
  }),
  counts('publications', 'reviews', {
    of: 'reviews',
    by: 'publication_id',
    facet: ({ keys }) => String(keys.rating),
    add: ({ count, sum, distribution }, rating, change) => ({
      count: count + change,
      sum: sum + Number(rating) * change,
      distribution: { ...distribution, [rating]: (distribution[rating] ?? 0) + change },
    }),
  }),

  listsFirst(EXPANDED_MAX, 'listings', 'publications', {
    of: 'publications',
    by: 'listing_id',
    per: 'visibility',
    order: entryOrder,
    total: (listing, visibility) => publicationCount(listing, visibility ?? ''),
  }),
  listsFirst(EXPANDED_MAX, 'stores', 'listings', {
    of: 'listings',
    by: 'store_id',
    per: 'visibility',
    order: () => NEWEST_FIRST,
    total: ({ state }, visibility) => state.listings[visibility ?? 'public'],
  }),
  listsFirst(EXPANDED_MAX, 'stores', 'media', {
    of: 'media',
    by: 'store_id',
    order: () => NEWEST_FIRST,
    total: ({ state }) => state.media,
  }),
];
