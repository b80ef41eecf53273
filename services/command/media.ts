import { writes } from '../../shared/api/operations/writes';
import { keptUpload, UPLOAD_BYTES_MAX, uploadQuerySchema } from '../../shared/api/requests/writes';
import { greatest } from '../../shared/catalog/events/positions';
import { LISTING_MEDIA_MAX } from '../../shared/catalog/listing/fields';
import {
  decideMedia,
  type Media,
  type MediaCommand,
  type MediaFailure,
  type MediaPictures,
  type MediaState,
  type MediaUpload,
  mediaAggregate,
  mediaResource,
} from '../../shared/catalog/media/media';
import { PUBLICATION_MEDIA_MAX } from '../../shared/catalog/publication/fields';
import type { Environment } from '../../shared/catalog/realm';
import { type Answer, type ApiRequest, type Route, routeOf } from '../../shared/http/route';
import { parseBody, parseQuery } from '../../shared/http/validation';
import { CatalogError, type Fault } from '../../shared/kernel/errors';
import type { ListingId, MediaId, PublicationId, StoreId } from '../../shared/kernel/ids';
import type { MediaTask } from '../../shared/ports/media-tasks';
import {
  execute,
  idForNew,
  type NewTarget,
  placeIn,
  type StoreDeps,
  type Target,
  type WriteContext,
  type Written,
} from './execute';
import { addMediaToListing, findListing } from './listing';
import { Inspector, keepOriginal } from './originals';
import { addMediaToPublication, findPublication } from './publication';
import { existingMedia } from './references';
import { guardFor, type RouteDeps, settle, storeNamedForNew, writeContextOf } from './request';

/** `upload.hash` is in the blob store already. Its pictures are made by whoever works its task. */
export async function uploadMedia(
  deps: StoreDeps,
  context: WriteContext,
  target: NewTarget<MediaId>,
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
  target: Target<MediaId, Media>,
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
  return placeIn(deps, environment, mediaAggregate, id);
}

/** What a new media is added to, after the media that are there. */
export interface Attachments {
  readonly publication_id?: string | undefined;
  readonly listing_id?: string | undefined;
}

/** Throws `field_invalid` for what is not there, is another store's, or has as many media as it may have. */
export async function checkAttachments(
  deps: StoreDeps,
  environment: Environment,
  store_id: StoreId,
  { publication_id, listing_id }: Attachments,
): Promise<void> {
  const faults: Fault[] = [];
  const check = async (
    field: keyof Attachments,
    found: { store_id: StoreId; media_ids: readonly MediaId[] } | undefined,
    max: number,
  ): Promise<void> => {
    const what = field === 'publication_id' ? 'publication' : 'listing';
    const own = found?.store_id === store_id ? found : undefined;
    if (!own) faults.push(invalid(field, `a ${what} of the same store`));
    else if ((await existingMedia(deps, environment, own.media_ids)).length >= max)
      faults.push(invalid(field, `a ${what} with fewer than ${max} media`));
  };
  if (publication_id !== undefined) {
    const found = await findPublication(deps, environment, publication_id as PublicationId);
    await check('publication_id', found, PUBLICATION_MEDIA_MAX);
  }
  if (listing_id !== undefined) {
    const found = await findListing(deps, environment, listing_id as ListingId);
    await check('listing_id', found, LISTING_MEDIA_MAX);
  }
  if (faults.length > 0) throw CatalogError.ofFaults(faults);
}

/**
 * Adds it to both. As the check came before the upload, only somebody else's write in between can hinder it: then
 * `lost_race` says what is done and what is not.
 */
export async function attach(
  deps: StoreDeps,
  context: WriteContext,
  environment: Environment,
  media_id: MediaId,
  { publication_id, listing_id }: Attachments,
): Promise<Written<unknown>[]> {
  const written: Written<unknown>[] = [];
  const put = async (what: string, adding: Promise<Written<unknown>>): Promise<void> => {
    try {
      written.push(await adding);
    } catch (error) {
      throw error instanceof CatalogError && LOST.has(error.condition)
        ? notAdded(media_id, what, error)
        : error;
    }
  };
  if (publication_id !== undefined) {
    const target = { environment, id: publication_id as PublicationId };
    await put(`publication ${target.id}`, addMediaToPublication(deps, context, target, media_id));
  }
  if (listing_id !== undefined) {
    const target = { environment, id: listing_id as ListingId };
    await put(`listing ${target.id}`, addMediaToListing(deps, context, target, media_id));
  }
  return written;
}

const LOST: ReadonlySet<string> = new Set([
  ...['lost_race', 'publication_not_found', 'listing_not_found', 'field_invalid'],
]);

function notAdded(media_id: MediaId, what: string, cause: CatalogError): CatalogError {
  return new CatalogError('lost_race', {
    message:
      `The file was uploaded as media ${media_id}, but could not be added to ${what}, which was changed at the ` +
      'same time: add it by its media_ids, or delete it',
    cause,
  });
}

function invalid(field: string, constraint: string): Fault {
  return { condition: 'field_invalid', field, constraint };
}

export function mediaRoutes(deps: RouteDeps): Route[] {
  const inspector = new Inspector();
  return [
    routeOf(writes.uploadMedia, (request) => upload(deps, inspector, request), {
      bytes_max: UPLOAD_BYTES_MAX,
      keep: ({ environment }, bytes) => keepOriginal(deps.blobs[environment].originals, bytes),
    }),
    routeOf(writes.deleteMedia, (request) => remove(deps, request)),
  ];
}

/** The bytes are kept already: `body.file` names them. */
async function upload(deps: RouteDeps, inspector: Inspector, request: ApiRequest): Promise<Answer> {
  const context = writeContextOf(request);
  const query = parseQuery(uploadQuerySchema, request.query);
  const { file, ...form } = parseBody(keptUpload, request.body);
  const { alt, ...attachments } = { ...query, ...form };
  const store_id = storeNamedForNew(request, form.store_id);
  const { environment } = request.principal;
  const { mime_type, width, height } = await inspector.inspect(deps.blobs[environment].originals, file.hash);
  const guard = async (): Promise<void> => {
    await deps.stores.require(environment, store_id);
    await checkAttachments(deps, environment, store_id, attachments);
  };
  const image = { hash: file.hash, mime_type, size_bytes: file.size_bytes, width, height };
  const target = { environment, store_id, guard };
  const uploaded = await uploadMedia(deps, context, target, { ...image, alt: alt ?? null });
  const { value } = uploaded;
  addTask(deps, { environment, media_id: value.id });
  const written = [uploaded, ...(await attach(deps, context, environment, value.id, attachments))];
  const position = greatest(written.map(({ position }) => position));
  const headers = await settle(deps, request, store_id, position, uploaded.repeated);
  return {
    status: 201,
    data: mediaResource(value, environment),
    version: value.version,
    headers: { ...headers, Location: `/api/media/${value.id}` },
  };
}

/** A task that is lost here is found again: whoever makes pictures looks for what is still `processing`. */
function addTask(deps: RouteDeps, task: MediaTask): void {
  deps.mediaTasks.add(task).catch((error: unknown) => {
    deps.log.warn({ err: error, media_id: task.media_id }, 'the task of an upload could not be added yet');
  });
}

async function remove(deps: RouteDeps, request: ApiRequest): Promise<Answer> {
  const id = request.params.id as MediaId;
  const guard = guardFor(request, deps.stores, 'media_not_found');
  const target = { environment: request.principal.environment, id, guard };
  const { value: store_id, position, repeated } = await deleteMedia(deps, writeContextOf(request), target);
  const headers = await settle(deps, request, store_id, position, repeated);
  return { data: { id, object: 'media', deleted: true }, headers };
}
