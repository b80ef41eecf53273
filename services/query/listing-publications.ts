import { reads } from '../../shared/api/operations/reads';
import type { ListQuery } from '../../shared/api/requests/reads';
import type { ListingDocument } from '../../shared/catalog/listing/document';
import { NOT_FEATURED } from '../../shared/catalog/publication/document';
import { countFacets } from '../../shared/catalog/publication/facets';
import { featuredFirst } from '../../shared/catalog/sorting';
import { EXPANDED_MAX, type Key } from '../../shared/catalog/stored-document';
import type { SortMode } from '../../shared/catalog/vocabulary';
import type { Answer, ApiRequest } from '../../shared/http/route';
import type { DocumentReader } from '../../shared/ports/document-reader';
import { entriesShown } from './collection';
import { findById, openForId } from './find-by-id';
import { pageOf, sortModeOf } from './list-query';
import { EXPANSIONS, type Presented, partsFor, presentPublication } from './present';
import { parseRead } from './read-query';
import type { ReadSides } from './store-guard';
import { showsContainer, visibilitiesOf, visibilityKey } from './visibility';

interface Shown {
  readonly featured_rank: Key | undefined;
  readonly resource: Presented;
}

/**
 * `GET /api/listing/:id/publications`: featured ones before all others in one sequence, which the page is cut from.
 * The result with its `meta` is the payload (spec, "Listing publications result").
 */
export async function readListingPublications(sides: ReadSides, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.listListingPublications, request, EXPANSIONS.publication);
  const held = isHeld(query);
  const version = await openForId(sides, request, 'listings');
  const listing = await findById(sides, request, version, 'listings', {
    visibility: query.visibility,
    shows: showsContainer,
    parts: held ? ['state', 'expansions'] : ['state'],
  });
  const { default_sort_mode } = listing.body;
  const effective_sort_mode = sortModeOf(query, default_sort_mode);
  const shown = held
    ? heldBy(listing, query, default_sort_mode)
    : await find(version, request.params.id ?? '', query, effective_sort_mode);
  const part = (featured: boolean): Presented[] =>
    shown
      .filter(({ featured_rank }) => (featured_rank !== NOT_FEATURED) === featured)
      .map(({ resource }) => resource);
  const total = countFacets(listing.state.facets, visibilitiesOf(query.visibility));
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

/** The page that most shoppers ask for: the listing's document holds its publications already, as far as that goes. */
function isHeld({ page, limit, sort, order, expand }: ListQuery): boolean {
  const as_kept = sort === undefined && order === undefined && expand.length === 0;
  return as_kept && page === 1 && limit <= EXPANDED_MAX;
}

function heldBy(listing: ListingDocument, { visibility, limit }: ListQuery, mode: SortMode): Shown[] {
  return entriesShown(listing.expansions.publications, visibility, featuredFirst(mode))
    .slice(0, limit)
    .map(({ keys, body }) => ({ featured_rank: keys.featured_rank, resource: body }));
}

async function find(
  version: DocumentReader,
  listing_id: string,
  query: ListQuery,
  mode: SortMode,
): Promise<Shown[]> {
  const page = await version.find('publications', {
    where: { listing_id, visibility: visibilityKey(query.visibility) },
    order: featuredFirst(mode),
    parts: partsFor('publication', query),
    ...pageOf(query),
  });
  return page.flatMap(({ document }) => {
    if (!document) return [];
    return { featured_rank: document.keys.featured_rank, resource: presentPublication(document, query) };
  });
}
