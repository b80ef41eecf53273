import { join } from 'node:path';
import { pino } from 'pino';
import { openRuntime } from '../../services/boot/runtime';
import { parseStreamName, START } from '../../shared/catalog/events/envelope';
import { parseConfig } from '../../shared/kernel/config';
import { realSystem } from '../../shared/kernel/system';
import { secretKey, tokenFor } from '../support/merchant';
import { flatPicture } from '../support/pictures';
import { endAll, type RunningProcess, startProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

afterEach(endAll);

const preload = join(__dirname, '..', 'support', 'die-before-append.js');

async function upload({ url }: RunningProcess, token: string, bytes: Buffer): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'image/png' };
  const reply = await fetch(`${url}/api/media`, { method: 'POST', headers, body: new Uint8Array(bytes) });
  expect(reply.status).toBe(201);
  return ((await reply.json()) as { data: { id: string } }).data.id;
}

/** Until it is ready; its record. */
function ready({ url }: RunningProcess, token: string, id: string) {
  return waitFor(async () => {
    const headers = { authorization: `Bearer ${token}` };
    const reply = await fetch(`${url}/api/media/${id}`, { headers });
    const { data } = (await reply.json()) as { data: { status: string; url: string } };
    return data.status === 'ready' ? data : undefined;
  });
}

/** What the data folder holds, with no process on it. */
async function inside(folder: string) {
  const runtime = await openRuntime(parseConfig({ DATA_DIR: folder }), pino({ level: 'silent' }), realSystem);
  const types: string[] = [];
  const stop = new AbortController();
  for await (const batch of runtime.events.live.subscribe({ after: START, signal: stop.signal })) {
    for (const { stream, type } of batch.events)
      if (parseStreamName(stream)?.category === 'media') types.push(type);
    if (batch.caught_up) stop.abort();
  }
  let pictures = 0;
  for await (const _blob of runtime.blobs.live.pictures.list()) pictures++;
  await runtime.close();
  return { types, pictures };
}

test('given a service killed -9 between its pictures and their event, when it starts again, then they are made once', () =>
  withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder };
    const key = await secretKey(settings);
    const dying = await startProcess('services/boot/main.js', {
      ...settings,
      NODE_OPTIONS: `--require ${preload}`,
      DIE_BEFORE_APPEND_OF: 'MediaProcessed',
    });
    const gone = new Promise((resolve) => dying.child.once('exit', resolve));
    const id = await upload(
      dying,
      await tokenFor(dying.url, key),
      await flatPicture('png', { width: 1700, height: 20 }),
    );
    await gone;
    expect(await inside(folder)).toEqual({ types: ['MediaUploaded'], pictures: 5 });

    const running = await startProcess('services/boot/main.js', settings);
    const { url } = await ready(running, await tokenFor(running.url, key), id);
    expect((await fetch(`${running.url}${url}`)).status).toBe(200);
    expect(await running.end('SIGTERM')).toBe(0);
    expect(await inside(folder)).toEqual({ types: ['MediaUploaded', 'MediaProcessed'], pictures: 5 });
  }));

test('given uploads that wait, when the service is stopped, then it ends in order, and the next start makes them', () =>
  withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder };
    const key = await secretKey(settings);
    const first = await startProcess('services/boot/main.js', settings);
    const token = await tokenFor(first.url, key);
    const colours = ['#000', '#200', '#400', '#600', '#800', '#a00'];
    const pictures = colours.map((colour) => flatPicture('png', { width: 2000, height: 1500 }, colour));
    const all = await Promise.all(pictures);
    const ids = await Promise.all(all.map((bytes) => upload(first, token, bytes)));
    expect(await first.end('SIGTERM')).toBe(0);
    const { types } = await inside(folder);
    expect(types.filter((type) => type === 'MediaUploaded')).toHaveLength(6);

    const second = await startProcess('services/boot/main.js', settings);
    for (const id of ids) await ready(second, await tokenFor(second.url, key), id);
    expect(await second.end('SIGTERM')).toBe(0);
    expect((await inside(folder)).types.filter((type) => type === 'MediaProcessed')).toHaveLength(6);
  }));

test('given a command and a worker process on one folder, an upload to the one is made by the other', () =>
  withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder };
    const key = await secretKey(settings);
    const processes = await Promise.all([
      startProcess('services/boot/main-command.js', settings),
      startProcess('services/boot/main-query.js', settings),
      startProcess('services/boot/main-worker.js', settings),
    ]);
    const [command, query] = processes;
    const token = await tokenFor(command.url, key);
    const id = await upload(command, token, await flatPicture('png', { width: 30, height: 20 }));
    const { url } = await ready(query, token, id);
    expect((await fetch(`${query.url}${url}`)).status).toBe(200);
    expect(await Promise.all(processes.map((each) => each.end('SIGTERM')))).toEqual([0, 0, 0]);
  }));
