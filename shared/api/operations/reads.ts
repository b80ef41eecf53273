import type { z } from 'zod';
import type { Condition } from '../../kernel/errors';
import { answers } from '../components';
import type { ResponseHeader } from '../headers';
import { shapeOf } from '../requests/parameters';
import {
  changesSchema,
  deliveriesSchema,
  existingListingsSchema,
  exportSchema,
  feedIssuesSchema,
  historySchema,
  importRowsSchema,
  importsSchema,
  keysSchema,
  listingPublicationsSchema,
  listingsSchema,
  listPricesSchema,
  mediaListSchema,
  mediaUsesSchema,
  paymentMethodsSchema,
  pricedListSchema,
  pricedReadSchema,
  proposalsSchema,
  publicationsSchema,
  readSchema,
  resourceSchema,
  reviewsSchema,
  searchSchema,
  storeHistorySchema,
  storeReviewsSchema,
  variantsSchema,
  webhookSchema,
  webhooksSchema,
} from '../requests/reads';
import * as examples from '../responses/examples';
import type { ApiOperation, Unnamed } from './operation';
import {
  AUTHENTICATION_CONDITIONS,
  GENERAL_CONDITIONS,
  NOT_MODIFIED,
  PARAMETER_CONDITIONS,
  withIds,
} from './operation';

interface Read<Query extends z.ZodType>
  extends Pick<ApiOperation, 'path' | 'tag' | 'permission' | 'summary' | 'description'>,
    Pick<ApiOperation, 'further_permissions' | 'alias_of'> {
  readonly query: Query;
  readonly answer: z.ZodType;
  /** Default: that of the schema. */
  readonly example?: unknown;
  /** Condition if the resource that the path names does not exist. */
  readonly not_found?: Condition;
  readonly refusals?: readonly Condition[];
  /** Headers of the answer in addition to the `ETag`. */
  readonly headers?: readonly ResponseHeader[];
}

function read<Query extends z.ZodType>(
  options: Read<Query>,
): Unnamed<ApiOperation> & { readonly query: Query } {
  const { answer: schema, example, not_found, refusals = [], headers: own = [], ...rest } = options;
  const has_language = 'locale' in shapeOf(options.query);
  const headers: readonly ResponseHeader[] = has_language ? [...own, 'Content-Language'] : own;
  return {
    ...rest,
    method: 'GET',
    security: 'bearer',
    ...(has_language && { request_headers: ['Accept-Language'] as const }),
    successes: {
      200: {
        description: 'The resource or page was found.',
        headers: ['ETag', ...headers],
        content: { 'application/json': { schema, example } },
      },
      304: { ...NOT_MODIFIED, headers: [...NOT_MODIFIED.headers, ...headers] },
    },
    conditions: [
      ...AUTHENTICATION_CONDITIONS,
      ...PARAMETER_CONDITIONS,
      'store_not_found',
      ...(not_found === undefined ? [] : [not_found]),
      ...refusals,
      ...GENERAL_CONDITIONS,
    ],
  };
}

function readByHandle<Query extends z.ZodType>(options: Read<Query>) {
  const operation = read(options);
  const moved = {
    description: 'The resource has another handle now. `Location` is its address.',
    headers: ['Location', 'ETag'] as const,
    content: { 'application/json': { schema: answers.MovedAnswer } },
  };
  return { ...operation, successes: { ...operation.successes, 301: moved } };
}

const mediaRecord = read({
  path: '/api/media/:id',
  tag: 'Media',
  permission: 'read:media',
  summary: 'Retrieve a media file',
  description:
    'Returns the record of an uploaded picture. With `Accept: image/*`, returns the image file, or 404 until it has been generated.',
  query: readSchema,
  answer: answers.MediaAnswer,
  not_found: 'media_not_found',
});
const range_headers = ['ETag', 'Accept-Ranges', 'Content-Range'] as const;

const publications = { tag: 'Publications', permission: 'read:publications' } as const;
const webhooks = { tag: 'Webhooks', permission: 'write:webhooks' } as const;
const listings = { tag: 'Listings', permission: 'read:listings' } as const;
const history = {
  query: historySchema,
  answer: answers.ChangePage,
  description:
    'Newest first, also of a deleted resource. Covers 1,000 revisions: those before `before`, or the newest. Requires a secret key.',
};
const revision = {
  query: readSchema,
  headers: ['Memento-Datetime'],
  description:
    'Without `stats`, whatever its visibility, also if it is deleted now. `Memento-Datetime` says when the revision was written. Requires a secret key.',
} as const;
const listingPage = { query: existingListingsSchema, answer: answers.ListingPage };

/** The permissions that the feed of changes requires. */
export const CHANGES_PERMISSIONS = [
  'read:publications',
  'read:stores',
  'read:listings',
  'read:media',
  'read:reviews',
] as const;

/** The permissions that an export requires. */
export const EXPORT_PERMISSIONS = ['read:publications', 'read:listings', 'read:media'] as const;

/** The permissions that an import requires. */
export const IMPORT_PERMISSIONS = [
  'write:publications',
  'write:listings',
  'write:media',
  'write:reviews',
] as const;

const imports = {
  tag: 'Imports',
  permission: 'write:publications',
  further_permissions: IMPORT_PERMISSIONS,
  not_found: 'import_not_found',
} as const;

export const IMPORTS_NEED =
  'Requires a secret key that also has the permissions `write:listings`, `write:media` and `write:reviews`.';

/** Every read of the interface (docs/interface/README.md#endpoints). */
export const reads = withIds({
  getStore: read({
    path: '/api/store',
    tag: 'Stores',
    permission: 'read:stores',
    summary: 'Retrieve a store',
    description: "Returns the store of `store_id`, or the first of the token's stores.",
    query: readSchema,
    answer: answers.StoreAnswer,
  }),
  listStoreHistory: read({
    ...history,
    path: '/api/store/history',
    tag: 'Stores',
    permission: 'read:stores',
    summary: 'List the changes of a store',
    description:
      'Those of the store itself, such as its name, newest first. Covers 1,000 revisions: those before `before`, or the newest. Requires a secret key.',
  }),
  searchStore: read({
    ...publications,
    answer: answers.PublicationPage,
    path: '/api/store/search',
    summary: 'Search the publications of a store',
    description:
      'Returns publications that contain every word of `q`, best match first. Case and accents are ignored. If nothing matches, the search allows one typing error in words of five letters or more, in queries of up to eight words. A search has at most 5,000 results, and counts no more. Embedded stores also look at no more than this: for the beginning of a word, 32 words of the store; with `sort`, the newest 50,000 matches; for several very frequent words, the newest publications. If a search did not look at all publications, `meta.is_complete` is false.',
    query: searchSchema,
  }),
  listStoreListings: read({
    ...listings,
    ...listingPage,
    path: '/api/store-listings',
    alias_of: 'listListings',
    summary: 'List the listings of a store',
    description: 'Newest first by default.',
  }),
  listPaymentMethods: read({
    path: '/api/payment-methods',
    tag: 'Stores',
    permission: 'read:payment_methods',
    summary: 'List the payment methods of a store',
    description: 'Sorted by `position`, the order that the merchant has set.',
    query: paymentMethodsSchema,
    answer: answers.PaymentMethodPage,
  }),
  listListings: read({
    ...listings,
    ...listingPage,
    path: '/api/listings',
    summary: 'List listings',
    description: 'Returns the same list as `/api/store-listings`.',
    query: listingsSchema,
  }),
  getListing: read({
    ...listings,
    path: '/api/listing/:id',
    summary: 'Retrieve a listing',
    query: resourceSchema,
    headers: ['Memento-Datetime'],
    answer: answers.ListingAnswer,
    not_found: 'listing_not_found',
  }),
  getListingByHandle: readByHandle({
    ...listings,
    path: '/api/listing/by-handle/:handle',
    summary: 'Retrieve the listing with a handle',
    query: pricedReadSchema,
    answer: answers.ListingAnswer,
    not_found: 'listing_not_found',
  }),
  listListingHistory: read({
    ...listings,
    ...history,
    path: '/api/listing/:id/history',
    summary: 'List the changes of a listing',
    not_found: 'listing_not_found',
  }),
  getListingRevision: read({
    ...listings,
    ...revision,
    path: '/api/listing/:id/history/:revision',
    summary: 'Retrieve a listing as it was at a revision',
    answer: answers.ListingAnswer,
    not_found: 'listing_not_found',
  }),
  listListingPublications: read({
    tag: 'Listings',
    permission: 'read:publications',
    path: '/api/listing/:id/publications',
    summary: 'List the publications of a listing',
    description:
      'Featured publications come first. `page` and `limit` apply to the whole sequence of featured and other publications.',
    query: listingPublicationsSchema,
    headers: ['Memento-Datetime'],
    answer: answers.ListingPublicationsAnswer,
    not_found: 'listing_not_found',
  }),
  listPublications: read({
    ...publications,
    answer: answers.PublicationPage,
    path: '/api/publications',
    summary: 'List publications',
    description: "Returns the store's publications, newest first by default. Filters can be combined.",
    query: publicationsSchema,
  }),
  getPublication: read({
    ...publications,
    path: '/api/publication/:id',
    summary: 'Retrieve a publication',
    description:
      'A request with a public key counts as one view. With `as_of`, the header `Memento-Datetime` says since when the publication was so.',
    query: resourceSchema,
    headers: ['Memento-Datetime'],
    answer: answers.PublicationAnswer,
    example: examples.answer({ ...examples.publication, listing: examples.listing }),
    not_found: 'publication_not_found',
  }),
  getPublicationByHandle: readByHandle({
    ...publications,
    path: '/api/publication/by-handle/:handle',
    summary: 'Retrieve the publication with a handle',
    description: 'A request with a public key counts as one view.',
    query: pricedReadSchema,
    answer: answers.PublicationAnswer,
    not_found: 'publication_not_found',
  }),
  listRelatedPublications: read({
    ...publications,
    answer: answers.PublicationPage,
    path: '/api/publication/:id/related',
    summary: 'List related publications',
    description:
      'Returns all other publications of the store. Those of the same listing come first, then those that share more words, then the newest.',
    query: pricedListSchema,
    not_found: 'publication_not_found',
  }),
  listPublicationHistory: read({
    ...publications,
    ...history,
    path: '/api/publication/:id/history',
    summary: 'List the changes of a publication and its variants',
    not_found: 'publication_not_found',
  }),
  listHistory: read({
    path: '/api/history',
    tag: 'Stores',
    permission: 'read:publications',
    further_permissions: CHANGES_PERMISSIONS,
    summary: 'List all changes in a store',
    description:
      'The changes of publications, variants, listings, media, reviews and the store, newest first. An answer ends after 10,000 events of the log, so it may have fewer changes than `limit`, or none, and a `next_cursor`. It has whole writes, so it may have more changes than `limit`. Requires a secret key that also has the permissions `read:stores`, `read:listings`, `read:media` and `read:reviews`.',
    query: storeHistorySchema,
    answer: answers.HistoryPage,
    refusals: ['offset_of_other_log'],
  }),
  listFeedIssues: read({
    ...publications,
    path: '/api/feeds/:channel/issues',
    summary: 'List what a channel would refuse',
    description:
      'Checks the products of the feed of a channel, the oldest first. An answer has all issues of a product, so it may have more than `limit`. It ends after 5,000 variants, so it may have fewer, or none, and a `next_cursor`. Requires a secret key.',
    query: feedIssuesSchema,
    answer: answers.FeedIssuePage,
    not_found: 'path_not_found',
  }),
  getPublicationRevision: read({
    ...publications,
    ...revision,
    query: pricedReadSchema,
    path: '/api/publication/:id/history/:revision',
    summary: 'Retrieve a publication as it was at a revision',
    answer: answers.PublicationAnswer,
    not_found: 'publication_not_found',
  }),
  listVariants: read({
    ...publications,
    answer: answers.VariantPage,
    path: '/api/publication/:id/variants',
    summary: 'List the variants of a publication',
    description: 'Sorted by `position`.',
    query: variantsSchema,
    not_found: 'publication_not_found',
  }),
  getVariant: read({
    ...publications,
    path: '/api/variant/:id',
    summary: 'Retrieve a variant',
    description: 'By its own id. The `ETag` of variants is that of their publication.',
    query: pricedReadSchema,
    answer: answers.VariantAnswer,
    not_found: 'variant_not_found',
  }),
  listListPrices: read({
    tag: 'Prices',
    permission: 'write:publications',
    path: '/api/list-prices',
    summary: 'List the prices of a price list',
    description: 'In no order that means anything.',
    query: listPricesSchema,
    answer: answers.ListPricePage,
  }),
  listReviews: read({
    tag: 'Publications',
    permission: 'read:reviews',
    path: '/api/publication/:id/reviews',
    summary: 'List the reviews of a publication',
    description:
      'Newest first. `meta.summary` covers all published reviews of the publication, not only those of the page.',
    query: reviewsSchema,
    answer: answers.ReviewPage,
    not_found: 'publication_not_found',
  }),
  listStoreReviews: read({
    tag: 'Stores',
    permission: 'read:reviews',
    path: '/api/reviews',
    summary: 'List the reviews of a store',
    description: 'For moderation: reviews of every status, newest first. Requires a secret key.',
    query: storeReviewsSchema,
    answer: answers.StoreReviewPage,
  }),
  listKeys: read({
    path: '/api/keys',
    tag: 'Keys',
    permission: 'write:stores',
    summary: 'List the API keys of a store',
    description:
      'Newest first: those whose stores are all among the stores of the key of the request. That key must have all permissions of secret keys, no rate limits of its own, no expiry and no need for confirmation.',
    query: keysSchema,
    answer: answers.KeyPage,
  }),
  listWebhooks: read({
    ...webhooks,
    path: '/api/webhooks',
    summary: 'List the webhooks of a store',
    description: 'Oldest first.',
    query: webhooksSchema,
    answer: answers.WebhookPage,
  }),
  getWebhook: read({
    ...webhooks,
    path: '/api/webhook/:id',
    summary: 'Retrieve a webhook',
    query: webhookSchema,
    answer: answers.WebhookAnswer,
    not_found: 'webhook_not_found',
  }),
  listDeliveries: read({
    ...webhooks,
    path: '/api/webhook/:id/deliveries',
    summary: 'List the deliveries of a webhook',
    description:
      'The last 100 attempts, newest first: all that failed, and of the others at least the last of each second.',
    query: deliveriesSchema,
    answer: answers.DeliveryPage,
    not_found: 'webhook_not_found',
  }),
  listProposals: read({
    tag: 'Proposals',
    permission: 'read:publications',
    path: '/api/proposals',
    summary: 'List the proposals of a store',
    description: 'Newest first, without `body` and `result`. Requires a secret key.',
    query: proposalsSchema,
    answer: answers.ProposalPage,
  }),
  getProposal: read({
    tag: 'Proposals',
    permission: 'read:publications',
    path: '/api/proposal/:id',
    summary: 'Retrieve a proposal',
    description: 'With the body of the write, and its result. Requires a secret key.',
    query: webhookSchema,
    answer: answers.ProposalAnswer,
    not_found: 'proposal_not_found',
  }),
  listImports: read({
    tag: 'Imports',
    permission: 'write:publications',
    further_permissions: IMPORT_PERMISSIONS,
    path: '/api/imports',
    summary: 'List the imports of a store',
    description: `The last 20, newest first, without \`detected\` and \`known_columns\`. ${IMPORTS_NEED}`,
    query: importsSchema,
    answer: answers.ImportPage,
  }),
  getImport: read({
    ...imports,
    path: '/api/import/:id',
    summary: 'Retrieve an import',
    description: `Poll it while its status is \`running\`. ${IMPORTS_NEED}`,
    query: webhookSchema,
    answer: answers.ImportAnswer,
  }),
  listImportRows: read({
    ...imports,
    path: '/api/import/:id/rows',
    summary: 'List the rows of an import',
    description: `Rows of the report of the last preview or import, by line: at most 10,000 of each outcome. Rows without a change are not listed. ${IMPORTS_NEED}`,
    query: importRowsSchema,
    answer: answers.ImportRowPage,
  }),
  listMedia: read({
    path: '/api/media',
    tag: 'Media',
    permission: 'read:media',
    summary: 'List media',
    description:
      'Newest first by default. Returns media that a public publication or listing uses. `visibility=private` returns all other media, `all` returns both.',
    query: mediaListSchema,
    answer: answers.MediaPage,
  }),
  getMedia: {
    ...mediaRecord,
    request_headers: ['Accept', 'Accept-Language', 'Range', 'If-Range'],
    successes: {
      200: {
        ...mediaRecord.successes[200]!,
        headers: ['ETag', 'Accept-Ranges', 'Content-Language'],
        content: { ...mediaRecord.successes[200]!.content, 'image/*': {} },
      },
      206: {
        description: 'The requested range of the image file.',
        headers: range_headers,
        content: { 'image/*': {} },
      },
      304: { ...NOT_MODIFIED, headers: ['ETag', 'Accept-Ranges', 'Content-Language'] },
    },
    conditions: [...mediaRecord.conditions, 'range_unsatisfiable'],
  },
  listMediaUses: read({
    path: '/api/media/:id/uses',
    tag: 'Media',
    permission: 'read:media',
    further_permissions: ['read:publications', 'read:listings'],
    summary: 'List where a media file is used',
    description:
      'The publications and listings that show it, public and private ones, by id. Requires a secret key that also has the permissions `read:publications` and `read:listings`.',
    query: mediaUsesSchema,
    answer: answers.MediaUsePage,
    not_found: 'media_not_found',
  }),
  readChanges: {
    method: 'GET',
    path: '/api/changes',
    tag: 'Stores',
    permission: 'read:publications',
    further_permissions: CHANGES_PERMISSIONS,
    security: 'bearer',
    summary: 'Follow the changes of a store',
    description:
      'Returns the changes of publications, variants, listings, media, reviews and the store, in their order, as a stream of the protocol Durable Streams 1.0. Requires a secret key that also has the permissions `read:stores`, `read:listings`, `read:media` and `read:reviews`. Send `Stream-Next-Offset` as `offset` of the next read: nothing is missed.',
    query: changesSchema,
    successes: {
      200: {
        description:
          'The changes after `offset`, at most 100 and the rest of the last write, or server-sent events with them.',
        headers: ['Stream-Next-Offset', 'Stream-Cursor', 'Stream-Up-To-Date', 'X-Catalog-Position'],
        content: {
          'application/json': { schema: answers.Changes },
          'application/cloudevents-batch+json': {},
          'text/event-stream': {},
        },
      },
      204: {
        description: 'A long poll ended without a change.',
        headers: ['Stream-Next-Offset', 'Stream-Cursor', 'Stream-Up-To-Date', 'X-Catalog-Position'],
      },
    },
    conditions: [
      ...AUTHENTICATION_CONDITIONS,
      ...PARAMETER_CONDITIONS,
      'store_not_found',
      'offset_of_other_log',
      ...GENERAL_CONDITIONS,
    ],
  },
  exportStore: {
    method: 'GET',
    path: '/api/export',
    tag: 'Stores',
    permission: 'read:publications',
    further_permissions: EXPORT_PERMISSIONS,
    security: 'bearer',
    summary: 'Export the catalog of a store',
    description:
      'Returns the listings and publications in a format that `catalog import` reads: one JSON object per line, or the product file of Shopify. Requires a secret key that also has the permissions `read:listings` and `read:media`. The answer is made while it is sent. If the connection is closed without the last chunk, the export is incomplete.',
    query: exportSchema,
    successes: {
      200: {
        description: 'The lines of the export.',
        headers: ['Content-Disposition'],
        content: { 'application/x-ndjson': {}, 'text/csv': {} },
      },
    },
    conditions: [
      ...AUTHENTICATION_CONDITIONS,
      ...PARAMETER_CONDITIONS,
      'store_not_found',
      ...GENERAL_CONDITIONS,
    ],
  },
});
