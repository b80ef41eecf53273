import { SNIFF_BYTES, sniffImage } from '../../shared/catalog/media/image-types';
import { type ImageHeader, ImageRejectedError, inspectImage } from '../../shared/images/inspect';
import { ImageLibraryUnavailable } from '../../shared/images/sharp';
import { Semaphore } from '../../shared/kernel/async';
import { CatalogError } from '../../shared/kernel/errors';
import { type BlobHash, type BlobStore, readIntoMemory } from '../../shared/ports/blob-store';

/** Concurrent inspections. Each needs the complete file in memory. */
const CONCURRENT_INSPECTIONS = 2;

/**
 * Streams an upload into the blob store. Throws `unsupported_image`, and stores nothing, if its first bytes do not belong
 * to a supported format. Also throws errors of `bytes`.
 */
export async function storeOriginal(
  originals: BlobStore,
  bytes: AsyncIterable<Uint8Array>,
): Promise<{ hash: BlobHash; size_bytes: number }> {
  const { hash, size_bytes } = await originals.put(checkFormat(bytes));
  return { hash, size_bytes };
}

/** Yields the bytes unchanged, after it has checked the first ones. */
async function* checkFormat(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
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
  if (sniffImage(head) === undefined) throw unsupportedError();
  return head;
}

const inspections = new Semaphore(CONCURRENT_INSPECTIONS);

/**
 * Returns type and size of a stored file, from its header. Throws `unsupported_image`, `too_large` if the image has too
 * many pixels or a side that is too long, and `unavailable` if the image library cannot be loaded.
 */
export function inspectOriginal(originals: BlobStore, hash: BlobHash): Promise<ImageHeader> {
  return inspections.run(async () => {
    const bytes = await readIntoMemory(originals, hash);
    if (!bytes) throw new Error(`the upload ${hash} is missing from the blob store`);
    try {
      return await inspectImage(bytes);
    } catch (error) {
      if (error instanceof ImageRejectedError) throw toCatalogError(error);
      if (error instanceof ImageLibraryUnavailable) throw new CatalogError('unavailable', { cause: error });
      throw error;
    }
  });
}

function toCatalogError(refused: ImageRejectedError): CatalogError {
  if (refused.reason === 'too_many_pixels')
    return new CatalogError('too_large', {
      message:
        'The picture has more than 50 megapixels, counting all frames, or a side of more than 20,000 pixels',
      cause: refused,
    });
  return unsupportedError(refused);
}

function unsupportedError(cause?: ImageRejectedError): CatalogError {
  return new CatalogError('unsupported_image', {
    message: 'The file is no JPEG, PNG, WebP, GIF or AVIF image, or its header is damaged',
    cause,
  });
}
