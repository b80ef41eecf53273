import { execFileSync } from 'node:child_process';
import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { rebuild } from '../../projections/maintenance/rebuild';
import { fetch } from '../support/fetch';
import { publicationCreated, storeCreated } from '../support/history';
import { createSecretKey, fetchToken } from '../support/merchant';
import { endAll, startProcess } from '../support/processes';
import { readinessOf } from '../support/readiness';
import { openRealm } from '../support/realm';
import { withTempDir } from '../support/temp-dir';
import { waitFor, within } from '../support/wait-for';

/*
 * A disk that cannot be written to, as real processes see it. A limit on the size of files makes every write of a
 * process fail. A small file system that is full needs the right to mount one.
 */

const SETTINGS = {
  DEMO: 'off',
  RATE_LIMIT_SECRET: '100000/100000000/100000',
  RATE_LIMIT_AUTH: '100000/100000',
};
const NAMES = ['all', 'command', 'query', 'worker'] as const;

afterEach(endAll);

async function write(url: string, token: string, more: Record<string, string> = {}): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...more };
  const reply = await fetch(`${url}/api/listing`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ name: 'Tea' }),
  });
  await reply.text();
  return reply.status;
}

async function readStore(url: string, token: string): Promise<number> {
  const reply = await fetch(`${url}/api/store`, { headers: { authorization: `Bearer ${token}` } });
  await reply.text();
  return reply.status;
}

/** Limits the size of the files that a process may write. Node.js ignores the signal that comes with it. */
function limitFiles(pid: number, bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
}

test('after a failed write, readiness is 503 until writes succeed again', () =>
  withTempDir(async (folder) => {
    const settings = { ...SETTINGS, DATA_DIR: folder };
    const key = await createSecretKey(settings);
    const { url, child, end } = await startProcess('services/boot/main.js', settings);
    const token = await fetchToken(url, key);
    expect(await write(url, token)).toBe(201);
    limitFiles(child.pid!, 1);
    expect(await write(url, token)).toBe(503);
    expect(await write(url, token, { 'idempotency-key': 'once' })).toBe(503);
    expect(await readinessOf({ url })).toMatchObject({
      status: 503,
      waiting_for: expect.arrayContaining(['event_store']) as string[],
      live: { event_store: 'not_writable' },
      idempotency_store: 'not_writable',
    });
    expect(await readStore(url, token)).toBe(200);
    expect((await readinessOf({ url })).status).toBe(503);
    limitFiles(child.pid!, 'unlimited');
    await waitFor(async () => (await readinessOf({ url })).status === 200, {
      what: 'the process to be ready',
    });
    expect(await write(url, token, { 'idempotency-key': 'once' })).toBe(201);
    // A store that has failed is looked at once per second, each at its own times.
    await waitFor(async () => (await readinessOf({ url })).idempotency_store === 'ok', {
      what: 'the idempotency store to be writable',
    });
    expect(await end('SIGTERM')).toBe(0);
  }));

/** Returns whether this process may mount file systems. */
function mayMount(): boolean {
  try {
    execFileSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { stdio: 'ignore' });
    return process.getuid?.() === 0;
  } catch {
    return false;
  }
}

/** Runs the story in a folder on a file system of its own. */
async function withSmallDisk(story: (folder: string) => Promise<void>): Promise<void> {
  await withTempDir(async (folder) => {
    const disk = join(folder, 'disk');
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', disk]);
    try {
      await story(disk);
    } finally {
      endAll();
      execFileSync('umount', ['--lazy', disk]);
    }
  });
}

/** Fills the file system up to this number of free bytes. Returns a function that frees the space. */
function fill(folder: string, left = 0): () => void {
  const path = join(folder, 'filler');
  const file = openSync(path, 'w');
  try {
    for (;;) writeSync(file, Buffer.alloc(4_096));
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC');
    ftruncateSync(file, fstatSync(file).size - left);
  } finally {
    closeSync(file);
  }
  return () => rmSync(path);
}

(mayMount() ? test : test.skip)(
  'a rebuild waits for room for a copy of the documents, and leaves the rest to the shop',
  () =>
    withSmallDisk(async (folder) => {
      const realm = await openRealm({ folder });
      const stop = new AbortController();
      let rebuilt: Promise<unknown> | undefined;
      try {
        await realm.append(storeCreated(0), ...Array.from({ length: 500 }, (_, n) => publicationCreated(n)));
        await (await realm.pipeline()).caughtUp();
        const free = fill(folder, 500_000);
        const reasons: string[] = [];
        const on_outage = (reason: string) => reasons.push(reason);
        rebuilt = rebuild({ ...realm.parts, on_outage, signal: stop.signal });
        await waitFor(() => reasons.length > 0, { what: 'the rebuild to wait' });
        expect(reasons[0]).toMatch(/another copy of the documents needs \d+ MB, and 0 MB are free\./);
        expect(await realm.views.versions()).toHaveLength(1);
        expect((await realm.append(storeCreated(1))) > 0n).toBe(true);

        free();
        expect(await within(rebuilt, 'the rebuild')).toMatchObject({ outcome: 'activated' });
      } finally {
        stop.abort();
        await rebuilt?.catch(() => {});
        await realm.close();
      }
    }),
);

(mayMount() ? test : test.skip)(
  'on a full disk, processes that write are unready before a write fails, and processes that read stay ready',
  () =>
    withSmallDisk(async (folder) => {
      const settings = { ...SETTINGS, DATA_DIR: folder };
      const key = await createSecretKey(settings);
      const started = await Promise.all(
        NAMES.map((name) => startProcess(`services/boot/main.js ${name}`, settings)),
      );
      const urls = Object.fromEntries(started.map(({ url }, index) => [NAMES[index]!, url])) as Record<
        (typeof NAMES)[number],
        string
      >;
      const token = await fetchToken(urls.command, key);
      for (const name of NAMES)
        await waitFor(async () => (await readinessOf({ url: urls[name] })).status === 200, {
          what: `${name} to be ready`,
        });

      const free = fill(folder);
      for (const name of NAMES)
        expect({ name, ready: await readinessOf({ url: urls[name] }) }).toMatchObject({
          name,
          ready: {
            status: name === 'query' ? 200 : 503,
            waiting_for: name === 'query' ? [] : expect.arrayContaining(['event_store']),
            live: { event_store: 'not_writable' },
            idempotency_store: 'not_writable',
          },
        });
      expect(await write(urls.command, token)).toBe(503);
      expect(await readStore(urls.query, token)).toBe(200);

      free();
      for (const name of NAMES)
        await waitFor(async () => (await readinessOf({ url: urls[name] })).status === 200, {
          what: `${name} to be ready`,
        });
      expect(await write(urls.command, token)).toBe(201);
      const codes = await Promise.all(started.map(({ end }) => end('SIGTERM')));
      expect(codes).toEqual(NAMES.map(() => 0));
    }),
);
