import { accountView } from './account';
import { apiKeyView } from './api-key';
import { listPriceView } from './list-price';
import { listingView } from './listing';
import { mediaView } from './media';
import { nameView } from './name';
import { paymentMethodView } from './payment-method';
import { proposalView } from './proposal';
import { pageViewTally, publicationView } from './publication';
import { reviewView } from './review';
import { storeView } from './store';
import type { Tally } from './tally';
import type { View } from './view';
import { webhookView } from './webhook';

/** All views. The collections of reverse indexes have no view: the engine maintains them (see `relations.ts`). */
export const views: readonly View[] = [
  storeView,
  paymentMethodView,
  listingView,
  publicationView,
  mediaView,
  reviewView,
  nameView,
  webhookView,
  proposalView,
  listPriceView,
  accountView,
  apiKeyView,
];

/** What events without a document of their own add to the documents of the views. */
export const tallies: readonly Tally[] = [pageViewTally];
