import { z } from 'zod';
import type { ListingId, MediaId } from '../../kernel/ids';
import type { JsonObject } from '../events/envelope';
import { defineEvent, type EventOf } from '../events/event-definition';
import { ERASED, type FieldCommand, type FieldResource, fieldAggregate } from '../field-aggregate';
import { type Changes, changeEvents, resourceOf, storedShape } from '../fields';
import { withInitialVisibility } from '../schedule';
import { LISTING_CHANGES, LISTING_RESPONSE_NAMES, listingFields } from './fields';

const created = z.object({ store_id: z.string(), ...storedShape(listingFields) });
const { store_id, parent_id, media_ids } = created.shape;
const fieldEvents = changeEvents(listingFields, LISTING_CHANGES);

export const listingEvents = [
  defineEvent('ListingCreated', created),
  ...fieldEvents,
  // Has the fields of the relations, as the creation has them: the listing returns to its parent and its media.
  defineEvent('ListingRestored', z.object({ store_id, parent_id, media_ids })),
  defineEvent('ListingErased', ERASED),
  defineEvent('ListingDeleted', z.object({})),
] as const;

export type ListingEvent = EventOf<typeof listingEvents>;
export type ListingFields = Extract<ListingEvent, { type: 'ListingCreated' }>['data'];

/** The state of a listing after its events. */
export interface Listing
  extends FieldResource<ListingId>,
    Omit<ListingFields, 'store_id' | 'media_ids' | 'parent_id'> {
  readonly media_ids: readonly MediaId[];
  /** The listing with this id may be deleted. */
  readonly parent_id: ListingId | null;
}

/** Values of some fields. A field that is missing stays unchanged. */
export type ListingChanges = Changes<typeof listingFields>;
export type ListingCommand = FieldCommand<typeof listingFields>;

export const listingAggregate = fieldAggregate<typeof listingFields, Listing, ListingEvent, ListingId>({
  category: 'listing',
  state_version: 2,
  not_found: 'listing_not_found',
  fields: listingFields,
  events: listingEvents,
  changes: fieldEvents,
  restored: 'ListingRestored',
  erased: 'ListingErased',
  complete: (sent, _id, before) => (before ? sent : withInitialVisibility(sent)),
});

/**
 * Returns the resource without `stats`, `media_ids` and its place in the tree. They depend on other resources: the
 * publications and the listings of the store, and the media that exist.
 */
export function listingResource(listing: Listing): JsonObject {
  return resourceOf('listing', LISTING_RESPONSE_NAMES, listing);
}

/** A listing above another one, as answers name it. */
export interface ListingAbove {
  readonly id: string;
  readonly name: string;
}

/**
 * Returns the fields with the place of a listing. `above`: the listings above it, the nearest first. No fields at the top.
 * `entryOf`: returns what `path` has of each.
 */
export function placeInTree<Above extends ListingAbove>(
  above: readonly Above[],
  entryOf: (listing: Above) => JsonObject = ({ id, name }) => ({ id, name }),
): JsonObject {
  if (above.length === 0) return {};
  const path = [...above].reverse().map(entryOf);
  return { parent_id: above[0]!.id, path };
}

/** Returns the field with the number of listings directly below. No field if there are none. */
export const childrenCount = (count: number): JsonObject => (count === 0 ? {} : { children_count: count });
