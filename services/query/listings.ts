import { reads } from '../../shared/api/operations/reads';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { pageMeta } from '../../shared/http/validation';
import { orderWithin, pageOf, sortModeOf } from './list-query';
import { countListings, EXPANSIONS, partsFor, presentListing } from './present';
import { parseRead } from './read-query';
import { assertActive, namedStore, openStore, type ReadSides } from './store-guard';
import { visibilityKey } from './visibility';

/** `GET /api/listings` and `GET /api/store-listings`: the same list under two names. */
export async function readListings(sides: ReadSides, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.listListings, request, EXPANSIONS.listing);
  const store_id = namedStore(request);
  const version = await openStore(sides, request, store_id);
  const [store, page] = await Promise.all([
    version.get('stores', store_id, ['state']),
    version.find('listings', {
      where: { store_id, visibility: visibilityKey(query.visibility) },
      order: orderWithin('listings', sortModeOf(query)),
      parts: partsFor('listing', query),
      ...pageOf(query),
    }),
  ]);
  const total = countListings(assertActive(store), query.visibility);
  const data = page.flatMap(({ document }) => (document ? [presentListing(document, query)] : []));
  return { data, meta: pageMeta({ ...query, total }) };
}
