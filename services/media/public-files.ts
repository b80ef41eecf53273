import { buffer } from 'node:stream/consumers';
import { service } from '../../shared/api/operations/service';
import { SNIFF_BYTES, sniffImage, typeOfExtension } from '../../shared/catalog/media/image-types';
import { ENVIRONMENTS } from '../../shared/catalog/realm';
import type { ImageType } from '../../shared/catalog/vocabulary';
import type { FileAnswer, Pictures, PublicRoute } from '../../shared/http/route';
import { LRUCache } from '../../shared/kernel/cache';
import { CatalogError } from '../../shared/kernel/errors';
import type { BlobHash } from '../../shared/ports/blob-store';

type Blobs = FileAnswer['blobs'];

/**
 * The content of an address never changes, because the address contains its hash. The policy prevents a browser from
 * executing the file.
 */
const HEADERS = {
  'Cache-Control': 'public, max-age=31536000, immutable',
  'Content-Security-Policy': "default-src 'none'; sandbox",
  'Cross-Origin-Resource-Policy': 'cross-origin',
};

/** Takes a few megabytes of memory. */
const CACHED_TYPES_MAX = 10_000;

/**
 * Builds the route that serves pictures by the hash of their content (docs/interface/media.md#pictures). It needs no token, so
 * an `<img>` can load them.
 */
export function pictureRoute(pictures: Pictures): PublicRoute {
  // `type` is undefined if the file is not a picture. Entries never become stale, because a hash has only one content.
  const types = new LRUCache<BlobHash, { readonly type: ImageType | undefined }>({ max: CACHED_TYPES_MAX });
  const typeOf = async (blobs: Blobs, hash: BlobHash): Promise<ImageType | undefined> => {
    const cached = types.get(hash);
    if (cached) return cached.type;
    const head = await readHead(blobs, hash);
    if (head === undefined) return undefined;
    const type = sniffImage(head);
    types.set(hash, { type });
    return type;
  };
  return {
    path: service.getPicture.path,
    serve: async (_, params) => {
      const file = pictureOf(pictures, String(params.environment), String(params.file));
      // With another extension, the bytes would be sent with the wrong content type.
      if ((await typeOf(file.blobs, file.hash)) !== file.content_type)
        throw new CatalogError('path_not_found');
      return { data: null, file };
    },
  };
}

function pictureOf(pictures: Pictures, environment: string, file: string): FileAnswer {
  const [, hash, extension = ''] = /^([0-9a-f]{64})\.([a-z]+)$/.exec(file) ?? [];
  const content_type = typeOfExtension(extension);
  const parsed = ENVIRONMENTS.find((each) => each === environment);
  if (hash === undefined || content_type === undefined || parsed === undefined)
    throw new CatalogError('path_not_found');
  return { blobs: pictures[parsed], hash, content_type, missing: 'path_not_found', headers: HEADERS };
}

/** Reads the first bytes of a file, which determine its type. Returns undefined if the file does not exist. */
async function readHead(blobs: Blobs, hash: BlobHash): Promise<Buffer | undefined> {
  const size_bytes = await blobs.size(hash);
  if (!size_bytes) return undefined;
  const reading = await blobs.read(hash, { first: 0, last: Math.min(SNIFF_BYTES, size_bytes) - 1 });
  return reading && buffer(reading.bytes);
}
