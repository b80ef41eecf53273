import { paymentMethodResource } from '../../shared/catalog/resources';
import type { PaymentMethodFields } from '../../shared/catalog/store/store';
import { foldText } from '../../shared/kernel/text';
import type { View } from './view';

export type PaymentMethodView = View<Record<never, never>, Record<never, never>>;

/** A payment method is added once and may be removed; it does not change in between. */
export function paymentMethodView(
  store_id: string,
  method: PaymentMethodFields,
  at: string,
): PaymentMethodView {
  return {
    keys: { store_id, position: method.position, created_at: at, name_fold: foldText(method.name) },
    body: paymentMethodResource(method),
    state: {},
    expansions: {},
  };
}
