import { accountView } from './account';
import { apiKeyView } from './api-key';
import { listingView } from './listing';
import { mediaView } from './media';
import { paymentMethodView } from './payment-method';
import { publicationView } from './publication';
import { reviewView } from './review';
import { storeView } from './store';
import type { View } from './view';

/** All views. The collections of reverse indexes have no view: the engine maintains them (see `relations.ts`). */
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
