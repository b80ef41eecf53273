import { z } from 'zod';
import { accept, type Decision, reject } from '../../kernel/decision';
import { assertNever } from '../../kernel/errors';
import type { ListingId, MediaId, StoreId } from '../../kernel/ids';
import { isSameValue } from '../../kernel/same-value';
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
import { LISTING_CHANGES, LISTING_RESPONSE_NAMES, listingFields } from './fields';

const fieldEvents = changeEvents(listingFields, LISTING_CHANGES);

export const listingEvents = [
  defineEvent('ListingCreated', z.object({ store_id: z.string(), ...storedShape(listingFields) })),
  ...fieldEvents,
  defineEvent('ListingDeleted', z.object({})),
] as const;

export type ListingEvent = EventOf<typeof listingEvents>;
export type ListingFields = Extract<ListingEvent, { type: 'ListingCreated' }>['data'];

/** A listing: the state that its events fold to. */
export interface Listing extends Omit<ListingFields, 'store_id' | 'media_ids'> {
  readonly id: ListingId;
  readonly store_id: StoreId;
  readonly media_ids: readonly MediaId[];
  /** Number of events so far. `If-Match` compares it with the version in the ETag. */
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
}

export type ListingState =
  | { readonly tag: 'absent' }
  | { readonly tag: 'present'; readonly listing: Listing }
  | { readonly tag: 'deleted'; readonly store_id: StoreId };

/** Applies one event to the state. Pure and total: it never throws. */
export function evolveListing(
  state: ListingState,
  event: ListingEvent,
  id: ListingId,
  occurred_at: string,
): ListingState {
  if (event.type === 'ListingCreated') {
    const { store_id, media_ids, ...rest } = event.data;
    const listing = {
      ...rest,
      id,
      store_id: store_id as StoreId,
      media_ids: media_ids as MediaId[],
      version: 1,
      created_at: occurred_at,
      updated_at: occurred_at,
    };
    return { tag: 'present', listing };
  }
  if (state.tag !== 'present') return state;
  const before = state.listing;
  if (event.type === 'ListingDeleted') return { tag: 'deleted', store_id: before.store_id };
  const { data } = event satisfies EventOf<typeof fieldEvents>;
  const changed = data as Partial<Listing>;
  const listing = { ...before, ...changed, version: before.version + 1, updated_at: occurred_at };
  return { tag: 'present', listing };
}

export const listingAggregate: Aggregate<ListingState, ListingEvent, ListingId> = {
  category: 'listing',
  events: listingEvents,
  state_version: 1,
  absent: { tag: 'absent' },
  evolve: evolveListing,
  owner: (state) =>
    state.tag === 'absent'
      ? undefined
      : { store_id: state.tag === 'present' ? state.listing.store_id : state.store_id },
};

/** Values of some fields. A field that is missing stays unchanged. */
export type ListingChanges = Changes<typeof listingFields>;
/** Values for a new listing: the required fields, and any others. */
export type ListingInput = Input<typeof listingFields>;

export type ListingCommand =
  | { readonly type: 'CreateListing'; readonly store_id: string; readonly input: ListingInput }
  /** Creates the listing if it does not exist, otherwise patches it. An import sends one per row. */
  | { readonly type: 'PutListing'; readonly store_id: string; readonly input: ListingInput }
  | { readonly type: 'UpdateListing'; readonly changes: ListingChanges }
  | { readonly type: 'DeleteListing' };

/** Returns the events of the command, none if it changes nothing, or the condition to reject it with. Pure. */
export function decideListing(state: ListingState, command: ListingCommand): Decision<ListingEvent> {
  if (state.tag === 'deleted') return reject('listing_not_found');
  switch (command.type) {
    case 'CreateListing': {
      const data = newListing(command.store_id, command.input);
      if (state.tag === 'absent') return accept({ type: 'ListingCreated', data });
      const is_repeat = isSameValue({ ...state.listing, ...data }, state.listing);
      return is_repeat ? accept() : reject('lost_race', 'A listing with this id already exists');
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

/**
 * Returns the resource without `stats` and `media_ids`. Only documents contain the number of publications and know which
 * media exist.
 */
export function listingResource(listing: Listing): JsonObject {
  return resourceOf('listing', LISTING_RESPONSE_NAMES, listing);
}
