import type { MediaFailure, MediaPictures } from '../../shared/catalog/media/media';
import type { Environment } from '../../shared/catalog/realm';
import { type RefusalReason, RefusedImage } from '../../shared/images/inspect';
import { type Rendition, renderImage } from '../../shared/images/render';
import { assertNever } from '../../shared/kernel/errors';
import { type BlobArea, type BlobStore, readWhole } from '../../shared/ports/blob-store';
import type { MediaTask } from '../../shared/ports/media-tasks';
import type { StoreDeps, WriteContext } from '../command/execute';
import { recordFailure, recordPictures } from '../command/media';
import { findMedia } from '../command/references';

export interface PictureDeps extends StoreDeps {
  readonly blobs: Readonly<Record<Environment, Readonly<Record<BlobArea, BlobStore>>>>;
}

/** `nothing`: the media is gone, or another has made its pictures. */
export type PictureOutcome = 'ready' | 'failed' | 'nothing';

/**
 * What a media task asks for: the upload is read, rendered, put where anybody may load it, and told of in the log.
 * Again at any point changes nothing more, as the same bytes give the same pictures. A file that no picture can be made
 * of makes the media `failed`; what throws (a store is away, the original is not to be found) is to be tried again.
 */
export async function makePictures(deps: PictureDeps, task: MediaTask): Promise<PictureOutcome> {
  const { environment, media_id } = task;
  const media = await findMedia(deps, environment, media_id);
  if (media?.progress.status !== 'processing') return 'nothing';
  const { originals, pictures } = deps.blobs[environment];
  const original = await readWhole(originals, media.hash);
  // An upload is durable before it is in the log: it was taken away since, or this process looks elsewhere.
  if (!original) throw new Error(`the original ${media.hash} is not in the blob store`);
  const context: WriteContext = { source: 'system', request_id: `media-${media_id}` };
  let made: MediaPictures;
  try {
    made = await putPictures(pictures, original);
  } catch (error) {
    if (!(error instanceof RefusedImage)) throw error;
    const reason = failureOf(error.reason);
    const { changed } = await recordFailure(deps, context, environment, media_id, reason);
    return changed ? 'failed' : 'nothing';
  }
  const { changed } = await recordPictures(deps, context, environment, media_id, made);
  return changed ? 'ready' : 'nothing';
}

async function putPictures(blobs: BlobStore, original: Buffer): Promise<MediaPictures> {
  const rendered = await renderImage(original);
  const picture = await put(blobs, rendered.picture);
  const variants: MediaPictures['variants'] = [];
  for (const variant of rendered.variants)
    variants.push({ name: variant.name, ...(await put(blobs, variant)) });
  return { picture, variants, placeholder: rendered.placeholder };
}

async function put(blobs: BlobStore, rendition: Rendition) {
  const { bytes, mime_type, width, height } = rendition;
  const { hash, size_bytes } = await blobs.put(oneChunk(bytes));
  return { hash, mime_type, size_bytes, width, height };
}

async function* oneChunk(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function failureOf(reason: RefusalReason): MediaFailure {
  switch (reason) {
    case 'not_an_image':
    case 'damaged':
      return 'damaged';
    case 'too_many_pixels':
    case 'too_slow':
      return 'too_large';
    default:
      return assertNever(reason, 'refusal');
  }
}
