import { NOT_FEATURED } from '../../shared/contracts/documents';
import { countFacets } from '../../shared/contracts/facets';
import { reads } from '../../shared/contracts/operations/reads';
import { featuredFirst } from '../../shared/contracts/sorting';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { findById, openForId } from './find-by-id';
import { pageOf, sortModeOf } from './list-query';
import { EXPANSIONS, partsFor, presentPublication } from './present';
import { parseRead } from './read-query';
import type { ReadSides } from './store-guard';
import { defaultSortMode, listingState } from './stored-shapes';
import { showsContainer, visibilitiesOf, visibilityKey } from './visibility';

/**
 * `GET /api/listing/:id/publications`: featured ones before all others in one sequence, which the page is cut from.
 * The result with its `meta` is the payload (spec, "Listing publications result").
 */
export async function readListingPublications(sides: ReadSides, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.listListingPublications, request, EXPANSIONS.publication);
  const version = await openForId(sides, request, 'listings');
  const listing = await findById(sides, request, version, 'listings', {
    visibility: query.visibility,
    shows: showsContainer,
    parts: ['state'],
  });
  const default_sort_mode = defaultSortMode(listing);
  const effective_sort_mode = sortModeOf(query, default_sort_mode);
  const page = await version.find('publications', {
    where: { listing_id: request.params.id ?? '', visibility: visibilityKey(query.visibility) },
    order: featuredFirst(effective_sort_mode),
    parts: partsFor('publication', query),
    ...pageOf(query),
  });
  const shown = page.flatMap(({ document }) => (document ? [document] : []));
  const part = (featured: boolean) =>
    shown
      .filter((document) => (document.keys.featured_rank !== NOT_FEATURED) === featured)
      .map((document) => presentPublication(document, query));
  const total = countFacets(listingState(listing).facets, visibilitiesOf(query.visibility));
  const { page: number, limit } = query;
  const pagination = { page: number, limit, total, total_pages: Math.ceil(total / limit) };
  return {
    data: {
      featured: part(true),
      others: part(false),
      meta: { default_sort_mode, effective_sort_mode, pagination },
    },
  };
}
