import type { VisibilityFilter } from '../../shared/api/requests/reads';
import type { DocumentOf } from '../../shared/catalog/documents';
import type { Visibility } from '../../shared/catalog/vocabulary';
import type { ApiRequest } from '../../shared/http/route';
import { CatalogError, type Condition } from '../../shared/kernel/errors';
import type { StoreId } from '../../shared/kernel/ids';
import type { DocumentReader } from '../../shared/ports/document-reader';
import type { DocumentPart } from '../../shared/ports/view-store';
import { activeVersion, minPositionOf, waitForStores } from './freshness';
import { namedStore, type ReadSides } from './store-guard';
import type { Shows } from './visibility';

type ById = 'listings' | 'publications' | 'media';

const MISSING: Readonly<Record<ById, Condition>> = {
  listings: 'listing_not_found',
  publications: 'publication_not_found',
  media: 'media_not_found',
};

/** The version that a read by id is answered from, as new as the request asks for the resource's store. */
export async function openForId(
  sides: ReadSides,
  request: ApiRequest,
  collection: ById,
): Promise<DocumentReader> {
  const { view } = sides[request.principal.environment];
  const reach = storesInReach(request);
  const position = minPositionOf(request);
  const version = await activeVersion(view);
  if (position === undefined) return version;
  const known = await version.get(collection, request.params.id ?? '');
  const store_id = storeWithin(reach, known?.document);
  await waitForStores(version, view.lane_count, store_id ? [store_id] : reach, position);
  return version;
}

export interface ByIdRead {
  readonly visibility: VisibilityFilter;
  /** Whether the resource is what was asked for or only leads to it. */
  readonly shows: Shows;
  readonly parts: readonly DocumentPart[];
}

/**
 * The resource of the path's `:id`. It must be of one of the token's stores, and of the one the request names if it
 * names one; anything else, and what is hidden, throws the resource's own "not found" (decisions §2, §3).
 * A store that is not active throws `store_not_found`.
 */
export async function findById<Name extends ById>(
  sides: ReadSides,
  request: ApiRequest,
  version: DocumentReader,
  collection: Name,
  read: ByIdRead,
): Promise<DocumentOf<Name>> {
  const reach = storesInReach(request);
  const stored = await version.get(collection, request.params.id ?? '', read.parts);
  const document = stored?.document;
  const store_id = storeWithin(reach, document);
  // A store that the request names is answered for even where it does not hold the resource.
  const guarded = store_id ?? (request.query.store_id && reach[0]);
  if (guarded) {
    const { statuses } = sides[request.principal.environment];
    const fresh = minPositionOf(request) !== undefined;
    if (!(await statuses.isActive(version, guarded, fresh))) throw new CatalogError('store_not_found');
  }
  if (!document || !store_id || !read.shows(read.visibility, visibilityOf(document)))
    throw new CatalogError(MISSING[collection]);
  return document;
}

/** Throws `store_access_denied` also for a token without any store (decisions §2). */
function storesInReach(request: ApiRequest): readonly StoreId[] {
  const named = namedStore(request);
  return request.query.store_id === undefined ? request.principal.stores : [named];
}

function storeWithin(
  reach: readonly StoreId[],
  document: DocumentOf<ById> | null | undefined,
): StoreId | undefined {
  return reach.find((store_id) => store_id === document?.keys.store_id);
}

/** Null for a media, which has none. */
function visibilityOf({ keys }: DocumentOf<ById>): Visibility | null {
  return 'visibility' in keys ? keys.visibility : null;
}
