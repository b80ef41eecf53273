import type { ListPriceDocument } from '../../shared/catalog/list-price/document';
import { type ListPriceEvent, listPriceResource } from '../../shared/catalog/list-price/list-price';
import type { View } from './view';

/** Documents of the prices in price lists, one for each publication that has had a price in a list. */
export const listPriceView: View<ListPriceDocument, ListPriceEvent> = {
  collection: 'list_prices',
  category: 'list_price',
  fold: (_before, { data }, { id }) => ({
    keys: { store_id: data.store_id, price_list: data.price && data.price_list },
    body: listPriceResource(id, data),
    state: {},
    expansions: {},
  }),
};
