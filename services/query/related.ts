import { reads } from '../../shared/api/operations/reads';
import type { ListQuery } from '../../shared/api/requests/reads';
import type { PublicationDocument } from '../../shared/catalog/publication/document';
import { countFacets, type Facets } from '../../shared/catalog/publication/facets';
import { orderOf } from '../../shared/catalog/sorting';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { pageMeta } from '../../shared/http/validation';
import type { DocumentReader } from '../../shared/ports/document-reader';
import type { ViewQuery, WordTerms } from '../../shared/ports/view-store';
import { findById, openForId } from './find-by-id';
import { pageOf, sortModeOf } from './list-query';
import { listingAskedFor } from './listing-filter';
import { EXPANSIONS, partsFor, presentPublication } from './present';
import { parseRead } from './read-query';
import { relatedTiers } from './related-terms';
import { assertActive, type ReadSides } from './store-guard';
import { showsContainer, showsItem, visibilitiesOf, visibilityKey, wordScope } from './visibility';

/** A part of the sequence, with how many are in it. */
interface Section {
  readonly where: ViewQuery['where'];
  readonly total: number;
}

/**
 * `GET /api/publication/:id/related`: all others of the store, nearest first: those of the same listing, then the
 * rest; within each those that share more words, then the newest (decisions §5).
 */
export async function readRelated(sides: ReadSides, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.listRelatedPublications, request, EXPANSIONS.publication);
  const version = await openForId(sides, request, 'publications');
  const publication = await findById(sides, request, version, 'publications', {
    visibility: query.visibility,
    shows: showsContainer,
    parts: ['words'],
  });
  const store_id = String(publication.keys.store_id);
  const sections = await sectionsOf(version, query, publication, store_id);
  const tiers = query.sort ? [[]] : relatedTiers(publication.words ?? []);
  const page = await readAcross(version, query, store_id, sections, tiers);
  const total = sections.reduce((sum, section) => sum + section.total, 0);
  return {
    data: page.map((document) => presentPublication(document, query)),
    meta: pageMeta({ ...query, total }),
  };
}

/** Sorted by something else, nearness does not matter. A hidden listing brings nobody together. */
async function sectionsOf(
  version: DocumentReader,
  query: ListQuery,
  publication: PublicationDocument,
  store_id: string,
): Promise<Section[]> {
  const { listing_id, visibility } = publication.keys;
  const { id } = publication.body;
  const in_listing = listing_id === null || query.sort ? {} : { listing_id: String(listing_id) };
  const [store, listing] = await Promise.all([
    version.get('stores', store_id, ['state']),
    listingAskedFor(version, { ...query, ...in_listing }, store_id),
  ]);
  const itself = showsItem(query.visibility, visibility) ? 1 : 0;
  const others = (facets: Facets): number => countFacets(facets, visibilitiesOf(query.visibility)) - itself;
  const all = others(assertActive(store).state.facets);
  const where = { visibility: visibilityKey(query.visibility), id: { not: id } };
  if (!listing) return [{ where: { store_id, ...where }, total: all }];
  const near = others(listing.facets);
  return [
    { where: { ...in_listing, ...where }, total: near },
    { where: { store_id, ...where, listing_id: { not: String(listing_id) } }, total: all - near },
  ];
}

/** The page of the sections one after the other. Their totals are maintained counts, so nothing is counted. */
async function readAcross(
  version: DocumentReader,
  query: ListQuery,
  store_id: string,
  sections: readonly Section[],
  tiers: readonly WordTerms[],
): Promise<PublicationDocument[]> {
  const found: PublicationDocument[] = [];
  let { skip } = pageOf(query);
  for (const { where, total } of sections) {
    const limit = Math.min(query.limit - found.length, total - skip);
    if (limit > 0) {
      const page = await version.search('publications', {
        scope: wordScope(store_id, query.visibility),
        ...{ where, tiers, skip, limit },
        order: orderOf(query.sort ? sortModeOf(query) : 'created_at_desc'),
        parts: partsFor('publication', query),
      });
      found.push(...page.flatMap(({ document }) => (document ? [document] : [])));
    }
    skip = Math.max(0, skip - total);
  }
  return found;
}
