import {
  type PaymentMethodDocument,
  paymentMethodKeys,
} from '../../shared/catalog/store/payment-method-document';
import type { PaymentMethodFields } from '../../shared/catalog/store/store';
import { paymentMethodResource } from '../../shared/catalog/store/store';

/** A payment method is added once and may be removed; it does not change in between. */
export function paymentMethodView(
  store_id: string,
  method: PaymentMethodFields,
  at: string,
): PaymentMethodDocument {
  return {
    keys: paymentMethodKeys(store_id, method, at),
    body: paymentMethodResource(method),
    state: {},
    expansions: {},
  };
}
