import { writes } from '../../../shared/api/operations/writes';
import type { JsonObject } from '../../../shared/catalog/events/envelope';
import type { Publication } from '../../../shared/catalog/publication/publication';
import { publicationResource } from '../../../shared/catalog/publication/publication';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../../shared/http/route';
import { parseBody } from '../../../shared/http/validation';
import type { PublicationId } from '../../../shared/kernel/ids';
import { existingMedia } from '../references';
import { contextOf, guardFor, storeNamedForNew } from '../request';
import type { RouteDeps } from '../route-deps';
import { settle } from '../settle';
import { newPublicationSchema, publicationPatchSchema } from './body';
import { createPublication, deletePublication, type PublicationTarget, updatePublication } from './service';

export function publicationRoutes(deps: RouteDeps): Route[] {
  return [
    routeOf(writes.createPublication, (request) => create(deps, request)),
    routeOf(writes.updatePublication, (request) => update(deps, request)),
    routeOf(writes.deletePublication, (request) => remove(deps, request)),
  ];
}

async function create(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const context = contextOf(request);
  const input = parseBody(newPublicationSchema, request.body);
  const store_id = storeNamedForNew(request, input.store_id);
  const { environment } = request.principal;
  const guard = (): Promise<void> => deps.stores.require(environment, store_id);
  const target = { environment, store_id, guard };
  const { value, position, repeated } = await createPublication(deps, context, target, input);
  const headers = await settle(deps, request, store_id, position, repeated);
  return {
    status: 201,
    data: await shown(deps, request, value),
    version: value.version,
    headers: { ...headers, Location: `/api/publication/${value.id}` },
  };
}

async function update(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const context = contextOf(request);
  const target = targetOf(deps, request);
  const changes = parseBody(publicationPatchSchema, request.body);
  const { value, position, repeated } = await updatePublication(deps, context, target, changes);
  const headers = await settle(deps, request, value.store_id, position, repeated);
  return { data: await shown(deps, request, value), version: value.version, headers };
}

async function remove(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const target = targetOf(deps, request);
  const { value: store_id, position, repeated } = await deletePublication(deps, contextOf(request), target);
  const headers = await settle(deps, request, store_id, position, repeated);
  return { data: { id: target.id, object: 'publication', deleted: true }, headers };
}

/** With a count of the media that exist: of what it refers to, some may be deleted. */
async function shown(deps: RouteDeps, request: ApiRequest, value: Publication): Promise<JsonObject> {
  const media = await existingMedia(deps, request.principal.environment, value.media_ids);
  return publicationResource(value, media.length);
}

function targetOf(deps: RouteDeps, request: ApiRequest): PublicationTarget {
  return {
    environment: request.principal.environment,
    id: request.params.id as PublicationId,
    guard: guardFor(request, deps.stores, 'publication_not_found'),
  };
}
