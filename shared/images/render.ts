import type { Sharp, SharpOptions } from 'sharp';
import type { ImageType, VariantName } from '../catalog/vocabulary';
import { isTruncatedGif } from './gif-truncation';
import { type ImageHeader, ImageRejectedError, inspectImage, PIXELS_MAX } from './inspect';
import { isInvalidImageError, loadSharp } from './sharp';

export interface Rendition {
  readonly bytes: Buffer;
  readonly mime_type: ImageType;
  /** In pixels. */
  readonly width: number;
  /** In pixels. */
  readonly height: number;
}

/** Largest widths in pixels. */
const VARIANT_WIDTHS: readonly (readonly [VariantName, number])[] = [
  ['thumb', 200],
  ['small', 480],
  ['medium', 960],
  ['large', 1600],
];

export interface NamedRendition extends Rendition {
  readonly name: VariantName;
}

export interface RenderedImage {
  /** The upload in its own format, without metadata, with its orientation applied, in sRGB. Keeps animations. */
  readonly picture: Rendition;
  /** WebP pictures of the first frame, smallest first. Never larger than the picture. */
  readonly variants: readonly NamedRendition[];
  /** A data URI of a few hundred bytes that pages can show until a picture is loaded. */
  readonly placeholder: string;
}

/** Largest sides in pixels that a format or its encoder supports. */
const WEBP_SIDE_MAX = 16_383;
const SIDE_MAX: Partial<Record<ImageType, number>> = { 'image/webp': WEBP_SIDE_MAX, 'image/avif': 16_384 };
const PLACEHOLDER_SIDE = 16;
/** Limit for one step of the rendering. Only a malicious file or an overloaded machine reaches it. */
const STEP_TIMEOUT_S = 120;
const WEBP = { quality: 80, effort: 2 };

/** Above this number of pixels a picture is encoded with less memory, which makes the file slightly larger. */
const LARGE_PIXELS = 12_000_000;

/** Encoders of the picture itself. The quality is high enough that losses are not visible. */
const ENCODERS: Readonly<Record<ImageType, (image: Sharp, large: boolean) => Sharp>> = {
  // `optimiseCoding` is off for large pictures, because it keeps the coefficients of the complete picture in memory.
  'image/jpeg': (image, large) => image.jpeg({ quality: 90, optimiseCoding: !large }),
  'image/png': (image) => image.png({ compressionLevel: 6 }),
  'image/webp': (image) => image.webp({ ...WEBP, quality: 90 }),
  'image/gif': (image) => image.gif({ effort: 3 }),
  'image/avif': (image, large) =>
    image.avif({ quality: 65, effort: large ? 0 : 1, chromaSubsampling: large ? '4:2:0' : '4:4:4' }),
};

/**
 * Renders all pictures of an upload. PIXELS_MAX bounds the memory of one call only: the caller must limit how many
 * calls run at the same time. Throws `ImageRejectedError` with `damaged`, `too_slow` or a reason of `inspectImage`, and
 * other errors if the service could not render it.
 */
export async function renderImage(bytes: Uint8Array): Promise<RenderedImage> {
  const header = await inspectImage(bytes);
  if (header.mime_type === 'image/gif' && isTruncatedGif(bytes)) throw new ImageRejectedError('damaged');
  try {
    const picture = await renderPicture(bytes, header);
    const variants = await renderVariants(bytes, header);
    return { picture, variants, placeholder: await renderPlaceholder(variants[0]!) };
  } catch (error) {
    if (!isInvalidImageError(error)) throw error;
    throw new ImageRejectedError(isTimeout(error) ? 'too_slow' : 'damaged', { cause: error });
  }
}

async function renderPicture(bytes: Uint8Array, header: ImageHeader): Promise<Rendition> {
  const { mime_type, frames } = header;
  const side_max = SIDE_MAX[mime_type];
  const animated = frames > 1;
  // An animation has no EXIF orientation.
  const oriented = animated ? open(bytes, { animated }) : open(bytes).autoOrient();
  const scaled =
    side_max === undefined || animated ? oriented : fitInto(oriented, { width: side_max, height: side_max });
  const large = header.width * header.height > LARGE_PIXELS;
  const { data, info } = await ENCODERS[mime_type](scaled, large).toBuffer({ resolveWithObject: true });
  return { bytes: data, mime_type, width: info.width, height: info.pageHeight ?? info.height };
}

/** Decodes the upload for each variant, because keeping the decoded pixels would need much more memory. */
async function renderVariants(bytes: Uint8Array, { width }: ImageHeader): Promise<NamedRendition[]> {
  const variants: NamedRendition[] = [];
  for (const [name, width_max] of VARIANT_WIDTHS) {
    const previous = variants.at(-1);
    if (previous?.width === width) {
      // The upload is not wider than the previous variant, so this one would have the same bytes.
      variants.push({ ...previous, name });
      continue;
    }
    const box = { width: Math.min(width_max, width), height: WEBP_SIDE_MAX };
    const image = fitInto(open(bytes).autoOrient(), box).webp(WEBP);
    const { data, info } = await image.toBuffer({ resolveWithObject: true });
    const { width: variant_width, height } = info;
    variants.push({ name, bytes: data, mime_type: 'image/webp', width: variant_width, height });
  }
  return variants;
}

async function renderPlaceholder(thumb: Rendition): Promise<string> {
  const box = { width: PLACEHOLDER_SIDE, height: PLACEHOLDER_SIDE };
  const tiny = await fitInto(open(thumb.bytes), box).webp({ quality: 40, alphaQuality: 40 }).toBuffer();
  return `data:image/webp;base64,${tiny.toString('base64')}`;
}

/**
 * Opens an image. With `failOn: 'error'`, decoding fails if the data is invalid; otherwise the picture would have gaps.
 */
function open(bytes: Uint8Array, options: SharpOptions = {}): Sharp {
  const image = loadSharp()(bytes, { limitInputPixels: PIXELS_MAX, failOn: 'error', ...options });
  return image.timeout({ seconds: STEP_TIMEOUT_S });
}

/** Scales an image down to fit into a box. Keeps the proportions and never enlarges. */
const fitInto = (image: Sharp, box: { readonly width: number; readonly height: number }): Sharp =>
  image.resize({ ...box, fit: 'inside', withoutEnlargement: true });

const isTimeout = (error: unknown): boolean => error instanceof Error && error.message.startsWith('timeout');
