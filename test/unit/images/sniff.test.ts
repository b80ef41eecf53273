import { SNIFF_BYTES, sniffImage } from '../../../shared/catalog/media/image-types';
import { inspectImage } from '../../../shared/images/inspect';
import { loadSharp } from '../../../shared/images/sharp';
import { FORMATS, flatPicture, gifOfFrames, pngDeclaringSize } from '../../support/pictures';

const box = (brands: string): Buffer => {
  const bytes = Buffer.from(`\0\0\0\0ftyp${brands.slice(0, 4)}\0\0\0\0${brands.slice(4)}`, 'latin1');
  bytes.writeUInt32BE(bytes.length, 0);
  return Buffer.concat([bytes, Buffer.alloc(40)]);
};

test.each(FORMATS)('detects %s by its first bytes, and the decoder agrees', async (format) => {
  const bytes = await flatPicture(format, { width: 40, height: 30 });
  expect(sniffImage(bytes.subarray(0, SNIFF_BYTES))).toBe(`image/${format}`);
  expect(await inspectImage(bytes)).toEqual({
    mime_type: `image/${format}`,
    width: 40,
    height: 30,
    frames: 1,
  });
});

test('detects AVIF by any of its brands, and no other format with the same container', () => {
  expect(sniffImage(box('avif'))).toBe('image/avif');
  expect(sniffImage(box('avis'))).toBe('image/avif');
  expect(sniffImage(box('mif1miafavif'))).toBe('image/avif');
  // A brand counts only within the box.
  expect(sniffImage(Buffer.concat([box('mif1miaf').subarray(0, 20), Buffer.from('avif')]))).toBeUndefined();
  for (const brand of ['heic', 'heix', 'mif1', 'mif1heic', 'isom', 'mp42', 'qt  '])
    expect([brand, sniffImage(box(brand))]).toEqual([brand, undefined]);
});

const OTHERS: Record<string, string> = {
  html: '<!DOCTYPE html><html><body><script>alert(1)</script></body></html>',
  svg: '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>',
  'svg with a prolog': '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>',
  pdf: '%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj << >> endobj',
  bmp: 'BM\x46\0\0\0\0\0\0\0\x36\0\0\0',
  'a RIFF file that is not WebP': 'RIFF\x24\0\0\0WAVEfmt ',
  'a GIF with an unknown version': 'GIF90a\x01\0\x01\0',
  text: 'image/png',
  'one byte': '\xff',
  'an empty file': '',
};

test.each(Object.keys(OTHERS))('refuses %s', async (name) => {
  const bytes = Buffer.from(OTHERS[name]!, 'latin1');
  expect(sniffImage(bytes)).toBeUndefined();
  await expect(inspectImage(bytes)).rejects.toMatchObject({
    name: 'ImageRejectedError',
    reason: 'not_an_image',
  });
});

test('refuses TIFF, and its reader is blocked in sharp', async () => {
  const create = { width: 8, height: 8, channels: 3 as const, background: '#123' };
  const tiff = await loadSharp()({ create }).tiff().toBuffer();
  await expect(inspectImage(tiff)).rejects.toMatchObject({ reason: 'not_an_image' });
  await expect(loadSharp()(tiff).metadata()).rejects.toThrow('unsupported');
});

test('refuses a file that only begins like a picture', async () => {
  for (const head of ['\xff\xd8\xff\xe0', '\x89PNG\r\n\x1a\n', 'GIF89a', 'RIFF\xff\0\0\0WEBPVP8 ']) {
    const bytes = Buffer.from(head + OTHERS.html, 'latin1');
    expect(sniffImage(bytes)).toBeDefined();
    await expect(inspectImage(bytes)).rejects.toMatchObject({ reason: 'not_an_image' });
  }
  await expect(inspectImage(box('avif'))).rejects.toMatchObject({ reason: 'not_an_image' });
});

test('refuses a header that announces too many pixels without decoding', async () => {
  const bomb = pngDeclaringSize({ width: 50_000, height: 50_000 });
  expect(bomb.length).toBeLessThan(200);
  await expect(inspectImage(bomb)).rejects.toMatchObject({ reason: 'too_many_pixels' });
  // The same bytes with a smaller size have a valid header.
  expect(await inspectImage(pngDeclaringSize({ width: 500, height: 500 }))).toMatchObject({ width: 500 });
});

test.each([
  [20_001, 1],
  [1, 20_001],
])('refuses a side of more than 20,000 pixels: %d × %d', async (width, height) => {
  const bytes = pngDeclaringSize({ width, height });
  await expect(inspectImage(bytes)).rejects.toMatchObject({ reason: 'too_many_pixels' });
  const largest = { width: Math.min(width, 20_000), height: Math.min(height, 20_000) };
  expect(await inspectImage(pngDeclaringSize(largest))).toMatchObject(largest);
});

test('accepts 50,000,000 pixels and refuses one row more, counting all frames', async () => {
  expect(await inspectImage(pngDeclaringSize({ width: 10_000, height: 5_000 }))).toMatchObject({
    height: 5_000,
  });
  const more = pngDeclaringSize({ width: 10_000, height: 5_001 });
  await expect(inspectImage(more)).rejects.toMatchObject({ reason: 'too_many_pixels' });

  const frames = gifOfFrames({ width: 2_000, height: 1_000 }, 25);
  expect(await inspectImage(frames)).toEqual({
    mime_type: 'image/gif',
    width: 2_000,
    height: 1_000,
    frames: 25,
  });
  const one_more = gifOfFrames({ width: 2_000, height: 1_000 }, 26);
  await expect(inspectImage(one_more)).rejects.toMatchObject({ reason: 'too_many_pixels' });
});
