import { z } from 'zod';
import { listedVariantBody, optionBody } from '../catalog/publication/variants';
import * as reads from './requests/reads';
import { noBody, tokenBody } from './requests/tokens';
import * as writes from './requests/writes';
import {
  envelopeOf,
  FEED_CURSOR,
  feedIssuesMetaSchema,
  historyMetaSchema,
  pageMetaSchema,
  pageOf,
  reviewsMetaSchema,
} from './responses/envelopes';
import { authErrorSchema, errorInfoSchema, errorSchema, faultSchema } from './responses/errors';
import * as examples from './responses/examples';
import * as resources from './responses/resources';
import * as service from './responses/service';

/** A schema that has a name in `components.schemas` of the OpenAPI document and in generated clients. */
export interface NamedSchema<Schema extends z.ZodType = z.ZodType> {
  readonly schema: Schema;
  readonly description: string;
  /** A value of the schema. Without it, the example is made of those of the properties. */
  readonly example?: unknown;
}

const named = <Schema extends z.ZodType>(schema: Schema, description: string, example?: unknown) =>
  ({ schema, description, example }) satisfies NamedSchema;

/** Names a successful response with this `data`. */
const answer = <Data extends z.ZodType>(data: Data, description: string, example?: unknown) =>
  named(envelopeOf(200, data), description, example);
/** Names the response to a creation. */
const created = <Data extends z.ZodType>(data: Data, description: string, example: unknown) =>
  named(envelopeOf(201, data), description, examples.answer(example, 201));
/** Names the response to a put. */
const put = <Data extends z.ZodType>(data: Data, description: string) =>
  named(envelopeOf([200, 201], data), description);
/** Names a page of these items. */
const page = <Item extends z.ZodType>(item: Item, description: string) =>
  named(pageOf(item, pageMetaSchema), description);

const deleted = (id: string, object: string) => ({ id, object, deleted: true });
const fault = { field: 'limit', constraint: 'an integer from 1 to 50', code: 'VALIDATION_ERROR' };
const errorInfo = {
  code: 'VALIDATION_ERROR',
  message: 'Invalid limit: expected an integer from 1 to 50',
  details: { field: fault.field, constraint: fault.constraint, errors: [fault] },
};

const put_item = { index: 0, action: 'put', id: examples.ids.publication, external_id: 'erp-10442' };
const not_found = { code: 'PUBLICATION_NOT_FOUND', message: 'The publication does not exist' };
const batchItems = [
  { ...put_item, result: 'updated' },
  { index: 1, action: 'delete', id: examples.ids.listing, error: not_found },
];

const batchListing = { external_id: 'erp-group-7', body: { name: 'Chemises' } };
const batchSample = {
  items: [
    { action: 'put', external_id: 'erp-20117', body: examples.publicationSample },
    { action: 'update', id: examples.ids.publication, body: { featured_position: 1 } },
  ],
};

/** Bodies of successful responses. */
const namedAnswers = {
  StoreAnswer: answer(resources.storeSchema, 'Response with a store.'),
  ListingAnswer: answer(resources.listingSchema, 'Response with a listing.'),
  NewListingAnswer: created(resources.listingSchema, 'Response with a new listing.', examples.newListing),
  DeletedListingAnswer: answer(resources.deletedListingSchema, 'Response to the deletion of a listing.'),
  FeaturedOrderAnswer: answer(
    resources.featuredOrderSchema,
    'Response with the order of the featured publications of a listing.',
  ),
  ListingPage: page(resources.listingSchema, 'Response with a page of listings.'),
  ListingPublicationsAnswer: answer(
    resources.listingPublicationsSchema,
    'Response with a page of the publications of a listing.',
  ),
  PublicationAnswer: answer(resources.publicationSchema, 'Response with a publication.'),
  NewPublicationAnswer: created(
    resources.publicationSchema,
    'Response with a new publication.',
    examples.newPublication,
  ),
  PutListingAnswer: put(resources.putListingSchema, 'Response to a put of a listing.'),
  PutPublicationAnswer: put(resources.putPublicationSchema, 'Response to a put of a publication.'),
  RevertedPublicationAnswer: answer(
    resources.revertedPublicationSchema,
    'Response with a publication that was reverted.',
  ),
  BatchAnswer: answer(resources.batchSchema, 'Response to a batch.'),
  ProposalPage: page(resources.proposalSchema, 'Response with a page of proposals.'),
  ProposalAnswer: answer(resources.proposalSchema, 'Response with a proposal.'),
  ProposedAnswer: named(
    envelopeOf(202, resources.proposalSchema),
    'Response to a write that waits for confirmation.',
    examples.answer(examples.waitingProposal, 202),
  ),
  UndoneRunAnswer: answer(resources.undoneRunSchema, 'Response to the undo of a run.'),
  MovedAnswer: named(
    envelopeOf(301, resources.movedSchema),
    'Response to a request with an earlier handle.',
    examples.answer(examples.moved, 301),
  ),
  DeletedPublicationAnswer: answer(
    resources.deletedPublicationSchema,
    'Response to the deletion of a publication.',
  ),
  PublicationPage: page(resources.publicationSchema, 'Response with a page of publications.'),
  ListPricePage: page(resources.listPriceSchema, 'Response with a page of the prices of a price list.'),
  SetListPricesAnswer: answer(resources.setListPricesSchema, 'Response to prices of a price list.'),
  VariantAnswer: answer(resources.variantSchema, 'Response with a variant.'),
  NewVariantAnswer: created(resources.variantSchema, 'Response with a new variant.', examples.newVariant),
  VariantPage: page(resources.variantSchema, 'Response with a page of variants.'),
  DeletedVariantAnswer: answer(resources.deletedVariantSchema, 'Response to the deletion of a variant.'),
  MediaAnswer: answer(resources.mediaSchema, 'Response with a media.'),
  NewMediaAnswer: created(
    resources.mediaSchema,
    'Response with a new media, whose pictures have not been generated yet.',
    examples.newMedia,
  ),
  MediaPage: page(resources.mediaSchema, 'Response with a page of media.'),
  MediaUsePage: page(resources.mediaUseSchema, 'Response with a page of the uses of a media.'),
  DeletedMediaAnswer: answer(resources.deletedMediaSchema, 'Response to the deletion of a media.'),
  PaymentMethodPage: page(resources.paymentMethodSchema, 'Response with a page of payment methods.'),
  ReviewPage: named(pageOf(resources.reviewSchema, reviewsMetaSchema), 'Response with a page of reviews.'),
  Changes: named(z.array(resources.changeSchema), 'Changes, in their order.', [examples.change]),
  ChangePage: page(resources.changeSchema, 'Response with a page of a history.'),
  HistoryPage: named(
    pageOf(resources.changeSchema, historyMetaSchema),
    'Response with changes of a store, newest first.',
  ),
  FeedIssuePage: named(
    pageOf(resources.feedIssueSchema, feedIssuesMetaSchema),
    'Response with what a channel would refuse, by product.',
  ),
  StoreReviewPage: page(resources.reviewSchema, "Response with a page of a store's reviews."),
  ReviewAnswer: answer(
    resources.reviewSchema,
    'Response with a review.',
    examples.answer(examples.moderatedReview),
  ),
  NewReviewAnswer: created(resources.reviewSchema, 'Response with a new review.', examples.moderatedReview),
  DeletedReviewAnswer: answer(resources.deletedReviewSchema, 'Response to the deletion of a review.'),
  KeyPage: page(resources.keySchema, 'Response with a page of keys.'),
  KeyAnswer: answer(resources.keySchema, 'Response with a key.'),
  NewKeyAnswer: created(resources.newKeySchema, 'Response with a new key and its secret.', examples.newKey),
  WebhookPage: page(resources.webhookSchema, 'Response with a page of webhooks.'),
  WebhookAnswer: answer(
    resources.webhookSchema,
    'Response with a webhook.',
    examples.answer(examples.webhook),
  ),
  NewWebhookAnswer: created(
    resources.webhookSchema,
    'Response with a new webhook and its secret.',
    examples.newWebhook,
  ),
  DeletedWebhookAnswer: answer(resources.deletedWebhookSchema, 'Response to the deletion of a webhook.'),
  DeliveryPage: page(resources.deliverySchema, 'Response with a page of attempts to deliver.'),
  ImportPage: page(resources.importSchema, 'Response with a page of imports.'),
  ImportAnswer: answer(
    resources.importSchema,
    'Response with an import.',
    examples.answer(examples.previewedImport),
  ),
  StartedImportAnswer: named(
    envelopeOf(202, resources.importSchema),
    'Response with an import whose step was started.',
    examples.answer(examples.startedImport, 202),
  ),
  DeletedImportAnswer: answer(resources.deletedImportSchema, 'Response to the deletion of an import.'),
  ImportRowPage: page(resources.importRowSchema, 'Response with a page of the rows of an import.'),
  TokenAnswer: answer(service.tokenSchema, 'Response with a token.'),
  ValidationAnswer: answer(service.validationSchema, 'Response with the description of a token.'),
  StartAnswer: answer(service.startSchema, 'Where to begin.', examples.answer(service.START)),
  LiveAnswer: answer(service.liveSchema, 'Response of a process that runs.'),
  ReadyAnswer: answer(service.readySchema, 'Response of a service that can serve requests.'),
};

/** The schemas of `namedAnswers`. */
export const answers = Object.fromEntries(
  Object.entries(namedAnswers).map(([name, { schema }]) => [name, schema]),
) as { readonly [Name in keyof typeof namedAnswers]: (typeof namedAnswers)[Name]['schema'] };

/** All responses. */
export const namedResponses: Readonly<Record<string, NamedSchema>> = {
  Store: named(
    resources.storeSchema,
    'A shop, with the texts that a storefront shows about it.',
    examples.store,
  ),
  Listing: named(resources.listingSchema, 'A category of publications.', examples.listing),
  ListingCollection: named(
    resources.listingCollectionSchema,
    'The listings of a store, added by `expand=listing`.',
    examples.listings,
  ),
  ListingPublications: named(
    resources.listingPublicationsSchema,
    "A page of a listing's publications, the featured ones first.",
    examples.listingPublications,
  ),
  FeaturedOrder: named(
    resources.featuredOrderSchema,
    'The order of the featured publications of a listing.',
    examples.featuredOrder,
  ),
  Publication: named(resources.publicationSchema, 'A product.', examples.publication),
  PublicationCollection: named(
    resources.publicationCollectionSchema,
    'The publications of a listing, added by `expand=publication`.',
    examples.publications,
  ),
  Variant: named(resources.variantSchema, 'One of the forms in which a product is sold.', examples.variant),
  VariantCollection: named(
    resources.variantCollectionSchema,
    'The variants of a publication, added by `expand=variants`.',
    examples.variants,
  ),
  Media: named(resources.mediaSchema, 'An uploaded picture.', examples.media),
  MediaVariant: named(
    resources.mediaVariantSchema,
    'A smaller picture made from an upload.',
    examples.media.variants[0],
  ),
  MediaCollection: named(
    resources.mediaCollectionSchema,
    'The media of a store, listing or publication, added by `expand=media`.',
    examples.mediaCollection,
  ),
  PaymentMethod: named(resources.paymentMethodSchema, 'A way to pay in a store.', examples.paymentMethod),
  Change: named(resources.changeSchema, 'A change of a resource.', examples.change),
  Review: named(resources.reviewSchema, "A customer's review of a publication.", examples.review),
  MediaUse: named(resources.mediaUseSchema, 'A publication or listing that shows a media.', {
    ...{ id: examples.ids.publication, object: 'publication', visibility: 'public' },
    title: examples.publication.title,
  }),
  Key: named(resources.keySchema, 'An API key of the store.', examples.key),
  NewKey: named(resources.newKeySchema, 'A new API key.', examples.newKey),
  ListPrice: named(resources.listPriceSchema, 'The prices of a publication in a price list.', {
    ...{ id: examples.ids.list_price, object: 'list_price', price_list: 'wholesale', currency: 'PEN' },
    ...examples.listPrice,
  }),
  SetListPrices: named(resources.setListPricesSchema, 'How many prices of a price list changed.', {
    ...{ object: 'list_prices', price_list: 'wholesale', changed_count: 1 },
  }),
  Webhook: named(resources.webhookSchema, 'An address that changes are sent to.', examples.webhook),
  Delivery: named(
    resources.deliverySchema,
    'An attempt to deliver a message of a webhook.',
    examples.delivery,
  ),
  Import: named(resources.importSchema, 'A file that is imported.', examples.previewedImport),
  DetectedFile: named(
    resources.detectedFileSchema,
    'How the file of an import is read.',
    examples.previewedImport.detected,
  ),
  ImportReport: named(
    resources.importReportSchema,
    'What an import did, or would do.',
    examples.previewedImport.report,
  ),
  ImportRow: named(resources.importRowSchema, 'A row of the report of an import.', examples.importRow),
  PutListing: named(resources.putListingSchema, 'A listing that was put.', {
    ...examples.listing,
    result: 'updated',
  }),
  PutPublication: named(resources.putPublicationSchema, 'A publication that was put.', {
    ...examples.publication,
    result: 'updated',
  }),
  RevertedPublication: named(resources.revertedPublicationSchema, 'A publication that was reverted.', {
    ...examples.publication,
    not_restored: [],
  }),
  Proposal: named(resources.proposalSchema, 'A write that waits for confirmation.', examples.proposal),
  UndoneRun: named(resources.undoneRunSchema, 'What an undo has done.', examples.undoneRun),
  Batch: named(resources.batchSchema, 'What became of a batch.', {
    ...{ dry_run: false, created: 0, updated: 1, unchanged: 0, deleted: 0, failed: 1 },
    items: batchItems,
  }),
  BatchListing: named(resources.batchListingSchema, 'What became of a listing of a batch.', {
    ...{ index: 0, external_id: 'erp-group-7', id: examples.ids.listing, result: 'created' },
  }),
  BatchItem: named(resources.batchItemSchema, 'What became of an item of a batch.', batchItems[0]),
  Moved: named(resources.movedSchema, 'A resource that has another handle now.', examples.moved),
  PageMeta: named(pageMetaSchema, 'Number and size of the page, and number of all items.', examples.meta),
  HistoryMeta: named(historyMetaSchema, 'Size of the answer, and where older changes begin.', {
    limit: 20,
    next_cursor: '00000000000000001042-0195d4a2',
  }),
  FeedIssue: named(resources.feedIssueSchema, 'What a channel would refuse in a product.', {
    id: `${examples.ids.publication}.image_link.missing.error`,
    ...{ object: 'feed_issue', publication_id: examples.ids.publication, title: 'Chanchamayo coffee, 250 g' },
    ...{ field: 'image_link', problem: 'missing', severity: 'error' },
    message: 'image_link is missing. It is the picture of the variant, or the first of the product',
    ...{ variant_count: 1, variant_ids: [examples.ids.variant] },
  }),
  FeedIssuesMeta: named(feedIssuesMetaSchema, 'Size of the answer, and where the next products begin.', {
    ...{ limit: 20, next_cursor: FEED_CURSOR },
  }),
  ReviewsMeta: named(
    reviewsMetaSchema,
    'The page of reviews, and a summary of all reviews.',
    examples.reviewsMeta,
  ),
  DeletedListing: named(resources.deletedListingSchema, 'A listing that was deleted.', {
    ...deleted(examples.ids.listing, 'listing'),
    publication_count: 24,
  }),
  DeletedPublication: named(
    resources.deletedPublicationSchema,
    'A publication that was deleted.',
    deleted(examples.ids.publication, 'publication'),
  ),
  DeletedVariant: named(
    resources.deletedVariantSchema,
    'A variant that was deleted.',
    deleted(examples.ids.variant, 'variant'),
  ),
  DeletedMedia: named(
    resources.deletedMediaSchema,
    'A media that was deleted.',
    deleted(examples.ids.media, 'media'),
  ),
  DeletedReview: named(
    resources.deletedReviewSchema,
    'A review that was deleted.',
    deleted(examples.ids.review, 'review'),
  ),
  DeletedWebhook: named(
    resources.deletedWebhookSchema,
    'A webhook that was deleted.',
    deleted(examples.ids.webhook, 'webhook'),
  ),
  DeletedImport: named(
    resources.deletedImportSchema,
    'An import that was deleted.',
    deleted(examples.ids.import, 'import'),
  ),
  Token: named(service.tokenSchema, 'A bearer token.', {
    token: examples.token,
    token_type: 'Bearer',
    expires_in: 900,
  }),
  TokenDescription: named(
    service.validationSchema,
    'What a token permits, and until when.',
    examples.tokenDescription,
  ),
  Error: named(errorSchema, 'Why a request failed.', {
    ...{ code: 400, status: 'error', message: 'A query parameter is invalid' },
    error: errorInfo,
  }),
  ErrorInfo: named(errorInfoSchema, 'What went wrong.', errorInfo),
  Fault: named(faultSchema, 'An invalid field or parameter.', fault),
  AuthError: named(authErrorSchema, 'Why a request to `/auth` failed.', {
    code: 401,
    status: 'error',
    message: 'Invalid API key',
  }),
  NotReady: named(service.notReadySchema, 'Why the service cannot serve requests.', examples.notReady),
  ...namedAnswers,
};

/** All requests. */
export const namedRequests: Readonly<Record<string, NamedSchema>> = {
  NewListing: named(writes.newListingBody, 'Fields of a new listing.'),
  ListingPatch: named(
    writes.listingPatchBody,
    'Fields of a listing to change. Fields that are left out stay as they are.',
  ),
  Revert: named(writes.revertBody, 'Where to return to.'),
  Undo: named(writes.undoBody, 'How to undo a run.'),
  Rejection: named(writes.rejectionBody, 'Why a proposal is rejected.'),
  NewFeaturedOrder: named(writes.featuredOrderBody, 'The featured publications of a listing.'),
  NewPublication: named(writes.newPublicationBody, 'Fields of a new publication.'),
  PublicationPatch: named(
    writes.publicationPatchBody,
    'Fields of a publication to change. Fields that are left out stay as they are.',
  ),
  StorePatch: named(
    writes.storePatchBody,
    'Fields of a store to change. Fields that are left out stay as they are.',
  ),
  MediaPatch: named(
    writes.mediaPatchBody,
    'Fields of a media to change. Fields that are left out stay as they are.',
  ),
  NewReview: named(writes.newReviewBody, 'Fields of a new review.'),
  ReviewPatch: named(writes.reviewPatchBody, 'The new status of a review.'),
  KeyFields: named(writes.newKeyBody, 'Fields of a new key.'),
  KeyPatch: named(writes.keyPatchBody, 'Fields of a key to change.'),
  NewWebhook: named(writes.newWebhookBody, 'Fields of a new webhook.'),
  WebhookPatch: named(
    writes.webhookPatchBody,
    'Fields of a webhook to change. Fields that are left out stay as they are.',
  ),
  Replay: named(writes.replayBody, 'Where a webhook begins again.'),
  NewListPrices: named(writes.listPricesBody, 'Prices of publications in a price list.'),
  NewListPrice: named(
    writes.listPriceItem,
    'The prices of a publication in a price list.',
    examples.listPrice,
  ),
  NewVariant: named(writes.newVariantBody, 'Fields of a new variant.'),
  VariantPatch: named(
    writes.variantPatchBody,
    'Fields of a variant to change. Fields that are left out stay as they are.',
  ),
  ListedOption: named(optionBody, 'An option in the body of a publication.'),
  ListedVariant: named(listedVariantBody, 'A variant in the body of a publication.'),
  PublicationBatch: named(writes.publicationBatchBody, 'Writes of up to 500 publications.', batchSample),
  PublicationBatchListing: named(writes.batchListing, 'A listing of a batch.', batchListing),
  PublicationBatchItem: named(writes.publicationBatchItem, 'A write of a batch.', batchSample.items[0]),
  Upload: named(writes.uploadForm, 'Form with a picture to upload.'),
  NewImport: named(writes.importForm, 'Form with a file to import.'),
  ImportSettings: named(writes.importSettingsBody, 'How to import a file.'),
  TokenRequest: named(tokenBody, 'Options of the token.'),
  NoFields: named(noBody, 'An empty object. Fields are refused.'),
};

/** The query parameters of operations, under their names in the client's types. */
export const namedQueries: Readonly<Record<string, z.ZodType>> = {
  ReadQuery: reads.readSchema,
  PricedReadQuery: reads.pricedReadSchema,
  ResourceQuery: reads.resourceSchema,
  ListQuery: reads.listSchema,
  PricedListQuery: reads.pricedListSchema,
  PaymentMethodsQuery: reads.paymentMethodsSchema,
  ListingsQuery: reads.listingsSchema,
  StoreListingsQuery: reads.existingListingsSchema,
  PublicationsQuery: reads.publicationsSchema,
  ListingPublicationsQuery: reads.listingPublicationsSchema,
  VariantsQuery: reads.variantsSchema,
  SearchQuery: reads.searchSchema,
  MediaListQuery: reads.mediaListSchema,
  ReviewsQuery: reads.reviewsSchema,
  StoreReviewsQuery: reads.storeReviewsSchema,
  ExportQuery: reads.exportSchema,
  ChangesQuery: reads.changesSchema,
  HistoryQuery: reads.historySchema,
  StoreHistoryQuery: reads.storeHistorySchema,
  FeedIssuesQuery: reads.feedIssuesSchema,
  MediaUsesQuery: reads.mediaUsesSchema,
  KeysQuery: reads.keysSchema,
  ListPricesQuery: reads.listPricesSchema,
  WebhookQuery: reads.webhookSchema,
  WebhooksQuery: reads.webhooksSchema,
  DeliveriesQuery: reads.deliveriesSchema,
  ImportsQuery: reads.importsSchema,
  ProposalsQuery: reads.proposalsSchema,
  ImportRowsQuery: reads.importRowsSchema,
  WriteQuery: writes.writeQuerySchema,
  BatchQuery: writes.batchQuerySchema,
  DeleteListingQuery: writes.deleteListingSchema,
  UploadQuery: writes.uploadQuerySchema,
};
