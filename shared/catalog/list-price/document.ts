import type { CollectionSpec, Document, KeysOf, Nothing } from '../stored-document';
import type { ListPriceBody } from './list-price';

/** `price_list`: null if the publication has no price in the list any more. */
const keys = { store_id: 'text', price_list: 'text' } as const;

export const listPriceCollection: CollectionSpec<typeof keys> = {
  keys,
  indexes: [['store_id', 'price_list', 'id']],
};

export type ListPriceDocument = Document<KeysOf<typeof keys>, Nothing, Nothing, ListPriceBody>;
