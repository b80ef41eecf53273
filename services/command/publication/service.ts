import { PUBLICATION_MEDIA_MAX } from '../../../shared/catalog/publication/fields';
import type { Publication, PublicationState } from '../../../shared/catalog/publication/publication';
import { decidePublication } from '../../../shared/catalog/publication/publication';
import type { Environment } from '../../../shared/catalog/realm';
import { accept } from '../../../shared/kernel/decision';
import type { MediaId, PublicationId, StoreId } from '../../../shared/kernel/ids';
import { publicationAggregate } from '../aggregates';
import { idForNew, type StoreDeps, type WriteContext } from '../context';
import { execute, load, type Written } from '../execute';
import { checkReferences, refuseMove, withMedia } from '../references';
import type { NewPublication, PublicationPatch } from './body';

/** Where a new publication goes; `id` where the caller derives it. That the store exists is the caller's to check. */
export interface NewPublicationTarget {
  readonly environment: Environment;
  readonly store_id: StoreId;
  readonly id?: PublicationId;
  /** Throws where nothing may be created. */
  readonly guard?: () => void | Promise<void>;
}

/** A publication by id; `guard` throws where the caller may not write to it, or not in this version. */
export interface PublicationTarget {
  readonly environment: Environment;
  readonly id: PublicationId;
  readonly guard?: (publication: Publication) => void | Promise<void>;
}

export type PutPublicationResult =
  | ({ readonly outcome: 'created' | 'updated' | 'unchanged' } & Written<Publication>)
  /** A deleted publication stays deleted: nothing was written. */
  | { readonly outcome: 'deleted' };

/** Throws `field_invalid` for references that lead nowhere. A repetition under the same id writes nothing. */
export async function createPublication(
  deps: StoreDeps,
  context: WriteContext,
  target: NewPublicationTarget,
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
  target: PublicationTarget,
  changes: PublicationPatch,
): Promise<Written<Publication>> {
  const written = await execute({
    ...placeOf(deps, target.environment, target.id),
    context,
    check: async (state) => {
      if (state.tag !== 'present') return;
      await target.guard?.(state.publication);
      refuseMove(state.publication.store_id, changes.store_id);
      await checkReferences(deps, target.environment, state.publication.store_id, changes);
    },
    decide: (state) => decidePublication(state, { type: 'UpdatePublication', changes }),
  });
  return { ...written, value: present(written.value) };
}

/** Throws `publication_not_found`, and what `guard` throws. Answers with the store that it was in. */
export async function deletePublication(
  deps: StoreDeps,
  context: WriteContext,
  target: PublicationTarget,
): Promise<Written<StoreId>> {
  const written = await execute({
    ...placeOf(deps, target.environment, target.id),
    context,
    check: async (state) => {
      if (state.tag === 'present') await target.guard?.(state.publication);
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
  target: NewPublicationTarget & { readonly id: PublicationId },
  input: NewPublication,
): Promise<PutPublicationResult> {
  const { environment, store_id, id } = target;
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
  const outcome = written.created ? 'created' : written.changed ? 'updated' : 'unchanged';
  return { ...written, outcome, value: present(written.value) };
}

/** Adds a media behind those that still exist; again changes nothing. Throws `publication_not_found`, `field_invalid` where it is full. */
export async function addMediaToPublication(
  deps: StoreDeps,
  context: WriteContext,
  target: PublicationTarget,
  media_id: MediaId,
): Promise<Written<Publication>> {
  let media_ids: MediaId[] = [];
  const written = await execute({
    ...placeOf(deps, target.environment, target.id),
    context,
    check: async (state) => {
      if (state.tag === 'present')
        media_ids = await withMedia(
          deps,
          target.environment,
          state.publication,
          media_id,
          PUBLICATION_MEDIA_MAX,
        );
    },
    decide: (state) => decidePublication(state, { type: 'UpdatePublication', changes: { media_ids } }),
  });
  return { ...written, value: present(written.value) };
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

/** Where a publication's stream is. */
export function placeOf(deps: StoreDeps, environment: Environment, id: PublicationId) {
  return {
    system: deps.system,
    events: deps.events[environment],
    realm: environment,
    aggregate: publicationAggregate,
    id,
  };
}

function present(state: PublicationState): Publication {
  if (state.tag !== 'present') throw new Error('a publication that was just written is not there');
  return state.publication;
}
