import type { z } from 'zod';
import type { SchemaDoc } from './documentation';
import { listSchema, mediaListSchema, publicationsSchema, readSchema, searchSchema } from './requests/reads';
import { noBody, tokenBody } from './requests/tokens';
import {
  deleteListingSchema,
  listingPatchBody,
  newListingBody,
  newPublicationBody,
  publicationPatchBody,
  uploadForm,
  uploadQuerySchema,
  writeQuerySchema,
} from './requests/writes';
import { envelopeOf, pageMetaSchema, pageOf, reviewsMetaSchema } from './responses/envelopes';
import { authErrorSchema, errorInfoSchema, errorSchema, faultSchema } from './responses/errors';
import {
  exampleIds,
  exampleListing,
  exampleListingPublications,
  exampleListings,
  exampleMedia,
  exampleMediaCollection,
  exampleMeta,
  exampleNewListing,
  exampleNewMedia,
  exampleNewPublication,
  exampleNotReady,
  examplePaymentMethod,
  examplePublication,
  examplePublications,
  exampleReview,
  exampleReviewsMeta,
  exampleStore,
  exampleToken,
  exampleTokenDescription,
} from './responses/examples';
import {
  deletedListingSchema,
  deletedMediaSchema,
  deletedPublicationSchema,
  listingCollectionSchema,
  listingPublicationsSchema,
  listingSchema,
  mediaCollectionSchema,
  mediaSchema,
  mediaVariantSchema,
  paymentMethodSchema,
  publicationCollectionSchema,
  publicationSchema,
  reviewSchema,
  storeSchema,
} from './responses/resources';
import {
  liveSchema,
  notReadySchema,
  readySchema,
  START,
  startSchema,
  tokenSchema,
  validationSchema,
} from './responses/service';

/** Bodies of successful responses, under their names in the OpenAPI document and in generated clients. */
export const answers = {
  StoreAnswer: envelopeOf(200, storeSchema),
  ListingAnswer: envelopeOf(200, listingSchema),
  NewListingAnswer: envelopeOf(201, listingSchema),
  DeletedListingAnswer: envelopeOf(200, deletedListingSchema),
  ListingPage: pageOf(listingSchema, pageMetaSchema),
  ListingPublicationsAnswer: envelopeOf(200, listingPublicationsSchema),
  PublicationAnswer: envelopeOf(200, publicationSchema),
  NewPublicationAnswer: envelopeOf(201, publicationSchema),
  DeletedPublicationAnswer: envelopeOf(200, deletedPublicationSchema),
  PublicationPage: pageOf(publicationSchema, pageMetaSchema),
  MediaAnswer: envelopeOf(200, mediaSchema),
  NewMediaAnswer: envelopeOf(201, mediaSchema),
  MediaPage: pageOf(mediaSchema, pageMetaSchema),
  DeletedMediaAnswer: envelopeOf(200, deletedMediaSchema),
  PaymentMethodPage: pageOf(paymentMethodSchema, pageMetaSchema),
  ReviewPage: pageOf(reviewSchema, reviewsMetaSchema),
  TokenAnswer: envelopeOf(200, tokenSchema),
  ValidationAnswer: envelopeOf(200, validationSchema),
  StartAnswer: envelopeOf(200, startSchema),
  LiveAnswer: envelopeOf(200, liveSchema),
  ReadyAnswer: envelopeOf(200, readySchema),
};

/** All response schemas that have a name in `components.schemas` of the OpenAPI document. */
export const namedResponses = {
  Store: storeSchema,
  Listing: listingSchema,
  ListingCollection: listingCollectionSchema,
  ListingPublications: listingPublicationsSchema,
  Publication: publicationSchema,
  PublicationCollection: publicationCollectionSchema,
  Media: mediaSchema,
  MediaVariant: mediaVariantSchema,
  MediaCollection: mediaCollectionSchema,
  PaymentMethod: paymentMethodSchema,
  Review: reviewSchema,
  PageMeta: pageMetaSchema,
  ReviewsMeta: reviewsMetaSchema,
  DeletedListing: deletedListingSchema,
  DeletedPublication: deletedPublicationSchema,
  DeletedMedia: deletedMediaSchema,
  Token: tokenSchema,
  TokenDescription: validationSchema,
  Error: errorSchema,
  ErrorInfo: errorInfoSchema,
  Fault: faultSchema,
  AuthError: authErrorSchema,
  NotReady: notReadySchema,
  ...answers,
} satisfies Record<string, z.ZodType>;

/** All request schemas that have a name in `components.schemas` of the OpenAPI document. */
export const namedRequests = {
  NewListing: newListingBody,
  ListingPatch: listingPatchBody,
  NewPublication: newPublicationBody,
  PublicationPatch: publicationPatchBody,
  Upload: uploadForm,
  TokenRequest: tokenBody,
  NoFields: noBody,
} satisfies Record<string, z.ZodType>;

type SchemaName = keyof typeof namedResponses | keyof typeof namedRequests;

const doc = (description: string, example?: unknown): SchemaDoc => ({ description, example });
const deleted = (id: string, object: string) => ({ id, object, deleted: true });
const fault = { field: 'limit', constraint: 'an integer from 1 to 50', code: 'VALIDATION_ERROR' };
const errorInfo = {
  code: 'VALIDATION_ERROR',
  message: 'Invalid limit: expected an integer from 1 to 50',
  details: { field: fault.field, constraint: fault.constraint, errors: [fault] },
};

/** Description of each named schema, and an example if those of its properties do not make a good one. */
export const schemaDocs: Readonly<Record<SchemaName, SchemaDoc>> = {
  Store: doc('A shop, with the texts that a storefront shows about it.', exampleStore),
  Listing: doc('A category of publications.', exampleListing),
  ListingCollection: doc('The listings of a store, added by `expand=listing`.', exampleListings),
  ListingPublications: doc(
    "A page of a listing's publications, the featured ones first.",
    exampleListingPublications,
  ),
  Publication: doc('A product.', examplePublication),
  PublicationCollection: doc(
    'The publications of a listing, added by `expand=publication`.',
    examplePublications,
  ),
  Media: doc('An uploaded picture.', exampleMedia),
  MediaVariant: doc('A smaller picture made from an upload.', exampleMedia.variants[0]),
  MediaCollection: doc(
    'The media of a store, listing or publication, added by `expand=media`.',
    exampleMediaCollection,
  ),
  PaymentMethod: doc('A way to pay in a store.', examplePaymentMethod),
  Review: doc("A customer's review of a publication.", exampleReview),
  PageMeta: doc('Number and size of the page, and number of all items.', exampleMeta),
  ReviewsMeta: doc('The page of reviews, and a summary of all reviews.', exampleReviewsMeta),
  DeletedListing: doc('A listing that was deleted.', {
    ...deleted(exampleIds.listing, 'listing'),
    publication_count: 24,
  }),
  DeletedPublication: doc('A publication that was deleted.', deleted(exampleIds.publication, 'publication')),
  DeletedMedia: doc('A media that was deleted.', deleted(exampleIds.media, 'media')),
  Token: doc('A bearer token.', { token: exampleToken, token_type: 'Bearer', expires_in: 900 }),
  TokenDescription: doc('What a token permits, and until when.', exampleTokenDescription),
  Error: doc('Why a request failed.', {
    ...{ code: 400, status: 'error', message: 'A query parameter is invalid' },
    error: errorInfo,
  }),
  ErrorInfo: doc('What went wrong.', errorInfo),
  Fault: doc('An invalid field or parameter.', fault),
  AuthError: doc('Why a request to `/auth` failed.', {
    code: 401,
    status: 'error',
    message: 'Invalid API key',
  }),
  NotReady: doc('Why the service cannot serve requests.', exampleNotReady),
  StoreAnswer: doc('Response with a store.'),
  ListingAnswer: doc('Response with a listing.'),
  NewListingAnswer: doc('Response with a new listing.', {
    ...{ code: 201, status: 'OK' },
    data: exampleNewListing,
  }),
  DeletedListingAnswer: doc('Response to the deletion of a listing.'),
  ListingPage: doc('Response with a page of listings.'),
  ListingPublicationsAnswer: doc('Response with a page of the publications of a listing.'),
  PublicationAnswer: doc('Response with a publication.'),
  NewPublicationAnswer: doc('Response with a new publication.', {
    ...{ code: 201, status: 'OK' },
    data: exampleNewPublication,
  }),
  DeletedPublicationAnswer: doc('Response to the deletion of a publication.'),
  PublicationPage: doc('Response with a page of publications.'),
  MediaAnswer: doc('Response with a media.'),
  NewMediaAnswer: doc('Response with a new media, whose pictures have not been generated yet.', {
    ...{ code: 201, status: 'OK' },
    data: exampleNewMedia,
  }),
  DeletedMediaAnswer: doc('Response to the deletion of a media.'),
  PaymentMethodPage: doc('Response with a page of payment methods.'),
  ReviewPage: doc('Response with a page of reviews.'),
  MediaPage: doc('Response with a page of media.'),
  TokenAnswer: doc('Response with a token.'),
  ValidationAnswer: doc('Response with the description of a token.'),
  StartAnswer: doc('Where to begin.', { ...{ code: 200, status: 'OK' }, data: START }),
  LiveAnswer: doc('Response of a process that runs.'),
  ReadyAnswer: doc('Response of a service that can serve requests.'),
  NewListing: doc('Fields of a new listing.'),
  ListingPatch: doc('Fields of a listing to change. Fields that are left out stay as they are.'),
  NewPublication: doc('Fields of a new publication.'),
  PublicationPatch: doc('Fields of a publication to change. Fields that are left out stay as they are.'),
  Upload: doc('Form with a picture to upload.'),
  TokenRequest: doc('Options of the token.'),
  NoFields: doc('An empty object. Fields are refused.'),
};

/** The query parameters of operations, under their names in the client's types. */
export const namedQueries: Readonly<Record<string, z.ZodType>> = {
  ReadQuery: readSchema,
  ListQuery: listSchema,
  PublicationsQuery: publicationsSchema,
  SearchQuery: searchSchema,
  MediaListQuery: mediaListSchema,
  WriteQuery: writeQuerySchema,
  DeleteListingQuery: deleteListingSchema,
  UploadQuery: uploadQuerySchema,
};
