import { SNIFF_BYTES, sniffImage } from '../../shared/catalog/media/sniff';
import { type ImageHeader, inspectImage, RefusedImage } from '../../shared/images/inspect';
import { Semaphore } from '../../shared/kernel/async';
import { CatalogError } from '../../shared/kernel/errors';
import { type BlobHash, type BlobStore, readWhole } from '../../shared/ports/blob-store';

/** Files that are in memory to be inspected, whatever the number of uploads. */
const INSPECTIONS_AT_ONCE = 2;

/**
 * Keeps an upload as it comes, a chunk at a time; what does not begin like a picture is refused at its first bytes, and
 * nothing of it kept. Throws `unsupported_image`, and what `bytes` throws.
 */
export async function keepOriginal(
  originals: BlobStore,
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ hash: BlobHash; size_bytes: number }> {
  const { hash, size_bytes } = await originals.put(pictureBytes(bytes));
  return { hash, size_bytes };
}

async function* pictureBytes(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of bytes) {
    if (head === undefined) {
      yield chunk;
      continue;
    }
    head = Buffer.concat([head, chunk]);
    if (head.length < SNIFF_BYTES) continue;
    yield assertPicture(head);
    head = undefined;
  }
  if (head !== undefined) yield assertPicture(head);
}

function assertPicture(head: Buffer): Buffer {
  if (sniffImage(head) === undefined) throw unsupported();
  return head;
}

/** What the header of a kept file says. Throws `unsupported_image`, `too_large` for too many pixels. */
export class Inspector {
  private readonly inspections = new Semaphore(INSPECTIONS_AT_ONCE);

  inspect(originals: BlobStore, hash: BlobHash): Promise<ImageHeader> {
    return this.inspections.run(async () => {
      const bytes = await readWhole(originals, hash);
      if (!bytes) throw new Error(`the upload ${hash} was just kept and is not there`);
      try {
        return await inspectImage(bytes);
      } catch (error) {
        throw error instanceof RefusedImage ? refusal(error) : error;
      }
    });
  }
}

function refusal(refused: RefusedImage): CatalogError {
  if (refused.reason === 'too_many_pixels')
    return new CatalogError('too_large', {
      message: 'The picture has more than 50 megapixels, all its frames together',
      cause: refused,
    });
  return unsupported(refused);
}

function unsupported(cause?: RefusedImage): CatalogError {
  return new CatalogError('unsupported_image', {
    message: 'The file is no JPEG, PNG, WebP, GIF or AVIF, or its header is damaged',
    cause,
  });
}
