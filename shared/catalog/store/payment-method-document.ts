import { foldText } from '../../kernel/text';
import type { CollectionSpec, Document, KeysOf, Nothing } from '../stored-document';
import type { PaymentMethodFields } from './store';

const keys = { store_id: 'text', position: 'integer', created_at: 'text', name_fold: 'text' } as const;

export const paymentMethodCollection: CollectionSpec<typeof keys> = {
  keys,
  indexes: [['store_id', 'position', 'id']],
};

export type PaymentMethodKeys = KeysOf<typeof keys>;

export function paymentMethodKeys(
  store_id: string,
  { position, name }: PaymentMethodFields,
  created_at: string,
): PaymentMethodKeys {
  return { store_id, position, created_at, name_fold: foldText(name) };
}

export type PaymentMethodDocument = Document<PaymentMethodKeys, Nothing, Nothing>;
