import { z } from 'zod';
import { accept, type Decision, reject } from '../../kernel/decision';
import { assertNever } from '../../kernel/errors';
import type { MediaId, StoreId } from '../../kernel/ids';
import { type Aggregate, present, type State } from '../events/aggregate';
import type { JsonObject } from '../events/envelope';
import { defineEvent, type EventOf } from '../events/event-definition';
import { ERASED, type EraseCommand } from '../field-aggregate';
import { type Changes, changeEvents, changesOf, type Values, withoutNulls } from '../fields';
import type { Environment } from '../realm';
import { withTranslations } from '../translations';
import { imageTypeSchema, variantNameSchema } from '../vocabulary';
import { MEDIA_CHANGES, mediaFields } from './fields';
import { pictureAddress } from './image-types';

/** A file in the blob store. `width` and `height` are in pixels, after applying the orientation. */
const image = {
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  mime_type: imageTypeSchema,
  size_bytes: z.int().min(1),
  width: z.int().min(1),
  height: z.int().min(1),
};

const fieldEvents = changeEvents(mediaFields, MEDIA_CHANGES);

export const mediaEvents = [
  defineEvent('MediaUploaded', z.object({ store_id: z.string(), ...image, alt: z.string().nullable() })),
  /** `picture` is the public version of the upload: same type, without metadata, orientation applied. */
  defineEvent(
    'MediaProcessed',
    z.object({
      picture: z.object(image),
      variants: z.array(z.object({ name: variantNameSchema, ...image })),
      placeholder: z.string(),
    }),
  ),
  defineEvent('MediaFailed', z.object({ reason: z.enum(['damaged', 'too_large']) })),
  ...fieldEvents,
  defineEvent('MediaErased', ERASED),
  defineEvent('MediaDeleted', z.object({})),
] as const;

export type MediaEvent = EventOf<typeof mediaEvents>;
type DataOf<Type extends MediaEvent['type']> = Extract<MediaEvent, { type: Type }>['data'];
export type MediaUpload = DataOf<'MediaUploaded'>;
export type MediaPictures = DataOf<'MediaProcessed'>;
export type MediaFailure = DataOf<'MediaFailed'>['reason'];

/** The progress of an upload. Its pictures exist once it is `ready`. */
export type MediaProgress =
  | { readonly status: 'processing' }
  | { readonly status: 'ready'; readonly pictures: MediaPictures }
  | { readonly status: 'failed'; readonly reason: MediaFailure };

/** A media: the state that its events fold to. `hash`, type and sizes describe the upload. */
export interface Media extends Omit<MediaUpload, 'store_id'>, Values<typeof mediaFields> {
  readonly id: MediaId;
  readonly store_id: StoreId;
  readonly progress: MediaProgress;
  /** Number of events so far. `If-Match` compares it with the version in the ETag. */
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
}

function evolve(state: State<Media>, event: MediaEvent, id: MediaId, occurred_at: string): State<Media> {
  if (event.type === 'MediaUploaded') {
    const store_id = event.data.store_id as StoreId;
    const times = { created_at: occurred_at, updated_at: occurred_at };
    const own = { id, store_id, focal_point: null, progress: { status: 'processing' }, version: 1 } as const;
    return present({ ...event.data, ...own, ...times });
  }
  if (event.type === 'MediaErased') return { tag: 'deleted', store_id: event.data.store_id as StoreId };
  if (state.tag !== 'present') return state;
  const before = state.resource;
  const changed = (values: Partial<Media>) =>
    present({ ...before, ...values, version: before.version + 1, updated_at: occurred_at });
  switch (event.type) {
    case 'MediaProcessed':
      return changed({ progress: { status: 'ready', pictures: event.data } });
    case 'MediaFailed':
      return changed({ progress: { status: 'failed', reason: event.data.reason } });
    case 'MediaDescribed':
    case 'MediaTranslated':
      return changed(event.data);
    case 'MediaDeleted':
      return { tag: 'deleted', store_id: before.store_id };
    default:
      return assertNever(event, 'media event');
  }
}

export type MediaCommand =
  | { readonly type: 'UploadMedia'; readonly upload: MediaUpload }
  /** Ignored if the media is deleted or already has a result. */
  | { readonly type: 'RecordPictures'; readonly pictures: MediaPictures }
  | { readonly type: 'RecordFailure'; readonly reason: MediaFailure }
  | { readonly type: 'Update'; readonly changes: Changes<typeof mediaFields> }
  | { readonly type: 'Delete' }
  | EraseCommand;

function decide(state: State<Media>, command: MediaCommand): Decision<MediaEvent> {
  const is_processing = state.tag === 'present' && state.resource.progress.status === 'processing';
  switch (command.type) {
    case 'UploadMedia':
      if (state.tag === 'absent') return accept({ type: 'MediaUploaded', data: command.upload });
      return reject('lost_race', 'A media with this id already exists');
    case 'RecordPictures':
      return is_processing ? accept({ type: 'MediaProcessed', data: command.pictures }) : accept();
    case 'RecordFailure':
      return is_processing ? accept({ type: 'MediaFailed', data: { reason: command.reason } }) : accept();
    case 'Update':
      if (state.tag !== 'present') return reject('media_not_found');
      return accept(
        ...changesOf(fieldEvents, state.resource, withTranslations(command.changes, state.resource)),
      );
    case 'Erase':
      if (state.tag !== 'deleted') return reject('lost_race');
      return accept({ type: 'MediaErased', data: { store_id: command.store_id } });
    case 'Delete':
      if (state.tag !== 'present') return reject('media_not_found');
      return accept({ type: 'MediaDeleted', data: {} });
    default:
      return assertNever(command, 'media command');
  }
}

export const mediaAggregate: Aggregate<Media, MediaEvent, MediaId, MediaCommand> = {
  category: 'media',
  events: mediaEvents,
  state_version: 2,
  not_found: 'media_not_found',
  evolve,
  decide,
  owner: ({ store_id }) => ({ store_id }),
};

/** Returns the resource. Its type and sizes describe the upload. It has URLs only if the media is `ready`. */
export function mediaResource(media: Media, environment: Environment): JsonObject {
  const { progress } = media;
  const pictures = progress.status === 'ready' ? progress.pictures : null;
  return withoutNulls({
    id: media.id,
    object: 'media',
    status: progress.status,
    mime_type: media.mime_type,
    size_bytes: media.size_bytes,
    width: media.width,
    height: media.height,
    alt: media.alt,
    focal_point: media.focal_point,
    ...(media.translations && { translations: media.translations }),
    url: pictures && pictureAddress(environment, pictures.picture),
    variants: (pictures?.variants ?? []).map(({ name, hash, mime_type, width, height }) => ({
      name,
      url: pictureAddress(environment, { hash, mime_type }),
      width,
      height,
      mime_type,
    })),
    placeholder: pictures?.placeholder ?? null,
    created_at: media.created_at,
    updated_at: media.updated_at,
  });
}
