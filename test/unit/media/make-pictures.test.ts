import type { Runtime } from '../../../services/boot/runtime';
import { findMedia } from '../../../services/command/references';
import { makePictures } from '../../../services/media/make-pictures';
import type { MediaPictures } from '../../../shared/catalog/media/media';
import { CatalogError } from '../../../shared/kernel/errors';
import type { MediaId, StoreId } from '../../../shared/kernel/ids';
import { readIntoMemory } from '../../../shared/ports/blob-store';
import { hashOf, uploadWithoutTask } from '../../support/media';
import { animation, flatPicture, pngDeclaringSize } from '../../support/pictures';
import { type OwnRuntime, openOwnRuntime } from './own-runtime';

let own: OwnRuntime;
let runtime: Runtime;
let store_id: StoreId;

beforeAll(async () => {
  own = await openOwnRuntime();
  ({ runtime, store_id } = own);
});
afterAll(() => own.close());

const task = (media_id: MediaId) => ({ environment: 'live' as const, media_id });
const progressOf = async (id: MediaId) => (await findMedia(runtime, 'live', id))?.progress;
const lengthOf = async (id: MediaId) =>
  (await runtime.events.live.readStream(`live.media-${id}` as never)).length;
async function picturesOf(id: MediaId): Promise<MediaPictures> {
  const progress = await progressOf(id);
  if (progress?.status !== 'ready') throw new Error(`not ready: ${JSON.stringify(progress)}`);
  return progress.pictures;
}

/** Returns the runtime with a log or picture store of `live` that calls `fail` before each write. */
function withPart(part: 'append' | 'put', fail: (times: number) => void): Runtime {
  let times = 0;
  if (part === 'append') {
    const live = Object.create(runtime.events.live) as Runtime['events']['live'];
    live.append = async (...call) => {
      fail(++times);
      return runtime.events.live.append(...call);
    };
    return { ...runtime, events: { ...runtime.events, live } };
  }
  const pictures = Object.create(runtime.blobs.live.pictures) as Runtime['blobs']['live']['pictures'];
  pictures.put = async (bytes) => {
    fail(++times);
    return runtime.blobs.live.pictures.put(bytes);
  };
  return { ...runtime, blobs: { ...runtime.blobs, live: { ...runtime.blobs.live, pictures } } };
}

test('an upload becomes ready, and every recorded picture can be read with the recorded size and hash', async () => {
  const original = await flatPicture('jpeg', { width: 1_700, height: 10 });
  const id = await uploadWithoutTask(runtime, store_id, original);
  expect(await makePictures(runtime, task(id))).toBe('ready');
  const { picture, variants, placeholder } = await picturesOf(id);
  expect(variants.map(({ name, width }) => [name, width])).toEqual([
    ['thumb', 200],
    ['small', 480],
    ['medium', 960],
    ['large', 1600],
  ]);
  expect(placeholder).toMatch(/^data:image\/webp;base64,/);
  for (const { hash, size_bytes } of [picture, ...variants]) {
    const bytes = await readIntoMemory(runtime.blobs.live.pictures, hash);
    expect([bytes?.length, hashOf(bytes!)]).toEqual([size_bytes, hash]);
  }
  // The original may contain the place where it was taken, so it must not be in the public area.
  expect(await runtime.blobs.live.pictures.size(hashOf(original))).toBeUndefined();
});

test('a repeated task, and a task of a media that does not exist, change nothing', async () => {
  const id = await uploadWithoutTask(runtime, store_id, await flatPicture('png', { width: 9, height: 9 }));
  expect(await makePictures(runtime, task(id))).toBe('ready');
  expect(await makePictures(runtime, task(id))).toBe('nothing');
  expect(await lengthOf(id)).toBe(2);
  expect(await makePictures(runtime, task('00000000-0000-7000-8000-000000000000' as MediaId))).toBe(
    'nothing',
  );
});

test('two concurrent tasks of the same media record its pictures once', async () => {
  const id = await uploadWithoutTask(runtime, store_id, await animation('gif', { width: 40, height: 20 }, 4));
  const outcomes = await Promise.all([makePictures(runtime, task(id)), makePictures(runtime, task(id))]);
  expect(outcomes.sort()).toEqual(['nothing', 'ready']);
  expect(await lengthOf(id)).toBe(2);
});

test('a file with a valid header and damaged pixels fails permanently', async () => {
  const id = await uploadWithoutTask(runtime, store_id, pngDeclaringSize({ width: 700, height: 700 }));
  expect(await makePictures(runtime, task(id))).toBe('failed');
  expect(await progressOf(id)).toEqual({ status: 'failed', reason: 'damaged' });
  expect(await makePictures(runtime, task(id))).toBe('nothing');
});

test('a file with more pixels than allowed fails as too large', async () => {
  // An older version of the service may have accepted it.
  const bomb = pngDeclaringSize({ width: 50_000, height: 50_000 });
  const declared = pngDeclaringSize({ width: 700, height: 700 });
  const id = await uploadWithoutTask(runtime, store_id, bomb, { declared });
  expect(await makePictures(runtime, task(id))).toBe('failed');
  expect(await progressOf(id)).toEqual({ status: 'failed', reason: 'too_large' });
});

test('an unavailable blob store or log fails the task but not the media, which becomes ready on a retry', async () => {
  const original = await flatPicture('webp', { width: 300, height: 300 });
  const id = await uploadWithoutTask(runtime, store_id, original);
  const unavailable = new CatalogError('unavailable');
  for (const part of ['put', 'append'] as const)
    for (const at of part === 'put' ? [1, 3] : [1]) {
      const failing = withPart(part, (times) => {
        if (times === at) throw unavailable;
      });
      await expect(makePictures(failing, task(id))).rejects.toBe(unavailable);
      expect(await progressOf(id)).toEqual({ status: 'processing' });
    }
  expect(await makePictures(runtime, task(id))).toBe('ready');
});

test('a missing original fails the task but not the media, because another process may have it', async () => {
  const original = await flatPicture('jpeg', { width: 77, height: 31 });
  const id = await uploadWithoutTask(runtime, store_id, original);
  await runtime.blobs.live.originals.delete(hashOf(original));
  await expect(makePictures(runtime, task(id))).rejects.toThrow('is not in the blob store');
  expect(await progressOf(id)).toEqual({ status: 'processing' });
});
