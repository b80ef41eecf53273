import type { z } from 'zod';
import { writes } from '../../shared/api/operations/writes';
import { listingPatchBody, newListingBody } from '../../shared/api/requests/writes';
import { LISTING_MEDIA_MAX } from '../../shared/catalog/listing/fields';
import {
  decideListing,
  type Listing,
  type ListingState,
  listingAggregate,
  listingResource,
} from '../../shared/catalog/listing/listing';
import type { Environment } from '../../shared/catalog/realm';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../shared/http/route';
import { parseBody } from '../../shared/http/validation';
import { accept } from '../../shared/kernel/decision';
import type { ListingId, MediaId, StoreId } from '../../shared/kernel/ids';
import {
  execute,
  idForNew,
  load,
  type NewTarget,
  type Put,
  placeIn,
  putOutcome,
  type StoreDeps,
  type Target,
  type WriteContext,
  type Written,
} from './execute';
import { checkReferences, refuseMove, withMedia } from './references';
import { guardFor, type RouteDeps, settle, storeNamedForNew, writeContextOf } from './request';

export type NewListing = z.output<typeof newListingBody>;
export type ListingPatch = z.output<typeof listingPatchBody>;

type ListingTarget = Target<ListingId, Listing>;

/** Throws `field_invalid` for media that lead nowhere. A repetition under the same id writes nothing. */
export async function createListing(
  deps: StoreDeps,
  context: WriteContext,
  target: NewTarget<ListingId>,
  input: NewListing,
): Promise<Written<Listing>> {
  const { environment, store_id } = target;
  const { id, fresh } = idForNew<ListingId>(deps.system, context, target.id);
  const written = await execute({
    ...placeOf(deps, environment, id),
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
  { environment, id, guard }: ListingTarget,
  changes: ListingPatch,
): Promise<Written<Listing>> {
  const written = await execute({
    ...placeOf(deps, environment, id),
    context,
    check: async (state) => {
      if (state.tag !== 'present') return;
      await guard?.(state.listing);
      refuseMove(state.listing.store_id, changes.store_id);
      await checkReferences(deps, environment, state.listing.store_id, changes);
    },
    decide: (state) => decideListing(state, { type: 'UpdateListing', changes }),
  });
  return { ...written, value: present(written.value) };
}

/** Throws `listing_not_found`, and what `guard` throws. Answers with the store that it was in. */
export async function deleteListing(
  deps: StoreDeps,
  context: WriteContext,
  { environment, id, guard }: ListingTarget,
): Promise<Written<StoreId>> {
  const written = await execute({
    ...placeOf(deps, environment, id),
    context,
    check: async (state) => {
      if (state.tag === 'present') await guard?.(state.listing);
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
  { environment, store_id, id }: NewTarget<ListingId> & { readonly id: ListingId },
  input: NewListing,
): Promise<Put<Listing>> {
  const written = await execute({
    ...placeOf(deps, environment, id),
    context,
    check: async (state) => {
      if (state.tag !== 'deleted') await checkReferences(deps, environment, store_id, input);
    },
    decide: (state) =>
      state.tag === 'deleted' ? accept() : decideListing(state, { type: 'PutListing', store_id, input }),
  });
  if (written.value.tag === 'deleted') return { outcome: 'deleted' };
  return { ...written, outcome: putOutcome(written), value: present(written.value) };
}

/** Adds a media behind those that still exist; again changes nothing. Throws `listing_not_found`, `field_invalid` where it is full. */
export async function addMediaToListing(
  deps: StoreDeps,
  context: WriteContext,
  { environment, id }: ListingTarget,
  media_id: MediaId,
): Promise<Written<Listing>> {
  let media_ids: MediaId[] = [];
  const written = await execute({
    ...placeOf(deps, environment, id),
    context,
    check: async (state) => {
      if (state.tag !== 'present') return;
      media_ids = await withMedia(deps, environment, state.listing, media_id, LISTING_MEDIA_MAX);
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
  const { state } = await load(placeOf(deps, environment, id));
  return state.tag === 'present' ? state.listing : undefined;
}

function placeOf(deps: StoreDeps, environment: Environment, id: ListingId) {
  return placeIn(deps, environment, listingAggregate, id);
}

function present(state: ListingState): Listing {
  if (state.tag !== 'present') throw new Error('a listing that was just written is not there');
  return state.listing;
}

export function listingRoutes(deps: RouteDeps): Route[] {
  return [
    routeOf(writes.createListing, (request) => create(deps, request)),
    routeOf(writes.updateListing, (request) => update(deps, request)),
    routeOf(writes.deleteListing, (request) => remove(deps, request)),
  ];
}

async function create(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const context = writeContextOf(request);
  const input = parseBody(newListingBody, request.body);
  const store_id = storeNamedForNew(request, input.store_id);
  const { environment } = request.principal;
  const guard = (): Promise<void> => deps.stores.require(environment, store_id);
  const target = { environment, store_id, guard };
  const { value, position, repeated } = await createListing(deps, context, target, input);
  const headers = await settle(deps, request, store_id, position, repeated);
  return {
    status: 201,
    data: { ...listingResource(value), stats: { media_count: value.media_ids.length, publication_count: 0 } },
    version: value.version,
    headers: { ...headers, Location: `/api/listing/${value.id}` },
  };
}

async function update(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const context = writeContextOf(request);
  const target = targetOf(deps, request);
  const changes = parseBody(listingPatchBody, request.body);
  const { value, position, repeated } = await updateListing(deps, context, target, changes);
  const headers = await settle(deps, request, value.store_id, position, repeated);
  return { data: listingResource(value), version: value.version, headers };
}

async function remove(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const target = targetOf(deps, request);
  const { value: store_id, position, repeated } = await deleteListing(deps, writeContextOf(request), target);
  const headers = await settle(deps, request, store_id, position, repeated);
  return { data: { id: target.id, object: 'listing', deleted: true }, headers };
}

function targetOf(deps: RouteDeps, request: ApiRequest): ListingTarget {
  return {
    environment: request.principal.environment,
    id: request.params.id as ListingId,
    guard: guardFor(request, deps.stores, 'listing_not_found'),
  };
}
