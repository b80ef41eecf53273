import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf, residentMib } from '../support/children';
import { fetch } from '../support/fetch';
import { createSecretKey, fetchToken } from '../support/merchant';
import { flatPicture } from '../support/pictures';
import { endAll, startProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

afterEach(endAll);

const UPLOADS = 40;
/** Pictures to wait for. The other files still wait for their renderings then. */
const RENDERED = 3;
const UPLOAD_BYTES = 10_485_760;
/**
 * 200 to 280 MiB are usual: two files being inspected, one being rendered in a process of its own, and memory that the
 * allocator has not returned yet. Buffering all files would take 400 MiB, and rendering them at once 60 MiB for each
 * process.
 */
const GROWTH_MIB_MAX = 350;
const SAMPLE_MS = 50;

/** Returns the resident set size of a service and the processes that it has started, in MiB. */
const memoryMib = (pid: number): number =>
  [pid, ...childrenOf(pid)].reduce((sum, each) => sum + residentMib(each), 0);

/** Returns different pictures, padded after their end to exactly the maximum upload size. */
async function largestUploads(): Promise<Buffer[]> {
  const picture = await flatPicture('png', { width: 9, height: 9 });
  return Array.from({ length: UPLOADS }, (_, n) =>
    Buffer.concat([picture, Buffer.alloc(UPLOAD_BYTES - picture.length, n)]),
  );
}

test('40 parallel uploads of 10,485,760 bytes are stored and rendered while memory grows by less than their size', () =>
  withTempDir(async (folder) => {
    const key = await createSecretKey({ DATA_DIR: folder });
    const running = await startProcess('services/boot/main.js', { DATA_DIR: folder });
    const headers = {
      authorization: `Bearer ${await fetchToken(running.url, key)}`,
      'content-type': 'image/png',
    };
    /** Uploads again if a busy machine has refused the file, or has not stored it in time. */
    const upload = (bytes: Buffer): Promise<string> =>
      waitFor(async () => {
        const body = new Uint8Array(bytes);
        const reply = await fetch(`${running.url}/api/media`, { method: 'POST', headers, body });
        const { data, error } = (await reply.json()) as { data?: { id: string }; error?: { code: string } };
        expect([201, 'SERVICE_UNAVAILABLE', 'DATABASE_TIMEOUT']).toContain(error?.code ?? reply.status);
        return data?.id;
      });
    /** Waits for so many pictures: on a busy machine, all together may take minutes. */
    const someReady = (count: number) =>
      waitFor(
        async () => {
          const reply = await fetch(`${running.url}/api/media?limit=50&visibility=all`, { headers });
          const { data } = (await reply.json()) as { data: { status: string }[] };
          return data.filter(({ status }) => status === 'ready').length >= count;
        },
        { what: `${count} pictures` },
      );

    // The first upload loads the image library, which remains in memory.
    await upload(await flatPicture('png', { width: 9, height: 9 }));
    await someReady(1);
    const uploads = await largestUploads();
    const before = memoryMib(running.child.pid!);
    let maximum = before;
    const done = new AbortController();
    const sampling = (async () => {
      while (!done.signal.aborted) {
        maximum = Math.max(maximum, memoryMib(running.child.pid!));
        await sleep(SAMPLE_MS);
      }
    })();
    const ids: string[] = [];
    try {
      ids.push(...(await Promise.all(uploads.map(upload))));
      await someReady(1 + RENDERED);
    } finally {
      done.abort();
      await sampling;
    }
    expect(new Set(ids).size).toBe(UPLOADS);
    expect(await running.end('SIGTERM')).toBe(0);
    expect(maximum - before).toBeLessThan(GROWTH_MIB_MAX);
  }));
