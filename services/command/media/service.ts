import type {
  Media,
  MediaFailure,
  MediaPictures,
  MediaState,
  MediaUpload,
} from '../../../shared/catalog/media/media';
import { decideMedia, type MediaCommand } from '../../../shared/catalog/media/media';
import type { Environment } from '../../../shared/catalog/realm';
import type { MediaId, StoreId } from '../../../shared/kernel/ids';
import { mediaAggregate } from '../aggregates';
import { idForNew, type StoreDeps, type WriteContext } from '../context';
import { execute, load, type Written } from '../execute';

/** Where a new media goes; `id` where the caller derives it. That the store exists is the caller's to check. */
export interface NewMediaTarget {
  readonly environment: Environment;
  readonly store_id: StoreId;
  readonly id?: MediaId;
  /** Throws where nothing may be uploaded; not asked again of an upload that is done. */
  readonly guard?: () => void | Promise<void>;
}

/** A media by id; `guard` throws where the caller may not write to it, or not in this version. */
export interface MediaTarget {
  readonly environment: Environment;
  readonly id: MediaId;
  readonly guard?: (media: Media) => void | Promise<void>;
}

/** `upload.hash` is in the blob store already. Its pictures are made by whoever works its task. */
export async function uploadMedia(
  deps: StoreDeps,
  context: WriteContext,
  target: NewMediaTarget,
  upload: Omit<MediaUpload, 'store_id'>,
): Promise<Written<Media>> {
  const { environment, store_id } = target;
  const { id, fresh } = idForNew<MediaId>(deps.system, context, target.id);
  const written = await execute({
    ...place(deps, environment, id),
    context,
    fresh,
    check: async () => target.guard?.(),
    decide: (state) => decideMedia(state, { type: 'UploadMedia', upload: { ...upload, store_id } }),
  });
  if (written.value.tag !== 'present') throw new Error('a media that was just uploaded is not there');
  return { ...written, value: written.value.media };
}

/** Throws `media_not_found`, and what `guard` throws. Answers with the store that it was in. */
export async function deleteMedia(
  deps: StoreDeps,
  context: WriteContext,
  target: MediaTarget,
): Promise<Written<StoreId>> {
  const written = await execute({
    ...place(deps, target.environment, target.id),
    context,
    check: async (state) => {
      if (state.tag === 'present') await target.guard?.(state.media);
    },
    decide: (state) => decideMedia(state, { type: 'DeleteMedia' }),
  });
  if (written.value.tag !== 'deleted') throw new Error('a deletion left the media in place');
  return { ...written, value: written.value.store_id };
}

/** Makes it `ready`. Writes nothing where it is no longer `processing` (`changed` is false then). */
export function recordPictures(
  deps: StoreDeps,
  context: WriteContext,
  environment: Environment,
  id: MediaId,
  pictures: MediaPictures,
): Promise<Written<MediaState>> {
  return record(deps, context, environment, id, { type: 'RecordPictures', pictures });
}

/** Makes it `failed`, for good. Writes nothing where it is no longer `processing`. */
export function recordFailure(
  deps: StoreDeps,
  context: WriteContext,
  environment: Environment,
  id: MediaId,
  reason: MediaFailure,
): Promise<Written<MediaState>> {
  return record(deps, context, environment, id, { type: 'RecordFailure', reason });
}

/** The media as the log has it; undefined where there is none, or none any more. */
export async function loadMedia(
  deps: Pick<StoreDeps, 'events'>,
  environment: Environment,
  id: MediaId,
): Promise<Media | undefined> {
  const { state } = await load({
    aggregate: mediaAggregate,
    events: deps.events[environment],
    realm: environment,
    id,
  });
  return state.tag === 'present' ? state.media : undefined;
}

function record(
  deps: StoreDeps,
  context: WriteContext,
  environment: Environment,
  id: MediaId,
  command: MediaCommand,
): Promise<Written<MediaState>> {
  const decide = (state: MediaState) => decideMedia(state, command);
  return execute({ ...place(deps, environment, id), context, decide });
}

function place(deps: StoreDeps, environment: Environment, id: MediaId) {
  return {
    system: deps.system,
    events: deps.events[environment],
    realm: environment,
    aggregate: mediaAggregate,
    id,
  };
}
