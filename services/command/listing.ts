import type { z } from 'zod';
import { writes } from '../../shared/api/operations/writes';
import { deleteListingSchema, listingPatchBody, newListingBody } from '../../shared/api/requests/writes';
import { LISTING_MEDIA_MAX } from '../../shared/catalog/listing/fields';
import {
  decideListing,
  type Listing,
  type ListingState,
  listingAggregate,
  listingResource,
} from '../../shared/catalog/listing/listing';
import { countFacets } from '../../shared/catalog/publication/facets';
import type { Environment } from '../../shared/catalog/realm';
import { visibilitySchema } from '../../shared/catalog/vocabulary';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../shared/http/route';
import { parseBody, parseQuery } from '../../shared/http/validation';
import { accept } from '../../shared/kernel/decision';
import { CatalogError } from '../../shared/kernel/errors';
import type { ListingId, MediaId, StoreId } from '../../shared/kernel/ids';
import {
  execute,
  idForNew,
  load,
  type NewTarget,
  type PutResult,
  putOutcome,
  type StoreDeps,
  streamIn,
  type Target,
  type WriteContext,
  type Written,
} from './execute';
import {
  assertSameStore,
  checkReferences,
  existingMedia,
  omitUnchangedReferences,
  withMedia,
} from './references';
import {
  awaitProjection,
  guardFor,
  locationOf,
  type RouteDeps,
  readCount,
  storeForNew,
  writeContextOf,
} from './request';

export type NewListing = z.output<typeof newListingBody>;
export type ListingPatch = z.output<typeof listingPatchBody>;

type ListingTarget = Target<ListingId, Listing>;

/**
 * Creates a listing. Throws `field_invalid` for media that do not exist. Repeating it with the same id appends nothing.
 */
export async function createListing(
  deps: StoreDeps,
  context: WriteContext,
  target: NewTarget<ListingId>,
  input: NewListing,
): Promise<Written<Listing>> {
  const { environment, store_id } = target;
  const { id, fresh } = await idForNew(deps, environment, listingAggregate, context, target.id);
  const written = await execute({
    ...streamRef(deps, environment, id),
    context,
    fresh,
    check: async () => {
      await target.guard?.();
      await checkReferences(deps, environment, store_id, input);
    },
    decide: (state) => decideListing(state, { type: 'CreateListing', store_id, input }),
  });
  return { ...written, value: listingIn(written.value) };
}

/**
 * Patches a listing. Throws `listing_not_found`, `field_invalid` for invalid references and for another `store_id`, and
 * errors of `guard`.
 */
export async function updateListing(
  deps: StoreDeps,
  context: WriteContext,
  { environment, id, guard }: ListingTarget,
  patch: ListingPatch,
): Promise<Written<Listing>> {
  let changes = patch;
  const written = await execute({
    ...streamRef(deps, environment, id),
    context,
    check: async (state) => {
      if (state.tag !== 'present') return;
      await guard?.(state.listing);
      assertSameStore(state.listing.store_id, patch.store_id);
      await checkReferences(deps, environment, state.listing.store_id, patch);
      changes = await omitUnchangedReferences(deps, environment, state.listing, patch);
    },
    decide: (state) => decideListing(state, { type: 'UpdateListing', changes }),
  });
  return { ...written, value: listingIn(written.value) };
}

/** Deletes a listing. Returns the id of its store. Throws `listing_not_found`, and errors of `guard`. */
export async function deleteListing(
  deps: StoreDeps,
  context: WriteContext,
  { environment, id, guard }: ListingTarget,
): Promise<Written<StoreId>> {
  const written = await execute({
    ...streamRef(deps, environment, id),
    context,
    check: async (state) => {
      if (state.tag === 'present') await guard?.(state.listing);
    },
    decide: (state) => decideListing(state, { type: 'DeleteListing' }),
  });
  if (written.value.tag !== 'deleted') throw new Error('the listing exists after its deletion');
  return { ...written, value: written.value.store_id };
}

/** A listing to create or to patch. */
export interface PutTarget extends NewTarget<ListingId> {
  readonly id: ListingId;
  /** Returns the changes to make in an existing listing. Called in every attempt. */
  readonly revise?: (before: Listing, changes: NewListing) => Promise<NewListing>;
}

/**
 * Creates the listing, or patches it with the fields of `input`. An import calls this for every row, so importing the
 * same file again changes nothing. Does not restore a deleted listing. Throws `field_invalid` for invalid references.
 */
export async function putListing(
  deps: StoreDeps,
  context: WriteContext,
  { environment, store_id, id, revise }: PutTarget,
  input: NewListing,
): Promise<PutResult<Listing>> {
  let changes = input;
  const written = await execute({
    ...streamRef(deps, environment, id),
    context,
    check: async (state) => {
      if (state.tag !== 'deleted') await checkReferences(deps, environment, store_id, input);
      if (state.tag !== 'present') return;
      changes = await omitUnchangedReferences(deps, environment, state.listing, input);
      changes = (await revise?.(state.listing, changes)) ?? changes;
    },
    decide: (state) =>
      state.tag === 'deleted'
        ? accept()
        : decideListing(state, { type: 'PutListing', store_id, input: changes }),
  });
  if (written.value.tag === 'deleted') return { outcome: 'deleted' };
  return { ...written, outcome: putOutcome(written), value: listingIn(written.value) };
}

/**
 * Adds a media after the existing ones. Changes nothing if it is already there. Throws `listing_not_found`, and
 * `field_invalid` if the listing has the maximum number of media.
 */
export async function addMediaToListing(
  deps: StoreDeps,
  context: WriteContext,
  { environment, id }: ListingTarget,
  media_id: MediaId,
): Promise<Written<Listing>> {
  let media_ids: MediaId[] = [];
  const written = await execute({
    ...streamRef(deps, environment, id),
    context,
    check: async (state) => {
      if (state.tag !== 'present') return;
      media_ids = await withMedia(deps, environment, state.listing, media_id, LISTING_MEDIA_MAX);
    },
    decide: (state) => decideListing(state, { type: 'UpdateListing', changes: { media_ids } }),
  });
  return { ...written, value: listingIn(written.value) };
}

/** Returns the listing from the event log, undefined if it does not exist or is deleted. */
export async function findListing(
  deps: StoreDeps,
  environment: Environment,
  id: ListingId,
): Promise<Listing | undefined> {
  const { state } = await load(streamRef(deps, environment, id));
  return state.tag === 'present' ? state.listing : undefined;
}

function streamRef(deps: StoreDeps, environment: Environment, id: ListingId) {
  return streamIn(deps, environment, listingAggregate, id);
}

function listingIn(state: ListingState): Listing {
  if (state.tag !== 'present') throw new Error('the listing is absent after a write');
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
  const store_id = storeForNew(request, input.store_id);
  const { environment } = request.principal;
  const guard = (): Promise<void> => deps.stores.require(environment, store_id);
  const target = { environment, store_id, guard };
  const { value, position, repeated } = await createListing(deps, context, target, input);
  const headers = await awaitProjection(deps, request, store_id, position, repeated);
  return {
    status: 201,
    ...answerOf(value, { media_ids: value.media_ids, publication_count: 0 }),
    headers: { ...headers, Location: locationOf(`/api/listing/${value.id}`, value.visibility) },
  };
}

async function update(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const context = writeContextOf(request);
  const target = targetOf(deps, request);
  const changes = parseBody(listingPatchBody, request.body);
  const { value, position, repeated } = await updateListing(deps, context, target, changes);
  const headers = await awaitProjection(deps, request, value.store_id, position, repeated);
  return { ...answerOf(value, await shownWith(deps, request, value)), headers };
}

/** What the answer to a write shows beside the fields. Without `publication_count`, it has no `stats`. */
interface Shown {
  readonly media_ids: readonly MediaId[];
  readonly publication_count?: number | undefined;
}

function answerOf(value: Listing, { media_ids, publication_count }: Shown): Answer {
  const stats = publication_count !== undefined && {
    stats: { media_count: media_ids.length, publication_count },
  };
  return { data: { ...listingResource(value), ...stats, media_ids: [...media_ids] }, version: value.version };
}

/**
 * Returns the existing media and the number of publications, which only documents count. Leaves out `publication_count`
 * if one of the stores does not respond: the write is done, and its response must not fail.
 */
async function shownWith(deps: RouteDeps, request: ApiRequest, listing: Listing): Promise<Shown> {
  const { environment } = request.principal;
  try {
    const [media_ids, publication_count] = await Promise.all([
      existingMedia(deps, environment, listing.media_ids),
      readCount(deps, environment, async (version) => {
        // There may be no document yet, and the body of a placeholder is empty.
        const stored = await version.get('listings', listing.id);
        return stored?.document?.body.stats?.publication_count ?? 0;
      }),
    ]);
    return { media_ids, publication_count };
  } catch (error) {
    const context = { err: error, listing_id: listing.id };
    deps.log.warn(context, 'could not read the counts of a listing after a write');
    return { media_ids: listing.media_ids };
  }
}

async function remove(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const target = targetOf(deps, request);
  const { if_empty = false } = parseQuery(deleteListingSchema, request.query);
  let publication_count: number | undefined;
  const guard = async (listing: Listing): Promise<void> => {
    await target.guard?.(listing);
    publication_count = await countPublications(deps, target);
    if (if_empty) assertEmpty(publication_count);
  };
  const context = writeContextOf(request);
  const { value: store_id, position, repeated } = await deleteListing(deps, context, { ...target, guard });
  const headers = await awaitProjection(deps, request, store_id, position, repeated);
  const counted = publication_count === undefined ? {} : { publication_count };
  return { data: { id: target.id, object: 'listing', deleted: true, ...counted }, headers };
}

/** Returns the number of publications in the listing, private ones included, as far as they are projected. */
function countPublications(deps: RouteDeps, { environment, id }: ListingTarget): Promise<number | undefined> {
  return readCount(deps, environment, async (version) => {
    const stored = await version.get('listings', id, ['state']);
    return countFacets(stored?.document?.state.facets ?? {}, visibilitySchema.options);
  });
}

/** Throws `listing_not_empty`, or `unavailable` if the number is not known. */
function assertEmpty(publication_count: number | undefined): void {
  if (publication_count === undefined) throw new CatalogError('unavailable');
  if (publication_count === 0) return;
  const publications = publication_count === 1 ? '1 publication' : `${publication_count} publications`;
  const message = `The listing has ${publications}. Move or delete them first, or leave out if_empty.`;
  throw new CatalogError('listing_not_empty', { message });
}

function targetOf(deps: RouteDeps, request: ApiRequest): ListingTarget {
  return {
    environment: request.principal.environment,
    id: request.params.id as ListingId,
    guard: guardFor(request, deps.stores, 'listing_not_found'),
  };
}
