/** SHA-256 of the bytes, as 64 lower-case hexadecimal digits. Equal bytes have one hash and are stored once. */
export type BlobHash = string;

const HASH = /^[0-9a-f]{64}$/;

export const isBlobHash = (text: string): boolean => HASH.test(text);

export interface StoredBlob {
  readonly hash: BlobHash;
  readonly size_bytes: number;
}

/** Bytes `first` to `last`, both inclusive, as in HTTP (RFC 9110 §14.1.2). Must be within the blob. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

export interface BlobReading {
  /** Size of the complete blob, also if a range is read. */
  readonly size_bytes: number;
  /** The bytes. Read them to the end or call `return()`: the iterator keeps a file or a cursor open. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/**
 * Stores bytes by content hash, for one environment and one area.
 *
 * Every method throws `CatalogError('unavailable')` if the files or the database cannot be reached.
 */
export interface BlobStore {
  /**
   * Stores the bytes. Keeps one chunk in memory at a time.
   *
   * - Resolves when the blob is durable and readable. The blob is not readable before.
   * - If `bytes` throws, throws the same error and stores nothing.
   * - If the blob exists, only updates its `stored_at_ms`.
   * - If two callers put the same bytes at once, both succeed and one blob is stored.
   */
  put(bytes: AsyncIterable<Uint8Array>): Promise<StoredBlob>;

  /** Returns the size in bytes. Returns undefined if the blob does not exist, or if `hash` is not a valid hash. */
  size(hash: BlobHash): Promise<number | undefined>;

  /**
   * Opens the blob, or a range of it. Returns undefined if the blob does not exist, or if `hash` is not a valid hash.
   */
  read(hash: BlobHash, range?: ByteRange): Promise<BlobReading | undefined>;

  /** Deletes the blob. Does nothing if the blob does not exist. */
  delete(hash: BlobHash): Promise<void>;

  /**
   * Deletes the blob if it was last put before `before_ms` (Unix milliseconds). Returns whether it was deleted.
   * Compares and deletes in one step, so a blob that is put again during a sweep is never lost.
   */
  deleteIfOlder(hash: BlobHash, before_ms: number): Promise<boolean>;

  /** Yields every blob, in no particular order. Blobs that are put or deleted meanwhile may be included or not. */
  list(): AsyncIterable<StoredBlob & { readonly stored_at_ms: number }>;

  close(): Promise<void>;
}

/**
 * - `originals`: uploaded files. Never served, because they contain metadata such as the place of a photo.
 * - `pictures`: rendered files that anybody may load.
 */
export const BLOB_AREAS = ['originals', 'pictures'] as const;
export type BlobArea = (typeof BLOB_AREAS)[number];

/**
 * Reads a complete blob into memory. Returns undefined if the blob does not exist. Safe, because uploads are limited in
 * size.
 */
export async function readIntoMemory(blobs: BlobStore, hash: BlobHash): Promise<Buffer | undefined> {
  const reading = await blobs.read(hash);
  if (!reading) return undefined;
  const buffer = Buffer.allocUnsafeSlow(reading.size_bytes);
  let offset = 0;
  for await (const chunk of reading.bytes) {
    buffer.set(chunk, offset);
    offset += chunk.length;
  }
  return buffer;
}
