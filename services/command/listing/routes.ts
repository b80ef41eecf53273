import { writes } from '../../../shared/api/operations/writes';
import { listingResource } from '../../../shared/catalog/listing/listing';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../../shared/http/route';
import { parseBody } from '../../../shared/http/validation';
import type { ListingId } from '../../../shared/kernel/ids';
import { contextOf, guardFor, storeNamedForNew } from '../request';
import type { RouteDeps } from '../route-deps';
import { settle } from '../settle';
import { listingPatchSchema, newListingSchema } from './body';
import { createListing, deleteListing, type ListingTarget, updateListing } from './service';

export function listingRoutes(deps: RouteDeps): Route[] {
  return [
    routeOf(writes.createListing, (request) => create(deps, request)),
    routeOf(writes.updateListing, (request) => update(deps, request)),
    routeOf(writes.deleteListing, (request) => remove(deps, request)),
  ];
}

async function create(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const context = contextOf(request);
  const input = parseBody(newListingSchema, request.body);
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
  const context = contextOf(request);
  const target = targetOf(deps, request);
  const changes = parseBody(listingPatchSchema, request.body);
  const { value, position, repeated } = await updateListing(deps, context, target, changes);
  const headers = await settle(deps, request, value.store_id, position, repeated);
  return { data: listingResource(value), version: value.version, headers };
}

async function remove(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const target = targetOf(deps, request);
  const { value: store_id, position, repeated } = await deleteListing(deps, contextOf(request), target);
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
