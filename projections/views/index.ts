import { accountView } from './account';
import { apiKeyView } from './api-key';
import { listingView } from './listing';
import { mediaView } from './media';
import { paymentMethodView } from './payment-method';
import { publicationView } from './publication';
import { reviewView } from './review';
import { storeView } from './store';
import type { View } from './view';

/** Every view that folds events. The engine writes the reverse indexes of `relations.ts` besides. */
export const views: readonly View[] = [
  storeView,
  paymentMethodView,
  listingView,
  publicationView,
  mediaView,
  reviewView,
  accountView,
  apiKeyView,
];
