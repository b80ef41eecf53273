import { z } from 'zod';
import { accept, type Decision, reject } from '../../kernel/decision';
import { assertNever } from '../../kernel/errors';
import type { MediaId, StoreId } from '../../kernel/ids';
import type { Aggregate } from '../events/aggregate';
import type { JsonObject } from '../events/envelope';
import { defineEvent, type EventOf } from '../events/event-definition';
import { withoutNulls } from '../fields';
import type { Environment } from '../realm';
import { imageTypeSchema, variantNameSchema } from '../vocabulary';
import { pictureAddress } from './media-address';

/** A file in the blob store. `width` and `height` are in pixels, after applying the orientation. */
const image = {
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  mime_type: imageTypeSchema,
  size_bytes: z.int().min(1),
  width: z.int().min(1),
  height: z.int().min(1),
};

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

/** A media: the state that its events fold to. `hash`, type and sizes are those of the upload. */
export interface Media extends Omit<MediaUpload, 'store_id'> {
  readonly id: MediaId;
  readonly store_id: StoreId;
  readonly progress: MediaProgress;
  /** Number of events so far. `If-Match` compares it with the version in the ETag. */
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
}

export type MediaState =
  | { readonly tag: 'absent' }
  | { readonly tag: 'present'; readonly media: Media }
  | { readonly tag: 'deleted'; readonly store_id: StoreId };

/** Applies one event to the state. Pure and total: it never throws. */
export function evolveMedia(
  state: MediaState,
  event: MediaEvent,
  id: MediaId,
  occurred_at: string,
): MediaState {
  if (event.type === 'MediaUploaded') {
    const media: Media = {
      ...event.data,
      id,
      store_id: event.data.store_id as StoreId,
      progress: { status: 'processing' },
      version: 1,
      created_at: occurred_at,
      updated_at: occurred_at,
    };
    return { tag: 'present', media };
  }
  if (state.tag !== 'present') return state;
  const progressed = (progress: MediaProgress): MediaState => ({
    tag: 'present',
    media: { ...state.media, progress, version: state.media.version + 1, updated_at: occurred_at },
  });
  switch (event.type) {
    case 'MediaProcessed':
      return progressed({ status: 'ready', pictures: event.data });
    case 'MediaFailed':
      return progressed({ status: 'failed', reason: event.data.reason });
    case 'MediaDeleted':
      return { tag: 'deleted', store_id: state.media.store_id };
    default:
      return assertNever(event, 'media event');
  }
}

export const mediaAggregate: Aggregate<MediaState, MediaEvent, MediaId> = {
  category: 'media',
  events: mediaEvents,
  state_version: 1,
  absent: { tag: 'absent' },
  evolve: evolveMedia,
  owner: (state) =>
    state.tag === 'absent'
      ? undefined
      : { store_id: state.tag === 'present' ? state.media.store_id : state.store_id },
};

export type MediaCommand =
  | { readonly type: 'UploadMedia'; readonly upload: MediaUpload }
  /** Ignored if the media is deleted or already has a result. */
  | { readonly type: 'RecordPictures'; readonly pictures: MediaPictures }
  | { readonly type: 'RecordFailure'; readonly reason: MediaFailure }
  | { readonly type: 'DeleteMedia' };

/** Returns the events of the command, none if it changes nothing, or the condition to reject it with. Pure. */
export function decideMedia(state: MediaState, command: MediaCommand): Decision<MediaEvent> {
  const is_processing = state.tag === 'present' && state.media.progress.status === 'processing';
  switch (command.type) {
    case 'UploadMedia':
      if (state.tag === 'absent') return accept({ type: 'MediaUploaded', data: command.upload });
      return reject('lost_race', 'A media with this id already exists');
    case 'RecordPictures':
      return is_processing ? accept({ type: 'MediaProcessed', data: command.pictures }) : accept();
    case 'RecordFailure':
      return is_processing ? accept({ type: 'MediaFailed', data: { reason: command.reason } }) : accept();
    case 'DeleteMedia':
      if (state.tag !== 'present') return reject('media_not_found');
      return accept({ type: 'MediaDeleted', data: {} });
    default:
      return assertNever(command, 'media command');
  }
}

/** Returns the resource. Type and sizes are those of the upload. It has URLs only if the media is `ready`. */
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
