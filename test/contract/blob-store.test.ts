import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { FileBlobStore } from '../../shared/adapters/files/blob-store';
import { dieWhilePutting } from '../support/putter';
import { withTempDir } from '../support/temp-dir';
import { blobStoreContract, chunksOf, listed, readAll, START_MS, sha256 } from './blob-store.contract';
import { inFolder } from './in-folder';

const HOUR_MS = 3_600_000;

/** Returns the files of blobs and of started puts. */
const piecesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => !path.includes('lock.sqlite') && statSync(join(folder, path)).isFile(),
  );

blobStoreContract('files', async () => {
  let now_ms = START_MS;
  const { path, openAnother, dispose } = inFolder((folder) =>
    FileBlobStore.open({ folder, now: () => now_ms }),
  );
  const advance = (ms: number): void => {
    now_ms += ms;
  };
  const pieces = async (): Promise<number> => piecesIn(path).length;
  return { store: await openAnother(), openAnother, advance, pieces, dispose };
});

describe('blob store on files', () => {
  test('a process that dies during a put leaves no visible blob, and its left-overs are removed after an hour', async () => {
    await withTempDir(async (folder) => {
      await dieWhilePutting(folder);
      const store = await FileBlobStore.open({ folder });
      expect(await listed(store)).toEqual([]);
      const [left, ...more] = piecesIn(folder);
      expect([left, more]).toEqual([expect.stringMatching(/^incoming\//), []]);
      const old_s = (Date.now() - HOUR_MS - 1_000) / 1_000;
      utimesSync(join(folder, left!), old_s, old_s);
      await store.close();
      await (await FileBlobStore.open({ folder })).close();
      expect(piecesIn(folder)).toEqual([]);
    });
  });

  test('folders and files are readable by the owner only', async () => {
    await withTempDir(async (parent) => {
      const folder = join(parent, 'media', 'originals');
      const store = await FileBlobStore.open({ folder });
      const { hash } = await store.put(chunksOf(randomBytes(10)));
      const modeOf = (...path: string[]): number => statSync(join(folder, ...path)).mode & 0o777;
      for (const path of [[], ['incoming'], [hash.slice(0, 2)]]) expect(modeOf(...path)).toBe(0o700);
      expect(modeOf(hash.slice(0, 2), hash)).toBe(0o600);
      await store.close();
    });
  });

  test('a started read continues to its end after the blob is deleted', async () => {
    await withTempDir(async (folder) => {
      const store = await FileBlobStore.open({ folder });
      const bytes = randomBytes(500_000);
      const { hash } = await store.put(chunksOf(bytes));
      const reading = await store.read(hash);
      await store.delete(hash);
      const chunks: Uint8Array[] = [];
      for await (const chunk of reading!.bytes) chunks.push(chunk);
      expect(sha256(Buffer.concat(chunks))).toBe(hash);
      await store.close();
    });
  });

  test('a failing disk gives unavailable, and stored blobs can still be read', async () => {
    await withTempDir(async (folder) => {
      const store = await FileBlobStore.open({ folder });
      const bytes = randomBytes(10);
      const { hash } = await store.put(chunksOf(bytes));
      rmSync(join(folder, 'incoming'), { recursive: true });
      await expect(store.put(chunksOf(bytes))).rejects.toMatchObject({ condition: 'unavailable' });
      expect((await readAll(store, hash))?.bytes).toEqual(bytes);
      await store.close();
    });
  });
});
