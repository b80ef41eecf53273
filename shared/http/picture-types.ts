import type { ImageType } from '../contracts/vocabulary';
import { SNIFF_BYTES, sniffImage } from '../images/sniff';
import type { BlobHash, BlobStore } from '../ports/blob-store';

/** Some megabytes at most; what is asked for again and again stays in it. */
const REMEMBERED_MAX = 10_000;

/** What stored bytes are by the first of them. Remembered, for under one hash they never change. */
export class PictureTypes {
  private readonly remembered = new Map<BlobHash, ImageType | undefined>();

  /** Undefined for what is not there, or is no picture. Throws what the store throws. */
  async of(blobs: Pick<BlobStore, 'size' | 'read'>, hash: BlobHash): Promise<ImageType | undefined> {
    const known = this.remembered.has(hash);
    const head = known ? undefined : await readHead(blobs, hash);
    if (!known && head === undefined) return undefined;
    const type = head === undefined ? this.remembered.get(hash) : sniffImage(head);
    // Put in anew, so that the map is in the order of last use.
    this.remembered.delete(hash);
    this.remembered.set(hash, type);
    if (this.remembered.size > REMEMBERED_MAX)
      this.remembered.delete(this.remembered.keys().next().value as BlobHash);
    return type;
  }
}

async function readHead(
  blobs: Pick<BlobStore, 'size' | 'read'>,
  hash: BlobHash,
): Promise<Buffer | undefined> {
  const size_bytes = await blobs.size(hash);
  if (!size_bytes) return undefined;
  const reading = await blobs.read(hash, { first: 0, last: Math.min(SNIFF_BYTES, size_bytes) - 1 });
  if (!reading) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of reading.bytes) chunks.push(chunk);
  return Buffer.concat(chunks);
}
