import { z } from 'zod';
import { accept, type Decision, reject } from '../../kernel/decision';
import { assertNever } from '../../kernel/errors';
import type { ListingId, MediaId, StoreId } from '../../kernel/ids';
import { sameValue } from '../../kernel/same-value';
import type { Aggregate } from '../events/aggregate';
import type { JsonObject } from '../events/envelope';
import { defineEvent, type EventOf } from '../events/event-definition';
import {
  type Changes,
  changeEvents,
  changesOf,
  dataOfNew,
  type Input,
  initialValues,
  resourceOf,
  storedShape,
} from '../fields';
import { LISTING_CHANGES, LISTING_SHOWN, listingFields } from './fields';

const fieldEvents = changeEvents(listingFields, LISTING_CHANGES);

export const listingEvents = [
  defineEvent('ListingCreated', z.object({ store_id: z.string(), ...storedShape(listingFields) })),
  ...fieldEvents,
  defineEvent('ListingDeleted', z.object({})),
] as const;

export type ListingEvent = EventOf<typeof listingEvents>;
export type ListingFields = Extract<ListingEvent, { type: 'ListingCreated' }>['data'];

/** What a listing's events add up to. */
export interface Listing extends Omit<ListingFields, 'store_id' | 'media_ids'> {
  readonly id: ListingId;
  readonly store_id: StoreId;
  readonly media_ids: readonly MediaId[];
  /** Counts what was written: the part of the ETag that `If-Match` compares. */
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
}

export type ListingState =
  | { readonly tag: 'absent' }
  | { readonly tag: 'present'; readonly listing: Listing }
  | { readonly tag: 'deleted'; readonly store_id: StoreId };

/** Pure and total. `at` is the event's `occurred_at`. */
export function evolveListing(
  state: ListingState,
  event: ListingEvent,
  id: ListingId,
  at: string,
): ListingState {
  if (event.type === 'ListingCreated') {
    const { store_id, media_ids, ...rest } = event.data;
    const listing = {
      ...rest,
      id,
      store_id: store_id as StoreId,
      media_ids: media_ids as MediaId[],
      version: 1,
      created_at: at,
      updated_at: at,
    };
    return { tag: 'present', listing };
  }
  if (state.tag !== 'present') return state;
  const before = state.listing;
  if (event.type === 'ListingDeleted') return { tag: 'deleted', store_id: before.store_id };
  const { data } = event satisfies EventOf<typeof fieldEvents>;
  const changed = data as Partial<Listing>;
  const listing = { ...before, ...changed, version: before.version + 1, updated_at: at };
  return { tag: 'present', listing };
}

export const listingAggregate: Aggregate<ListingState, ListingEvent, ListingId> = {
  category: 'listing',
  absent: { tag: 'absent' },
  evolve: evolveListing,
  owner: (state) =>
    state.tag === 'absent'
      ? undefined
      : { store_id: state.tag === 'present' ? state.listing.store_id : state.store_id },
};

/** Any subset of the fields; one that is not given stays as it is. */
export type ListingChanges = Changes<typeof listingFields>;
/** What a new listing needs at least. */
export type ListingInput = Input<typeof listingFields>;

export type ListingCommand =
  | { readonly type: 'CreateListing'; readonly store_id: string; readonly input: ListingInput }
  /** Creates what is not there and patches what is: a row of an import. */
  | { readonly type: 'PutListing'; readonly store_id: string; readonly input: ListingInput }
  | { readonly type: 'UpdateListing'; readonly changes: ListingChanges }
  | { readonly type: 'DeleteListing' };

export function decideListing(state: ListingState, command: ListingCommand): Decision<ListingEvent> {
  if (state.tag === 'deleted') return reject('listing_not_found');
  switch (command.type) {
    case 'CreateListing': {
      const data = newListing(command.store_id, command.input);
      if (state.tag === 'absent') return accept({ type: 'ListingCreated', data });
      const repeated = sameValue({ ...state.listing, ...data }, state.listing);
      return repeated ? accept() : reject('lost_race', 'a listing with this id exists already');
    }
    case 'PutListing': {
      const data = newListing(command.store_id, command.input);
      if (state.tag === 'absent') return accept({ type: 'ListingCreated', data });
      if (state.listing.store_id !== command.store_id) return reject('listing_not_found');
      return accept(...changesOf(fieldEvents, state.listing, command.input));
    }
    case 'UpdateListing':
      if (state.tag === 'absent') return reject('listing_not_found');
      return accept(...changesOf(fieldEvents, state.listing, command.changes));
    case 'DeleteListing':
      if (state.tag === 'absent') return reject('listing_not_found');
      return accept({ type: 'ListingDeleted', data: {} });
    default:
      return assertNever(command, 'listing command');
  }
}

const INITIAL = initialValues(listingFields);

function newListing(store_id: string, input: ListingInput): ListingFields {
  return dataOfNew<ListingFields>({ store_id }, INITIAL, input);
}

/** The resource without `stats`: how many publications a listing has is known to the documents alone. */
export function listingResource(listing: Listing): JsonObject {
  return resourceOf('listing', LISTING_SHOWN, listing);
}
