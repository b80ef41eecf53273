import { join } from 'node:path';
import type { Runtime } from '../../services/boot/runtime';
import { findMedia } from '../../services/command/references';
import { startMediaWork } from '../../services/media/work';
import { InProcessMediaTaskQueue } from '../../shared/adapters/in-process/media-tasks';
import { CatalogError } from '../../shared/kernel/errors';
import type { MediaId, StoreId } from '../../shared/kernel/ids';
import { type Harness, startHarness } from '../support/harness';
import { uploadWithoutTask } from '../support/media';
import { flatPicture } from '../support/pictures';
import { waitFor, within } from '../support/wait-for';

const QUICK = { recover_ms: 20, lost_after_ms: 0, retry_ms: 20 };

let harness: Harness;
let runtime: Runtime;
let store_id: StoreId;

beforeEach(async () => {
  harness = await startHarness();
  // Only the test's own workers render.
  await harness.service.rendering.stop();
  runtime = harness.service.runtime;
  store_id = await harness.newStore();
});
afterEach(() => harness.close());

const startsFolder = () => join(harness.data_dir, 'starts');
const isReady = async (id: MediaId) => (await findMedia(runtime, 'live', id))?.progress.status === 'ready';
const small = () => flatPicture('png', { width: 30, height: 20 });

/** Runs media workers on a queue of the test, next to the service's queue. */
async function withWork(parts: Partial<Runtime>, story: (tasks: InProcessMediaTaskQueue) => Promise<void>) {
  const mediaTasks = new InProcessMediaTaskQueue({ folder: startsFolder(), backoffMs: () => 5 });
  const work = startMediaWork({ ...runtime, mediaTasks, ...parts }, QUICK);
  try {
    await story(mediaTasks);
  } finally {
    await within(work.stop(), 'the work to stop');
    await mediaTasks.close();
  }
}

test('a queue that is unavailable at the start is used as soon as it is available', async () => {
  const media_id = await uploadWithoutTask(runtime, store_id, await small());
  await harness.settled();
  const tasks = new InProcessMediaTaskQueue({ folder: startsFolder() });
  let attempts = 0;
  const initially_unavailable = Object.create(tasks) as InProcessMediaTaskQueue;
  initially_unavailable.work = async (...args) => {
    if (++attempts < 3) throw new CatalogError('unavailable');
    return tasks.work(...args);
  };
  await withWork({ mediaTasks: initially_unavailable }, async () => {
    await waitFor(() => isReady(media_id));
    expect(attempts).toBe(3);
  });
  await tasks.close();
});

test('media stays processing during an outage longer than all attempts of a task, and is rendered after it', async () => {
  const media_id = await uploadWithoutTask(runtime, store_id, await small());
  await harness.settled();
  let unavailable = true;
  let refused = 0;
  const pictures = Object.create(runtime.blobs.live.pictures) as Runtime['blobs']['live']['pictures'];
  pictures.put = async (bytes) => {
    if (!unavailable) return runtime.blobs.live.pictures.put(bytes);
    refused++;
    throw new CatalogError('unavailable');
  };
  const blobs = { ...runtime.blobs, live: { ...runtime.blobs.live, pictures } };
  await withWork({ blobs }, async () => {
    await waitFor(() => refused >= 15, { what: 'more attempts than one task has' });
    expect((await findMedia(runtime, 'live', media_id))?.progress).toEqual({ status: 'processing' });
    unavailable = false;
    await waitFor(() => isReady(media_id));
  });
});

test('a stop waits for the running rendering and starts no other', async () => {
  const ids = [];
  for (let n = 0; n < 3; n++) ids.push(await uploadWithoutTask(runtime, store_id, await small()));
  const mediaTasks = new InProcessMediaTaskQueue({ folder: startsFolder() });
  let unblock = (): void => {};
  const blocked = new Promise<void>((resolve) => {
    unblock = resolve;
  });
  let started = 0;
  const originals = Object.create(runtime.blobs.live.originals) as Runtime['blobs']['live']['originals'];
  originals.read = async (hash) => {
    started++;
    await blocked;
    return runtime.blobs.live.originals.read(hash);
  };
  const blobs = { ...runtime.blobs, live: { ...runtime.blobs.live, originals } };
  const work = startMediaWork({ ...runtime, mediaTasks, blobs }, QUICK);
  for (const media_id of ids) await mediaTasks.add({ environment: 'live', store_id, media_id });
  await waitFor(() => started > 0);
  const stopped = work.stop();
  unblock();
  await within(stopped, 'the work to stop');
  expect(started).toBe(1);
  expect(await Promise.all(ids.map(isReady))).toContain(true);
  expect(await Promise.all(ids.map(isReady))).toContain(false);
  await mediaTasks.close();
});
