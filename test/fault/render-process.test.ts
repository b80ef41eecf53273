import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findMedia } from '../../services/command/references';
import { startMediaWork } from '../../services/media/work';
import { InProcessMediaTaskQueue } from '../../shared/adapters/in-process/media-tasks';
import type { MediaId } from '../../shared/kernel/ids';
import { MEDIA_ATTEMPTS } from '../../shared/ports/media-tasks';
import { childrenOf, isRunning, waitUntilDecoding } from '../support/children';
import { fetch } from '../support/fetch';
import { type Harness, startHarness } from '../support/harness';
import { uploadWithoutTask } from '../support/media';
import { createSecretKey, fetchToken } from '../support/merchant';
import { flatPicture } from '../support/pictures';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { waitFor, within } from '../support/wait-for';

afterEach(endAll);

let harness: Harness | undefined;
afterEach(async () => {
  await harness?.close();
  harness = undefined;
});

/** 1.4 KB that take about 7 s of CPU time and 1 GB of memory. */
const bomb = readFileSync(join(process.cwd(), 'test/fixtures/avif-of-49-megapixels.avif'));

test('a file that takes too much time to render is failed, and other merchants get their pictures', async () => {
  harness = await startHarness();
  await harness.service.rendering.stop();
  const { runtime } = harness.service;
  const [one, other] = [await harness.newStore(), await harness.newStore()];
  const bombs = [await uploadWithoutTask(runtime, one, bomb), await uploadWithoutTask(runtime, one, bomb)];
  const picture = await uploadWithoutTask(
    runtime,
    other,
    await flatPicture('png', { width: 30, height: 20 }),
  );
  const progressOf = async (id: MediaId) => (await findMedia(runtime, 'live', id))?.progress;
  const mediaTasks = new InProcessMediaTaskQueue({ folder: join(harness.data_dir, 'starts') });
  const times = { recover_ms: 20, lost_after_ms: 0 };
  const work = startMediaWork({ ...runtime, mediaTasks }, times, { cpu_ms: 500 });
  try {
    await waitFor(async () => (await progressOf(picture))?.status === 'ready');
    for (const id of bombs)
      await waitFor(async () => {
        const progress = await progressOf(id);
        return progress?.status === 'failed' && progress.reason === 'too_large';
      });
  } finally {
    await within(work.stop(), 'the work to stop');
    await mediaTasks.close();
  }
});

async function uploadBomb({ url }: RunningProcess, token: string): Promise<string> {
  const reply = await fetch(`${url}/api/media`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'image/avif' },
    body: new Uint8Array(bomb),
  });
  expect(reply.status).toBe(201);
  return ((await reply.json()) as { data: { id: string } }).data.id;
}

/** Waits until the only rendering process of the service decodes the bomb. Returns its id. */
async function rendererOf({ child }: RunningProcess): Promise<number> {
  const pid = await waitFor(() => childrenOf(child.pid!, 'render').find(isRunning), {
    what: 'a rendering process',
  });
  await waitUntilDecoding(pid);
  return pid;
}

async function crash(pid: number): Promise<void> {
  process.kill(pid, 'SIGSEGV');
  await waitFor(() => !isRunning(pid));
}

test('a file whose renderings crash the process or the service is failed after six of them, with an error in the log', () =>
  withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder };
    const key = await createSecretKey(settings);
    let running = await startProcess('services/boot/main.js', settings);
    const id = await uploadBomb(running, await fetchToken(running.url, key));
    // Crashes of the rendering process, which the service survives.
    for (let starts = 1; starts < MEDIA_ATTEMPTS; starts++) await crash(await rendererOf(running));
    const renderer = await rendererOf(running);
    // A crash of the service together with it, as when a container runs out of memory.
    await running.end('SIGKILL');
    await waitFor(() => !isRunning(renderer));
    running = await startProcess('services/boot/main.js', settings);
    const token = await fetchToken(running.url, key);
    await waitFor(async () => {
      const reply = await fetch(`${running.url}/api/media/${id}`, {
        headers: { authorization: `Bearer ${token}` },
      });
      return ((await reply.json()) as { data: { status: string } }).data.status === 'failed';
    });
    expect(childrenOf(running.child.pid!, 'render')).toEqual([]);
    await waitFor(() =>
      running.warnings.some((line) => /"level":"error".*"reason":"crashes"/.test(line) && line.includes(id)),
    );
    expect(await running.end('SIGTERM')).toBe(0);
  }));

test.each(['SIGKILL', 'SIGTERM'] as const)(
  'after %s during a rendering, no rendering process remains',
  (signal) =>
    withTempDir(async (folder) => {
      const key = await createSecretKey({ DATA_DIR: folder });
      const running = await startProcess('services/boot/main.js', { DATA_DIR: folder });
      const pid = running.child.pid!;
      expect(childrenOf(pid, 'render')).toEqual([]);
      const token = await fetchToken(running.url, key);
      await uploadBomb(running, token);
      const renderer = await rendererOf(running);
      const exited = once(running.child, 'exit');
      running.child.kill(signal);
      await within(exited, 'the service to exit');
      await waitFor(() => !isRunning(renderer));
    }),
);
