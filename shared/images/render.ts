import type { Sharp, SharpOptions } from 'sharp';
import type { ImageType, VariantName } from '../catalog/vocabulary';
import { gifBreaksOff } from './gif-breaks-off';
import { type ImageHeader, inspectImage, PIXELS_MAX, RefusedImage } from './inspect';
import { loadSharp } from './sharp';

export interface Rendition {
  readonly bytes: Buffer;
  readonly mime_type: ImageType;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
}

/** Widths in pixels at most. */
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
  /** The upload in its own format, without metadata, upright, its colours in sRGB; an animation stays one. */
  readonly picture: Rendition;
  /** WebP, of the first frame, never larger than the picture; smallest first. */
  readonly variants: readonly NamedRendition[];
  /** A data URI of some hundred bytes, to be shown until a picture is loaded. */
  readonly placeholder: string;
}

/** Sides in pixels beyond which the format has no numbers, or its encoder stops. */
const WEBP_SIDE_MAX = 16_383;
const SIDE_MAX: Partial<Record<ImageType, number>> = { 'image/webp': WEBP_SIDE_MAX, 'image/avif': 16_384 };
const PLACEHOLDER_SIDE = 16;
/** One step of the rendering; what takes longer was made to, or the machine is of no use for it. */
const STEP_TIMEOUT_S = 120;
const WEBP = { quality: 80, effort: 2 };

/** Beyond so many pixels a picture is written in a way that takes less memory, for some more bytes. */
const LARGE_PIXELS = 12_000_000;

/** How the picture itself is written: what a lossy format loses here is not to be seen. */
const WRITERS: Readonly<Record<ImageType, (image: Sharp, large: boolean) => Sharp>> = {
  // Better codes need the whole picture's coefficients at once.
  'image/jpeg': (image, large) => image.jpeg({ quality: 90, optimiseCoding: !large }),
  'image/png': (image) => image.png({ compressionLevel: 6 }),
  'image/webp': (image) => image.webp({ ...WEBP, quality: 90 }),
  'image/gif': (image) => image.gif({ effort: 3 }),
  'image/avif': (image, large) =>
    image.avif({ quality: 65, effort: large ? 0 : 1, chromaSubsampling: large ? '4:2:0' : '4:4:4' }),
};

/**
 * Every picture that is shown of an upload. Bounded in time, and in memory by the pixels that are taken; one at a time
 * is the caller's to see to. Throws `RefusedImage`: `damaged`, `too_slow`, and whatever `inspectImage` refuses.
 */
export async function renderImage(bytes: Uint8Array): Promise<RenderedImage> {
  const header = await inspectImage(bytes);
  if (header.mime_type === 'image/gif' && gifBreaksOff(bytes)) throw new RefusedImage('damaged');
  try {
    const picture = await renderPicture(bytes, header);
    const variants = await renderVariants(bytes, header);
    return { picture, variants, placeholder: await renderPlaceholder(variants[0]!) };
  } catch (error) {
    throw new RefusedImage(isTimeout(error) ? 'too_slow' : 'damaged', { cause: error });
  }
}

async function renderPicture(bytes: Uint8Array, header: ImageHeader): Promise<Rendition> {
  const { mime_type, frames } = header;
  const side_max = SIDE_MAX[mime_type];
  const animated = frames > 1;
  // An animation has no orientation: its frames are shown as they are.
  const upright = animated ? open(bytes, { animated }) : open(bytes).autoOrient();
  const fitting =
    side_max === undefined || animated ? upright : fitInto(upright, { width: side_max, height: side_max });
  const large = header.width * header.height > LARGE_PIXELS;
  const { data, info } = await WRITERS[mime_type](fitting, large).toBuffer({ resolveWithObject: true });
  return { bytes: data, mime_type, width: info.width, height: info.pageHeight ?? info.height };
}

/** Each is made of the upload itself: what is kept in between would cost more memory than decoding again costs time. */
async function renderVariants(bytes: Uint8Array, { width }: ImageHeader): Promise<NamedRendition[]> {
  const variants: NamedRendition[] = [];
  for (const [name, width_max] of VARIANT_WIDTHS) {
    const previous = variants.at(-1);
    if (previous?.width === width) {
      // The upload has no more to show: this variant would be the same bytes.
      variants.push({ ...previous, name });
      continue;
    }
    const box = { width: Math.min(width_max, width), height: WEBP_SIDE_MAX };
    const image = fitInto(open(bytes).autoOrient(), box).webp(WEBP);
    const { data, info } = await image.toBuffer({ resolveWithObject: true });
    const { width: shown_width, height } = info;
    variants.push({ name, bytes: data, mime_type: 'image/webp', width: shown_width, height });
  }
  return variants;
}

async function renderPlaceholder(thumb: Rendition): Promise<string> {
  const box = { width: PLACEHOLDER_SIDE, height: PLACEHOLDER_SIDE };
  const tiny = await fitInto(open(thumb.bytes), box).webp({ quality: 40, alphaQuality: 40 }).toBuffer();
  return `data:image/webp;base64,${tiny.toString('base64')}`;
}

/** Anything that an encoder of the format would not have written counts as damage, and is no reason to guess. */
function open(bytes: Uint8Array, options: SharpOptions = {}): Sharp {
  const image = loadSharp()(bytes, { limitInputPixels: PIXELS_MAX, failOn: 'error', ...options });
  return image.timeout({ seconds: STEP_TIMEOUT_S });
}

/** Into the box with its proportions, never enlarged. */
const fitInto = (image: Sharp, box: { readonly width: number; readonly height: number }): Sharp =>
  image.resize({ ...box, fit: 'inside', withoutEnlargement: true });

const isTimeout = (error: unknown): boolean => error instanceof Error && error.message.startsWith('timeout');
