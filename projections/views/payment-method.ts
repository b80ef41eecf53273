import { type PaymentMethodDocument, paymentMethodKeys } from '../../shared/catalog/store/document';
import { paymentMethodResource, type StoreEvent } from '../../shared/catalog/store/store';
import type { View } from './view';

/**
 * Documents of payment methods, from the events of their store's stream. A payment method is added once, never changes,
 * and may be removed.
 */
export const paymentMethodView: View<PaymentMethodDocument, StoreEvent> = {
  collection: 'payment_methods',
  category: 'store',
  idOf: (event) =>
    event.type === 'PaymentMethodAdded' || event.type === 'PaymentMethodRemoved'
      ? event.data.payment_method_id
      : undefined,
  fold: (before, event, { id: store_id, occurred_at }) => {
    if (event.type === 'PaymentMethodRemoved') return null;
    // A payment method is added only once. If its document exists already, this event is redelivered.
    if (event.type !== 'PaymentMethodAdded' || before) return before;
    return {
      keys: paymentMethodKeys(store_id, event.data, occurred_at),
      body: paymentMethodResource(event.data),
      state: {},
      expansions: {},
    };
  },
};
