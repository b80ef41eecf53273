import { reads } from '../../shared/api/operations/reads';
import type { State } from '../../shared/catalog/events/aggregate';
import type { Listing } from '../../shared/catalog/listing/listing';
import {
  keysInCurrency,
  keysInLanguage,
  keysInListings,
  NO_REVIEWS,
  publicationKeys,
} from '../../shared/catalog/publication/document';
import { type Publication, publicationAggregate } from '../../shared/catalog/publication/publication';
import { featuredIn, formerlyIn, listedIn } from '../../shared/catalog/search/words';
import { compareByOrder, featuredFirst, isAfter, orderOf } from '../../shared/catalog/sorting';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { CatalogError } from '../../shared/kernel/errors';
import type { PublicationId } from '../../shared/kernel/ids';
import type { DocumentReader } from '../../shared/ports/document-reader';
import { DELETED_LAST_FIRST } from './deleted';
import { listingsAt, openStream, presentAsOf, stateAt } from './history';
import { endOf, pageOf, placeOf } from './list-place';
import { currencyOfPrices, languageOfNames } from './list-reader';
import { listedData, sortModeOf } from './lists';
import { EXPANSIONS } from './present';
import { presentationOf } from './presentation';
import {
  isContainerVisible,
  isItemVisible,
  openStore,
  parseRead,
  type ReadDeps,
  type ReadHandler,
  refuseOthers,
  requireSecretKey,
  wordScope,
} from './read';

/*
 * The publications of a listing as they were (docs/interface/changes.md#history). The documents name those that are in the listing, were
 * in it, or were deleted since; their streams say what they were.
 */

/** How many streams are read for a request, and at once. */
const CANDIDATES_MAX = 1_000;
const AT_ONCE = 16;
/** All other parameters filter by what publications are now. */
const PARAMETERS = [
  ...['as_of', 'store_id', 'visibility', 'sort', 'order', 'page', 'limit', 'cursor'],
  ...['expand', 'locale', 'currency', 'market', 'country'],
];

/** Returns the handler of the list of a listing's publications. `read` handles it without `as_of`. */
export const publicationsOrAsOf =
  (read: ReadHandler): ReadHandler =>
  (deps, request) =>
    request.query.as_of === undefined ? read(deps, request) : readAsOf(deps, request);

async function readAsOf(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  requireSecretKey(request, 'as_of');
  const query = parseRead(reads.listListingPublications, request, EXPANSIONS.publication);
  const constraint = 'none, because as_of takes no filters, facets or descendants';
  refuseOthers(request, reads.listListingPublications.query, PARAMETERS, constraint);
  if (query.sort === 'rating') {
    const constraint = 'created_at, price or name, because as_of reads no reviews';
    throw CatalogError.ofFaults([{ condition: 'invalid_query', field: 'sort', constraint }]);
  }
  const until_ms = Date.parse(query.as_of!);
  const { ref, events, store_id, store } = await openStream(deps, request, 'listing', 'listing_not_found');
  const listing = (await stateAt(ref, until_ms)) as State<Listing>;
  if (listing.tag !== 'present' || !isContainerVisible(query.visibility, listing.resource.visibility))
    throw new CatalogError('listing_not_found');
  const { id, default_sort_mode } = listing.resource;
  const effective_sort_mode = sortModeOf(query, default_sort_mode);
  const order = featuredFirst(effective_sort_mode);
  const place = placeOf(request, query, 'listing/publications', order);
  const version = await openStore(deps, request, store_id);
  const as = presentationOf(store, request);
  const currency = currencyOfPrices(as);
  const language = languageOfNames(as, effective_sort_mode);
  const candidates = await candidatesOf(version, store_id, id, until_ms);
  // Each stream is read as for a request of its own. One with 2,048 variants takes 20 ms of CPU.
  await request.admitItems?.(candidates.length);

  const found: Publication[] = [];
  const readOne = async (publication_id: PublicationId): Promise<void> => {
    const own = { aggregate: publicationAggregate, events, realm: ref.realm, id: publication_id };
    const state = await stateAt<Publication>(own, until_ms);
    if (state.tag === 'present' && isIn(state.resource, id)) found.push(state.resource);
  };
  for (let first = 0; first < candidates.length; first += AT_ONCE) {
    request.assertAwaited();
    await Promise.all(candidates.slice(first, first + AT_ONCE).map(readOne));
  }
  const all = found
    .filter(({ visibility }) => isItemVisible(query.visibility, visibility))
    .map((publication) => {
      const keys_now = publicationKeys(
        publication,
        { ...publication, has_media: null },
        NO_REVIEWS,
        until_ms,
      );
      const keys_here = keysInListings(keys_now, [id]);
      const priced = currency === undefined ? keys_here : keysInCurrency(keys_here, currency);
      const keys = language === undefined ? priced : keysInLanguage(priced, language, effective_sort_mode);
      return { id: publication.id, keys, publication };
    })
    .sort((a, b) => compareByOrder(order, a, b));
  const { after, skip, limit } = pageOf(place);
  const rest = (after ? all.filter((one) => isAfter(order, one, after)) : all).slice(skip, skip + limit);
  const withListings = listingsAt(ref, until_ms);
  const page = await Promise.all(
    rest.slice(0, place.limit).map(async ({ publication, ...item }) => ({
      ...item,
      resource: presentAsOf('publication', await withListings(publication), query),
    })),
  );
  const end = endOf(place, page, rest.length > page.length);
  const modes = { default_sort_mode, effective_sort_mode };
  return {
    data: listedData(page, modes, { ...place, total: all.length }, end),
    headers: { 'Memento-Datetime': new Date(Math.min(until_ms, deps.now())).toUTCString() },
    as,
  };
}

const isIn = ({ listing_id, listing_ids }: Publication, id: string): boolean =>
  listing_id === id || (listing_ids as readonly string[]).includes(id);

/** Returns the ids of the publications that are or were in the listing, also of those that were deleted after a time. */
async function candidatesOf(
  version: DocumentReader,
  store_id: string,
  listing_id: string,
  after_ms: number,
): Promise<PublicationId[]> {
  const words = [featuredIn(listing_id), listedIn(listing_id), formerlyIn(listing_id)];
  const limit = CANDIDATES_MAX + 1;
  // One after the other: a publication that is deleted or restored in between is in at least one of them.
  const existing = await version.search('publications', {
    where: { store_id },
    scope: wordScope(store_id, 'all'),
    tiers: [[words.map((word) => ({ word }))]],
    order: orderOf('created_at_desc'),
    is_exhaustive: true,
    parts: [],
    limit,
  });
  assertFew(existing.total);
  const deleted = await version.find('publications', {
    where: { deleted_in: store_id, deleted_at: { after: new Date(after_ms).toISOString() } },
    order: DELETED_LAST_FIRST,
    parts: ['state'],
    limit,
  });
  assertFew(deleted.length);
  const gone = deleted.filter(({ document }) => {
    const resource = document?.state.deleted?.resource;
    return resource && (isIn(resource, listing_id) || resource.former_listings?.includes(listing_id));
  });
  return [...new Set([...existing.documents, ...gone].map(({ id }) => id as PublicationId))];
}

function assertFew(count: number): void {
  if (count <= CANDIDATES_MAX) return;
  const constraint = `missing for a listing in which more than ${CANDIDATES_MAX} publications are or were, and after more than ${CANDIDATES_MAX} deletions`;
  throw CatalogError.ofFaults([{ condition: 'invalid_query', field: 'as_of', constraint }]);
}
