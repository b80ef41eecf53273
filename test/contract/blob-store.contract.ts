import { createHash, randomBytes } from 'node:crypto';
import type { BlobStore } from '../../shared/ports/blob-store';
import { bounded } from '../support/bounded';
import { expectEqual } from '../support/expect-equal';
import { within } from '../support/wait-for';

/** An empty store. `openAnother` opens the same store as another process would. */
export interface BlobStoreUnderTest {
  readonly store: BlobStore;
  readonly openAnother: () => Promise<BlobStore>;
  /** Advances the clock of `stored_at`. */
  readonly advance: (ms: number) => void;
  /** Returns the number of files, documents and chunks of started and complete puts. */
  readonly pieces: () => Promise<number>;
  /** Closes every handle and removes what was stored. */
  dispose(): Promise<void>;
}

const HOUR_MS = 3_600_000;
/** More than one chunk of any adapter, and not a multiple of a chunk. */
const LARGE_BYTES = 1_500_001;

export const START_MS = Date.parse('2026-01-31T12:00:00.000Z');

export async function* chunksOf(bytes: Uint8Array, chunk_bytes = 100_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += chunk_bytes) yield bytes.subarray(at, at + chunk_bytes);
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Reads a blob completely; returns undefined if it does not exist. */
export async function readAll(store: BlobStore, hash: string, range?: { first: number; last: number }) {
  const reading = await store.read(hash, range);
  if (!reading) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of reading.bytes) chunks.push(chunk);
  return { size_bytes: reading.size_bytes, bytes: Buffer.concat(chunks) };
}

export async function listed(store: BlobStore) {
  const blobs = [];
  for await (const blob of store.list()) blobs.push(blob);
  return blobs.sort((one, other) => (one.hash < other.hash ? -1 : 1));
}

/** Tests what every blob store guarantees (shared/ports/blob-store.ts). */
export function blobStoreContract(name: string, open: () => Promise<BlobStoreUnderTest>): void {
  describe(`blob store on ${name}`, () => {
    let under_test: BlobStoreUnderTest;
    let store: BlobStore;

    beforeEach(async () => {
      under_test = await open();
      store = bounded(under_test.store, 'blob store');
    });
    afterEach(() => within(under_test.dispose(), 'everything under test to close'));

    const put = (bytes: Uint8Array, to = store) => to.put(chunksOf(bytes));

    test.each([0, 1, 255 * 1024, LARGE_BYTES])('%i bytes are read back unchanged', async (size_bytes) => {
      const bytes = randomBytes(size_bytes);
      const hash = sha256(bytes);
      expect(await put(bytes)).toEqual({ hash, size_bytes });
      expect(await store.size(hash)).toBe(size_bytes);
      expectEqual(await readAll(store, hash), { size_bytes, bytes });
      expect(await listed(store)).toEqual([{ hash, size_bytes, stored_at_ms: START_MS }]);
    });

    test('a range includes its first and last byte, and the result has the size of the whole blob', async () => {
      const bytes = randomBytes(LARGE_BYTES);
      const { hash } = await put(bytes);
      const ranges = [
        [0, 0],
        [0, LARGE_BYTES - 1],
        [LARGE_BYTES - 1, LARGE_BYTES - 1],
        [261_119, 261_121],
        [70_000, 1_200_000],
      ] as const;
      for (const [first, last] of ranges) {
        const wanted = { size_bytes: LARGE_BYTES, bytes: Buffer.from(bytes.subarray(first, last + 1)) };
        expectEqual(await readAll(store, hash, { first, last }), wanted);
      }
    });

    test('an unknown hash and an invalid hash are not found', async () => {
      for (const hash of ['0'.repeat(64), '', '../lock.sqlite', 'A'.repeat(64)]) {
        expect(await store.size(hash)).toBeUndefined();
        expect(await store.read(hash)).toBeUndefined();
        await store.delete(hash);
        expect(await store.deleteIfOlder(hash, START_MS + HOUR_MS)).toBe(false);
      }
    });

    test('a put reads one chunk at a time', async () => {
      let asked = 0;
      let ahead_max = 0;
      let written = 0;
      const bytes = randomBytes(300_000);
      async function* counted(): AsyncGenerator<Uint8Array> {
        for (; asked < 10; asked++) {
          yield bytes;
          written++;
          ahead_max = Math.max(ahead_max, asked - written);
        }
      }
      expect((await store.put(counted())).size_bytes).toBe(3_000_000);
      expect(ahead_max).toBeLessThanOrEqual(1);
    });

    test('if the source throws, put rethrows its error and stores nothing', async () => {
      const failure = new Error('the connection was lost');
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield* chunksOf(randomBytes(LARGE_BYTES));
        throw failure;
      }
      await expect(store.put(broken())).rejects.toBe(failure);
      expect(await listed(store)).toEqual([]);
      expect(await under_test.pieces()).toBe(0);
    });

    test('a blob is not visible before its put is complete', async () => {
      const bytes = randomBytes(LARGE_BYTES);
      const hash = sha256(bytes);
      async function* watched(): AsyncGenerator<Uint8Array> {
        yield* chunksOf(bytes);
        expect(await store.size(hash)).toBeUndefined();
        expect(await listed(store)).toEqual([]);
      }
      await store.put(watched());
      expect(await store.size(hash)).toBe(LARGE_BYTES);
    });

    test('the same bytes are stored once, with the time of the last put', async () => {
      const bytes = randomBytes(LARGE_BYTES);
      const { hash, size_bytes } = await put(bytes);
      const pieces = await under_test.pieces();
      under_test.advance(HOUR_MS);
      await put(bytes, await under_test.openAnother());
      expect(await listed(store)).toEqual([{ hash, size_bytes, stored_at_ms: START_MS + HOUR_MS }]);
      expect(await under_test.pieces()).toBe(pieces);
      expectEqual((await readAll(store, hash))?.bytes, bytes);
    });

    test('concurrent puts of the same bytes in several processes store one blob', async () => {
      const stores = [store, await under_test.openAnother(), await under_test.openAnother()];
      const bytes = randomBytes(400_000);
      const other = await put(randomBytes(400_000));
      const pieces = await under_test.pieces();
      const blobs = await Promise.all(Array.from({ length: 9 }, (_, n) => put(bytes, stores[n % 3])));
      expect(new Set(blobs.map(({ hash }) => hash))).toEqual(new Set([sha256(bytes)]));
      expect((await listed(store)).map(({ hash }) => hash)).toEqual([sha256(bytes), other.hash].sort());
      expect(await under_test.pieces()).toBe(2 * pieces);
      for (const one of stores) expectEqual((await readAll(one, sha256(bytes)))?.bytes, bytes);
    });

    test('a deleted blob is removed completely', async () => {
      const bytes = randomBytes(LARGE_BYTES);
      const { hash } = await put(bytes);
      await store.delete(hash);
      await store.delete(hash);
      expect(await store.size(hash)).toBeUndefined();
      expect(await store.read(hash)).toBeUndefined();
      expect(await under_test.pieces()).toBe(0);
      await put(bytes);
      expectEqual((await readAll(store, hash))?.bytes, bytes);
    });

    test('deleteIfOlder deletes only older blobs: not one stored at that time or put again since', async () => {
      const bytes = randomBytes(1_000);
      const { hash } = await put(bytes);
      expect(await store.deleteIfOlder(hash, START_MS)).toBe(false);
      under_test.advance(HOUR_MS);
      await put(bytes);
      expect(await store.deleteIfOlder(hash, START_MS + HOUR_MS)).toBe(false);
      expectEqual((await readAll(store, hash))?.bytes, bytes);
      expect(await store.deleteIfOlder(hash, START_MS + HOUR_MS + 1)).toBe(true);
      expect(await store.deleteIfOlder(hash, START_MS + HOUR_MS + 1)).toBe(false);
      expect(await store.size(hash)).toBeUndefined();
      expect(await under_test.pieces()).toBe(0);
    });

    test('a blob that is put during a sweep is kept', async () => {
      const sweeper = await under_test.openAnother();
      const contents = Array.from({ length: 8 }, () => randomBytes(2_000));
      for (const bytes of contents) await put(bytes);
      under_test.advance(HOUR_MS);
      const sweeping = contents.map((bytes) => sweeper.deleteIfOlder(sha256(bytes), START_MS + HOUR_MS));
      await Promise.all([...contents.map((bytes) => put(bytes)), ...sweeping]);
      for (const bytes of contents) expectEqual((await readAll(store, sha256(bytes)))?.bytes, bytes);
      expect(await listed(store)).toHaveLength(contents.length);
    });

    test('an abandoned read leaves nothing open', async () => {
      const { hash } = await put(randomBytes(LARGE_BYTES));
      for (let n = 0; n < 20; n++) {
        const reading = await store.read(hash);
        for await (const chunk of reading!.bytes) {
          expect(chunk.byteLength).toBeGreaterThan(0);
          break;
        }
        // This read is returned before its first chunk.
        await (await store.read(hash))!.bytes[Symbol.asyncIterator]().return?.();
      }
      expect(await store.size(hash)).toBe(LARGE_BYTES);
    });

    test('blobs survive a restart of the process', async () => {
      const bytes = randomBytes(LARGE_BYTES);
      const { hash } = await put(bytes);
      await store.close();
      expectEqual((await readAll(await under_test.openAnother(), hash))?.bytes, bytes);
    });

    test('a closed store rejects calls with unavailable', async () => {
      const { hash } = await put(randomBytes(10));
      await store.close();
      const calls = [
        () => put(randomBytes(10)),
        () => store.size(hash),
        () => store.read(hash),
        () => store.delete(hash),
        () => store.deleteIfOlder(hash, START_MS + 1),
        () => listed(store),
      ];
      for (const call of calls) await expect(call()).rejects.toMatchObject({ condition: 'unavailable' });
    });
  });
}
