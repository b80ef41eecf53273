import type {
  Listing,
  ListingEvent,
  ListingFields,
  ListingState,
} from '../../../shared/catalog/listing/listing';
import { assertNever } from '../../../shared/kernel/assert-never';
import { accept, type Decision, reject } from '../../../shared/kernel/decision';
import { patched, sameValue } from '../../../shared/kernel/same-value';

type Writable = Omit<ListingFields, 'store_id'>;

/** Any subset of what can be written; a field that is not given stays as it is. */
export type ListingChanges = { readonly [Field in keyof Writable]?: Writable[Field] | undefined };

/** What a new listing needs at least; the rest has defaults (decisions §6). */
export type ListingInput = ListingChanges & Pick<Writable, 'name'>;

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
      return accept(...changesOf(state.listing, command.input));
    }
    case 'UpdateListing':
      if (state.tag === 'absent') return reject('listing_not_found');
      return accept(...changesOf(state.listing, command.changes));
    case 'DeleteListing':
      if (state.tag === 'absent') return reject('listing_not_found');
      return accept({ type: 'ListingDeleted', data: {} });
    default:
      return assertNever(command, 'listing command');
  }
}

function newListing(store_id: string, input: ListingInput): ListingFields {
  return {
    store_id,
    name: input.name,
    description: input.description ?? null,
    visibility: input.visibility ?? 'public',
    default_sort_mode: input.default_sort_mode ?? 'created_at_desc',
    media_ids: input.media_ids ?? [],
  };
}

/** One event for each part that really changes. */
function changesOf(before: Listing, changes: ListingChanges): ListingEvent[] {
  const after: Writable = patched<Writable>({ ...before, media_ids: [...before.media_ids] }, changes);
  const { name, description, visibility, default_sort_mode, media_ids } = after;
  const possible: ListingEvent[] = [
    { type: 'ListingDescribed', data: { name, description } },
    { type: 'ListingVisibilityChanged', data: { visibility } },
    { type: 'ListingSortModeChanged', data: { default_sort_mode } },
    { type: 'ListingMediaArranged', data: { media_ids } },
  ];
  return possible.filter((event) => !sameValue({ ...before, ...event.data }, before));
}
