import { sniffImage } from '../catalog/media/sniff';
import type { ImageType } from '../catalog/vocabulary';
import { loadSharp } from './sharp';

/**
 * - `not_an_image`: the bytes are none of the formats that are taken, whatever their name says.
 * - `too_many_pixels`: its header says more pixels than are taken; nothing of it was decoded.
 * - `damaged`: the header is well, and what follows is not, or breaks off.
 * - `too_slow`: it was not rendered in the time that a picture is given.
 */
export type RefusalReason = 'not_an_image' | 'too_many_pixels' | 'damaged' | 'too_slow';

/** A file that no picture can be made of; the same bytes are refused again. */
export class RefusedImage extends Error {
  override readonly name = 'RefusedImage';
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, options: { cause?: unknown } = {}) {
    super(reason, options.cause === undefined ? undefined : { cause: options.cause });
    this.reason = reason;
  }
}

/** Width × height × frames. */
export const PIXELS_MAX = 50_000_000;

export interface ImageHeader {
  readonly mime_type: ImageType;
  /** In pixels, as the picture is shown: after the orientation that its EXIF data tell. */
  readonly width: number;
  readonly height: number;
  /** 1 for a still picture. */
  readonly frames: number;
}

/**
 * What a file says of itself before anything is decoded, so that a file that says too much costs nothing. Throws
 * `RefusedImage('not_an_image' | 'too_many_pixels')`.
 */
export async function inspectImage(bytes: Uint8Array): Promise<ImageHeader> {
  const mime_type = sniffImage(bytes);
  if (mime_type === undefined) throw new RefusedImage('not_an_image');
  const metadata = await readHeader(bytes);
  // Of a HEIF file the reader goes by the major brand, which may name the container alone (`mif1`).
  const read_as = metadata.format === 'heif' ? 'image/avif' : metadata.mediaType;
  if (read_as !== mime_type) throw new RefusedImage('not_an_image');
  // What a HEIF file holds besides its primary picture is not shown.
  const frames = mime_type === 'image/avif' ? 1 : (metadata.pages ?? 1);
  const { width, height } = frames > 1 ? metadata : metadata.autoOrient;
  if (width * height * frames > PIXELS_MAX) throw new RefusedImage('too_many_pixels');
  return { mime_type, width, height, frames };
}

async function readHeader(bytes: Uint8Array) {
  try {
    return await loadSharp()(bytes, { limitInputPixels: false }).metadata();
  } catch (error) {
    throw new RefusedImage('not_an_image', { cause: error });
  }
}
