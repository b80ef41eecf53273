import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { sniffImage } from '../../../shared/catalog/media/image-types';
import { inspectImage } from '../../../shared/images/inspect';
import { type RenderedImage, renderImage } from '../../../shared/images/render';
import { loadSharp } from '../../../shared/images/sharp';
import {
  animation,
  avifOfContainerBrand,
  cornersPicture,
  FORMATS,
  flatPicture,
  noisePicture,
  pngDeclaringSize,
} from '../../support/pictures';

const sizeOf = ({ width, height }: { width: number; height: number }): string => `${width}×${height}`;
const widths = ({ variants }: RenderedImage) => variants.map((each) => `${each.name} ${sizeOf(each)}`);

/** Returns red, green and blue at a point. `x` and `y` are fractions of width and height. */
async function colourAt(bytes: Buffer, x: number, y: number): Promise<number[]> {
  const { data, info } = await loadSharp()(bytes).raw().toBuffer({ resolveWithObject: true });
  const offset = (Math.floor(y * info.height) * info.width + Math.floor(x * info.width)) * info.channels;
  return [...data.subarray(offset, offset + 3)];
}

const CLOSE = 24;
const isClose = (actual: number[], expected: readonly number[]): boolean =>
  expected.every((value, index) => Math.abs(value - actual[index]!) <= CLOSE);

describe.each(FORMATS)('%s', (format) => {
  test('keeps its format and size, and gets four variants in WebP', async () => {
    const rendered = await renderImage(await flatPicture(format, { width: 1_700, height: 850 }));
    expect(rendered.picture).toMatchObject({ mime_type: `image/${format}`, width: 1_700, height: 850 });
    expect(sniffImage(rendered.picture.bytes)).toBe(`image/${format}`);
    expect(widths(rendered)).toEqual(['thumb 200×100', 'small 480×240', 'medium 960×480', 'large 1600×800']);
    for (const variant of rendered.variants) {
      const read = await loadSharp()(variant.bytes).metadata();
      expect(read).toMatchObject({ format: 'webp', width: variant.width, height: variant.height });
      expect(isClose(await colourAt(variant.bytes, 0.5, 0.5), [0x2a, 0x7f, 0x62])).toBe(true);
    }
    expect(rendered.placeholder).toMatch(/^data:image\/webp;base64,/);
    expect(rendered.placeholder.length).toBeLessThan(600);
    expect(
      sizeOf(await loadSharp()(Buffer.from(rendered.placeholder.split(',')[1]!, 'base64')).metadata()),
    ).toBe('16×8');
  });

  test('a picture of one pixel is never enlarged', async () => {
    const rendered = await renderImage(await flatPicture(format, { width: 1, height: 1 }));
    expect(widths(rendered)).toEqual(['thumb 1×1', 'small 1×1', 'medium 1×1', 'large 1×1']);
    expect(sizeOf(rendered.picture)).toBe('1×1');
  });

  test('a truncated file is refused as damaged', async () => {
    const whole = await noisePicture(format, { width: 80, height: 80 });
    const { picture } = await renderImage(whole);
    expect(sizeOf(picture)).toBe('80×80');
    for (const share of [0.5, 0.9]) {
      const part = whole.subarray(0, Math.floor(whole.length * share));
      await expect(renderImage(part)).rejects.toMatchObject({
        name: 'ImageRejectedError',
        reason: expect.stringMatching(/^(damaged|not_an_image)$/) as string,
      });
    }
  });
});

test('accepts an AVIF whose major brand is that of its container', async () => {
  const bytes = await avifOfContainerBrand({ width: 300, height: 100 });
  expect(bytes.toString('latin1', 4, 28)).toBe('ftypmif1\0\0\0\0mif1avifmiaf');
  expect(await inspectImage(bytes)).toEqual({ mime_type: 'image/avif', width: 300, height: 100, frames: 1 });
  const { picture, variants } = await renderImage(bytes);
  expect([picture.mime_type, sniffImage(picture.bytes), sizeOf(picture)]).toEqual([
    ...['image/avif', 'image/avif', '300×100'],
  ]);
  expect(variants.map(sizeOf)).toEqual(['200×67', '300×100', '300×100', '300×100']);
  expect(isClose(await colourAt(picture.bytes, 0.5, 0.5), [0x2a, 0x7f, 0x62])).toBe(true);
});

const UPRIGHT = {
  top_left: '#ff0000',
  top_right: '#00ff00',
  bottom_left: '#0000ff',
  bottom_right: '#ffff00',
};
const COLOURS: Record<string, number[]> = {
  r: [255, 0, 0],
  g: [0, 255, 0],
  b: [0, 0, 255],
  y: [255, 255, 0],
};
/** The displayed quarters, row by row, for each value of the EXIF orientation (CIPA DC-008 §4.6.4). */
const SHOWN = ['rgby', 'gryb', 'ybgr', 'byrg', 'rbgy', 'bryg', 'ygbr', 'gyrb'];

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'orientation %i is applied to the picture and every variant',
  async (orientation) => {
    const drawn = await cornersPicture('jpeg', { width: 160, height: 80 }, UPRIGHT);
    const bytes = await drawn.withMetadata({ orientation }).toBuffer();
    expect((await loadSharp()(bytes).metadata()).orientation).toBe(orientation);
    const { picture, variants } = await renderImage(bytes);
    expect(sizeOf(picture)).toBe(orientation < 5 ? '160×80' : '80×160');
    for (const each of [picture, ...variants]) {
      expect((await loadSharp()(each.bytes).metadata()).orientation ?? 1).toBe(1);
      const places = [
        [0.25, 0.25],
        [0.75, 0.25],
        [0.25, 0.75],
        [0.75, 0.75],
      ] as const;
      let seen = '';
      for (const [x, y] of places) {
        const found = await colourAt(each.bytes, x, y);
        seen += Object.keys(COLOURS).find((name) => isClose(found, COLOURS[name]!)) ?? '?';
      }
      expect(seen).toBe(SHOWN[orientation - 1]);
    }
  },
);

test.each(['jpeg', 'png', 'webp', 'avif'] as const)('removes the metadata of a %s', async (format) => {
  const place = { IFD3: { GPSLatitudeRef: 'S', GPSLatitude: '12/1 8/1 0/1', GPSLongitudeRef: 'W' } };
  const exif = { IFD0: { Copyright: 'someone-by-name', Model: 'a-camera' }, ...place };
  const bytes = await loadSharp()(await flatPicture('png', { width: 64, height: 64 }))
    .withExif(exif)
    .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/"><note>a-secret-note</note></x:xmpmeta>')
    .toFormat(format)
    .toBuffer();
  const before = await loadSharp()(bytes).metadata();
  expect(before.exif?.toString('latin1')).toContain('someone-by-name');
  // The tag of the GPS block, 0x8825, in either byte order.
  expect(/\x88\x25|\x25\x88/.test(before.exif!.toString('latin1'))).toBe(true);
  expect(before.xmp?.toString('latin1')).toContain('a-secret-note');

  const { picture, variants } = await renderImage(bytes);
  for (const each of [picture, ...variants]) {
    const after = await loadSharp()(each.bytes).metadata();
    expect([after.exif, after.xmp, after.iptc]).toEqual([undefined, undefined, undefined]);
    expect(each.bytes.toString('latin1')).not.toMatch(/someone-by-name|a-camera|a-secret-note/);
  }
});

test('converts colours of another profile to sRGB and removes the profile', async () => {
  const flat = { create: { width: 32, height: 32, channels: 3 as const, background: '#c83c28' } };
  const wide = await loadSharp()(flat).withIccProfile('p3').png().toBuffer();
  expect((await loadSharp()(wide).metadata()).hasProfile).toBe(true);
  const { data: stored } = await loadSharp()(wide, { ignoreIcc: true })
    .raw()
    .toBuffer({ resolveWithObject: true });
  expect(isClose([...stored.subarray(0, 3)], [0xc8, 0x3c, 0x28]) && stored[0] === 0xc8).toBe(false);
  const { picture } = await renderImage(wide);
  expect((await loadSharp()(picture.bytes).metadata()).hasProfile).toBe(false);
  const [red, green, blue] = await colourAt(picture.bytes, 0.5, 0.5);
  for (const [actual, expected] of [
    [red, 0xc8],
    [green, 0x3c],
    [blue, 0x28],
  ] as const)
    expect(Math.abs(actual! - expected)).toBeLessThanOrEqual(2);
});

test('keeps transparency in every variant', async () => {
  const create = {
    width: 600,
    height: 300,
    channels: 4 as const,
    background: { r: 9, g: 9, b: 9, alpha: 0 },
  };
  const { picture, variants } = await renderImage(await loadSharp()({ create }).png().toBuffer());
  for (const { bytes } of [picture, ...variants]) {
    const { data } = await loadSharp()(bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
    expect(data[3]).toBe(0);
  }
});

test.each(['gif', 'webp'] as const)(
  'an animated %s stays animated, and its variants show its first frame',
  async (format) => {
    const { picture, variants } = await renderImage(await animation(format, { width: 240, height: 120 }, 5));
    expect(sizeOf(picture)).toBe('240×120');
    const read = await loadSharp()(picture.bytes).metadata();
    expect([read.pages, read.delay]).toEqual([5, [80, 80, 80, 80, 80]]);
    for (const variant of variants) {
      expect((await loadSharp()(variant.bytes).metadata()).pages ?? 1).toBe(1);
      expect(isClose(await colourAt(variant.bytes, 0.5, 0.5), [0, 0, 0])).toBe(true);
    }
  },
);

test.each(['gif', 'webp'] as const)('a truncated animated %s is refused as damaged', async (format) => {
  const whole = await animation(format, { width: 240, height: 120 }, 20);
  const half = whole.subarray(0, Math.floor(whole.length / 2));
  await expect(renderImage(half)).rejects.toMatchObject({
    reason: expect.stringMatching(/^(damaged|not_an_image)$/) as string,
  });
});

test('accepts a GIF without its trailer byte or with bytes after it', async () => {
  const whole = await animation('gif', { width: 40, height: 20 }, 3);
  expect(whole.at(-1)).toBe(0x3b);
  const frames = async (bytes: Buffer): Promise<number | undefined> =>
    (await loadSharp()((await renderImage(bytes)).picture.bytes).metadata()).pages;
  expect(await frames(whole.subarray(0, -1))).toBe(3);
  expect(await frames(Buffer.concat([whole, Buffer.from('more')]))).toBe(3);
  await expect(renderImage(whole.subarray(0, -2))).rejects.toMatchObject({ reason: 'damaged' });
});

test('a header without data is refused as damaged', async () => {
  await expect(renderImage(pngDeclaringSize({ width: 900, height: 900 }))).rejects.toMatchObject({
    reason: 'damaged',
  });
});

test('scales the variants of a very high picture to the height that WebP supports', async () => {
  const { picture, variants } = await renderImage(await flatPicture('png', { width: 40, height: 20_000 }));
  expect(sizeOf(picture)).toBe('40×20000');
  expect(variants.map(sizeOf)).toEqual(Array(4).fill('33×16383'));
});

test('renders 50,000,000 pixels with less than 1 GiB of memory', () => {
  const script = join(__dirname, '../../support/render-large.js');
  const result = JSON.parse(execFileSync(process.execPath, [script], { encoding: 'utf8' })) as Record<
    string,
    unknown
  >;
  expect(result).toMatchObject({
    picture: '5000×10000',
    variants: ['200×400', '480×960', '960×1920', '1600×3200'],
  });
  expect(result.memory_mib_max).toBeLessThan(1024);
});
