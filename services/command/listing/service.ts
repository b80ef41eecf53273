import { LISTING_MEDIA_MAX } from '../../../shared/catalog/listing/fields';
import type { Listing, ListingState } from '../../../shared/catalog/listing/listing';
import { decideListing } from '../../../shared/catalog/listing/listing';
import type { Environment } from '../../../shared/catalog/realm';
import { accept } from '../../../shared/kernel/decision';
import type { ListingId, MediaId, StoreId } from '../../../shared/kernel/ids';
import { listingAggregate } from '../aggregates';
import { idForNew, type StoreDeps, type WriteContext } from '../context';
import { execute, load, type Written } from '../execute';
import { checkReferences, refuseMove, withMedia } from '../references';
import type { ListingPatch, NewListing } from './body';

/** Where a new listing goes; `id` where the caller derives it. That the store exists is the caller's to check. */
export interface NewListingTarget {
  readonly environment: Environment;
  readonly store_id: StoreId;
  readonly id?: ListingId;
  /** Throws where nothing may be created. */
  readonly guard?: () => void | Promise<void>;
}

/** A listing by id; `guard` throws where the caller may not write to it, or not in this version. */
export interface ListingTarget {
  readonly environment: Environment;
  readonly id: ListingId;
  readonly guard?: (listing: Listing) => void | Promise<void>;
}

export type PutListingResult =
  | ({ readonly outcome: 'created' | 'updated' | 'unchanged' } & Written<Listing>)
  /** A deleted listing stays deleted: nothing was written. */
  | { readonly outcome: 'deleted' };

/** Throws `field_invalid` for media that lead nowhere. A repetition under the same id writes nothing. */
export async function createListing(
  deps: StoreDeps,
  context: WriteContext,
  target: NewListingTarget,
  input: NewListing,
): Promise<Written<Listing>> {
  const { environment, store_id } = target;
  const { id, fresh } = idForNew<ListingId>(deps.system, context, target.id);
  const written = await execute({
    ...place(deps, environment, id),
    context,
    fresh,
    check: async () => {
      await target.guard?.();
      await checkReferences(deps, environment, store_id, input);
    },
    decide: (state) => decideListing(state, { type: 'CreateListing', store_id, input }),
  });
  return { ...written, value: present(written.value) };
}

/** Throws `listing_not_found`, `field_invalid` for references or another `store_id`, and what `guard` throws. */
export async function updateListing(
  deps: StoreDeps,
  context: WriteContext,
  target: ListingTarget,
  changes: ListingPatch,
): Promise<Written<Listing>> {
  const written = await execute({
    ...place(deps, target.environment, target.id),
    context,
    check: async (state) => {
      if (state.tag !== 'present') return;
      await target.guard?.(state.listing);
      refuseMove(state.listing.store_id, changes.store_id);
      await checkReferences(deps, target.environment, state.listing.store_id, changes);
    },
    decide: (state) => decideListing(state, { type: 'UpdateListing', changes }),
  });
  return { ...written, value: present(written.value) };
}

/** Throws `listing_not_found`, and what `guard` throws. Answers with the store that it was in. */
export async function deleteListing(
  deps: StoreDeps,
  context: WriteContext,
  target: ListingTarget,
): Promise<Written<StoreId>> {
  const written = await execute({
    ...place(deps, target.environment, target.id),
    context,
    check: async (state) => {
      if (state.tag === 'present') await target.guard?.(state.listing);
    },
    decide: (state) => decideListing(state, { type: 'DeleteListing' }),
  });
  if (written.value.tag !== 'deleted') throw new Error('a deletion left the listing in place');
  return { ...written, value: written.value.store_id };
}

/**
 * Creates the listing, or patches it with the fields given: an import that is run again writes nothing new and
 * leaves alone what it does not speak of. Throws `field_invalid` for references.
 */
export async function putListing(
  deps: StoreDeps,
  context: WriteContext,
  target: NewListingTarget & { readonly id: ListingId },
  input: NewListing,
): Promise<PutListingResult> {
  const { environment, store_id, id } = target;
  const written = await execute({
    ...place(deps, environment, id),
    context,
    check: async (state) => {
      if (state.tag !== 'deleted') await checkReferences(deps, environment, store_id, input);
    },
    decide: (state) =>
      state.tag === 'deleted' ? accept() : decideListing(state, { type: 'PutListing', store_id, input }),
  });
  if (written.value.tag === 'deleted') return { outcome: 'deleted' };
  const outcome = written.created ? 'created' : written.changed ? 'updated' : 'unchanged';
  return { ...written, outcome, value: present(written.value) };
}

/** Adds a media behind those that still exist; again changes nothing. Throws `listing_not_found`, `field_invalid` where it is full. */
export async function addMediaToListing(
  deps: StoreDeps,
  context: WriteContext,
  target: ListingTarget,
  media_id: MediaId,
): Promise<Written<Listing>> {
  let media_ids: MediaId[] = [];
  const written = await execute({
    ...place(deps, target.environment, target.id),
    context,
    check: async (state) => {
      if (state.tag === 'present')
        media_ids = await withMedia(deps, target.environment, state.listing, media_id, LISTING_MEDIA_MAX);
    },
    decide: (state) => decideListing(state, { type: 'UpdateListing', changes: { media_ids } }),
  });
  return { ...written, value: present(written.value) };
}

/** The listing as the log has it; undefined where there is none, or none any more. */
export async function findListing(
  deps: StoreDeps,
  environment: Environment,
  id: ListingId,
): Promise<Listing | undefined> {
  const { state } = await load(place(deps, environment, id));
  return state.tag === 'present' ? state.listing : undefined;
}

function place(deps: StoreDeps, environment: Environment, id: ListingId) {
  return {
    system: deps.system,
    events: deps.events[environment],
    realm: environment,
    aggregate: listingAggregate,
    id,
  };
}

function present(state: ListingState): Listing {
  if (state.tag !== 'present') throw new Error('a listing that was just written is not there');
  return state.listing;
}
