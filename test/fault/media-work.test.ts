import type { Runtime } from '../../services/boot/runtime';
import { findMedia } from '../../services/command/references';
import { startMediaWork } from '../../services/media/work';
import { InProcessMediaTasks } from '../../shared/adapters/in-process/media-tasks';
import { CatalogError } from '../../shared/kernel/errors';
import type { MediaId, StoreId } from '../../shared/kernel/ids';
import { type Harness, startHarness } from '../support/harness';
import { uploadWithoutTask } from '../support/media';
import { flatPicture } from '../support/pictures';
import { waitFor } from '../support/wait-for';

const QUICK = { recover_ms: 20, lost_after_ms: 0, retry_ms: 20 };

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

const isReady = async (id: MediaId) => (await findMedia(runtime, 'live', id))?.progress.status === 'ready';
const small = () => flatPicture('png', { width: 30, height: 20 });

/** Work on a queue of this test's own, beside the service's. */
async function withWork(parts: Partial<Runtime>, story: (tasks: InProcessMediaTasks) => Promise<void>) {
  const mediaTasks = new InProcessMediaTasks({ backoffMs: () => 5 });
  const work = startMediaWork({ ...runtime, mediaTasks, ...parts }, QUICK);
  try {
    await story(mediaTasks);
  } finally {
    await work.stop();
    await mediaTasks.close();
  }
}

test('a task is worked as it comes', () =>
  withWork({}, async (tasks) => {
    const media_id = await uploadWithoutTask(runtime, store_id, await small());
    await tasks.add({ environment: 'live', media_id });
    await waitFor(() => isReady(media_id));
  }));

test('media whose task was lost are made all the same, in both environments', async () => {
  const test_store = await harness.newStore('test');
  const lost = await uploadWithoutTask(runtime, store_id, await small());
  const other = await uploadWithoutTask(runtime, test_store, await small(), { environment: 'test' });
  await harness.settled();
  await withWork({}, async () => {
    await waitFor(() => isReady(lost));
    await waitFor(async () => (await findMedia(runtime, 'test', other))?.progress.status === 'ready');
  });
});

test('a queue that is not there at the start is worked as soon as it is', async () => {
  const media_id = await uploadWithoutTask(runtime, store_id, await small());
  await harness.settled();
  const there = new InProcessMediaTasks();
  let asked = 0;
  const late = Object.create(there) as InProcessMediaTasks;
  late.work = async (...call) => {
    if (++asked < 3) throw new CatalogError('unavailable');
    return there.work(...call);
  };
  await withWork({ mediaTasks: late }, async () => {
    await waitFor(() => isReady(media_id));
    expect(asked).toBe(3);
  });
  await there.close();
});

test('a store that is away for longer than a task is tried leaves the media processing, and it is made in the end', async () => {
  const media_id = await uploadWithoutTask(runtime, store_id, await small());
  await harness.settled();
  let away = true;
  let refused = 0;
  const pictures = Object.create(runtime.blobs.live.pictures) as Runtime['blobs']['live']['pictures'];
  pictures.put = async (bytes) => {
    if (!away) return runtime.blobs.live.pictures.put(bytes);
    refused++;
    throw new CatalogError('unavailable');
  };
  const blobs = { ...runtime.blobs, live: { ...runtime.blobs.live, pictures } };
  await withWork({ blobs }, async () => {
    await waitFor(() => refused >= 15, { what: 'more tries than a task is given' });
    expect((await findMedia(runtime, 'live', media_id))?.progress).toEqual({ status: 'processing' });
    away = false;
    await waitFor(() => isReady(media_id));
  });
});

test('a stop lets a rendering finish, and starts no other', async () => {
  const ids = [];
  for (let n = 0; n < 3; n++) ids.push(await uploadWithoutTask(runtime, store_id, await small()));
  const mediaTasks = new InProcessMediaTasks();
  let let_go = (): void => {};
  const held = new Promise<void>((resolve) => {
    let_go = resolve;
  });
  let started = 0;
  const originals = Object.create(runtime.blobs.live.originals) as Runtime['blobs']['live']['originals'];
  originals.read = async (hash) => {
    started++;
    await held;
    return runtime.blobs.live.originals.read(hash);
  };
  const blobs = { ...runtime.blobs, live: { ...runtime.blobs.live, originals } };
  const work = startMediaWork({ ...runtime, mediaTasks, blobs }, QUICK);
  for (const media_id of ids) await mediaTasks.add({ environment: 'live', media_id });
  await waitFor(() => started > 0);
  const stopped = work.stop();
  let_go();
  await stopped;
  expect(started).toBe(1);
  expect(await Promise.all(ids.map(isReady))).toContain(true);
  expect(await Promise.all(ids.map(isReady))).toContain(false);
  await mediaTasks.close();
});
