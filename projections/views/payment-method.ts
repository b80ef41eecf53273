import {
  type PaymentMethodDocument,
  paymentMethodKeys,
} from '../../shared/catalog/store/payment-method-document';
import { paymentMethodResource, type StoreEvent } from '../../shared/catalog/store/store';
import type { View } from './view';

/** A payment method is part of its store's stream. It is added once and may be removed; it never changes. */
export const paymentMethodView: View<PaymentMethodDocument, StoreEvent> = {
  collection: 'payment_methods',
  category: 'store',
  idOf: (event) =>
    event.type === 'PaymentMethodAdded' || event.type === 'PaymentMethodRemoved'
      ? event.data.payment_method_id
      : undefined,
  fold: (before, event, { id: store_id, at }) => {
    if (event.type === 'PaymentMethodRemoved') return null;
    // A stored document was made from this event: it is added once.
    if (event.type !== 'PaymentMethodAdded' || before) return before;
    return {
      keys: paymentMethodKeys(store_id, event.data, at),
      body: paymentMethodResource(event.data),
      state: {},
      expansions: {},
    };
  },
};
