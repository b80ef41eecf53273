import { reads } from '../../shared/api/operations/reads';
import type { MediaDocument } from '../../shared/catalog/media/document';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { CatalogError } from '../../shared/kernel/errors';
import { prefersImage } from './accept';
import { findById, openForId } from './find-by-id';
import { parseRead } from './read-query';
import type { ReadSides } from './store-guard';

/** The answer depends on what is accepted, besides on what every answer of the interface does. */
const VARY = { Vary: 'Authorization, Accept, Accept-Encoding' };
/** Pictures are made within moments. */
const RETRY_AFTER_S = 1;

/** `GET /api/media/:id`: the record, or with `Accept: image/*` the picture itself. No media is hidden by itself. */
export async function readMedia(sides: ReadSides, request: ApiRequest): Promise<Answer> {
  const { visibility } = parseRead(reads.getMedia, request, []);
  const bytes = prefersImage(request.header('accept'));
  const version = await openForId(sides, request, 'media');
  const media = await findById(sides, request, version, 'media', {
    visibility,
    shows: () => true,
    parts: bytes ? ['state'] : [],
  });
  if (bytes) return pictureAnswer(sides, request, media);
  return { data: media.body, version: Number(media.keys.version), headers: VARY };
}

function pictureAnswer(sides: ReadSides, request: ApiRequest, media: MediaDocument): Answer {
  const { progress } = media.state.media;
  if (progress.status !== 'ready') {
    const processing = progress.status === 'processing';
    throw new CatalogError('media_not_found', {
      message: processing ? 'The picture is still being made' : 'No picture could be made of the file',
      ...(processing && { retry_after_s: RETRY_AFTER_S }),
    });
  }
  const { hash, mime_type: content_type } = progress.pictures.picture;
  const blobs = sides.pictures[request.principal.environment];
  return {
    data: null,
    file: { blobs, hash, content_type, missing: 'media_not_found', headers: VARY },
  };
}
