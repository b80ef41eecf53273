import { SNIFF_BYTES, sniffImage } from '../catalog/media/sniff';
import type { ImageType } from '../catalog/vocabulary';
import { LRUCache } from '../kernel/cache';
import type { BlobHash, BlobStore } from '../ports/blob-store';

/** Some megabytes at most; what is asked for again and again stays in it. */
const REMEMBERED_MAX = 10_000;

/** What stored bytes are by the first of them. Remembered, for under one hash they never change. */
export class PictureTypes {
  private readonly remembered = new LRUCache<BlobHash, ImageType | 'no picture'>({ max: REMEMBERED_MAX });

  /** Undefined for what is not there, or is no picture. Throws what the store throws. */
  async of(blobs: Pick<BlobStore, 'size' | 'read'>, hash: BlobHash): Promise<ImageType | undefined> {
    const known = this.remembered.get(hash);
    if (known !== undefined) return known === 'no picture' ? undefined : known;
    const head = await readHead(blobs, hash);
    if (head === undefined) return undefined;
    const type = sniffImage(head);
    this.remembered.set(hash, type ?? 'no picture');
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
