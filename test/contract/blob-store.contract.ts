import { createHash, randomBytes } from 'node:crypto';
import type { BlobStore } from '../../shared/ports/blob-store';

/** An empty store; `again` shares what it keeps as another process would. */
export interface BlobStoreUnderTest {
  readonly store: BlobStore;
  readonly again: () => Promise<BlobStore>;
  /** Moves the clock that `stored_at` is taken from. */
  readonly advance: (ms: number) => void;
  /** How many files, documents or chunks it holds for what is being put and for what is whole. */
  readonly pieces: () => Promise<number>;
  /** Closes every handle and removes what was stored. */
  dispose(): Promise<void>;
}

const HOUR_MS = 3_600_000;
/** More than one chunk of any adapter, and no whole number of them. */
const LARGE_BYTES = 1_500_001;

export const START_MS = Date.parse('2026-01-31T12:00:00.000Z');

export async function* chunksOf(bytes: Uint8Array, chunk_bytes = 100_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += chunk_bytes) yield bytes.subarray(at, at + chunk_bytes);
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** What a store has under a hash; undefined where there is nothing. */
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

/** What every blob store promises (shared/ports/blob-store.ts). */
export function blobStoreContract(name: string, open: () => Promise<BlobStoreUnderTest>): void {
  describe(`blob store on ${name}`, () => {
    let given: BlobStoreUnderTest;
    let store: BlobStore;

    beforeEach(async () => {
      given = await open();
      store = given.store;
    });
    afterEach(() => given.dispose());

    const put = (bytes: Uint8Array, to = store) => to.put(chunksOf(bytes));

    test.each([0, 1, 255 * 1024, LARGE_BYTES])('%i bytes come back as they were put', async (size_bytes) => {
      const bytes = randomBytes(size_bytes);
      const hash = sha256(bytes);
      expect(await put(bytes)).toEqual({ hash, size_bytes });
      expect(await store.size(hash)).toBe(size_bytes);
      expect(await readAll(store, hash)).toEqual({ size_bytes, bytes });
      expect(await listed(store)).toEqual([{ hash, size_bytes, stored_at_ms: START_MS }]);
    });

    test('a range gives its first and last byte and what is between, and the size of the whole', async () => {
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
        expect(await readAll(store, hash, { first, last })).toEqual(wanted);
      }
    });

    test('what was never put is not there, nor is what is no hash', async () => {
      for (const hash of ['0'.repeat(64), '', '../lock.sqlite', 'A'.repeat(64)]) {
        expect(await store.size(hash)).toBeUndefined();
        expect(await store.read(hash)).toBeUndefined();
        await store.delete(hash);
        expect(await store.deleteIfOlder(hash, START_MS + HOUR_MS)).toBe(false);
      }
    });

    test('a put takes a chunk at a time', async () => {
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

    test('where the bytes break off nothing is kept, and the failure is the one that they threw', async () => {
      const failure = new Error('the connection was lost');
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield* chunksOf(randomBytes(LARGE_BYTES));
        throw failure;
      }
      await expect(store.put(broken())).rejects.toBe(failure);
      expect(await listed(store)).toEqual([]);
      expect(await given.pieces()).toBe(0);
    });

    test('what is put is not there before it is whole', async () => {
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

    test('the same bytes are kept once, with the time of the last put', async () => {
      const bytes = randomBytes(LARGE_BYTES);
      const { hash, size_bytes } = await put(bytes);
      const pieces = await given.pieces();
      given.advance(HOUR_MS);
      await put(bytes, await given.again());
      expect(await listed(store)).toEqual([{ hash, size_bytes, stored_at_ms: START_MS + HOUR_MS }]);
      expect(await given.pieces()).toBe(pieces);
      expect((await readAll(store, hash))?.bytes).toEqual(bytes);
    });

    test('many that put the same at once, in several processes, end with one', async () => {
      const stores = [store, await given.again(), await given.again()];
      const bytes = randomBytes(400_000);
      const other = await put(randomBytes(400_000));
      const pieces = await given.pieces();
      const blobs = await Promise.all(Array.from({ length: 9 }, (_, n) => put(bytes, stores[n % 3])));
      expect(new Set(blobs.map(({ hash }) => hash))).toEqual(new Set([sha256(bytes)]));
      expect((await listed(store)).map(({ hash }) => hash)).toEqual([sha256(bytes), other.hash].sort());
      expect(await given.pieces()).toBe(2 * pieces);
      for (const one of stores) expect((await readAll(one, sha256(bytes)))?.bytes).toEqual(bytes);
    });

    test('what is deleted is gone, for good and with all that belongs to it', async () => {
      const bytes = randomBytes(LARGE_BYTES);
      const { hash } = await put(bytes);
      await store.delete(hash);
      await store.delete(hash);
      expect(await store.size(hash)).toBeUndefined();
      expect(await store.read(hash)).toBeUndefined();
      expect(await given.pieces()).toBe(0);
      await put(bytes);
      expect((await readAll(store, hash))?.bytes).toEqual(bytes);
    });

    test('only what is older goes: not what was stored at that time, nor what was put again since', async () => {
      const bytes = randomBytes(1_000);
      const { hash } = await put(bytes);
      expect(await store.deleteIfOlder(hash, START_MS)).toBe(false);
      given.advance(HOUR_MS);
      await put(bytes);
      expect(await store.deleteIfOlder(hash, START_MS + HOUR_MS)).toBe(false);
      expect((await readAll(store, hash))?.bytes).toEqual(bytes);
      expect(await store.deleteIfOlder(hash, START_MS + HOUR_MS + 1)).toBe(true);
      expect(await store.deleteIfOlder(hash, START_MS + HOUR_MS + 1)).toBe(false);
      expect(await store.size(hash)).toBeUndefined();
      expect(await given.pieces()).toBe(0);
    });

    test('what is put while it is swept stays', async () => {
      const sweeper = await given.again();
      const contents = Array.from({ length: 8 }, () => randomBytes(2_000));
      for (const bytes of contents) await put(bytes);
      given.advance(HOUR_MS);
      const sweeping = contents.map((bytes) => sweeper.deleteIfOlder(sha256(bytes), START_MS + HOUR_MS));
      await Promise.all([...contents.map((bytes) => put(bytes)), ...sweeping]);
      for (const bytes of contents) expect((await readAll(store, sha256(bytes)))?.bytes).toEqual(bytes);
      expect(await listed(store)).toHaveLength(contents.length);
    });

    test('a reading that is given up holds nothing open', async () => {
      const { hash } = await put(randomBytes(LARGE_BYTES));
      for (let n = 0; n < 20; n++) {
        const reading = await store.read(hash);
        for await (const chunk of reading!.bytes) {
          expect(chunk.byteLength).toBeGreaterThan(0);
          break;
        }
        // Not even begun.
        await (await store.read(hash))!.bytes[Symbol.asyncIterator]().return?.();
      }
      expect(await store.size(hash)).toBe(LARGE_BYTES);
    });

    test('what was put outlives the process', async () => {
      const bytes = randomBytes(LARGE_BYTES);
      const { hash } = await put(bytes);
      await store.close();
      expect((await readAll(await given.again(), hash))?.bytes).toEqual(bytes);
    });

    test('a closed store says that it cannot be reached', async () => {
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
