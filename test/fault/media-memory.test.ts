import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { secretKey, tokenFor } from '../support/merchant';
import { flatPicture, noisePicture } from '../support/pictures';
import { endAll, startProcess } from '../support/processes';
import { withTempDir } from '../support/temp-dir';
import { waitFor } from '../support/wait-for';

afterEach(endAll);

const UPLOADS = 20;
const UPLOAD_BYTES = 10_485_760;
/**
 * About 200 is usual: two files that are inspected, one that is rendered, and what the allocator does not give back at
 * once. Twenty that were rendered at once, or held in memory with their copies, are far beyond.
 */
const GROWTH_MIB_MAX = 350;
const SAMPLE_MS = 20;

/** Of a process, as the system counts it. */
const memoryMib = (pid: number): number =>
  Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024;

/** Noise, filled up behind its end to the very size, and different from all others. */
async function largestUploads(): Promise<Buffer[]> {
  const noise = await noisePicture('png', { width: 1860, height: 1860 });
  expect(noise.length).toBeLessThan(UPLOAD_BYTES);
  expect(noise.length).toBeGreaterThan(UPLOAD_BYTES * 0.9);
  return Array.from({ length: UPLOADS }, (_, n) =>
    Buffer.concat([noise, Buffer.alloc(UPLOAD_BYTES - noise.length, n)]),
  );
}

test('given twenty uploads of 10,485,760 bytes at once, then all are made, and the memory of the service stays flat', () =>
  withTempDir(async (folder) => {
    const key = await secretKey({ DATA_DIR: folder });
    const running = await startProcess('services/boot/main.js', { DATA_DIR: folder });
    const headers = {
      authorization: `Bearer ${await tokenFor(running.url, key)}`,
      'content-type': 'image/png',
    };
    const upload = async (bytes: Buffer): Promise<string> => {
      const reply = await fetch(`${running.url}/api/media`, {
        method: 'POST',
        headers,
        body: new Uint8Array(bytes),
      });
      expect(reply.status).toBe(201);
      return ((await reply.json()) as { data: { id: string } }).data.id;
    };
    const ready = (id: string) =>
      waitFor(async () => {
        const reply = await fetch(`${running.url}/api/media/${id}`, { headers });
        return ((await reply.json()) as { data: { status: string } }).data.status === 'ready';
      });

    // The first loads the image library, which stays.
    await ready(await upload(await flatPicture('png', { width: 9, height: 9 })));
    const uploads = await largestUploads();
    const before = memoryMib(running.child.pid!);
    let most = before;
    const done = new AbortController();
    const sampling = (async () => {
      while (!done.signal.aborted) {
        most = Math.max(most, memoryMib(running.child.pid!));
        await sleep(SAMPLE_MS);
      }
    })();
    const ids = await Promise.all(uploads.map(upload));
    for (const id of ids) await ready(id);
    done.abort();
    await sampling;
    expect(new Set(ids).size).toBe(UPLOADS);
    expect(await running.end('SIGTERM')).toBe(0);
    expect(most - before).toBeLessThan(GROWTH_MIB_MAX);
  }));
