import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { executeOn } from '../../../services/command/execute';
import { deleteMedia } from '../../../services/command/media';
import { updatePublication } from '../../../services/command/publication';
import { findMedia } from '../../../services/command/references';
import { fetchImage } from '../../../services/import/fetch-image';
import { mediaIdOf, publicationIdOf } from '../../../services/import/identity';
import type { FetchImage } from '../../../services/import/images';
import { mediaAggregate } from '../../../shared/catalog/media/media';
import type { MediaId } from '../../../shared/kernel/ids';
import { streamIn } from '../../../shared/ports/stream-state';
import { uploadWithoutTask } from '../../support/media';
import { flatPicture } from '../../support/pictures';
import { byHand, newContext, publicationIn, type Shop, withShop } from './some-catalog';

const OPTIONS = { allow_private: true, size_bytes_max: 100_000, timeout_ms: 60_000 };
const fetch: FetchImage = (url, use) => fetchImage(url, OPTIONS, use);
const shirt = { external_id: 'shirt', title: 'Shirt', price: '9.99' };

let server: Server;
let url: string;
let requested: string[];
let answer: RequestListener;

beforeEach(async () => {
  requested = [];
  const picture = await flatPicture('png', { width: 40, height: 30 });
  answer = (_request, response) => response.end(picture);
  server = createServer((request, response) => {
    requested.push(request.url!);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
});

async function shownOn({ runtime, store }: Shop, external_id: string): Promise<MediaId[]> {
  const id = publicationIdOf(store, external_id, 1);
  const events = await runtime.events.live.readStream(`live.publication-${id}` as never);
  const arranged = events.findLast(({ data }) => 'media_ids' in data);
  return (arranged?.data.media_ids ?? []) as MediaId[];
}

/** Shows the media on the shirt, as a client of the API does. */
async function arrangeByHand({ runtime, store }: Shop, media_ids: MediaId[]): Promise<void> {
  const target = { environment: 'live', id: publicationIdOf(store, 'shirt', 1) } as const;
  await updatePublication(runtime, byHand, target, { media_ids });
}

test('attaches images in the order of the file; a repeated import fetches and writes nothing', () =>
  withShop(async (shop) => {
    const { run, history, store, runtime } = shop;
    const images = [`${url}/front.png`, { url: `${url}/back.png`, alt: ' Seen from\n behind ' }];
    const first = await run([{ ...shirt, images }], { fetch });
    const ids = [mediaIdOf(store, `${url}/front.png`, 1), mediaIdOf(store, `${url}/back.png`, 1)];
    expect(first).toMatchObject({ media: { created: 2, unchanged: 0, failed: 0 }, failed: [] });
    expect(first.images[0]!.images.map(({ media_id }) => media_id)).toEqual(ids);
    expect(await shownOn(shop, 'shirt')).toEqual(ids);
    const uploaded = await findMedia(runtime, 'live', ids[1]!);
    expect(uploaded).toMatchObject({
      mime_type: 'image/png',
      width: 40,
      height: 30,
      alt: 'Seen from behind',
    });
    expect(uploaded?.progress).toEqual({ status: 'processing' });

    const written = await history();
    const again = await run([{ ...shirt, images }], { fetch });
    expect(again).toMatchObject({ media: { created: 0, unchanged: 2 }, publications: { unchanged: 1 } });
    expect(await history()).toEqual(written);
    expect(requested).toHaveLength(2);
  }));

test('fetches an image of several products once', () =>
  withShop(async (shop) => {
    const images = [`${url}/same.png`];
    const rows = ['a', 'b', 'c'].map((external_id) => ({ ...shirt, external_id, images }));
    expect((await shop.run(rows, { fetch })).media).toEqual({
      created: 1,
      updated: 0,
      unchanged: 2,
      failed: 0,
    });
    expect(requested).toEqual(['/same.png']);
    for (const { external_id } of rows) expect(await shownOn(shop, external_id)).toHaveLength(1);
  }));

test('reports an image that cannot be fetched, and imports the product and its other images', () =>
  withShop(async (shop) => {
    const good = answer;
    answer = (request, response) => {
      if (request.url === '/gone.png') return response.writeHead(404).end();
      if (request.url === '/page.png') return response.end('<html><script>alert(1)</script></html>');
      if (request.url === '/drawn.svg') return response.end('<svg xmlns="http://www.w3.org/2000/svg"/>');
      if (request.url === '/huge.png') return response.end(Buffer.alloc(100_001, 1));
      return good(request, response);
    };
    const paths = ['gone.png', 'page.png', 'ok.png', 'drawn.svg', 'huge.png'];
    const report = await shop.run([{ ...shirt, images: paths.map((path) => `${url}/${path}`) }], { fetch });
    expect(report).toMatchObject({ publications: { created: 1 }, media: { created: 1, failed: 4 } });
    const failureOf = (path: string) => report.failed.find(({ reason }) => reason.includes(path));
    expect(failureOf('gone.png')).toEqual({
      line: 1,
      external_id: 'shirt',
      reason: `image ${url}/gone.png: the server responded with status 404`,
    });
    expect(failureOf('page.png')?.reason).toContain('no JPEG, PNG, WebP, GIF or AVIF');
    expect(failureOf('drawn.svg')?.reason).toContain('no JPEG, PNG, WebP, GIF or AVIF');
    expect(failureOf('huge.png')?.reason).toMatch(/larger than 100000 bytes|no JPEG/);
    expect(await shownOn(shop, 'shirt')).toEqual([mediaIdOf(shop.store, `${url}/ok.png`, 1)]);

    // The server works again: the import fetches only the missing images and applies the order of the file.
    answer = good;
    requested.length = 0;
    const again = await shop.run([{ ...shirt, images: paths.map((path) => `${url}/${path}`) }], { fetch });
    expect(again.media).toEqual({ created: 4, updated: 0, unchanged: 1, failed: 0 });
    expect(requested.sort()).toEqual(['/drawn.svg', '/gone.png', '/huge.png', '/page.png']);
    const ids = paths.map((path) => mediaIdOf(shop.store, `${url}/${path}`, 1));
    expect(await shownOn(shop, 'shirt')).toEqual(ids);
  }));

test('keeps the order of a publication with other media and appends the missing images', () =>
  withShop(async (shop) => {
    const { run, runtime, store } = shop;
    await run([{ ...shirt, images: [`${url}/1.png`] }], { fetch });
    const [first] = await shownOn(shop, 'shirt');
    const own = await uploadWithoutTask(runtime, store.id, await flatPicture('gif', { width: 5, height: 5 }));
    await arrangeByHand(shop, [first!, own]);
    expect(await shownOn(shop, 'shirt')).toEqual([first, own]);
    await run([{ ...shirt, images: [`${url}/2.png`, `${url}/1.png`] }], { fetch });
    expect(await shownOn(shop, 'shirt')).toEqual([first, own, mediaIdOf(store, `${url}/2.png`, 1)]);
  }));

test('keeps images that were arranged or removed by hand, and adds new ones, unless it overwrites', () =>
  withShop(async (shop) => {
    const { run, store } = shop;
    const rowWith = (...names: string[]) => [{ ...shirt, images: names.map((name) => `${url}/${name}.png`) }];
    const ids = (...names: string[]) => names.map((name) => mediaIdOf(store, `${url}/${name}.png`, 1));
    await run(rowWith('1', '2', '3'), { fetch });
    await arrangeByHand(shop, ids('3', '1'));

    const kept = await run(rowWith('1', '2', '3'), { fetch });
    expect(kept.kept).toEqual([{ line: 1, external_id: 'shirt', fields: ['images'] }]);
    expect(kept.images[0]!.images.map(({ media_id }) => media_id !== null)).toEqual([true, false, true]);
    expect(await shownOn(shop, 'shirt')).toEqual(ids('3', '1'));
    for (let n = 0; n < 2; n++) {
      expect((await run(rowWith('1', '2', '3', '4'), { fetch })).kept).toHaveLength(1);
      expect(await shownOn(shop, 'shirt')).toEqual(ids('3', '1', '4'));
    }
    const { fields } = await run(rowWith('1', '2', '3', '4'), { fetch, overwrite: true });
    expect(fields).toEqual({ images: { overwritten: 1, kept: 0 } });
    expect(await shownOn(shop, 'shirt')).toEqual(ids('1', '2', '3', '4'));
  }));

test('uploads a deleted image again, once and under another id', () =>
  withShop(async (shop) => {
    const { run, runtime, store } = shop;
    const rows = [{ ...shirt, images: [`${url}/1.png`] }];
    await run(rows, { fetch });
    await deleteMedia(runtime, newContext(), {
      environment: 'live',
      id: mediaIdOf(store, `${url}/1.png`, 1),
    });
    expect((await run(rows, { fetch })).media).toMatchObject({ created: 1 });
    expect((await run(rows, { fetch })).media).toMatchObject({ unchanged: 1 });
    expect(await shownOn(shop, 'shirt')).toEqual([mediaIdOf(store, `${url}/1.png`, 2)]);
    expect(requested).toHaveLength(2);
  }));

test('fetches nothing without a fetch function, and lists the images in the report', () =>
  withShop(async ({ run }) => {
    const report = await run([{ ...shirt, images: [`${url}/1.png`] }]);
    expect(report.images[0]!.images).toEqual([{ url: `${url}/1.png`, alt: null, media_id: null }]);
    expect(report.media).toEqual({ created: 0, updated: 0, unchanged: 0, failed: 0 });
    expect(requested).toEqual([]);
  }));

test('previews pictures without fetching them', () =>
  withShop(async (shop) => {
    const images = (...names: string[]) => names.map((name) => ({ url: `${url}/${name}.png`, alt: name }));
    const preview = (...rows: object[]) => shop.run(rows, { fetch, dry_run: true, writer: shop.dryWriter() });
    const created = await preview({ ...shirt, images: images('1', '2') });
    expect(created).toMatchObject({ media: { created: 2 }, preview: [{ outcome: 'created', fields: [] }] });
    expect(created.images[0]!.images.map(({ media_id }) => media_id)).toEqual([null, null]);
    expect(requested).toEqual([]);
    await shop.run([{ ...shirt, images: images('1', '2') }], { fetch });
    const written = await shop.history();
    requested.length = 0;
    expect(await preview({ ...shirt, images: images('1', '2') })).toMatchObject({
      media: { created: 0, unchanged: 2 },
      preview: [],
    });
    for (const [names, media, fields] of [
      [['3', '2'], { created: 1, unchanged: 1 }, ['images']],
      [['2', '1'], { created: 0, unchanged: 2 }, ['images']],
      [[], { created: 0, unchanged: 0 }, ['images']],
    ] as const) {
      const row = { ...shirt, price: '7.00', images: images(...names) };
      expect(await preview(row)).toMatchObject({ media, preview: [{ fields: ['price_amount', ...fields] }] });
      expect(await preview({ ...row, price: shirt.price })).toMatchObject({
        publications: { unchanged: 1 },
        preview: [{ line: 1, title: 'Shirt', outcome: 'updated', fields }],
      });
    }
    expect(requested).toEqual([]);
    expect(await shop.history()).toEqual(written);
  }));

test('fetches four images concurrently', () =>
  withShop(async ({ run }) => {
    let running = 0;
    let most = 0;
    const deadline = Date.now() + 30_000;
    const good = answer;
    answer = (request, response) => {
      most = Math.max(most, ++running);
      // Each response waits for four concurrent requests. The deadline makes a failure quick.
      const finish = (): void => {
        if (most < 4 && Date.now() < deadline) return void setImmediate(finish);
        running--;
        good(request, response);
      };
      finish();
    };
    const rows = Array.from({ length: 12 }, (_, n) => ({
      ...shirt,
      external_id: `p${n}`,
      images: [`${url}/${n}-a.png`, `${url}/${n}-b.png`],
    }));
    expect((await run(rows, { fetch })).media.created).toBe(24);
    expect(most).toBe(4);
  }));

test('reports a run that was stopped during a fetch as incomplete; the next run completes it', () =>
  withShop(async ({ run }) => {
    const stop = new AbortController();
    const good = answer;
    answer = () => stop.abort();
    const stopping: FetchImage = (address, use) =>
      fetchImage(address, { ...OPTIONS, signal: stop.signal }, use);
    const rows = [{ ...shirt, images: [`${url}/1.png`] }];
    const stopped = await run(rows, { fetch: stopping, signal: stop.signal });
    expect(stopped).toMatchObject({ complete: false, failed: [], media: { created: 0, failed: 0 } });
    answer = good;
    expect(await run(rows, { fetch })).toMatchObject({ complete: true, media: { created: 1 } });
  }));

test('attaches the first fifty images, and warns about the others and about alternative texts that are cut', () =>
  withShop(async (shop) => {
    const images = Array.from({ length: 52 }, (_, n) => ({
      url: `${url}/${n}.png`,
      alt: 'x'.repeat(500 + n),
    }));
    const report = await shop.run([{ ...shirt, images }], { fetch });
    expect(report.media.created).toBe(50);
    expect(report.warnings.filter(({ reason }) => reason.includes('was cut to 500'))).toHaveLength(49);
    expect(report.warnings).toHaveLength(51);
    expect((await shop.run([{ ...shirt, images }])).warnings).toHaveLength(2);
    expect(await shownOn(shop, 'shirt')).toHaveLength(50);
  }));

test.each([
  ['replaces a picture', '', 'ab', 'ab', 'cb', 'cb'],
  ['removes a picture', '', 'ab', 'ab', 'b', 'b'],
  ['removes all pictures', '', 'ab', 'ab', '', ''],
  ['replaces a picture before one that was added by hand', '', 'ab', 'abx', 'cb', 'cbx'],
  ['adds what it has beyond the replaced ones at the end', '', 'a', 'xa', 'bc', 'xbc'],
  ['brings back a picture that an earlier file did not have', 'ab', 'a', 'xa', 'ab', 'xab'],
  ['does not bring back a picture that was removed by hand', '', 'ab', 'b', 'ab', 'b'],
  ['keeps a picture that was added by hand after an import had it', 'x', '', 'x', '', 'x'],
])('a file %s', (_name, before, imported, by_hand, next, expected) =>
  withShop(async (shop) => {
    const addresses = (names: string) => [...names].map((name) => `${url}/${name}.png`);
    const ids = (names: string) => addresses(names).map((each) => mediaIdOf(shop.store, each, 1));
    const takeIn = (names: string) => shop.run([{ ...shirt, images: addresses(names) }], { fetch });
    // The pictures that are added by hand are of another product.
    await shop.run([{ ...shirt, external_id: 'other', images: addresses('x') }], { fetch });
    if (before !== '') await takeIn(before);
    await takeIn(imported);
    await arrangeByHand(shop, ids(by_hand));
    await takeIn(next);
    expect(await shownOn(shop, 'shirt')).toEqual(ids(expected));
    const written = await shop.history();
    await takeIn(next);
    expect(await shop.history()).toEqual(written);
  }),
);

test('a variant shows the picture that replaces its own, unless another one was chosen by hand', () =>
  withShop(async (shop) => {
    const { runtime, store } = shop;
    const address = (name: string) => `${url}/${name}.png`;
    const idOf = (name: string) => mediaIdOf(store, address(name), 1);
    const rows = (small: string, large: string) =>
      shop.runShopify(
        [
          'Handle,Title,Option1 Name,Option1 Value,Price,Image Src,Variant Image',
          `shirt,Shirt,Size,S,5,${address('main')},${address(small)}`,
          `shirt,,,L,5,,${address(large)}`,
        ],
        { fetch },
      );
    const shown = async () => {
      const { media_ids, variants } = await publicationIn(shop, 'shirt');
      return [media_ids, variants.map(({ media_id }) => media_id)];
    };
    await rows('s', 'l');
    expect(await shown()).toEqual([['main', 's', 'l'].map(idOf), ['s', 'l'].map(idOf)]);
    await rows('s2', 'l');
    expect(await shown()).toEqual([['main', 's2', 'l'].map(idOf), ['s2', 'l'].map(idOf)]);
    const { id, variants } = await publicationIn(shop, 'shirt');
    const chosen = [{ ...variants[0]!, media_id: idOf('main') }, variants[1]!];
    await updatePublication(runtime, byHand, { environment: 'live', id }, { variants: chosen });
    await rows('s3', 'l');
    expect(await shown()).toEqual([['main', 's3', 'l'].map(idOf), ['main', 'l'].map(idOf)]);
  }));

test('no picture leaves while its replacement cannot be fetched, or if the file has no images at all', () =>
  withShop(async (shop) => {
    const { run, store } = shop;
    await run([{ ...shirt, images: [`${url}/old.png`] }], { fetch });
    const good = answer;
    answer = (_request, response) => response.writeHead(404).end();
    await run([{ ...shirt, images: [`${url}/new.png`] }], { fetch });
    await run([shirt], { fetch });
    expect(await shownOn(shop, 'shirt')).toEqual([mediaIdOf(store, `${url}/old.png`, 1)]);
    answer = good;
    await run([{ ...shirt, images: [`${url}/new.png`] }], { fetch });
    expect(await shownOn(shop, 'shirt')).toEqual([mediaIdOf(store, `${url}/new.png`, 1)]);
  }));

test('applies a changed alternative text, and keeps one that was changed by hand', () =>
  withShop(async (shop) => {
    const { runtime, store } = shop;
    const id = mediaIdOf(store, `${url}/1.png`, 1);
    const altOf = async () => (await findMedia(runtime, 'live', id))?.alt;
    const takeIn = (alt: string | null | undefined, overwrite = false) =>
      shop.run([{ ...shirt, images: [{ url: `${url}/1.png`, alt }] }], { fetch, overwrite });
    await takeIn('front');
    for (const [alt, stored] of [
      ['Front  view', 'Front view'],
      [undefined, 'Front view'],
      [null, null],
      ['back', 'back'],
    ] as const) {
      const { media } = await takeIn(alt);
      expect([await altOf(), media.updated]).toEqual([stored, alt === undefined ? 0 : 1]);
      expect((await takeIn(alt)).media).toMatchObject({ updated: 0, unchanged: 1 });
    }
    const ref = streamIn({ ...runtime }, 'live', mediaAggregate, id);
    const by_hand = { type: 'Update', changes: { alt: 'Seen from behind' } } as const;
    await executeOn({ ...ref, system: runtime.system }, byHand, by_hand);
    expect(await takeIn('rear')).toMatchObject({ kept: [{ line: 1, fields: ['images.alt'] }] });
    expect(await altOf()).toBe('Seen from behind');
    await takeIn('rear', true);
    expect(await altOf()).toBe('rear');
  }));
