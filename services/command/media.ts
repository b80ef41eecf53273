import { writes } from '../../shared/api/operations/writes';
import {
  mediaPatchBody,
  storedUpload,
  UPLOAD_BYTES_MAX,
  uploadQuerySchema,
} from '../../shared/api/requests/writes';
import type { State } from '../../shared/catalog/events/aggregate';
import { greatest } from '../../shared/catalog/events/positions';
import { LISTING_MEDIA_MAX } from '../../shared/catalog/listing/fields';
import {
  type Media,
  type MediaCommand,
  type MediaUpload,
  mediaAggregate,
  mediaResource,
} from '../../shared/catalog/media/media';
import { PUBLICATION_MEDIA_MAX } from '../../shared/catalog/publication/fields';
import type { Environment } from '../../shared/catalog/realm';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../shared/http/route';
import { parseBody, parseQuery } from '../../shared/http/validation';
import { CatalogError, type Fault, invalidField } from '../../shared/kernel/errors';
import type { ListingId, MediaId, PublicationId, StoreId } from '../../shared/kernel/ids';
import type { MediaTask } from '../../shared/ports/media-tasks';
import { streamIn } from '../../shared/ports/stream-state';
import { execute, idForNew, type StoreDeps, type WriteContext, type Written, withResource } from './execute';
import { listings } from './listing';
import { inspectOriginal, storeOriginal } from './originals';
import { publications } from './publication';
import { existingMedia } from './references';
import { answerTo, type RouteDeps, storeForNew, writeContextOf } from './request';
import { deletionRoute, patchRoute } from './resource';
import { deleteResource, type NewTarget, type Target } from './resource-commands';

/** Records an upload whose bytes are already in the blob store. The worker that takes its task makes the pictures. */
export async function uploadMedia(
  deps: StoreDeps,
  context: WriteContext,
  target: NewTarget<MediaId>,
  upload: Omit<MediaUpload, 'store_id'>,
): Promise<Written<Media>> {
  const { environment, store_id } = target;
  const { id, loaded } = await idForNew(deps, environment, mediaAggregate, context, target.id);
  const written = await execute<Media, MediaCommand>({
    ...streamIn(deps, environment, mediaAggregate, id),
    context,
    loaded,
    prepare: async () => {
      await target.guard?.(undefined);
      return { command: { type: 'UploadMedia', upload: { ...upload, store_id } } };
    },
  });
  return withResource(written);
}

/** Deletes a media. Returns the id of its store. Throws `media_not_found`, and errors of `guard`. */
export function deleteMedia(
  deps: StoreDeps,
  context: WriteContext,
  target: Target<MediaId, Media>,
): Promise<Written<StoreId>> {
  return deleteResource(deps, context, mediaAggregate, target);
}

/**
 * Records the result of rendering: the media becomes `ready`, or `failed` permanently. Appends nothing (`changed: false`)
 * if it is no longer `processing`.
 */
export function recordResult(
  deps: StoreDeps,
  context: WriteContext,
  environment: Environment,
  id: MediaId,
  result: Extract<MediaCommand, { type: 'RecordPictures' | 'RecordFailure' }>,
): Promise<Written<State<Media>>> {
  const ref = streamIn(deps, environment, mediaAggregate, id);
  return execute<Media, MediaCommand>({ ...ref, context, prepare: () => ({ command: result }) });
}

/** The publication and the listing to which an upload is added, after their existing media. */
export interface Attachments {
  readonly publication_id?: string | undefined;
  readonly listing_id?: string | undefined;
}

/**
 * Throws `field_invalid` for a publication or listing that does not exist, belongs to another store, or has the maximum
 * number of media.
 */
async function checkAttachments(
  deps: StoreDeps,
  environment: Environment,
  store_id: StoreId,
  { publication_id, listing_id }: Attachments,
): Promise<void> {
  const faults: Fault[] = [];
  const check = async (
    field: keyof Attachments,
    resource: { store_id: StoreId; media_ids: readonly MediaId[] } | undefined,
    max: number,
  ): Promise<void> => {
    const noun = field === 'publication_id' ? 'publication' : 'listing';
    if (resource?.store_id !== store_id) faults.push(invalidField(field, `a ${noun} of the same store`));
    else if ((await existingMedia(deps, environment, resource.media_ids)).length >= max)
      faults.push(invalidField(field, `a ${noun} with fewer than ${max} media`));
  };
  if (publication_id !== undefined) {
    const publication = await publications.find(deps, environment, publication_id as PublicationId);
    await check('publication_id', publication, PUBLICATION_MEDIA_MAX);
  }
  if (listing_id !== undefined) {
    const listing = await listings.find(deps, environment, listing_id as ListingId);
    await check('listing_id', listing, LISTING_MEDIA_MAX);
  }
  if (faults.length > 0) throw CatalogError.ofFaults(faults);
}

/**
 * Adds the media to the publication and the listing. `checkAttachments` ran before the upload, so this can only fail
 * because of a concurrent write. It then throws `lost_race`, with a message that says that the upload itself is done.
 */
export async function attach(
  deps: StoreDeps,
  context: WriteContext,
  environment: Environment,
  media_id: MediaId,
  { publication_id, listing_id }: Attachments,
): Promise<Written<unknown>[]> {
  const written: Written<unknown>[] = [];
  const add = async (container: string, adding: Promise<Written<unknown>>): Promise<void> => {
    try {
      written.push(await adding);
    } catch (error) {
      throw error instanceof CatalogError && CONCURRENT_CHANGE.includes(error.condition)
        ? notAdded(media_id, container, error)
        : error;
    }
  };
  if (publication_id !== undefined) {
    const target = { environment, id: publication_id as PublicationId };
    await add(`publication ${target.id}`, publications.addMedia(deps, context, target, media_id));
  }
  if (listing_id !== undefined) {
    const target = { environment, id: listing_id as ListingId };
    await add(`listing ${target.id}`, listings.addMedia(deps, context, target, media_id));
  }
  return written;
}

/** Conditions that `checkAttachments` had excluded, so they follow from a concurrent write. */
const CONCURRENT_CHANGE: readonly string[] = [
  'lost_race',
  'publication_not_found',
  'listing_not_found',
  'field_invalid',
];

function notAdded(media_id: MediaId, container: string, cause: CatalogError): CatalogError {
  return new CatalogError('lost_race', {
    message:
      `The file was uploaded as media ${media_id}, but could not be added to ${container}, which changed at the same ` +
      'time. Add it with a PATCH of media_ids, or delete the media',
    cause,
  });
}

export function mediaRoutes(deps: RouteDeps): Route[] {
  return [
    routeOf(writes.uploadMedia, (request) => upload(deps, request), {
      upload: {
        types: ['multipart/form-data', 'image/*'],
        bytes_max: UPLOAD_BYTES_MAX,
        keep: ({ environment }, bytes) => storeOriginal(deps.blobs[environment].originals, bytes),
      },
    }),
    patchRoute(deps, writes.updateMedia, mediaAggregate, mediaPatchBody, mediaResource),
    deletionRoute(deps, writes.deleteMedia, mediaAggregate),
  ];
}

/** Handles `POST /api/media`. The bytes are already stored; `body.file` contains their hash. */
async function upload(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const context = writeContextOf(request);
  const query = parseQuery(uploadQuerySchema, request.query);
  const { file, ...form } = parseBody(storedUpload, request.body);
  const { alt, ...attachments } = { ...query, ...form };
  const store_id = storeForNew(request, form.store_id);
  const { environment } = request.principal;
  const { mime_type, width, height } = await inspectOriginal(deps.blobs[environment].originals, file.hash);
  const guard = async (): Promise<void> => {
    await deps.stores.require(environment, store_id);
    await checkAttachments(deps, environment, store_id, attachments);
  };
  const image = { hash: file.hash, mime_type, size_bytes: file.size_bytes, width, height };
  const target = { environment, store_id, guard };
  const uploaded = await uploadMedia(deps, context, target, { ...image, alt: alt ?? null });
  const { value } = uploaded;
  addTask(deps, { environment, store_id, media_id: value.id });
  const written = [uploaded, ...(await attach(deps, context, environment, value.id, attachments))];
  const position = greatest(written.map(({ position }) => position));
  const dataOf = (media: Media) => mediaResource(media, environment);
  return answerTo(deps, request, { ...uploaded, position }, dataOf, `/api/media/${value.id}`);
}

/**
 * Adds the task without waiting. If that fails, the workers still find the media, because they look for `processing`
 * ones.
 */
function addTask(deps: RouteDeps, task: MediaTask): void {
  deps.mediaTasks.add(task).catch((error: unknown) => {
    deps.log.warn(
      { err: error, media_id: task.media_id },
      'media task could not be added; a worker finds the upload later',
    );
  });
}
