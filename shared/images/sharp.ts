import type sharp from 'sharp';

export type Sharp = typeof sharp;

/** The libvips readers of the accepted formats. */
const READERS = [
  'VipsForeignLoadJpegBuffer',
  'VipsForeignLoadPngBuffer',
  'VipsForeignLoadWebpBuffer',
  'VipsForeignLoadNsgifBuffer',
  'VipsForeignLoadHeifBuffer',
];

/** Thrown if the image library cannot be loaded. Says nothing about an image. `cause` is the error of the loader. */
export class ImageLibraryUnavailable extends Error {
  override readonly name = 'ImageLibraryUnavailable';

  constructor(cause: unknown) {
    super('the image library cannot be loaded', { cause });
  }
}

let loaded: Sharp | undefined;
/** Whether the last attempt to load the library failed. */
let has_failed = false;

/**
 * Loads the image library at the first call, because most commands and processes do not need it. Uses one thread per
 * picture and no cache, which bounds the memory. Blocks the readers of all other formats, to reduce the attack surface.
 * Throws `ImageLibraryUnavailable` if it cannot be loaded. The next call tries again.
 */
export function loadSharp(): Sharp {
  if (loaded === undefined) {
    try {
      const library = require('sharp') as Sharp;
      library.cache(false);
      library.concurrency(1);
      library.block({ operation: ['VipsForeignLoad'] });
      library.unblock({ operation: READERS });
      loaded = library;
      has_failed = false;
    } catch (cause) {
      has_failed = true;
      throw new ImageLibraryUnavailable(cause);
    }
  }
  return loaded;
}

/**
 * Tries to load the library again if the last call of `loadSharp` failed. Throws `ImageLibraryUnavailable` if this attempt
 * fails, too. If nothing has called `loadSharp` yet, does not load the library, because it would take memory in a process
 * that does not need it.
 */
export function checkSharp(): void {
  if (has_failed) loadSharp();
}

/**
 * Whether an error of a call of `sharp` means that the image is invalid. Such an error of libvips is a plain `Error` with
 * the text of the decoder and without a code. Any other error means that the service failed, so that the same image may
 * succeed later: a lack of memory, an error of the operating system (which has a code), or a bug (which is a `TypeError`
 * or another subclass).
 */
export function isInvalidImageError(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== 'Error' || 'code' in error) return false;
  // libheif also calls its limit for the sizes in a file a memory allocation error.
  return (
    /security limit/i.test(error.message) ||
    !/out of memory|insufficient memory|memory alloc/i.test(error.message)
  );
}
