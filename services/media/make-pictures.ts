import { Readable } from 'node:stream';
import type { MediaFailure, MediaPictures } from '../../shared/catalog/media/media';
import type { Environment } from '../../shared/catalog/realm';
import { ImageRejectedError, type ImageRejectionReason } from '../../shared/images/inspect';
import { type RenderedImage, type Rendition, renderImage } from '../../shared/images/render';
import { assertNever } from '../../shared/kernel/errors';
import { type BlobArea, type BlobStore, readIntoMemory } from '../../shared/ports/blob-store';
import type { MediaTask } from '../../shared/ports/media-tasks';
import type { StoreDeps, WriteContext } from '../command/execute';
import { recordResult } from '../command/media';
import { findMedia } from '../command/references';

export interface PictureDeps extends StoreDeps {
  readonly blobs: Readonly<Record<Environment, Readonly<Record<BlobArea, BlobStore>>>>;
}

/** `nothing`: the media was deleted, or another worker has already rendered it. */
export type PictureOutcome = 'ready' | 'failed' | 'nothing';

type Render = (bytes: Uint8Array) => Promise<RenderedImage>;

/**
 * Runs a media task: reads the upload, renders its pictures, stores them, and appends `MediaProcessed` to the log. The
 * same bytes give the same pictures, so a repeated task changes nothing. Records the media as `failed` if the file
 * cannot be rendered. Throws if the task should be retried, for example because a store is unavailable.
 *
 * `render` rejects with `ImageRejectedError` if the file cannot be rendered. By default, this process renders.
 */
export async function makePictures(
  deps: PictureDeps,
  task: Pick<MediaTask, 'environment' | 'media_id'>,
  render: Render = renderImage,
): Promise<PictureOutcome> {
  const { environment, media_id } = task;
  const media = await findMedia(deps, environment, media_id);
  if (media?.progress.status !== 'processing') return 'nothing';
  const { originals, pictures } = deps.blobs[environment];
  const original = await readIntoMemory(originals, media.hash);
  // An upload is stored before its event is appended. If it is missing now, it was removed since, or this process has another
  // blob store than the process that received it.
  if (!original) throw new Error(`the original ${media.hash} is not in the blob store`);
  const context: WriteContext = { source: 'system', request_id: `media-${media_id}` };
  const result = await resultOf(original, render, pictures);
  const { changed } = await recordResult(deps, context, environment, media_id, result);
  if (!changed) return 'nothing';
  return result.type === 'RecordPictures' ? 'ready' : 'failed';
}

/** Renders and stores the pictures. Returns the command that records the pictures, or why there are none. */
async function resultOf(
  original: Buffer,
  render: Render,
  blobs: BlobStore,
): Promise<Parameters<typeof recordResult>[4]> {
  try {
    return { type: 'RecordPictures', pictures: await putPictures(blobs, await render(original)) };
  } catch (error) {
    if (!(error instanceof ImageRejectedError)) throw error;
    return { type: 'RecordFailure', reason: failureOf(error.reason) };
  }
}

async function putPictures(blobs: BlobStore, rendered: RenderedImage): Promise<MediaPictures> {
  const picture = await put(blobs, rendered.picture);
  const variants: MediaPictures['variants'] = [];
  for (const variant of rendered.variants)
    variants.push({ name: variant.name, ...(await put(blobs, variant)) });
  return { picture, variants, placeholder: rendered.placeholder };
}

async function put(blobs: BlobStore, rendition: Rendition) {
  const { bytes, mime_type, width, height } = rendition;
  const { hash, size_bytes } = await blobs.put(Readable.from([bytes]));
  return { hash, mime_type, size_bytes, width, height };
}

function failureOf(reason: ImageRejectionReason): MediaFailure {
  switch (reason) {
    case 'not_an_image':
    case 'damaged':
    case 'crashes':
      return 'damaged';
    case 'too_many_pixels':
    case 'too_slow':
    case 'too_much_memory':
      return 'too_large';
    default:
      return assertNever(reason, 'refusal');
  }
}
