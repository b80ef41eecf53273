import type { z } from 'zod';
import type { Permission } from '../../catalog/vocabulary';
import type { Condition } from '../../kernel/errors';
import { answers } from '../components';
import { listSchema, mediaListSchema, publicationsSchema, readSchema, searchSchema } from '../requests/reads';
import * as examples from '../responses/examples';
import type { ApiOperation, Tag } from './operation';
import {
  AUTHENTICATION_CONDITIONS,
  GENERAL_CONDITIONS,
  NOT_MODIFIED,
  PARAMETER_CONDITIONS,
} from './operation';

interface Read<Id extends string, Path extends string, Query extends z.ZodType, Answer extends z.ZodType> {
  readonly id: Id;
  readonly path: Path;
  readonly tag: Tag;
  readonly permission: Permission;
  readonly summary: string;
  readonly description?: string;
  readonly query: Query;
  readonly answer: Answer;
  readonly example: z.output<Answer>;
  /** Condition if the resource that the path names does not exist. */
  readonly not_found?: Condition;
}

function read<
  const Id extends string,
  const Path extends string,
  Query extends z.ZodType,
  Answer extends z.ZodType,
>(options: Read<Id, Path, Query, Answer>) {
  const { answer, example, not_found, ...rest } = options;
  return {
    ...rest,
    answer,
    method: 'GET',
    security: 'bearer',
    successes: {
      200: {
        description: 'The resource or page was found.',
        headers: ['ETag'],
        content: { 'application/json': { schema: answer, example } },
      },
      304: NOT_MODIFIED,
    },
    conditions: [
      ...AUTHENTICATION_CONDITIONS,
      ...PARAMETER_CONDITIONS,
      'store_not_found',
      ...(not_found === undefined ? [] : [not_found]),
      ...GENERAL_CONDITIONS,
    ],
  } as const satisfies ApiOperation & { answer: Answer };
}

const mediaRecord = read({
  id: 'getMedia',
  path: '/api/media/:id',
  tag: 'Media',
  permission: 'read:media',
  summary: 'Retrieve a media file',
  description:
    'Returns the record of an uploaded picture. With `Accept: image/*`, returns the image file, or 404 until it has been generated.',
  query: readSchema,
  answer: answers.MediaAnswer,
  example: examples.answer(examples.media),
  not_found: 'media_not_found',
});
const { 200: record_response } = mediaRecord.successes;
const range_headers = ['ETag', 'Accept-Ranges', 'Content-Range'] as const;

const publications = { tag: 'Publications', permission: 'read:publications' } as const;
const publicationPage = {
  answer: answers.PublicationPage,
  example: examples.page(examples.publication, examples.meta),
};
const listings = { tag: 'Listings', permission: 'read:listings' } as const;
const listingPage = {
  query: listSchema,
  answer: answers.ListingPage,
  example: examples.page(examples.listing, examples.meta),
};

/** Every read of the interface (docs/interface.md#read-endpoints). */
export const reads = {
  getStore: read({
    id: 'getStore',
    path: '/api/store',
    tag: 'Stores',
    permission: 'read:stores',
    summary: 'Retrieve a store',
    description: "Returns the store of `store_id`, or the first of the token's stores.",
    query: readSchema,
    answer: answers.StoreAnswer,
    example: examples.answer(examples.store),
  }),
  searchStore: read({
    ...publications,
    ...publicationPage,
    id: 'searchStore',
    path: '/api/store/search',
    summary: 'Search the publications of a store',
    description:
      'Returns publications that contain every word of `q`, best match first. Case and accents are ignored. If nothing matches, the search allows one typing error in words of five letters or more, in queries of up to eight words. A search has at most 5,000 results, and counts no more. Embedded stores also look at no more than this: for the beginning of a word, 32 words of the store; with `sort`, the newest 50,000 matches; for several very frequent words, the newest publications. If a search did not look at all publications, `meta.is_complete` is false.',
    query: searchSchema,
  }),
  listStoreListings: read({
    ...listings,
    ...listingPage,
    id: 'listStoreListings',
    path: '/api/store-listings',
    summary: 'List the listings of a store',
    description: 'Newest first by default.',
  }),
  listPaymentMethods: read({
    id: 'listPaymentMethods',
    path: '/api/payment-methods',
    tag: 'Stores',
    permission: 'read:payment_methods',
    summary: 'List the payment methods of a store',
    description: 'Sorted by `position`, the order that the merchant has set.',
    query: listSchema,
    answer: answers.PaymentMethodPage,
    example: examples.page(examples.paymentMethod, examples.meta),
  }),
  listListings: read({
    ...listings,
    ...listingPage,
    id: 'listListings',
    path: '/api/listings',
    summary: 'List listings',
    description: 'Returns the same list as `/api/store-listings`.',
  }),
  getListing: read({
    ...listings,
    id: 'getListing',
    path: '/api/listing/:id',
    summary: 'Retrieve a listing',
    query: readSchema,
    answer: answers.ListingAnswer,
    example: examples.answer(examples.listing),
    not_found: 'listing_not_found',
  }),
  listListingPublications: read({
    tag: 'Listings',
    permission: 'read:publications',
    id: 'listListingPublications',
    path: '/api/listing/:id/publications',
    summary: 'List the publications of a listing',
    description:
      'Featured publications come first. `page` and `limit` apply to the whole sequence of featured and other publications.',
    query: listSchema,
    answer: answers.ListingPublicationsAnswer,
    example: examples.answer(examples.listingPublications),
    not_found: 'listing_not_found',
  }),
  listPublications: read({
    ...publications,
    ...publicationPage,
    id: 'listPublications',
    path: '/api/publications',
    summary: 'List publications',
    description: "Returns the store's publications, newest first by default. Filters can be combined.",
    query: publicationsSchema,
  }),
  getPublication: read({
    ...publications,
    id: 'getPublication',
    path: '/api/publication/:id',
    summary: 'Retrieve a publication',
    description: 'A request with a public key counts as one view.',
    query: readSchema,
    answer: answers.PublicationAnswer,
    example: examples.answer({ ...examples.publication, listing: examples.listing }),
    not_found: 'publication_not_found',
  }),
  listRelatedPublications: read({
    ...publications,
    ...publicationPage,
    id: 'listRelatedPublications',
    path: '/api/publication/:id/related',
    summary: 'List related publications',
    description:
      'Returns all other publications of the store. Those of the same listing come first, then those that share more words, then the newest.',
    query: listSchema,
    not_found: 'publication_not_found',
  }),
  listReviews: read({
    tag: 'Publications',
    permission: 'read:reviews',
    id: 'listReviews',
    path: '/api/publication/:id/reviews',
    summary: 'List the reviews of a publication',
    description:
      'Newest first. `meta.summary` covers all reviews of the publication, not only those of the page.',
    query: listSchema,
    answer: answers.ReviewPage,
    example: examples.page(examples.review, examples.reviewsMeta),
    not_found: 'publication_not_found',
  }),
  listMedia: read({
    id: 'listMedia',
    path: '/api/media',
    tag: 'Media',
    permission: 'read:media',
    summary: 'List media',
    description:
      'Newest first by default. Returns media that a public publication or listing uses. `visibility=private` returns all other media, `all` returns both.',
    query: mediaListSchema,
    answer: answers.MediaPage,
    example: examples.page(examples.media, examples.meta),
  }),
  getMedia: {
    ...mediaRecord,
    request_headers: ['Accept', 'Range', 'If-Range'],
    successes: {
      200: {
        ...record_response,
        headers: ['ETag', 'Accept-Ranges'],
        content: { ...record_response.content, 'image/*': {} },
      },
      206: {
        description: 'The requested range of the image file.',
        headers: range_headers,
        content: { 'image/*': {} },
      },
      304: { ...NOT_MODIFIED, headers: ['ETag', 'Accept-Ranges'] },
    },
    conditions: [...mediaRecord.conditions, 'range_unsatisfiable'],
  } as const satisfies ApiOperation,
};
