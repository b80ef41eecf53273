import type { z } from 'zod';
import { writes } from '../../shared/api/operations/writes';
import { newPublicationBody, publicationPatchBody } from '../../shared/api/requests/writes';
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
  existingReferences,
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
import { type SafeHtml, sanitise } from './sanitise';

/** Checks the length before and after sanitising, because sanitised HTML can be longer: `&` becomes `&amp;`. */
const description_html = newPublicationBody.shape.description_html
  .unwrap()
  .transform((html): SafeHtml | null => (html === null ? null : sanitise(html) || null))
  .refine((html) => html === null || fits(html, HTML_MAX), {
    params: { condition: 'field_too_long' },
    error: 'at most 50,000 characters after sanitising',
  })
  .optional();

/** The request bodies, with sanitised HTML. */
export const newPublicationSchema = newPublicationBody.extend({ description_html });
export const publicationPatchSchema = publicationPatchBody.extend({ description_html });

export type NewPublication = z.output<typeof newPublicationSchema>;
export type PublicationPatch = z.output<typeof publicationPatchSchema>;

type PublicationTarget = Target<PublicationId, Publication>;

interface UpdateTarget extends PublicationTarget {
  /** Returns the changes to make instead of the patch, from the state before. Called in each attempt. */
  readonly revise?: (before: Publication) => Promise<PublicationPatch>;
}

/**
 * Creates a publication. Throws `field_invalid` for invalid references. Repeating it with the same id appends nothing.
 */
export async function createPublication(
  deps: StoreDeps,
  context: WriteContext,
  target: NewTarget<PublicationId>,
  input: NewPublication,
): Promise<Written<Publication>> {
  const { environment, store_id } = target;
  const { id, fresh } = await idForNew(deps, environment, publicationAggregate, context, target.id);
  const written = await execute({
    ...streamRef(deps, environment, id),
    context,
    fresh,
    check: async () => {
      await target.guard?.();
      await checkReferences(deps, environment, store_id, input);
    },
    decide: (state) => decidePublication(state, { type: 'CreatePublication', store_id, input }),
  });
  return { ...written, value: publicationIn(written.value) };
}

/**
 * Patches a publication. Throws `publication_not_found`, `field_invalid` for invalid references and for another
 * `store_id`, and errors of `guard`.
 */
export async function updatePublication(
  deps: StoreDeps,
  context: WriteContext,
  { environment, id, guard, revise }: UpdateTarget,
  patch: PublicationPatch,
): Promise<Written<Publication>> {
  let changes = patch;
  const written = await execute({
    ...streamRef(deps, environment, id),
    context,
    check: async (state) => {
      if (state.tag !== 'present') return;
      await guard?.(state.publication);
      assertSameStore(state.publication.store_id, patch.store_id);
      const wanted = (await revise?.(state.publication)) ?? patch;
      await checkReferences(deps, environment, state.publication.store_id, wanted);
      changes = await omitUnchangedReferences(deps, environment, state.publication, wanted);
    },
    decide: (state) => decidePublication(state, { type: 'UpdatePublication', changes }),
  });
  return { ...written, value: publicationIn(written.value) };
}

/** Deletes a publication. Returns the id of its store. Throws `publication_not_found`, and errors of `guard`. */
export async function deletePublication(
  deps: StoreDeps,
  context: WriteContext,
  { environment, id, guard }: PublicationTarget,
): Promise<Written<StoreId>> {
  const written = await execute({
    ...streamRef(deps, environment, id),
    context,
    check: async (state) => {
      if (state.tag === 'present') await guard?.(state.publication);
    },
    decide: (state) => decidePublication(state, { type: 'DeletePublication' }),
  });
  if (written.value.tag !== 'deleted') throw new Error('the publication exists after its deletion');
  return { ...written, value: written.value.store_id };
}

/** A publication to create or to patch. */
export interface PutTarget extends NewTarget<PublicationId> {
  readonly id: PublicationId;
  /** Whether the publication probably does not exist. Saves reading its stream. */
  readonly is_probably_new?: boolean;
  /** Whether the caller has just checked that `listing_id` is a listing of the store. */
  readonly is_listing_checked?: boolean;
  /** Returns the changes to make in an existing publication. Called in every attempt. */
  readonly revise?: (before: Publication, changes: NewPublication) => Promise<NewPublication>;
}

/**
 * Creates the publication, or patches it with the fields of `input`. An import calls this for every row, so importing
 * the same file again changes nothing. Does not restore a deleted publication. Throws `field_invalid` for invalid
 * references.
 */
export async function putPublication(
  deps: StoreDeps,
  context: WriteContext,
  { environment, store_id, id, revise, is_probably_new = false, is_listing_checked = false }: PutTarget,
  input: NewPublication,
): Promise<PutResult<Publication>> {
  let changes = input;
  const { media_ids, listing_id } = input;
  const references = { media_ids, listing_id: is_listing_checked ? undefined : listing_id };
  // The spreads come last, because V8 takes twenty times as long for an object literal that begins with one.
  const written = await execute({
    context,
    fresh: is_probably_new,
    check: async (state) => {
      if (state.tag !== 'deleted') await checkReferences(deps, environment, store_id, references);
      if (state.tag !== 'present') return;
      changes = await omitUnchangedReferences(deps, environment, state.publication, input);
      changes = (await revise?.(state.publication, changes)) ?? changes;
    },
    decide: (state) =>
      state.tag === 'deleted'
        ? accept()
        : decidePublication(state, { type: 'PutPublication', store_id, input: changes }),
    ...streamRef(deps, environment, id),
  });
  const { value: state, position, revision, changed, created } = written;
  if (state.tag === 'deleted') return { outcome: 'deleted' };
  const value = publicationIn(state);
  return { outcome: putOutcome(written), value, position, revision, changed, created };
}

/**
 * Adds a media after the existing ones. Changes nothing if it is already there. Throws `publication_not_found`, and
 * `field_invalid` if the publication has the maximum number of media.
 */
export async function addMediaToPublication(
  deps: StoreDeps,
  context: WriteContext,
  { environment, id }: PublicationTarget,
  media_id: MediaId,
): Promise<Written<Publication>> {
  let media_ids: MediaId[] = [];
  const written = await execute({
    ...streamRef(deps, environment, id),
    context,
    check: async (state) => {
      if (state.tag !== 'present') return;
      media_ids = await withMedia(deps, environment, state.publication, media_id, PUBLICATION_MEDIA_MAX);
    },
    decide: (state) => decidePublication(state, { type: 'UpdatePublication', changes: { media_ids } }),
  });
  return { ...written, value: publicationIn(written.value) };
}

/** Returns the publication from the event log, undefined if it does not exist or is deleted. */
export async function findPublication(
  deps: StoreDeps,
  environment: Environment,
  id: PublicationId,
): Promise<Publication | undefined> {
  const { state } = await load(streamRef(deps, environment, id));
  return state.tag === 'present' ? state.publication : undefined;
}

function streamRef(deps: StoreDeps, environment: Environment, id: PublicationId) {
  return streamIn(deps, environment, publicationAggregate, id);
}

function publicationIn(state: PublicationState): Publication {
  if (state.tag !== 'present') throw new Error('the publication is absent after a write');
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
  const store_id = storeForNew(request, input.store_id);
  const { environment } = request.principal;
  const guard = (): Promise<void> => deps.stores.require(environment, store_id);
  const target = { environment, store_id, guard };
  const written = await createPublication(deps, context, target, input);
  const { value, position, repeated } = written;
  const headers = await awaitProjection(deps, request, store_id, position, repeated);
  return {
    status: 201,
    ...(await answerOf(deps, environment, value, 0)),
    headers: { ...headers, Location: locationOf(`/api/publication/${value.id}`, value.visibility) },
  };
}

async function update(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const context = writeContextOf(request);
  const target = targetOf(deps, request);
  const changes = parseBody(publicationPatchSchema, request.body);
  const written = await updatePublication(deps, context, target, changes);
  const { value, position, repeated } = written;
  const headers = await awaitProjection(deps, request, value.store_id, position, repeated);
  const view_count = await readCount(deps, target.environment, async (version) => {
    // There may be no document yet, and the body of a placeholder is empty.
    const stored = await version.get('publications', value.id);
    return stored?.document?.body.stats?.view_count ?? 0;
  });
  return { ...(await answerOf(deps, target.environment, value, view_count)), headers };
}

async function remove(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const target = targetOf(deps, request);
  const {
    value: store_id,
    position,
    repeated,
  } = await deletePublication(deps, writeContextOf(request), target);
  const headers = await awaitProjection(deps, request, store_id, position, repeated);
  return { data: { id: target.id, object: 'publication', deleted: true }, headers };
}

/**
 * Returns the answer to a write. Reads which references exist, because some resources may be deleted. Without
 * `view_count`, it has no `stats`.
 */
async function answerOf(
  deps: RouteDeps,
  environment: Environment,
  value: Publication,
  view_count: number | undefined,
): Promise<Answer> {
  const shown = await existingReferences(deps, environment, value);
  return { data: publicationResource(value, shown, view_count), version: value.version };
}

function targetOf(deps: RouteDeps, request: ApiRequest): PublicationTarget {
  return {
    environment: request.principal.environment,
    id: request.params.id as PublicationId,
    guard: guardFor(request, deps.stores, 'publication_not_found'),
  };
}
