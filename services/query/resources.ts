import { reads } from '../../shared/api/operations/reads';
import type { ListingDocument } from '../../shared/catalog/listing/document';
import type { MediaDocument } from '../../shared/catalog/media/document';
import { orderOf } from '../../shared/catalog/sorting';
import { EXPANDED_MAX } from '../../shared/catalog/stored-document';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { CatalogError } from '../../shared/kernel/errors';
import type { PublicationId, StoreId } from '../../shared/kernel/ids';
import type { DocumentReader } from '../../shared/ports/document-reader';
import { EXPANSIONS, partsFor, presentListing, presentPublication, presentStore } from './present';
import {
  assertActive,
  findById,
  namedStore,
  openForId,
  openStore,
  parseRead,
  type ReadQuery,
  type ReadSides,
  showsItem,
  visibilityKey,
} from './read';

/** `GET /api/store`. A store has no version of its own: no write of this interface changes it under `If-Match`. */
export async function readStore(sides: ReadSides, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.getStore, request, EXPANSIONS.store);
  const store_id = namedStore(request);
  const version = await openStore(sides, request, store_id);
  const [store, managed] = await Promise.all([
    version.get('stores', store_id, partsFor('store', query)),
    firstManaged(version, query, store_id),
  ]);
  return { data: presentStore(assertActive(store), query, managed) };
}

/** What `expand=listing` adds for who manages hidden listings, with counts by that visibility. */
async function firstManaged(
  version: DocumentReader,
  { visibility, expand }: ReadQuery,
  store_id: StoreId,
): Promise<ListingDocument[]> {
  if (visibility === 'public' || !expand.includes('listing')) return [];
  const listings = await version.find('listings', {
    where: { store_id, visibility: visibilityKey(visibility) },
    order: orderOf('created_at_desc'),
    limit: EXPANDED_MAX,
    parts: ['state'],
  });
  return listings.flatMap(({ document }) => (document ? [document] : []));
}

/** `GET /api/listing/:id` */
export async function readListing(sides: ReadSides, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.getListing, request, EXPANSIONS.listing);
  const version = await openForId(sides, request, 'listings');
  const listing = await findById(sides, request, version, 'listings', {
    visibility: query.visibility,
    shows: showsItem,
    parts: partsFor('listing', query),
  });
  return { data: presentListing(listing, query), version: Number(listing.keys.version) };
}

/**
 * `GET /api/publication/:id`. One with a public key is a view (decisions §5), also where it ends in a 304: the visitor sees
 * the page either way. HEAD is none, nor is a merchant's look with a secret key.
 */
export async function readPublication(sides: ReadSides, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.getPublication, request, EXPANSIONS.publication);
  const version = await openForId(sides, request, 'publications');
  const publication = await findById(sides, request, version, 'publications', {
    visibility: query.visibility,
    shows: showsItem,
    parts: partsFor('publication', query),
  });
  const { principal, method } = request;
  if (principal.key_type === 'public' && method === 'GET')
    sides.recordView({
      environment: principal.environment,
      publication_id: request.params.id as PublicationId,
    });
  return { data: presentPublication(publication, query), version: Number(publication.keys.version) };
}

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

/**
 * Whether an `Accept` header prefers a picture to JSON (RFC 9110 §12.5.1): compares the weight of the best `image/…` range
 * with that of the most specific range that covers JSON. A tie gets JSON, which is why Express's `req.accepts()` does
 * not serve: it prefers the more specific range.
 */
function prefersImage(accept: string | undefined): boolean {
  const ranges = (accept ?? '*/*').split(',').map(parse);
  const weight = (...types: readonly string[]): number | undefined => {
    for (const type of types) {
      const found = ranges.find((range) => range.type === type);
      if (found) return found.q;
    }
    return undefined;
  };
  const images = ranges.filter(({ type }) => type.startsWith('image/')).map(({ q }) => q);
  if (images.length === 0) return false;
  return Math.max(...images) > (weight('application/json', 'application/*', '*/*') ?? 0);
}

function parse(range: string): { readonly type: string; readonly q: number } {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='));
  const q = weight === undefined ? 1 : Number(weight.slice(2));
  return { type, q: Number.isFinite(q) ? q : 0 };
}
