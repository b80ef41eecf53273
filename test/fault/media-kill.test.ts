import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findMedia } from '../../services/command/references';
import { startMediaWork } from '../../services/media/work';
import { InProcessMediaTaskQueue } from '../../shared/adapters/in-process/media-tasks';
import { parseStreamName } from '../../shared/catalog/events/envelope';
import type { MediaId } from '../../shared/kernel/ids';
import { createLogger } from '../../shared/kernel/log';
import { MEDIA_ATTEMPTS } from '../../shared/ports/media-tasks';
import { childrenOf, isRunning, waitUntilDecoding } from '../support/children';
import { fetch } from '../support/fetch';
import { createSecretKey, fetchToken, project, withRuntime } from '../support/merchant';
import { flatPicture } from '../support/pictures';
import { preload } from '../support/preload';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { readLog } from '../support/read-log';
import { withTempDir } from '../support/temp-dir';
import { waitFor, within } from '../support/wait-for';

afterEach(endAll);

/** 1.4 KB that take about 7 s of CPU time and 1 GB of memory. */
const bomb = readFileSync(join(process.cwd(), 'test/fixtures/avif-of-49-megapixels.avif'));
const small = (colour?: string) => flatPicture('png', { width: 30, height: 20 }, colour);

async function upload(
  { url }: RunningProcess,
  token: string,
  bytes: Buffer,
  type = 'image/png',
): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': type };
  const reply = await fetch(`${url}/api/media`, { method: 'POST', headers, body: new Uint8Array(bytes) });
  expect(reply.status).toBe(201);
  return ((await reply.json()) as { data: { id: string } }).data.id;
}

/** Waits until the media is ready. Returns its resource. */
function ready({ url }: RunningProcess, token: string, id: string) {
  return waitFor(async () => {
    const headers = { authorization: `Bearer ${token}` };
    const reply = await fetch(`${url}/api/media/${id}`, { headers });
    const { data } = (await reply.json()) as { data: { status: string; url: string } };
    return data.status === 'ready' ? data : undefined;
  });
}

/** Returns the media events and the number of pictures in the data folder. No process may be using it. */
async function contentOf(folder: string) {
  return withRuntime({ DATA_DIR: folder }, async ({ events, blobs }) => {
    const media = (await readLog(events.live)).filter(
      ({ stream }) => parseStreamName(stream)?.category === 'media',
    );
    const types = media.map(({ type }) => type);
    let pictures = 0;
    for await (const _blob of blobs.live.pictures.list()) pictures++;
    return { types, pictures };
  });
}

test('a kill -9 between the pictures and their event, and a stop with waiting uploads, lose no picture and make none twice', () =>
  withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder };
    const key = await createSecretKey(settings);
    const dying = await startProcess('services/boot/main.js', {
      ...settings,
      NODE_OPTIONS: preload('die-before-append'),
      DIE_BEFORE_APPEND_OF: 'MediaProcessed',
    });
    const exited = once(dying.child, 'exit');
    const token = await fetchToken(dying.url, key);
    const id = await upload(dying, token, await flatPicture('png', { width: 1700, height: 20 }));
    await within(exited, 'the process to die');
    expect(await contentOf(folder)).toEqual({ types: ['MediaUploaded'], pictures: 5 });

    const second = await startProcess('services/boot/main.js', settings);
    const { url } = await ready(second, token, id);
    expect((await fetch(`${second.url}${url}`)).status).toBe(200);
    const others = await Promise.all(
      ['#000', '#400', '#800'].map(async (colour) => upload(second, token, await small(colour))),
    );
    expect(await second.end('SIGTERM')).toBe(0);
    const { types } = await contentOf(folder);
    expect(types.slice(0, 2)).toEqual(['MediaUploaded', 'MediaProcessed']);
    expect(types.filter((type) => type === 'MediaUploaded')).toHaveLength(4);

    const third = await startProcess('services/boot/main.js', settings);
    for (const other of others) await ready(third, token, other);
    expect(await third.end('SIGTERM')).toBe(0);
    const content = await contentOf(folder);
    expect(content.types.filter((type) => type === 'MediaProcessed')).toHaveLength(4);
    expect(content.pictures).toBe(5 + 3 * 2);
  }));

test('a file whose renderings crash the process or the service is failed after six of them, with an error in the log', () =>
  withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder };
    const key = await createSecretKey(settings);
    const running = await startProcess('services/boot/main.js', settings);
    expect(childrenOf(running.child.pid!, 'render')).toEqual([]);
    const id = await upload(running, await fetchToken(running.url, key), bomb, 'image/avif');
    /** Waits until the only rendering process decodes the file. Returns its id. */
    const rendererOf = async (service_pid: number): Promise<number> => {
      const renderer = await waitFor(() => childrenOf(service_pid, 'render').find(isRunning), {
        what: 'a rendering process',
      });
      await waitUntilDecoding(renderer);
      return renderer;
    };
    const crash = async (service_pid: number): Promise<void> => {
      const renderer = await rendererOf(service_pid);
      process.kill(renderer, 'SIGSEGV');
      await waitFor(() => !isRunning(renderer), { what: 'the rendering process to crash' });
    };
    // A crash of the rendering process, which the service survives.
    await crash(running.child.pid!);
    const renderer = await rendererOf(running.child.pid!);
    // A crash of the service together with it, as when a container runs out of memory.
    await running.end('SIGKILL');
    await waitFor(() => !isRunning(renderer), { what: 'no rendering process to remain' });

    // The next service runs in this process, because its queue must not wait a minute between the attempts.
    await withRuntime(settings, async (runtime) => {
      await project(runtime);
      const lines: string[] = [];
      const log = createLogger({ level: 'warn', destination: { write: (line) => void lines.push(line) } });
      const mediaTasks = new InProcessMediaTaskQueue({
        folder: join(folder, 'media-tasks'),
        backoffMs: () => 5,
      });
      const work = startMediaWork({ ...runtime, log, mediaTasks });
      for (let crashes = 2; crashes < MEDIA_ATTEMPTS; crashes++) await crash(process.pid);
      const progress = async () => (await findMedia(runtime, 'live', id as MediaId))?.progress;
      await waitFor(async () => (await progress())?.status === 'failed', { what: 'the failure' });
      expect(childrenOf(process.pid, 'render')).toEqual([]);
      await within(work.stop(), 'the work to stop');
      await mediaTasks.close();
      expect(lines.filter((line) => line.includes('"reason":"crashes"') && line.includes(id))).toEqual([
        expect.stringContaining('"level":"error"'),
      ]);
    });
  }));

test('a worker process renders an upload that a command process on the same folder received', () =>
  withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder };
    const key = await createSecretKey(settings);
    const [command, worker] = await Promise.all([
      startProcess('services/boot/main.js command', settings),
      // The worker takes a task for lost 10 s after the upload. Its clock is ahead, so that nobody has to wait for
      // them.
      startProcess('services/boot/main.js worker', {
        ...settings,
        NODE_OPTIONS: preload('clock-ahead'),
        CLOCK_AHEAD_MS: '15000',
      }),
    ]);
    const token = await fetchToken(command.url, key);
    const id = await upload(command, token, await small());
    await withRuntime(settings, (runtime) =>
      waitFor(async () => (await findMedia(runtime, 'live', id as MediaId))?.progress.status === 'ready', {
        what: 'the picture',
      }),
    );
    expect(await Promise.all([command, worker].map((running) => running.end('SIGTERM')))).toEqual([0, 0]);
  }));
