import { sniffImage } from '../catalog/media/image-types';
import type { ImageType } from '../catalog/vocabulary';
import { isInvalidImageError, loadSharp } from './sharp';

/**
 * Why the service rejects an image.
 * - `not_an_image`: the bytes are not one of the accepted formats. The file name has no effect.
 * - `too_many_pixels`: the header announces more than PIXELS_MAX pixels, or a side of more than SIDE_MAX. Nothing was decoded.
 * - `damaged`: the header is valid, but the data after it is invalid or truncated.
 * - `too_slow`, `too_much_memory`: the rendering exceeded a limit.
 * - `crashes`: each of several renderings crashed the process that it ran in.
 */
export type ImageRejectionReason =
  | 'not_an_image'
  | 'too_many_pixels'
  | 'damaged'
  | 'too_slow'
  | 'too_much_memory'
  | 'crashes';

/** Thrown for a file that cannot be rendered. The service rejects the same bytes every time, so a retry is useless. */
export class ImageRejectedError extends Error {
  override readonly name = 'ImageRejectedError';
  readonly reason: ImageRejectionReason;

  constructor(reason: ImageRejectionReason, options: { cause?: unknown } = {}) {
    super(reason, options.cause === undefined ? undefined : { cause: options.cause });
    this.reason = reason;
  }
}

/** Width × height × frames. */
export const PIXELS_MAX = 50_000_000;
/** The decoder keeps whole rows: 100 rows of 500,000 pixels take up to 1.2 GB, 2,500 rows of 20,000 take 0.3 GB. */
const SIDE_MAX = 20_000;

export interface ImageHeader {
  readonly mime_type: ImageType;
  /** In pixels, after the EXIF orientation is applied. */
  readonly width: number;
  /** In pixels, after the EXIF orientation is applied. */
  readonly height: number;
  /** 1 for a still picture. */
  readonly frames: number;
}

/**
 * Reads the header of an image without decoding it, so that rejecting a decompression bomb costs little. Throws
 * `ImageRejectedError('not_an_image' | 'too_many_pixels')`, and other errors if the service could not read it.
 */
export async function inspectImage(bytes: Uint8Array): Promise<ImageHeader> {
  const mime_type = sniffImage(bytes);
  if (mime_type === undefined) throw new ImageRejectedError('not_an_image');
  const metadata = await readHeader(bytes);
  // For HEIF, sharp derives the type from the major brand, which may name only the container (`mif1`).
  const detected_type = metadata.format === 'heif' ? 'image/avif' : metadata.mediaType;
  if (detected_type !== mime_type) throw new ImageRejectedError('not_an_image');
  // The service renders only the primary picture of a HEIF file.
  const frames = mime_type === 'image/avif' ? 1 : (metadata.pages ?? 1);
  const { width, height } = frames > 1 ? metadata : metadata.autoOrient;
  if (width * height * frames > PIXELS_MAX || Math.max(width, height) > SIDE_MAX)
    throw new ImageRejectedError('too_many_pixels');
  return { mime_type, width, height, frames };
}

async function readHeader(bytes: Uint8Array) {
  const open = loadSharp();
  try {
    return await open(bytes, { limitInputPixels: false }).metadata();
  } catch (error) {
    if (!isInvalidImageError(error)) throw error;
    throw new ImageRejectedError('not_an_image', { cause: error });
  }
}
