import type { z } from 'zod';
import type { Permission } from '../../catalog/vocabulary';
import type { Condition } from '../../kernel/errors';
import { answers } from '../components';
import { listSchema, publicationsSchema, readSchema, searchSchema } from '../requests/reads';
import {
  exampleListing,
  exampleListingPublications,
  exampleMedia,
  exampleMeta,
  examplePaymentMethod,
  examplePublication,
  exampleReview,
  exampleReviewsMeta,
  exampleStore,
} from '../responses/examples';
import type { ApiOperation, Tag } from './operation';
import { ALWAYS, AUTHENTICATION, PARAMETERS } from './operation';

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
  /** What it says where the resource of its path is not there. */
  readonly missing?: Condition;
}

function read<
  const Id extends string,
  const Path extends string,
  Query extends z.ZodType,
  Answer extends z.ZodType,
>(options: Read<Id, Path, Query, Answer>) {
  const { answer, example, missing, ...rest } = options;
  return {
    ...rest,
    answer,
    method: 'GET',
    security: 'bearer',
    successes: {
      200: {
        description: 'Found.',
        headers: ['ETag'],
        content: { 'application/json': { schema: answer, example } },
      },
      304: { description: 'Unchanged: `If-None-Match` names this very answer.', headers: ['ETag'] },
    },
    conditions: [
      ...AUTHENTICATION,
      ...PARAMETERS,
      'store_not_found',
      ...(missing === undefined ? [] : [missing]),
      ...ALWAYS,
    ],
  } as const satisfies ApiOperation & { answer: Answer };
}

const mediaRecord = read({
  id: 'getMedia',
  path: '/api/media/:id',
  tag: 'Media',
  permission: 'read:media',
  summary: 'A media',
  description: 'With `Accept: image/*` it gives the bytes of the picture; while there are none, 404.',
  query: readSchema,
  answer: answers.MediaAnswer,
  example: { code: 200, status: 'OK', data: exampleMedia },
  missing: 'media_not_found',
});
const { 200: found, 304: unchanged } = mediaRecord.successes;
const part = ['ETag', 'Accept-Ranges', 'Content-Range'] as const;

const ok = { code: 200, status: 'OK' } as const;
const page = <Item, Meta>(item: Item, meta: Meta) => ({ ...ok, data: [item], meta });
const one = <Data>(data: Data) => ({ ...ok, data });

const publications = { tag: 'Publications', permission: 'read:publications' } as const;
const publicationPage = { answer: answers.PublicationPage, example: page(examplePublication, exampleMeta) };
const listings = { tag: 'Listings', permission: 'read:listings' } as const;
const listingPage = {
  query: listSchema,
  answer: answers.ListingPage,
  example: page(exampleListing, exampleMeta),
};

/** Every read of the interface (spec, "Read endpoints"). */
export const reads = {
  getStore: read({
    id: 'getStore',
    path: '/api/store',
    tag: 'Stores',
    permission: 'read:stores',
    summary: 'A store',
    query: readSchema,
    answer: answers.StoreAnswer,
    example: one(exampleStore),
  }),
  searchStore: read({
    ...publications,
    ...publicationPage,
    id: 'searchStore',
    path: '/api/store/search',
    summary: "Search a store's publications",
    description:
      'Best first, without regard to case and accents; one typo is forgiven where nothing is found.',
    query: searchSchema,
  }),
  listStoreListings: read({
    ...listings,
    ...listingPage,
    id: 'listStoreListings',
    path: '/api/store-listings',
    summary: "A store's listings",
  }),
  listPaymentMethods: read({
    id: 'listPaymentMethods',
    path: '/api/payment-methods',
    tag: 'Stores',
    permission: 'read:payment_methods',
    summary: "A store's payment methods",
    description: "In the merchant's order, by `position`.",
    query: listSchema,
    answer: answers.PaymentMethodPage,
    example: page(examplePaymentMethod, exampleMeta),
  }),
  listListings: read({
    ...listings,
    ...listingPage,
    id: 'listListings',
    path: '/api/listings',
    summary: 'Listings',
    description: 'The same list as `/api/store-listings`.',
  }),
  getListing: read({
    ...listings,
    id: 'getListing',
    path: '/api/listing/:id',
    summary: 'A listing',
    query: readSchema,
    answer: answers.ListingAnswer,
    example: one(exampleListing),
    missing: 'listing_not_found',
  }),
  listListingPublications: read({
    tag: 'Listings',
    permission: 'read:publications',
    id: 'listListingPublications',
    path: '/api/listing/:id/publications',
    summary: "A listing's publications",
    description: 'One sequence, featured ones first, of which `page` and `limit` cut a part.',
    query: listSchema,
    answer: answers.ListingPublicationsAnswer,
    example: one(exampleListingPublications),
    missing: 'listing_not_found',
  }),
  listPublications: read({
    ...publications,
    ...publicationPage,
    id: 'listPublications',
    path: '/api/publications',
    summary: 'Publications',
    query: publicationsSchema,
  }),
  getPublication: read({
    ...publications,
    id: 'getPublication',
    path: '/api/publication/:id',
    summary: 'A publication',
    description: 'Asked for with a public key it counts as one view.',
    query: readSchema,
    answer: answers.PublicationAnswer,
    example: one({ ...examplePublication, listing: exampleListing }),
    missing: 'publication_not_found',
  }),
  listRelatedPublications: read({
    ...publications,
    ...publicationPage,
    id: 'listRelatedPublications',
    path: '/api/publication/:id/related',
    summary: 'Related publications',
    description: 'All others of the store, nearest first: same listing, then shared words, then the newest.',
    query: listSchema,
    missing: 'publication_not_found',
  }),
  listReviews: read({
    tag: 'Publications',
    permission: 'read:reviews',
    id: 'listReviews',
    path: '/api/publication/:id/reviews',
    summary: "A publication's reviews",
    description: 'Newest first; `meta.summary` covers all of them.',
    query: listSchema,
    answer: answers.ReviewPage,
    example: page(exampleReview, exampleReviewsMeta),
    missing: 'publication_not_found',
  }),
  getMedia: {
    ...mediaRecord,
    request_headers: ['Accept', 'Range', 'If-Range'],
    successes: {
      200: {
        ...found,
        headers: ['ETag', 'Accept-Ranges'],
        content: { ...found.content, 'image/*': {} },
      },
      206: {
        description: 'The part of the bytes that was asked for.',
        headers: part,
        content: { 'image/*': {} },
      },
      304: { ...unchanged, headers: ['ETag', 'Accept-Ranges'] },
    },
    conditions: [...mediaRecord.conditions, 'range_unsatisfiable'],
  } as const satisfies ApiOperation,
};
