import { type AccountEvent, type AccountState, evolveAccount } from '../../shared/catalog/account/account';
import { type ApiKeyEvent, type ApiKeyState, evolveApiKey } from '../../shared/catalog/api-key/api-key';
import { evolveListing, type ListingEvent, type ListingState } from '../../shared/catalog/listing/listing';
import { evolveMedia, type MediaEvent, type MediaState } from '../../shared/catalog/media/media';
import {
  evolvePublication,
  type PublicationEvent,
  type PublicationState,
} from '../../shared/catalog/publication/publication';
import type { ReviewEvent, ReviewState } from '../../shared/catalog/review/review';
import { evolveStore, type StoreEvent, type StoreState } from '../../shared/catalog/store/store';
import type {
  AccountId,
  ApiKeyId,
  ListingId,
  MediaId,
  PublicationId,
  ReviewId,
  StoreId,
} from '../../shared/kernel/ids';
import type { Aggregate } from './execute';

const ABSENT = { tag: 'absent' } as const;

export const publicationAggregate: Aggregate<PublicationState, PublicationEvent, PublicationId> = {
  category: 'publication',
  absent: ABSENT,
  evolve: evolvePublication,
  owner: (state) => {
    if (state.tag === 'absent') return nobody('publication');
    return { store_id: state.tag === 'present' ? state.publication.store_id : state.store_id };
  },
};

export const listingAggregate: Aggregate<ListingState, ListingEvent, ListingId> = {
  category: 'listing',
  absent: ABSENT,
  evolve: evolveListing,
  owner: (state) => {
    if (state.tag === 'absent') return nobody('listing');
    return { store_id: state.tag === 'present' ? state.listing.store_id : state.store_id };
  },
};

export const mediaAggregate: Aggregate<MediaState, MediaEvent, MediaId> = {
  category: 'media',
  absent: ABSENT,
  evolve: evolveMedia,
  owner: (state) => {
    if (state.tag === 'absent') return nobody('media');
    return { store_id: state.tag === 'present' ? state.media.store_id : state.store_id };
  },
};

export const storeAggregate: Aggregate<StoreState, StoreEvent, StoreId> = {
  category: 'store',
  absent: ABSENT,
  evolve: evolveStore,
  owner: (state) => {
    if (state.tag === 'absent') return nobody('store');
    return { store_id: state.store.id, account_id: state.store.account_id };
  },
};

export const reviewAggregate: Aggregate<ReviewState, ReviewEvent, ReviewId> = {
  category: 'review',
  absent: ABSENT,
  evolve: (_state, event) => ({ tag: 'posted', review: event.data }),
  owner: (state) => {
    if (state.tag === 'absent') return nobody('review');
    return { store_id: state.review.store_id as StoreId };
  },
};

export const accountAggregate: Aggregate<AccountState, AccountEvent, AccountId> = {
  category: 'account',
  absent: ABSENT,
  evolve: evolveAccount,
  owner: (state) => {
    if (state.tag === 'absent') return nobody('account');
    return { account_id: state.account.id };
  },
};

export const apiKeyAggregate: Aggregate<ApiKeyState, ApiKeyEvent, ApiKeyId> = {
  category: 'api_key',
  absent: ABSENT,
  evolve: evolveApiKey,
  owner: (state) => {
    if (state.tag === 'absent') return nobody('API key');
    return { account_id: state.key.account_id };
  },
};

function nobody(what: string): never {
  throw new Error(`a ${what} without events belongs to nobody`);
}
