/** SHA-256 of the bytes, 64 lower-case hexadecimal digits: the same bytes are kept once. */
export type BlobHash = string;

const HASH = /^[0-9a-f]{64}$/;

export const isBlobHash = (text: string): boolean => HASH.test(text);

export interface StoredBlob {
  readonly hash: BlobHash;
  readonly size_bytes: number;
}

/** Bytes `first` to `last`, both included, as HTTP counts them (RFC 9110 §14.1.2); within the blob. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

export interface BlobReading {
  /** Of the whole blob, whatever the range. */
  readonly size_bytes: number;
  /** To be read to its end or returned: it holds a file or a cursor open. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/**
 * Bytes by content hash, of one environment and one area.
 *
 * - `put` streams: it holds a chunk at a time. Resolves when the blob is durable and readable; where `bytes` throws, it
 *   throws the same and nothing is kept. Putting what is there already changes only its `stored_at`; of two that put the
 *   same at once both succeed and one blob is kept.
 * - `size` is undefined for what is not there, and for what is no hash. `read` is undefined then, too.
 * - `delete` of what is not there does nothing. `deleteIfOlder` leaves alone what was put again at or after the time given,
 *   in one step: what is put while it is being swept stays.
 * - `list` goes through all, in no order; what is put or deleted meanwhile may be there or not.
 *
 * Throws `CatalogError('unavailable')` where the store cannot be reached.
 */
export interface BlobStore {
  put(bytes: AsyncIterable<Uint8Array>): Promise<StoredBlob>;
  size(hash: BlobHash): Promise<number | undefined>;
  read(hash: BlobHash, range?: ByteRange): Promise<BlobReading | undefined>;
  delete(hash: BlobHash): Promise<void>;
  /** `before_ms`: Unix time. True where it was deleted. */
  deleteIfOlder(hash: BlobHash, before_ms: number): Promise<boolean>;
  list(): AsyncIterable<StoredBlob & { readonly stored_at_ms: number }>;
  close(): Promise<void>;
}

/** `originals`: as uploaded, never served, for their metadata are in there. `pictures`: what anybody may load. */
export const BLOB_AREAS = ['originals', 'pictures'] as const;
export type BlobArea = (typeof BLOB_AREAS)[number];

/** A whole blob in memory, once: an upload's size is bounded. Undefined where it is not there. */
export async function readWhole(blobs: BlobStore, hash: BlobHash): Promise<Buffer | undefined> {
  const reading = await blobs.read(hash);
  if (!reading) return undefined;
  const whole = Buffer.allocUnsafeSlow(reading.size_bytes);
  let at = 0;
  for await (const chunk of reading.bytes) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
