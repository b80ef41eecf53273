import { reads } from '../../shared/api/operations/reads';
import type { PublicationsQuery } from '../../shared/api/requests/reads';
import { countFacets } from '../../shared/catalog/publication/facets';
import { orderOf } from '../../shared/catalog/sorting';
import type { SortMode } from '../../shared/catalog/vocabulary';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { pageMeta } from '../../shared/http/validation';
import type { ViewQuery } from '../../shared/ports/view-store';
import { pageOf, sortModeOf } from './list-query';
import { listingAskedFor } from './listing-filter';
import { EXPANSIONS, partsFor, presentPublication } from './present';
import { filterKeys, flagsOf, hasMaintainedTotal } from './publication-filters';
import { parseRead } from './read-query';
import { assertActive, namedStore, openStore, type ReadSides } from './store-guard';
import { visibilitiesOf, visibilityKey } from './visibility';

/** `GET /api/publications` */
export async function readPublications(sides: ReadSides, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.listPublications, request, EXPANSIONS.publication);
  const store_id = namedStore(request);
  const version = await openStore(sides, request, store_id);
  const mode = sortModeOf(query);
  const where = whereOf(query, mode, store_id);
  const [store, listing, page, counted] = await Promise.all([
    version.get('stores', store_id, ['state']),
    listingAskedFor(version, query, store_id),
    version.find('publications', {
      where,
      order: orderOf(mode),
      parts: partsFor('publication', query),
      ...pageOf(query),
    }),
    hasMaintainedTotal(query) ? undefined : version.count('publications', where),
  ]);
  const { facets } = assertActive(store).state;
  if (listing === null) return { data: [], meta: pageMeta({ ...query, total: 0 }) };

  const maintained = () =>
    countFacets(listing?.facets ?? facets, visibilitiesOf(query.visibility), flagsOf(query));
  const data = page.flatMap(({ document }) => (document ? [presentPublication(document, query)] : []));
  return { data, meta: pageMeta({ ...query, total: counted ?? maintained() }) };
}

/** A listing's publications are all of its own store, so the store's id would only lead to a worse index. */
function whereOf(query: PublicationsQuery, mode: SortMode, store_id: string): ViewQuery['where'] {
  const within = query.listing_id === undefined ? { store_id } : { listing_id: query.listing_id };
  return { ...within, visibility: visibilityKey(query.visibility), ...filterKeys(query, mode) };
}
