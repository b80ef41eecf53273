import type { z } from 'zod';
import { writes } from '../../shared/api/operations/writes';
import { newPublicationBody, publicationPatchBody } from '../../shared/api/requests/writes';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { fits } from '../../shared/catalog/input-rules';
import { HTML_MAX, PUBLICATION_MEDIA_MAX } from '../../shared/catalog/publication/fields';
import {
  decidePublication,
  type Publication,
  type PublicationState,
  publicationAggregate,
  publicationResource,
} from '../../shared/catalog/publication/publication';
import type { Environment } from '../../shared/catalog/realm';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../shared/http/route';
import { parseBody } from '../../shared/http/validation';
import { accept } from '../../shared/kernel/decision';
import type { MediaId, PublicationId, StoreId } from '../../shared/kernel/ids';
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
import { checkReferences, existingMedia, refuseMove, withMedia } from './references';
import { guardFor, type RouteDeps, settle, storeNamedForNew, writeContextOf } from './request';
import { type SafeHtml, sanitise } from './sanitise';

/** The limit is on what is sent and on what is kept, which can be longer: `&` becomes `&amp;`. */
const description_html = newPublicationBody.shape.description_html
  .unwrap()
  .transform((html): SafeHtml | null => (html === null ? null : sanitise(html) || null))
  .refine((html) => html === null || fits(html, HTML_MAX), {
    params: { condition: 'field_too_long' },
    error: 'at most 50,000 characters, sanitised',
  })
  .optional();

/** The bodies of the interface, with the HTML made safe. */
export const newPublicationSchema = newPublicationBody.extend({ description_html });
export const publicationPatchSchema = publicationPatchBody.extend({ description_html });

export type NewPublication = z.output<typeof newPublicationSchema>;
export type PublicationPatch = z.output<typeof publicationPatchSchema>;

type PublicationTarget = Target<PublicationId, Publication>;

/** Throws `field_invalid` for references that lead nowhere. A repetition under the same id writes nothing. */
export async function createPublication(
  deps: StoreDeps,
  context: WriteContext,
  target: NewTarget<PublicationId>,
  input: NewPublication,
): Promise<Written<Publication>> {
  const { environment, store_id } = target;
  const { id, fresh } = idForNew<PublicationId>(deps.system, context, target.id);
  const written = await execute({
    ...placeOf(deps, environment, id),
    context,
    fresh,
    check: async () => {
      await target.guard?.();
      await checkReferences(deps, environment, store_id, input);
    },
    decide: (state) => decidePublication(state, { type: 'CreatePublication', store_id, input }),
  });
  return { ...written, value: present(written.value) };
}

/** Throws `publication_not_found`, `field_invalid` for references or another `store_id`, and what `guard` throws. */
export async function updatePublication(
  deps: StoreDeps,
  context: WriteContext,
  { environment, id, guard }: PublicationTarget,
  changes: PublicationPatch,
): Promise<Written<Publication>> {
  const written = await execute({
    ...placeOf(deps, environment, id),
    context,
    check: async (state) => {
      if (state.tag !== 'present') return;
      await guard?.(state.publication);
      refuseMove(state.publication.store_id, changes.store_id);
      await checkReferences(deps, environment, state.publication.store_id, changes);
    },
    decide: (state) => decidePublication(state, { type: 'UpdatePublication', changes }),
  });
  return { ...written, value: present(written.value) };
}

/** Throws `publication_not_found`, and what `guard` throws. Answers with the store that it was in. */
export async function deletePublication(
  deps: StoreDeps,
  context: WriteContext,
  { environment, id, guard }: PublicationTarget,
): Promise<Written<StoreId>> {
  const written = await execute({
    ...placeOf(deps, environment, id),
    context,
    check: async (state) => {
      if (state.tag === 'present') await guard?.(state.publication);
    },
    decide: (state) => decidePublication(state, { type: 'DeletePublication' }),
  });
  if (written.value.tag !== 'deleted') throw new Error('a deletion left the publication in place');
  return { ...written, value: written.value.store_id };
}

/**
 * Creates the publication, or patches it with the fields given: an import that is run again writes nothing new and
 * leaves alone what it does not speak of. Throws `field_invalid` for references.
 */
export async function putPublication(
  deps: StoreDeps,
  context: WriteContext,
  { environment, store_id, id }: NewTarget<PublicationId> & { readonly id: PublicationId },
  input: NewPublication,
): Promise<Put<Publication>> {
  const written = await execute({
    ...placeOf(deps, environment, id),
    context,
    check: async (state) => {
      if (state.tag !== 'deleted') await checkReferences(deps, environment, store_id, input);
    },
    decide: (state) =>
      state.tag === 'deleted'
        ? accept()
        : decidePublication(state, { type: 'PutPublication', store_id, input }),
  });
  if (written.value.tag === 'deleted') return { outcome: 'deleted' };
  return { ...written, outcome: putOutcome(written), value: present(written.value) };
}

/** Adds a media behind those that still exist; again changes nothing. Throws `publication_not_found`, `field_invalid` where it is full. */
export async function addMediaToPublication(
  deps: StoreDeps,
  context: WriteContext,
  { environment, id }: PublicationTarget,
  media_id: MediaId,
): Promise<Written<Publication>> {
  let media_ids: MediaId[] = [];
  const written = await execute({
    ...placeOf(deps, environment, id),
    context,
    check: async (state) => {
      if (state.tag !== 'present') return;
      media_ids = await withMedia(deps, environment, state.publication, media_id, PUBLICATION_MEDIA_MAX);
    },
    decide: (state) => decidePublication(state, { type: 'UpdatePublication', changes: { media_ids } }),
  });
  return { ...written, value: present(written.value) };
}

/** Writes one event for all of the views, once per `context.operation`. Views of what is deleted or unknown are let go. */
export async function recordViews(
  deps: StoreDeps,
  context: WriteContext,
  views: { readonly environment: Environment; readonly id: PublicationId; readonly count: number },
): Promise<void> {
  const { environment, id, count } = views;
  const decide = (state: PublicationState) => decidePublication(state, { type: 'RecordViews', count });
  await execute({ ...placeOf(deps, environment, id), context, decide });
}

/** The publication as the log has it; undefined where there is none, or none any more. */
export async function findPublication(
  deps: StoreDeps,
  environment: Environment,
  id: PublicationId,
): Promise<Publication | undefined> {
  const { state } = await load(placeOf(deps, environment, id));
  return state.tag === 'present' ? state.publication : undefined;
}

function placeOf(deps: StoreDeps, environment: Environment, id: PublicationId) {
  return placeIn(deps, environment, publicationAggregate, id);
}

function present(state: PublicationState): Publication {
  if (state.tag !== 'present') throw new Error('a publication that was just written is not there');
  return state.publication;
}

export function publicationRoutes(deps: RouteDeps): Route[] {
  return [
    routeOf(writes.createPublication, (request) => create(deps, request)),
    routeOf(writes.updatePublication, (request) => update(deps, request)),
    routeOf(writes.deletePublication, (request) => remove(deps, request)),
  ];
}

async function create(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const context = writeContextOf(request);
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
  const context = writeContextOf(request);
  const target = targetOf(deps, request);
  const changes = parseBody(publicationPatchSchema, request.body);
  const { value, position, repeated } = await updatePublication(deps, context, target, changes);
  const headers = await settle(deps, request, value.store_id, position, repeated);
  return { data: await shown(deps, request, value), version: value.version, headers };
}

async function remove(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const target = targetOf(deps, request);
  const {
    value: store_id,
    position,
    repeated,
  } = await deletePublication(deps, writeContextOf(request), target);
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
