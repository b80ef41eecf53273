import { reads } from '../../shared/api/operations/reads';
import type { ListingDocument } from '../../shared/catalog/listing/document';
import { orderOf } from '../../shared/catalog/sorting';
import { EXPANDED_MAX } from '../../shared/catalog/stored-document';
import type { Answer, ApiRequest } from '../../shared/http/route';
import type { StoreId } from '../../shared/kernel/ids';
import type { DocumentReader } from '../../shared/ports/document-reader';
import { EXPANSIONS, partsFor, presentStore } from './present';
import { parseRead, type ReadQuery } from './read-query';
import { assertActive, namedStore, openStore, type ReadSides } from './store-guard';
import { visibilityKey } from './visibility';

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
