import { z } from 'zod';
import { assertNever } from '../../kernel/assert-never';
import type { ListingId, MediaId, StoreId } from '../../kernel/ids';
import { defineEvent, type EventOf } from '../events/event-definition';
import { sortModeSchema, visibilitySchema } from '../vocabulary';

export const listingEvents = [
  defineEvent(
    'ListingCreated',
    z.object({
      store_id: z.string(),
      name: z.string(),
      description: z.string().nullable(),
      visibility: visibilitySchema,
      default_sort_mode: sortModeSchema,
      media_ids: z.array(z.string()),
    }),
  ),
  defineEvent('ListingDescribed', z.object({ name: z.string(), description: z.string().nullable() })),
  defineEvent('ListingVisibilityChanged', z.object({ visibility: visibilitySchema })),
  defineEvent('ListingSortModeChanged', z.object({ default_sort_mode: sortModeSchema })),
  defineEvent('ListingMediaArranged', z.object({ media_ids: z.array(z.string()) })),
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
  const changed = (fields: Partial<Listing>): ListingState => ({
    tag: 'present',
    listing: { ...state.listing, ...fields, version: state.listing.version + 1, updated_at: at },
  });
  switch (event.type) {
    case 'ListingDescribed':
    case 'ListingVisibilityChanged':
    case 'ListingSortModeChanged':
      return changed(event.data);
    case 'ListingMediaArranged':
      return changed({ media_ids: event.data.media_ids as MediaId[] });
    case 'ListingDeleted':
      return { tag: 'deleted', store_id: state.listing.store_id };
    default:
      return assertNever(event, 'listing event');
  }
}
