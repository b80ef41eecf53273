import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { findMedia } from '../../services/command/references';
import { makePictures } from '../../services/media/make-pictures';
import { pause } from '../../shared/kernel/async';
import { expectFailure, InProcessCli } from '../api/cli-run';
import { fetch } from '../support/fetch';
import { hashOf, uploadWithoutTask } from '../support/media';
import {
  createKeys,
  createListing,
  createSecretKey,
  fetchToken,
  findMissingWrites,
  project,
  withRuntime,
} from '../support/merchant';
import { flatPicture } from '../support/pictures';
import { endAll, startProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { Ledger, write } from '../support/traffic';
import { waitFor } from '../support/wait-for';

afterEach(endAll);

interface StoredMedia {
  readonly id: string;
  readonly status: string;
  readonly url: string;
}

/** A running service, as a merchant with one token uses it. */
class Shop {
  constructor(
    readonly url: string,
    readonly token: string,
  ) {}

  async upload(colour: string): Promise<string> {
    const bytes = await flatPicture('png', { width: 40, height: 30 }, colour);
    const reply = await this.send('POST', '/api/media', new Uint8Array(bytes), 'image/png');
    expect(reply.status).toBe(201);
    return ((await reply.json()) as { data: StoredMedia }).data.id;
  }

  /** Waits until every media is rendered, at least one. Returns all of them. */
  allReady(): Promise<StoredMedia[]> {
    return waitFor(async () => {
      const reply = await this.send('GET', '/api/media?limit=50&visibility=all');
      const { data } = (await reply.json()) as { data: StoredMedia[] };
      return (
        reply.status === 200 && data.length > 0 && data.every(({ status }) => status === 'ready') && data
      );
    });
  }

  private send(
    method: string,
    path: string,
    body?: Uint8Array<ArrayBuffer>,
    type?: string,
  ): Promise<Response> {
    const headers = { authorization: `Bearer ${this.token}`, ...(type && { 'content-type': type }) };
    return fetch(this.url + path, { method, headers, ...(body && { body }) });
  }
}

/** Uploads pictures until the signal aborts, at most twelve, because each of them is rendered. */
async function uploadUntil(signal: AbortSignal, shop: Shop): Promise<void> {
  for (let n = 10; n < 22 && !signal.aborted; n++) {
    await shop.upload(`#0000${n}`);
    await pause(100, signal);
  }
}

/** Adds unused files to `test`, so that the copy takes long enough for uploads into `live`, which is copied first. */
function addUnusedFiles(folder: string): void {
  for (let n = 0; n < 300; n++) {
    const hash = hashOf(Buffer.from(`unused ${n}`));
    const originals = join(folder, 'test/media/originals', hash.slice(0, 2));
    mkdirSync(originals, { recursive: true });
    writeFileSync(join(originals, hash), `unused ${n}`);
  }
}

test('a back-up of a running service restores a destroyed folder: products, pictures, tokens and keys', () =>
  withTempDir(async (parent) => {
    const folder = join(parent, 'data');
    const backup = join(parent, 'backup');
    const settings = { DATA_DIR: folder, RATE_LIMIT_SECRET: '1000000/1000000000/1000000' };
    const cli = new InProcessCli(folder);
    const key = await createSecretKey(settings);
    const first = await startProcess('services/boot/main.js', settings);
    const shop = new Shop(first.url, await fetchToken(first.url, key));
    const ids = [await shop.upload('#800000'), await shop.upload('#008000')];
    const pictures = await shop.allReady();
    addUnusedFiles(folder);
    const listings = [await createListing(first.url, shop.token, 'Lamps')];
    const before = new Ledger();
    const during = new Ledger();
    const stop = new AbortController();
    const traffic = (ledger: Ledger, signal: AbortSignal) =>
      write('Lamp', shop.url, { token: shop.token, ledger, listings, signal });
    const warm_up = new AbortController();
    const written = traffic(before, warm_up.signal);
    await waitFor(() => before.acknowledged > 20);
    warm_up.abort();
    await written;

    const writers = [traffic(during, stop.signal), uploadUntil(stop.signal, shop)];
    await waitFor(() => during.acknowledged > 5);
    const made = await cli.json('backup', backup);
    expect(made).toMatchObject({ folder: backup, damaged: [] });
    const metrics = await (await fetch(`${first.url}/metrics`)).text();
    const backed_up_at_s = Number(/^catalog_last_backup_timestamp_seconds (.*)$/m.exec(metrics)?.[1]);
    expect(backed_up_at_s).toBeCloseTo(Date.now() / 1_000, -3);
    expect(made.files).toBeGreaterThanOrEqual(300 + 2 * 2);
    stop.abort();
    await Promise.all(writers);
    expect([...before.failures, ...during.failures]).toEqual([]);
    for (const name of readdirSync(backup, { recursive: true }) as string[])
      expect([name, statSync(join(backup, name)).mode & 0o077]).toEqual([name, 0]);

    expectFailure(await cli.run('backup', backup), 1, 'is not empty');
    expectFailure(await cli.run('restore', backup), 1, 'is not empty');
    await first.end('SIGKILL');
    rmSync(folder, { recursive: true });
    expectFailure(await cli.run('restore', parent), 1, 'contains no complete back-up');
    expectFailure(await cli.run('backup', join(parent, 'another')), 1, 'contains no catalog');
    expect(await cli.run('restore', backup)).toMatchObject({ code: 0 });

    const second = await startProcess('services/boot/main.js', settings);
    const restored = new Shop(second.url, shop.token);
    const media = await restored.allReady();
    expect(media.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
    for (const { url } of [...pictures, ...media]) expect((await fetch(second.url + url)).status).toBe(200);
    expect(await findMissingWrites(second.url, shop.token, before)).toEqual([]);
    expect(await fetchToken(second.url, key)).toEqual(expect.any(String));
    await restored.upload('#ffffff');
    await restored.allReady();
    expect(await second.end('SIGTERM')).toBe(0);
    expect(await cli.json('projections', 'verify')).toMatchObject({ clean: true, missing_files: [] });
  }));

test('verify names a picture file that is missing', () =>
  withTempDir(async (folder) => {
    const settings = { DATA_DIR: folder };
    const { store_id } = await createKeys(settings);
    const bytes = await flatPicture('png', { width: 40, height: 30 });
    const { media_id, hash } = await withRuntime(settings, async (runtime) => {
      const media_id = await uploadWithoutTask(runtime, store_id, bytes);
      expect(await makePictures(runtime, { environment: 'live', media_id })).toBe('ready');
      await project(runtime);
      const media = (await findMedia(runtime, 'live', media_id))!;
      if (media.progress.status !== 'ready') throw new Error('the picture is not ready');
      return { media_id, hash: media.progress.pictures.picture.hash };
    });
    rmSync(join(folder, 'live/media/pictures', hash.slice(0, 2), hash));

    const cli = new InProcessCli(folder);
    const found = await cli.run('projections', 'verify', '--json');
    expect(found.code).toBe(1);
    expect(JSON.parse(found.stdout)).toMatchObject({
      clean: false,
      missing_files: [{ environment: 'live', area: 'pictures', hash, media_id }],
    });
    const text = await cli.run('projections', 'verify');
    expect(text).toMatchObject({ code: 1, stdout: expect.stringContaining(hash) });
  }));

test('a back-up names a damaged picture, fails on a damaged log, has no links, and refuses with servers', () =>
  withTempDir(async (parent) => {
    const folder = join(parent, 'data');
    const cli = new InProcessCli(folder);
    await cli.account();
    const hash = 'ab'.repeat(32);
    mkdirSync(join(folder, 'test/media/originals/ab'));
    writeFileSync(join(folder, 'test/media/originals/ab', hash), 'other bytes');
    const { code, stdout } = await cli.run('backup', join(parent, 'backup'), '--json');
    expect(code).toBe(1);
    expect(JSON.parse(stdout).damaged).toEqual([`test/media/originals/ab/${hash}`]);

    const restored = new InProcessCli(join(parent, 'restored'));
    const secret = join(parent, 'secret');
    writeFileSync(secret, 'of another user');
    const stored = hashOf(Buffer.from('of another user'));
    for (const path of [
      'jwt-keys.json',
      `live/media/pictures/${stored}`,
      'live/media/pictures/ab',
      'control',
    ]) {
      const link = join(parent, 'backup', path);
      const before = join(parent, 'moved');
      if (existsSync(link)) renameSync(link, before);
      symlinkSync(path === 'control' ? before : secret, link);
      expectFailure(await restored.run('restore', join(parent, 'backup')), 1, `${link} is no file`);
      expect(existsSync(join(parent, 'restored'))).toBe(false);
      rmSync(link);
      if (existsSync(before)) renameSync(before, link);
    }
    rmSync(join(parent, 'backup/live/events.sqlite'));
    expectFailure(await restored.run('restore', join(parent, 'backup')), 1, 'contains no complete back-up');

    // The end of the log is lost.
    const log = join(folder, 'live/events.sqlite');
    truncateSync(log, 8_192);
    expectFailure(await cli.run('backup', join(parent, 'of-damaged')), 1, `${log} cannot be copied`);
    expect(readdirSync(join(parent, 'of-damaged'))).toEqual([]);

    const with_server = new InProcessCli(folder, { MONGODB_URL: 'mongodb://127.0.0.1:1/catalog' });
    for (const command of ['backup', 'restore'])
      expectFailure(await with_server.run(command, join(parent, 'other')), 1, 'docs/operations/backup.md');
  }));
