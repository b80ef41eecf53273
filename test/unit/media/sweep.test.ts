import type { Runtime } from '../../../services/boot/runtime';
import { deleteMedia } from '../../../services/command/media';
import { makePictures } from '../../../services/media/make-pictures';
import { type SweptArea, sweepUnusedFiles } from '../../../services/media/sweep';
import { FileBlobStore } from '../../../shared/adapters/files/blob-store';
import { streamName } from '../../../shared/catalog/events/envelope';
import type { MediaId, StoreId } from '../../../shared/kernel/ids';
import { NO_STREAM } from '../../../shared/ports/event-store';
import { type Harness, startHarness } from '../../support/harness';
import { chunks, hashOf, uploadWithoutTask } from '../../support/media';
import { flatPicture } from '../../support/pictures';
import { withTempDir } from '../../support/temp-dir';

const HOUR_MS = 3_600_000;
const context = { source: 'cli', request_id: 'sweep-test' } as const;
const signal = new AbortController().signal;

let harness: Harness;
let runtime: Runtime;
let store_id: StoreId;

beforeEach(async () => {
  harness = await startHarness();
  // What is made here is made by the test alone.
  await harness.service.rendering.stop();
  runtime = harness.service.runtime;
  store_id = await harness.newStore();
});
afterEach(() => harness.close());

/** As if it were so many hours later; what is stored meanwhile is as young as it is. */
function sweepAfter(hours: number, dry_run = false, changed: Partial<Runtime> = {}): Promise<SweptArea[]> {
  const system = { ...runtime.system, now: () => Date.now() + hours * HOUR_MS };
  return sweepUnusedFiles({ ...runtime, ...changed, system }, 'live', { dry_run, signal });
}
const deletedOf = (areas: readonly SweptArea[]) => areas.map(({ area, deleted }) => `${area} ${deleted}`);
async function hashesIn(area: 'originals' | 'pictures'): Promise<string[]> {
  const hashes: string[] = [];
  for await (const { hash } of runtime.blobs.live[area].list()) hashes.push(hash);
  return hashes.sort();
}
async function ready(original: Buffer): Promise<MediaId> {
  const media_id = await uploadWithoutTask(runtime, store_id, original);
  expect(await makePictures(runtime, { environment: 'live', media_id })).toBe('ready');
  return media_id;
}
const colour = (background: string) => flatPicture('png', { width: 1700, height: 40 }, background);

test('a day after they were stored, files that no media refers to are deleted, and no others', async () => {
  const kept = await ready(await colour('#111'));
  const deleted = await ready(await colour('#222'));
  const waiting = await uploadWithoutTask(runtime, store_id, await colour('#333'));
  const before = { originals: await hashesIn('originals'), pictures: await hashesIn('pictures') };
  expect([before.originals.length, before.pictures.length]).toEqual([3, 10]);
  await deleteMedia(runtime, context, { environment: 'live', id: deleted });
  // Of an upload that was refused, and of a rendering that ended before it was told of.
  const stray = Buffer.from('nobody knows this');
  await runtime.blobs.live.originals.put(chunks(stray));
  await runtime.blobs.live.pictures.put(chunks(stray));

  expect(deletedOf(await sweepAfter(23))).toEqual(['originals 0', 'pictures 0']);
  expect(deletedOf(await sweepAfter(25, true))).toEqual(['originals 2', 'pictures 6']);
  expect(await hashesIn('originals')).toHaveLength(4);
  const swept = await sweepAfter(25);
  expect(deletedOf(swept)).toEqual(['originals 2', 'pictures 6']);
  expect(swept[0]!.deleted_bytes).toBe((await colour('#222')).length + stray.length);
  expect(swept.map((area) => area.kept)).toEqual([2, 5]);
  expect(await hashesIn('originals')).toEqual(
    [hashOf(await colour('#111')), hashOf(await colour('#333'))].sort(),
  );
  expect(deletedOf(await sweepAfter(25))).toEqual(['originals 0', 'pictures 0']);

  // What is left is whole: the one that waited can still be made, and the ready one be loaded.
  expect(await makePictures(runtime, { environment: 'live', media_id: waiting })).toBe('ready');
  expect(
    (await harness.service.runtime.events.live.readStream(streamName('live', 'media', kept))).length,
  ).toBe(2);
});

test('the day counts from the deletion, however long the files have been there', async () => {
  await ready(await colour('#234'));
  const deleted = await ready(await colour('#345'));
  const later = { ...runtime, system: { ...runtime.system, now: () => Date.now() + 100 * HOUR_MS } };
  await deleteMedia(later, context, { environment: 'live', id: deleted });
  expect(deletedOf(await sweepAfter(100.01))).toEqual(['originals 0', 'pictures 0']);
  expect(deletedOf(await sweepAfter(123.9))).toEqual(['originals 0', 'pictures 0']);
  expect(deletedOf(await sweepAfter(124.1))).toEqual(['originals 1', 'pictures 5']);
});

test('bytes that two media share stay until both are gone', async () => {
  const same = await colour('#456');
  const [one, other] = [await ready(same), await ready(same)];
  await deleteMedia(runtime, context, { environment: 'live', id: one });
  expect(deletedOf(await sweepAfter(25))).toEqual(['originals 0', 'pictures 0']);
  await deleteMedia(runtime, context, { environment: 'live', id: other });
  expect(deletedOf(await sweepAfter(25))).toEqual(['originals 1', 'pictures 5']);
});

test('an upload of the same bytes while they are being swept keeps them', () =>
  withTempDir(async (folder) => {
    let now_ms = Date.now();
    const now = (): number => now_ms;
    const originals = await FileBlobStore.open({ folder, now });
    const { hash } = await originals.put(chunks(Buffer.from('the same bytes')));
    now_ms += 25 * HOUR_MS;
    const sweeping = Object.create(originals) as FileBlobStore;
    sweeping.deleteIfOlder = async (...call) => {
      // The sweep has seen that nobody refers to it; what uploads it now stores it before it says so in the log.
      if (uploading) await originals.put(chunks(Buffer.from('the same bytes')));
      return originals.deleteIfOlder(...call);
    };
    const blobs = { ...runtime.blobs, live: { ...runtime.blobs.live, originals: sweeping } };
    const parts = { ...runtime, blobs, system: { ...runtime.system, now } };
    const sweep = async () => deletedOf(await sweepUnusedFiles(parts, 'live', { dry_run: false, signal }));

    let uploading = true;
    expect(await sweep()).toEqual(['originals 0', 'pictures 0']);
    expect(await originals.size(hash)).toBe(14);
    uploading = false;
    now_ms += 25 * HOUR_MS;
    expect(await sweep()).toEqual(['originals 1', 'pictures 0']);
    await originals.close();
  }));

test('one environment is swept alone', async () => {
  await runtime.blobs.test.originals.put(chunks(Buffer.from('of the other one')));
  await sweepAfter(25);
  expect(await runtime.blobs.test.originals.size(hashOf(Buffer.from('of the other one')))).toBe(16);
});

test('where the log has no event at all nothing is deleted: it may be the wrong log', async () => {
  await runtime.blobs.live.originals.put(chunks(Buffer.from('somebody may know this')));
  const live = Object.create(runtime.events.test) as typeof runtime.events.live;
  const swept = await sweepAfter(25, false, { events: { ...runtime.events, live } });
  expect(deletedOf(swept)).toEqual(['originals 0', 'pictures 0']);
});

test('where an event of a media cannot be read nothing is deleted', async () => {
  await runtime.blobs.live.originals.put(chunks(Buffer.from('of a newer version of this service')));
  const [event] = await runtime.events.live.readStream(streamName('live', 'store', store_id));
  const id = '0195d4a2-8a03-7c1e-9f31-5b0c7a6e1d04';
  const unknown = { ...event!, id, type: 'MediaRetouched', data: {} };
  await runtime.events.live.append(streamName('live', 'media', id), NO_STREAM, [unknown]);
  await expect(sweepAfter(25)).rejects.toThrow('unknown event type MediaRetouched');
  expect(await hashesIn('originals')).toHaveLength(1);
});
