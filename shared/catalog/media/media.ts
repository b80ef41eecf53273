import { z } from 'zod';
import { assertNever } from '../../kernel/assert-never';
import type { MediaId, StoreId } from '../../kernel/ids';
import { defineEvent, type EventOf } from '../events/event-definition';
import { imageTypeSchema, variantNameSchema } from '../vocabulary';

/** Bytes in the blob store; `width` and `height` in pixels as shown, after orientation. */
const image = {
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  mime_type: imageTypeSchema,
  size_bytes: z.int().min(1),
  width: z.int().min(1),
  height: z.int().min(1),
};

export const mediaEvents = [
  defineEvent('MediaUploaded', z.object({ store_id: z.string(), ...image, alt: z.string().nullable() })),
  /** `picture` is the upload as anybody may load it: without metadata, upright, of the same type. */
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

/** What became of an upload; its pictures are there when it is `ready`. */
export type MediaProgress =
  | { readonly status: 'processing' }
  | { readonly status: 'ready'; readonly pictures: MediaPictures }
  | { readonly status: 'failed'; readonly reason: MediaFailure };

/** What a media's events add up to. `hash`, type and sizes are the upload's. */
export interface Media extends Omit<MediaUpload, 'store_id'> {
  readonly id: MediaId;
  readonly store_id: StoreId;
  readonly progress: MediaProgress;
  /** Counts what was written: the part of the ETag that `If-Match` compares. */
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
}

export type MediaState =
  | { readonly tag: 'absent' }
  | { readonly tag: 'present'; readonly media: Media }
  | { readonly tag: 'deleted'; readonly store_id: StoreId };

/** Pure and total. `at` is the event's `occurred_at`. */
export function evolveMedia(state: MediaState, event: MediaEvent, id: MediaId, at: string): MediaState {
  if (event.type === 'MediaUploaded') {
    const media: Media = {
      ...event.data,
      id,
      store_id: event.data.store_id as StoreId,
      progress: { status: 'processing' },
      version: 1,
      created_at: at,
      updated_at: at,
    };
    return { tag: 'present', media };
  }
  if (state.tag !== 'present') return state;
  const came = (progress: MediaProgress): MediaState => ({
    tag: 'present',
    media: { ...state.media, progress, version: state.media.version + 1, updated_at: at },
  });
  switch (event.type) {
    case 'MediaProcessed':
      return came({ status: 'ready', pictures: event.data });
    case 'MediaFailed':
      return came({ status: 'failed', reason: event.data.reason });
    case 'MediaDeleted':
      return { tag: 'deleted', store_id: state.media.store_id };
    default:
      return assertNever(event, 'media event');
  }
}
