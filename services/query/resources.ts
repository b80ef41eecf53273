import { reads } from '../../shared/api/operations/reads';
import type { ListingDocument } from '../../shared/catalog/listing/document';
import type { MediaDocument } from '../../shared/catalog/media/document';
import { orderOf } from '../../shared/catalog/sorting';
import { EXPANDED_MAX } from '../../shared/catalog/stored-document';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { CatalogError } from '../../shared/kernel/errors';
import type { PublicationId, StoreId } from '../../shared/kernel/ids';
import type { DocumentReader } from '../../shared/ports/document-reader';
import { movedFrom } from './handles';
import { withPlaces } from './listing-tree';
import { withoutDeletedListings } from './page-items';
import { EXPANSIONS, partsFor, presentListing, presentPublication, presentStore } from './present';
import { presentationOf } from './presentation';
import {
  findById,
  isItemVisible,
  openForId,
  openStore,
  parseRead,
  type ReadDeps,
  type ReadQuery,
  requestedStore,
  requireStore,
  settingsOf,
  visibilityKey,
} from './read';

/** Handles `GET /api/store`. */
export async function readStore(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.getStore, request, EXPANSIONS.store);
  const store_id = requestedStore(request);
  const is_secret = request.principal.key_type === 'secret';
  const version = await openStore(deps, request, store_id);
  const [document, counted_listings] = await Promise.all([
    requireStore(version, store_id, partsFor('store', query)),
    listingsForExpansion(version, query, store_id),
  ]);
  // A document of an old schema, which is read until a rebuild, has no version.
  const { version: stored_version } = document.keys;
  const shown = presentStore(document, query, counted_listings);
  const { new_review_status, price_lists } = (is_secret && document.state.store) || {};
  const of_merchant = {
    ...(new_review_status && { new_review_status }),
    ...(price_lists && { price_lists }),
  };
  const data = { ...shown, ...of_merchant };
  const answer = { data, as: presentationOf(settingsOf(document), request) };
  return typeof stored_version === 'number' ? { ...answer, version: stored_version } : answer;
}

/** Returns the listings for `expand=listing` if the visibility is not `public`, with the counts for that visibility. */
async function listingsForExpansion(
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

/** Handles `GET /api/listing/:id`. */
export async function readListing(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.getListing, request, EXPANSIONS.listing);
  const version = await openForId(deps, request, 'listings');
  const by_id = await findById(deps, request, version, 'listings', {
    visibility: query.visibility,
    isVisible: isItemVisible,
    parts: partsFor('listing', query),
  });
  const { document: found, made_from, store } = by_id;
  const as = presentationOf(store, request);
  const moved = movedFrom(request, found, as);
  if (moved) return moved;
  const [placed] = await withPlaces(version, [{ ...made_from, document: found }], query.visibility);
  const listing = placed!.document!;
  const answer = { data: presentListing(listing, query), version: Number(listing.keys.version), as };
  // With a path, the answer also depends on other documents.
  return listing === found ? { ...answer, made_from } : answer;
}

/**
 * Handles `GET /api/publication/:id`. With a public key it counts as a view (docs/interface/publications.md#views), even if the
 * response is a 304, because the visitor sees the page either way. HEAD requests and requests with a secret key do not
 * count.
 */
export async function readPublication(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.getPublication, request, EXPANSIONS.publication);
  const version = await openForId(deps, request, 'publications');
  const by_id = await findById(deps, request, version, 'publications', {
    visibility: query.visibility,
    isVisible: isItemVisible,
    parts: partsFor('publication', query),
  });
  const { document: publication, made_from, store } = by_id;
  const as = presentationOf(store, request);
  const moved = movedFrom(request, publication, as);
  if (moved) return moved;
  const { principal, method } = request;
  if (principal.key_type === 'public' && method === 'GET')
    deps.recordPageView({
      environment: principal.environment,
      store_id: publication.keys.store_id as StoreId,
      publication_id: request.params.id as PublicationId,
    });
  const page = [{ ...made_from, document: publication }];
  const [shown] = await withoutDeletedListings(version, page, query);
  const answer = {
    data: presentPublication(shown!.document!, query),
    version: Number(publication.keys.version),
    as,
  };
  // Otherwise, the answer also depends on the listing.
  return query.visibility === 'public' ? { ...answer, made_from } : answer;
}

/** Adds `Accept` to the `Vary` header of other responses. */
const VARY = { Vary: 'Authorization, Accept, Accept-Encoding' };
/** Pictures are usually ready within a second. */
const RETRY_AFTER_S = 1;

/**
 * Handles `GET /api/media/:id`: returns the record, or the picture for `Accept: image/*`. A media has no visibility of
 * its own (docs/interface/reads.md#visibility): a secret key reads all media of its stores.
 */
export async function readMedia(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  const { visibility } = parseRead(reads.getMedia, request, []);
  const wants_picture = prefersImage(request.header('accept'));
  const version = await openForId(deps, request, 'media');
  const by_id = await findById(deps, request, version, 'media', {
    visibility,
    isVisible: () => true,
    parts: ['state'],
  });
  const { document: media, made_from, store } = by_id;
  if (request.principal.key_type === 'public' && isHidden(media)) throw new CatalogError('media_not_found');
  if (wants_picture) return pictureAnswer(deps, request, media);
  const as = presentationOf(store, request);
  return { data: media.body, version: Number(media.keys.version), made_from, as, headers: VARY };
}

/** Returns whether everything that uses the media is private. */
const isHidden = ({ state: { uses } }: MediaDocument): boolean => uses.public === 0 && uses.private > 0;

function pictureAnswer(deps: ReadDeps, request: ApiRequest, media: MediaDocument): Answer {
  const { progress } = media.state.media;
  if (progress.status !== 'ready') {
    const processing = progress.status === 'processing';
    throw new CatalogError('media_not_found', {
      message: processing ? 'The picture is still being processed' : 'The file could not be processed',
      ...(processing && { retry_after_s: RETRY_AFTER_S }),
    });
  }
  const { hash, mime_type: content_type } = progress.pictures.picture;
  const blobs = deps.pictures[request.principal.environment];
  return {
    data: null,
    file: { blobs, hash, content_type, missing: 'media_not_found', headers: VARY },
  };
}

/**
 * Returns whether an `Accept` header prefers a picture to JSON (RFC 9110 §12.5.1). Compares the weight of the best
 * `image/…` range with the weight of the most specific range that includes JSON. If they are equal, JSON wins.
 * Express's `req.accepts()` cannot be used, because it would then prefer the more specific range.
 */
export function prefersImage(accept: string | undefined): boolean {
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
