import type { z } from 'zod';
import { listSchema, publicationsSchema, readSchema, searchSchema } from './requests/reads';
import { noBody, tokenBody } from './requests/tokens';
import {
  listingPatchBody,
  newListingBody,
  newPublicationBody,
  publicationPatchBody,
  uploadForm,
  uploadQuerySchema,
  writeQuerySchema,
} from './requests/writes';
import { envelopeOf, pageMetaSchema, pageOf, reviewsMetaSchema } from './responses/envelopes';
import { authErrorSchema, errorSchema, faultSchema } from './responses/errors';
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
import { liveSchema, notReadySchema, readySchema, tokenSchema, validationSchema } from './responses/service';

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
  DeletedMediaAnswer: envelopeOf(200, deletedMediaSchema),
  PaymentMethodPage: pageOf(paymentMethodSchema, pageMetaSchema),
  ReviewPage: pageOf(reviewSchema, reviewsMetaSchema),
  TokenAnswer: envelopeOf(200, tokenSchema),
  ValidationAnswer: envelopeOf(200, validationSchema),
  LiveAnswer: envelopeOf(200, liveSchema),
  ReadyAnswer: envelopeOf(200, readySchema),
};

/** All response schemas that have a name in `components.schemas` of the OpenAPI document. */
export const namedResponses: Readonly<Record<string, z.ZodType>> = {
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
  Fault: faultSchema,
  AuthError: authErrorSchema,
  NotReady: notReadySchema,
  ...answers,
};

/** All request schemas that have a name in `components.schemas` of the OpenAPI document. */
export const namedRequests: Readonly<Record<string, z.ZodType>> = {
  NewListing: newListingBody,
  ListingPatch: listingPatchBody,
  NewPublication: newPublicationBody,
  PublicationPatch: publicationPatchBody,
  Upload: uploadForm,
  TokenRequest: tokenBody,
  NoFields: noBody,
};

/** The query parameters of operations, under their names in the client's types. */
export const namedQueries: Readonly<Record<string, z.ZodType>> = {
  ReadQuery: readSchema,
  ListQuery: listSchema,
  PublicationsQuery: publicationsSchema,
  SearchQuery: searchSchema,
  WriteQuery: writeQuerySchema,
  UploadQuery: uploadQuerySchema,
};
