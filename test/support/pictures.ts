import { crc32, deflateSync } from 'node:zlib';
import { loadSharp } from '../../shared/images/sharp';

export type Format = 'jpeg' | 'png' | 'webp' | 'gif' | 'avif';
export const FORMATS: readonly Format[] = ['jpeg', 'png', 'webp', 'gif', 'avif'];

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Makes a picture of one colour. */
export function flatPicture(
  format: Format,
  { width, height }: Size,
  background = '#2a7f62',
): Promise<Buffer> {
  const create = { width, height, channels: 3 as const, background };
  return loadSharp()({ create, limitInputPixels: false })
    .toFormat(format, format === 'avif' ? { effort: 0 } : {})
    .toBuffer();
}

/**
 * Makes an AVIF whose major brand is that of the container, with AVIF among its compatible brands only (AVIF §9.1).
 */
export async function avifOfContainerBrand(size: Size): Promise<Buffer> {
  const bytes = await flatPicture('avif', size);
  bytes.write('mif1', 8, 'latin1');
  bytes.write('mif1avifmiaf', 16, 'latin1');
  return bytes;
}

/**
 * Makes a picture of noise, which compresses badly: about `width` × `height` × 3 bytes as PNG, less in lossy formats.
 */
export function noisePicture(format: Format, { width, height }: Size): Promise<Buffer> {
  const noise = { type: 'gaussian' as const, mean: 128, sigma: 60 };
  const create = { width, height, channels: 3 as const, background: '#808080', noise };
  return loadSharp()({ create }).toFormat(format).toBuffer();
}

export interface Corners {
  readonly top_left: string;
  readonly top_right: string;
  readonly bottom_left: string;
  readonly bottom_right: string;
}

/** Makes a picture with four quarters of different colours, so that a test can see its orientation. */
export function cornersPicture(format: Format, { width, height }: Size, corners: Corners) {
  const quarter = (input: string, left: number, top: number) => ({
    input: {
      create: { width: width / 2, height: height / 2, channels: 3 as const, background: input },
    },
    left,
    top,
  });
  return loadSharp()({ create: { width, height, channels: 3, background: '#000' } })
    .composite([
      quarter(corners.top_left, 0, 0),
      quarter(corners.top_right, width / 2, 0),
      quarter(corners.bottom_left, 0, height / 2),
      quarter(corners.bottom_right, width / 2, height / 2),
    ])
    .toFormat(format);
}

/** Makes an animation that is black and turns white from the top, frame by frame. */
export function animation(format: 'gif' | 'webp', { width, height }: Size, frames: number): Promise<Buffer> {
  const bytes_per_frame = width * height * 3;
  const pixels = Buffer.alloc(bytes_per_frame * frames);
  for (let frame = 0; frame < frames; frame++) {
    const start = frame * bytes_per_frame;
    pixels.fill(255, start, start + Math.floor((height * frame) / frames) * width * 3);
  }
  const raw = { width, height: height * frames, channels: 3 as const, pageHeight: height };
  return loadSharp()(pixels, { raw, limitInputPixels: false })
    .toFormat(format, { delay: Array.from({ length: frames }, () => 80), effort: 1 })
    .toBuffer();
}

/** Makes an animation of a few bytes: each frame changes one pixel of a picture of any size (GIF89a, §20 and §22). */
export function gifOfFrames({ width, height }: Size, frames: number): Buffer {
  const screen = Buffer.alloc(4);
  screen.writeUInt16LE(width, 0);
  screen.writeUInt16LE(height, 2);
  // A table of two colours, black and white.
  const head = Buffer.from('GIF89a', 'latin1');
  const colours = Buffer.from('800000000000ffffff', 'hex');
  // A frame of one pixel at the top left: no colours of its own, and its compressed index.
  const frame = Buffer.from('2c0000000001000100000202440100', 'hex');
  return Buffer.concat([head, screen, colours, ...Array(frames).fill(frame), Buffer.from(';')]);
}

/** Makes a PNG of a few bytes whose header declares any size (PNG, third edition, §5). */
export function pngDeclaringSize({ width, height }: Size): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8 bits per sample, truecolour, the default compression and filter, no interlacing.
  header.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  const pixels = deflateSync(Buffer.alloc(1024));
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(named.length + 8);
  frame.writeUInt32BE(data.length, 0);
  named.copy(frame, 4);
  frame.writeUInt32BE(crc32(named), named.length + 4);
  return frame;
}
