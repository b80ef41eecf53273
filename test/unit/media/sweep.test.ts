import type { Runtime } from '../../../services/boot/runtime';
import { deleteMedia } from '../../../services/command/media';
import { makePictures } from '../../../services/media/make-pictures';
import { type SweptArea, sweepOnceADay, sweepUnusedFiles } from '../../../services/media/stored-files';
import { FileBlobStore } from '../../../shared/adapters/files/blob-store';
import { streamName } from '../../../shared/catalog/events/envelope';
import { CatalogError } from '../../../shared/kernel/errors';
import type { MediaId, StoreId } from '../../../shared/kernel/ids';
import { NO_STREAM } from '../../../shared/ports/event-store';
import { chunks, hashOf, uploadWithoutTask } from '../../support/media';
import { flatPicture } from '../../support/pictures';
import { withTempDir } from '../../support/temp-dir';
import { waitFor } from '../../support/wait-for';
import { type OwnRuntime, openOwnRuntime } from './own-runtime';

const HOUR_MS = 3_600_000;
const context = { source: 'cli', request_id: 'sweep-test' } as const;
const signal = new AbortController().signal;

let own: OwnRuntime;
let runtime: Runtime;
let store_id: StoreId;

beforeEach(async () => {
  own = await openOwnRuntime();
  ({ runtime, store_id } = own);
});
afterEach(() => own.close());

/** Sweeps with a clock that is `hours` ahead. */
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
/** Wider than the largest variant, so that each of its pictures has bytes of its own. */
const colour = (background: string) => flatPicture('png', { width: 1_700, height: 10 }, background);

test('deletes only the files that no media uses, a day after they were stored', async () => {
  const kept = await ready(await colour('#111'));
  const deleted = await ready(await colour('#222'));
  const waiting = await uploadWithoutTask(runtime, store_id, await colour('#333'));
  const before = { originals: await hashesIn('originals'), pictures: await hashesIn('pictures') };
  expect([before.originals.length, before.pictures.length]).toEqual([3, 10]);
  await deleteMedia(runtime, context, { environment: 'live', id: deleted });
  // A refused upload, and a rendering whose process stopped before it appended its event.
  const stray = Buffer.from('unused');
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

  // The remaining files are complete: the waiting upload can still be rendered.
  expect(await makePictures(runtime, { environment: 'live', media_id: waiting })).toBe('ready');
  expect((await runtime.events.live.readStream(streamName('live', 'media', kept))).length).toBe(2);
});

test('the day counts from the deletion of the media, regardless of the age of the files', async () => {
  await ready(await colour('#234'));
  const deleted = await ready(await colour('#345'));
  const later = { ...runtime, system: { ...runtime.system, now: () => Date.now() + 100 * HOUR_MS } };
  await deleteMedia(later, context, { environment: 'live', id: deleted });
  expect(deletedOf(await sweepAfter(100.01))).toEqual(['originals 0', 'pictures 0']);
  expect(deletedOf(await sweepAfter(123.9))).toEqual(['originals 0', 'pictures 0']);
  expect(deletedOf(await sweepAfter(124.1))).toEqual(['originals 1', 'pictures 5']);
});

test('keeps a file that two media share until both are deleted', async () => {
  const same = await colour('#456');
  const [one, other] = [await ready(same), await ready(same)];
  await deleteMedia(runtime, context, { environment: 'live', id: one });
  expect(deletedOf(await sweepAfter(25))).toEqual(['originals 0', 'pictures 0']);
  await deleteMedia(runtime, context, { environment: 'live', id: other });
  expect(deletedOf(await sweepAfter(25))).toEqual(['originals 1', 'pictures 5']);
});

test('an upload of the same bytes during a sweep keeps them', () =>
  withTempDir(async (folder) => {
    let now_ms = Date.now();
    const now = (): number => now_ms;
    const originals = await FileBlobStore.open({ folder, now });
    const { hash } = await originals.put(chunks(Buffer.from('the same bytes')));
    now_ms += 25 * HOUR_MS;
    const sweeping = Object.create(originals) as FileBlobStore;
    sweeping.deleteIfOlder = async (...call) => {
      // The sweep has read the log. A concurrent upload stores the bytes before it appends its event.
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

test('sweeps only the given environment', async () => {
  await runtime.blobs.test.originals.put(chunks(Buffer.from('of the other one')));
  await sweepAfter(25);
  expect(await runtime.blobs.test.originals.size(hashOf(Buffer.from('of the other one')))).toBe(16);
});

test('deletes nothing if the log is empty, because it may be the wrong log', async () => {
  await runtime.blobs.live.originals.put(chunks(Buffer.from('may be in use')));
  const live = Object.create(runtime.events.test) as typeof runtime.events.live;
  const swept = await sweepAfter(25, false, { events: { ...runtime.events, live } });
  expect(deletedOf(swept)).toEqual(['originals 0', 'pictures 0']);
});

test('deletes nothing if an event of a media cannot be decoded', async () => {
  await runtime.blobs.live.originals.put(chunks(Buffer.from('written by a newer version of the service')));
  const [event] = await runtime.events.live.readStream(streamName('live', 'store', store_id));
  const id = '0195d4a2-8a03-7c1e-9f31-5b0c7a6e1d04';
  const unknown = { ...event!, id, type: 'MediaRetouched', data: {} };
  await runtime.events.live.append(streamName('live', 'media', id), NO_STREAM, [unknown]);
  await expect(sweepAfter(25)).rejects.toThrow('unknown event type MediaRetouched');
  expect(await hashesIn('originals')).toHaveLength(1);
});

const TIMES = { retry_ms: 5, interval_ms: 3_600_000 };
const bytes = Buffer.from('an unused file');

/**
 * Starts the daily sweep of one process, with a clock two days ahead. Counts the reads of the log, one for each sweep, and
 * the reads of its head, of which each sweep makes at least one.
 */
function processOf(owner: string, head?: () => Promise<bigint>) {
  const stopping = new AbortController();
  const count = { sweeps: 0, heads: 0 };
  const live = Object.create(runtime.events.live) as Runtime['events']['live'];
  live.head = async () => {
    count.heads++;
    return head ? head() : runtime.events.live.head();
  };
  live.subscribe = (options) => {
    count.sweeps++;
    return runtime.events.live.subscribe(options);
  };
  const system = { ...runtime.system, now: () => Date.now() + 48 * 3_600_000 };
  const parts = { ...runtime, system, events: { ...runtime.events, live } };
  const ended = sweepOnceADay(parts, 'live', owner, stopping.signal, TIMES);
  const stop = async () => {
    stopping.abort();
    await ended;
  };
  return { count, stop };
}
const isGone = async () => (await runtime.blobs.live.originals.size(hashOf(bytes))) === undefined;

describe('the daily sweep', () => {
  beforeEach(() => runtime.blobs.live.originals.put(chunks(bytes)));

  test('of two processes only one sweeps; after it stops, the other does', async () => {
    const one = processOf('one');
    await waitFor(isGone);
    const other = processOf('other');
    await runtime.blobs.live.originals.put(chunks(bytes));
    let lease_attempts = 0;
    const { lease } = runtime.viewStores.live;
    runtime.viewStores.live.lease = (...call) => {
      lease_attempts++;
      return lease.apply(runtime.viewStores.live, call);
    };
    await waitFor(() => lease_attempts >= 3, { what: 'the other process to try to take the lease' });
    expect([one.count.sweeps, other.count.sweeps]).toEqual([1, 0]);
    await one.stop();
    await waitFor(isGone);
    expect(other.count.sweeps).toBe(1);
    await other.stop();
  });

  test('retries while the log is unavailable and releases the lease in between', async () => {
    let unavailable = true;
    const one = processOf('one', async () => {
      if (unavailable) throw new CatalogError('unavailable');
      return runtime.events.live.head();
    });
    await waitFor(() => one.count.heads >= 2);
    expect(await isGone()).toBe(false);
    unavailable = false;
    await waitFor(isGone);
    await one.stop();
  });
});
