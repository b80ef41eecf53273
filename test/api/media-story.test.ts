import { loadSharp } from '../../shared/images/sharp';
import { fetch } from '../support/fetch';
import { animation, cornersPicture, FORMATS, flatPicture, pngDeclaringSize } from '../support/pictures';
import { waitFor } from '../support/wait-for';
import { MediaShop } from './media-shop';

let media: MediaShop;

beforeAll(async () => {
  media = await MediaShop.open();
});
afterAll(() => media.harness.close());

interface PictureRecord {
  readonly url: string;
  readonly width: number;
  readonly height: number;
  readonly mime_type: string;
}

/** Loads a picture without a token, like an `<img>`, and compares it with its record. */
async function assertLoads({ url, width, height, mime_type }: PictureRecord): Promise<Buffer> {
  const reply = await fetch(`${media.harness.url}${url}`);
  expect([reply.status, reply.headers.get('content-type')]).toEqual([200, mime_type]);
  const bytes = Buffer.from(await reply.arrayBuffer());
  expect(await loadSharp()(bytes).metadata()).toMatchObject({ width, height, mediaType: mime_type });
  return bytes;
}

async function uploaded(bytes: Uint8Array): Promise<string> {
  const reply = await media.send(bytes);
  expect(reply.status).toBe(201);
  expect(reply.body.data).toMatchObject({ status: 'processing', variants: [] });
  expect(reply.body.data.url).toBeUndefined();
  return reply.body.data.id;
}

test.each(FORMATS)('a %s becomes ready, and every URL in its record loads', async (format) => {
  const id = await uploaded(await flatPicture(format, { width: 1800, height: 900 }));
  const { data } = (await media.ready(id)).body;
  expect(data).toMatchObject({ mime_type: `image/${format}`, width: 1800, height: 900 });
  await assertLoads(data);
  expect(data.variants.map(({ name, width }: PictureRecord & { name: string }) => [name, width])).toEqual([
    ['thumb', 200],
    ['small', 480],
    ['medium', 960],
    ['large', 1600],
  ]);
  for (const variant of data.variants) await assertLoads(variant);
  const placeholder = Buffer.from(data.placeholder.split(',')[1], 'base64');
  expect((await loadSharp()(placeholder).metadata()).width).toBe(16);
});

test('a photograph with an orientation and a position becomes upright pictures without metadata', async () => {
  const corners = { top_left: '#f00', top_right: '#0f0', bottom_left: '#00f', bottom_right: '#ff0' };
  const drawn = await cornersPicture('jpeg', { width: 640, height: 320 }, corners);
  const bytes = await drawn
    .withExif({ IFD0: { Artist: 'someone-by-name', Orientation: '6' }, IFD3: { GPSLatitudeRef: 'S' } })
    .withMetadata({ orientation: 6 })
    .toBuffer();
  expect(bytes.toString('latin1')).toContain('someone-by-name');
  const id = await uploaded(bytes);
  const { data } = (await media.ready(id)).body;
  expect([data.width, data.height]).toEqual([320, 640]);
  for (const shown of [data, ...data.variants]) {
    const loaded = await assertLoads(shown);
    expect(loaded.toString('latin1')).not.toContain('someone-by-name');
    expect(await loadSharp()(loaded).metadata()).not.toHaveProperty('exif');
  }
});

test('an animation stays animated, and its variants are still pictures', async () => {
  const id = await uploaded(await animation('gif', { width: 600, height: 300 }, 4));
  const { data } = (await media.ready(id)).body;
  const reply = await fetch(`${media.harness.url}${data.url}`);
  expect((await loadSharp()(Buffer.from(await reply.arrayBuffer())).metadata()).pages).toBe(4);
  for (const variant of data.variants) await assertLoads(variant);
});

test('a damaged file becomes failed and has no pictures', async () => {
  const id = await uploaded(pngDeclaringSize({ width: 600, height: 400 }));
  const data = await waitFor(async () => {
    const { body } = await media.get(`/api/media/${id}`);
    return body.data.status === 'processing' ? undefined : body.data;
  });
  expect(data).toMatchObject({ id, status: 'failed', variants: [] });
  expect([data.url, data.placeholder]).toEqual([undefined, undefined]);
});

test('metrics count the processed and the waiting media', async () => {
  await waitFor(async () => {
    const text = await (await fetch(`${media.harness.url}/metrics`)).text();
    expect(text).toMatch(/catalog_media_rendering_seconds_count\{outcome="ready"\} [1-9]/);
    expect(text).toMatch(/catalog_media_rendering_seconds_count\{outcome="failed"\} 1/);
    expect(text).toContain('catalog_media_processing{realm="live"} 0');
    expect(text).not.toContain('catalog_media_processing{realm="control"}');
    return true;
  });
  await media.record();
  await waitFor(async () => {
    const text = await (await fetch(`${media.harness.url}/metrics`)).text();
    return text.includes('catalog_media_processing{realm="live"} 1');
  });
});
