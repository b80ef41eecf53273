import { stateOf } from '../../shared/catalog/events/aggregate';
import {
  type StoreBody,
  type StoreDocument,
  storeCollection,
  storeKeys,
} from '../../shared/catalog/store/document';
import { type Store, type StoreEvent, storeAggregate, storeResource } from '../../shared/catalog/store/store';
import type { StoreId } from '../../shared/kernel/ids';
import { type EventContext, noKeys, type View } from './view';

const PLACEHOLDER: StoreDocument = {
  keys: noKeys<StoreDocument['keys']>(storeCollection.keys),
  body: {} as StoreBody,
  state: {
    store: null,
    account_id: null,
    facets: {},
    listings: { public: 0, private: 0 },
    media: { public: 0, private: 0 },
    payment_methods: 0,
    revision: -1,
  },
  expansions: { listings: { public: [], private: [] }, media: { public: [], private: [] } },
};

/** Documents of stores. Stores are never deleted. */
export const storeView: View<StoreDocument, StoreEvent> = {
  collection: 'stores',
  category: 'store',
  aggregate: 'store',
  placeholder: PLACEHOLDER,
  fold: (before, event, { id, revision, occurred_at }: EventContext<StoreId>) => {
    const current = before?.state.store;
    const after = storeAggregate.evolve(stateOf(current), event, id, occurred_at);
    if (after.tag !== 'present') return before;
    const store = after.resource;
    const base = before ?? PLACEHOLDER;
    return {
      keys: storeKeys(store),
      body: bodyOf(store, base),
      state: {
        ...base.state,
        store,
        account_id: store.account_id,
        payment_methods: store.payment_methods.length,
        revision,
      },
      expansions: base.expansions,
    };
  },
  derive: (document) => {
    const stats = statsOf(document);
    if (!document.state.store || document.body.stats.listing_count === stats.listing_count) return document;
    return { ...document, body: { ...document.body, stats } };
  },
};

const statsOf = ({ state }: StoreDocument): StoreBody['stats'] => ({ listing_count: state.listings.public });

/** Returns what customers see: not how the merchant moderates reviews, and no price lists. */
function bodyOf(store: Store, document: StoreDocument): StoreBody {
  const { new_review_status: _, price_lists: __, ...shown } = storeResource(store);
  return { ...shown, stats: statsOf(document) } as StoreBody;
}
