import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Runtime } from '../../services/boot/runtime';
import { findMedia } from '../../services/command/references';
import { startMediaWork } from '../../services/media/work';
import { InProcessMediaTaskQueue } from '../../shared/adapters/in-process/media-tasks';
import { CatalogError } from '../../shared/kernel/errors';
import type { MediaId, StoreId } from '../../shared/kernel/ids';
import { MEDIA_ATTEMPTS } from '../../shared/ports/media-tasks';
import { childrenOf, isRunning, residentMib } from '../support/children';
import { type Harness, startHarness } from '../support/harness';
import { uploadWithoutTask } from '../support/media';
import { flatPicture } from '../support/pictures';
import { waitFor, within } from '../support/wait-for';

const QUICK = { recover_ms: 20, lost_after_ms: 0, retry_ms: 20 };

/** 1.4 KB that take about 7 s of CPU time and 1 GB of memory. */
const bomb = readFileSync(join(process.cwd(), 'test/fixtures/avif-of-49-megapixels.avif'));

/** One service for all tests. Only the tests' own workers render. */
let harness: Harness;
let runtime: Runtime;
let store_id: StoreId;

beforeAll(async () => {
  harness = await startHarness();
  await harness.service.rendering.stop();
  runtime = harness.service.runtime;
  store_id = await harness.newStore();
});
afterAll(() => harness.close());

const startsFolder = () => join(harness.data_dir, 'starts');
const progressOf = async (id: MediaId) => (await findMedia(runtime, 'live', id))?.progress;
const isReady = async (id: MediaId) => (await progressOf(id))?.status === 'ready';
const small = () => flatPicture('png', { width: 30, height: 20 });

/** Runs media workers on a queue of the test, next to the service's queue. */
async function withWork(
  parts: Partial<Runtime>,
  story: (tasks: InProcessMediaTaskQueue) => Promise<void>,
  limits: Parameters<typeof startMediaWork>[2] = {},
) {
  const mediaTasks = new InProcessMediaTaskQueue({ folder: startsFolder(), backoffMs: () => 5 });
  const work = startMediaWork({ ...runtime, mediaTasks, ...parts }, QUICK, limits);
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
  const originals = Object.create(runtime.blobs.live.originals) as Runtime['blobs']['live']['originals'];
  originals.read = async (hash) => {
    if (!unavailable) return runtime.blobs.live.originals.read(hash);
    refused++;
    throw new CatalogError('unavailable');
  };
  const blobs = { ...runtime.blobs, live: { ...runtime.blobs.live, originals } };
  await withWork({ blobs }, async () => {
    await waitFor(() => refused > MEDIA_ATTEMPTS, { what: 'more attempts than one task has' });
    expect(await progressOf(media_id)).toEqual({ status: 'processing' });
    unavailable = false;
    await waitFor(() => isReady(media_id));
  });
});

test('a file that takes too much time to render is failed, and other merchants get their pictures', async () => {
  const bombs = [
    await uploadWithoutTask(runtime, store_id, bomb),
    await uploadWithoutTask(runtime, store_id, bomb),
  ];
  const picture = await uploadWithoutTask(runtime, await harness.newStore(), await small());
  await harness.settled();
  const too_large = { status: 'failed', reason: 'too_large' };
  await withWork(
    {},
    async () => {
      await waitFor(() => isReady(picture));
      for (const id of bombs)
        await waitFor(async () => (await progressOf(id))?.status === 'failed', { what: 'a refusal' });
      expect(await Promise.all(bombs.map(progressOf))).toMatchObject([too_large, too_large]);
    },
    { cpu_ms: 300 },
  );
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

test('a stop ends the process of a rendering that takes too long', async () => {
  await uploadWithoutTask(runtime, store_id, bomb);
  await harness.settled();
  const mediaTasks = new InProcessMediaTaskQueue({ folder: startsFolder() });
  const work = startMediaWork({ ...runtime, mediaTasks }, { ...QUICK, stop_ms: 1 });
  const isDecoding = (pid: number): boolean => residentMib(pid) > 200;
  const renderer = await waitFor(() => childrenOf(process.pid, 'render').find(isDecoding), {
    what: 'a process that decodes the picture',
  });
  await within(work.stop(), 'the work to stop');
  await waitFor(() => !isRunning(renderer), { what: 'the rendering process to end' });
  await within(mediaTasks.close(), 'the queue to close');
});
