import { type AccountDocument, accountCollection } from './account/document';
import { type ApiKeyDocument, apiKeyCollection } from './api-key/document';
import { type ListPriceDocument, listPriceCollection } from './list-price/document';
import {
  type ListingDocument,
  listingCollection,
  type PlaceDocument,
  placeCollection,
} from './listing/document';
import {
  type MediaDocument,
  type MediaReferenceDocument,
  mediaCollection,
  mediaReferenceCollection,
} from './media/document';
import { type NameDocument, nameCollection } from './name/document';
import { type ProposalDocument, proposalCollection } from './proposal/document';
import { type PublicationDocument, publicationCollection } from './publication/document';
import { type ReviewDocument, reviewCollection } from './review/document';
import {
  type PaymentMethodDocument,
  paymentMethodCollection,
  type StoreDocument,
  storeCollection,
} from './store/document';
import type { CollectionSpec } from './stored-document';
import { type WebhookDocument, webhookCollection } from './webhook/document';

export type { CollectionSpec, Key, StoredDocument, ViewDocument } from './stored-document';

/** The document type of each collection of a realm's view store. */
export interface Documents {
  readonly stores: StoreDocument;
  readonly listings: ListingDocument;
  readonly publications: PublicationDocument;
  readonly media: MediaDocument;
  readonly media_uses: MediaReferenceDocument;
  readonly places: PlaceDocument;
  readonly payment_methods: PaymentMethodDocument;
  readonly reviews: ReviewDocument;
  readonly names: NameDocument;
  readonly webhooks: WebhookDocument;
  readonly proposals: ProposalDocument;
  readonly list_prices: ListPriceDocument;
  readonly accounts: AccountDocument;
  readonly api_keys: ApiKeyDocument;
}

export type CollectionName = keyof Documents;
export type DocumentOf<Name extends CollectionName> = Documents[Name];

/** The keys and indexes of each collection. Collection and key names are stored: renaming one needs a rebuild. */
export const collections = {
  stores: storeCollection,
  listings: listingCollection,
  publications: publicationCollection,
  media: mediaCollection,
  media_uses: mediaReferenceCollection,
  places: placeCollection,
  payment_methods: paymentMethodCollection,
  reviews: reviewCollection,
  names: nameCollection,
  webhooks: webhookCollection,
  proposals: proposalCollection,
  list_prices: listPriceCollection,
  accounts: accountCollection,
  api_keys: apiKeyCollection,
} as const satisfies Record<CollectionName, CollectionSpec>;

export const COLLECTION_NAMES = Object.keys(collections) as CollectionName[];
