import { once } from 'node:events';
import { join } from 'node:path';
import { pino } from 'pino';
import { openRuntime } from '../../services/boot/runtime';
import { parseStreamName } from '../../shared/catalog/events/envelope';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import { fetch } from '../support/fetch';
import { createSecretKey, fetchToken } from '../support/merchant';
import { flatPicture } from '../support/pictures';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { readLog } from '../support/read-log';
import { withTempDir } from '../support/temp-dir';
import { waitFor, within } from '../support/wait-for';

afterEach(endAll);

const preload = join(__dirname, '..', 'support', 'die-before-append.js');

async function upload({ url }: RunningProcess, token: string, bytes: Buffer): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'image/png' };
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
  const runtime = await openRuntime(parseConfig({ DATA_DIR: folder }), pino({ level: 'silent' }), realSystem);
  const media = (await readLog(runtime.events.live)).filter(
    ({ stream }) => parseStreamName(stream)?.category === 'media',
  );
  const types = media.map(({ type }) => type);
  let pictures = 0;
  for await (const _blob of runtime.blobs.live.pictures.list()) pictures++;
  await runtime.close();
  return { types, pictures };
}

test('a kill -9 between the pictures and their event leads to one event and the same pictures after a restart', () =>
  withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder };
    const key = await createSecretKey(settings);
    const dying = await startProcess('services/boot/main.js', {
      ...settings,
      NODE_OPTIONS: `--require ${preload}`,
      DIE_BEFORE_APPEND_OF: 'MediaProcessed',
    });
    const exited = once(dying.child, 'exit');
    const id = await upload(
      dying,
      await fetchToken(dying.url, key),
      await flatPicture('png', { width: 1700, height: 20 }),
    );
    await within(exited, 'the process to die');
    expect(await contentOf(folder)).toEqual({ types: ['MediaUploaded'], pictures: 5 });

    const running = await startProcess('services/boot/main.js', settings);
    const { url } = await ready(running, await fetchToken(running.url, key), id);
    expect((await fetch(`${running.url}${url}`)).status).toBe(200);
    expect(await running.end('SIGTERM')).toBe(0);
    expect(await contentOf(folder)).toEqual({ types: ['MediaUploaded', 'MediaProcessed'], pictures: 5 });
  }));

test('a service with waiting uploads stops gracefully, and the next start renders them', () =>
  withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder };
    const key = await createSecretKey(settings);
    const first = await startProcess('services/boot/main.js', settings);
    const token = await fetchToken(first.url, key);
    const colours = ['#000', '#200', '#400', '#600', '#800', '#a00'];
    const pictures = colours.map((colour) => flatPicture('png', { width: 2000, height: 1500 }, colour));
    const all = await Promise.all(pictures);
    const ids = await Promise.all(all.map((bytes) => upload(first, token, bytes)));
    expect(await first.end('SIGTERM')).toBe(0);
    const { types } = await contentOf(folder);
    expect(types.filter((type) => type === 'MediaUploaded')).toHaveLength(6);

    const second = await startProcess('services/boot/main.js', settings);
    for (const id of ids) await ready(second, await fetchToken(second.url, key), id);
    expect(await second.end('SIGTERM')).toBe(0);
    expect((await contentOf(folder)).types.filter((type) => type === 'MediaProcessed')).toHaveLength(6);
  }));

test('a worker process renders an upload that a command process on the same folder received', () =>
  withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder };
    const key = await createSecretKey(settings);
    const processes = await Promise.all([
      startProcess('services/boot/main.js command', settings),
      startProcess('services/boot/main.js query', settings),
      // The worker takes a task for lost 10 s after the upload. Its clock is ahead, so that nobody has to wait for
      // them.
      startProcess('services/boot/main.js worker', {
        ...settings,
        NODE_OPTIONS: `--require ${join(__dirname, '..', 'support', 'clock-ahead.js')}`,
        CLOCK_AHEAD_MS: '15000',
      }),
    ]);
    const [command, query] = processes;
    const token = await fetchToken(command.url, key);
    const id = await upload(command, token, await flatPicture('png', { width: 30, height: 20 }));
    const { url } = await ready(query, token, id);
    expect((await fetch(`${query.url}${url}`)).status).toBe(200);
    expect(await Promise.all(processes.map((running) => running.end('SIGTERM')))).toEqual([0, 0, 0]);
  }));
