import { type AccountDocument, accountCollection } from './account/document';
import { type ApiKeyDocument, apiKeyCollection } from './api-key/document';
import { type ListingDocument, listingCollection } from './listing/document';
import { type MediaDocument, mediaCollection } from './media/document';
import { type MediaUseDocument, mediaUseCollection } from './media/use-document';
import { type PublicationDocument, publicationCollection } from './publication/document';
import { type ReviewDocument, reviewCollection } from './review/document';
import { type StoreDocument, storeCollection } from './store/document';
import { type PaymentMethodDocument, paymentMethodCollection } from './store/payment-method-document';
import type { CollectionSpec } from './stored-document';

export type { CollectionSpec, Key, StoredDocument, ViewDocument } from './stored-document';

/** What each collection of a realm's view store holds. */
export interface Documents {
  readonly stores: StoreDocument;
  readonly listings: ListingDocument;
  readonly publications: PublicationDocument;
  readonly media: MediaDocument;
  readonly media_uses: MediaUseDocument;
  readonly payment_methods: PaymentMethodDocument;
  readonly reviews: ReviewDocument;
  readonly accounts: AccountDocument;
  readonly api_keys: ApiKeyDocument;
}

export type CollectionName = keyof Documents;
export type DocumentOf<Name extends CollectionName> = Documents[Name];

/** How each is keyed and indexed. Names and keys are storage formats. */
export const collections = {
  stores: storeCollection,
  listings: listingCollection,
  publications: publicationCollection,
  media: mediaCollection,
  media_uses: mediaUseCollection,
  payment_methods: paymentMethodCollection,
  reviews: reviewCollection,
  accounts: accountCollection,
  api_keys: apiKeyCollection,
} as const satisfies Record<CollectionName, CollectionSpec>;

export const COLLECTION_NAMES = Object.keys(collections) as CollectionName[];
