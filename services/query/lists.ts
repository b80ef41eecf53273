import { reads } from '../../shared/api/operations/reads';
import {
  type ListQuery,
  type PriceBounds,
  type PublicationsQuery,
  publicationFilters,
  type SORT_FIELDS,
} from '../../shared/api/requests/reads';
import { type CollectionName, collections } from '../../shared/catalog/documents';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { PRICE_AMOUNT_MAX } from '../../shared/catalog/input-rules';
import type { ListingDocument } from '../../shared/catalog/listing/document';
import {
  NOT_FEATURED,
  type PublicationKeys,
  type ReviewCounts,
} from '../../shared/catalog/publication/document';
import { countFacets, FACET_FLAGS, type FacetFlags } from '../../shared/catalog/publication/facets';
import { featuredFirst, orderOf, type SortDirection, type SortOrder } from '../../shared/catalog/sorting';
import { EXPANDED_MAX, type Key } from '../../shared/catalog/stored-document';
import type { SortMode } from '../../shared/catalog/vocabulary';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { pageMeta } from '../../shared/http/validation';
import type { DocumentReader } from '../../shared/ports/document-reader';
import type { ViewQuery } from '../../shared/ports/view-store';
import {
  countListings,
  EXPANSIONS,
  type Presented,
  partsFor,
  presentListing,
  presentPublication,
} from './present';
import {
  assertActive,
  entriesShown,
  findById,
  listingAskedFor,
  namedStore,
  openForId,
  openStore,
  parseRead,
  type ReadSides,
  showsContainer,
  visibilitiesOf,
  visibilityKey,
} from './read';

type SortField = (typeof SORT_FIELDS)[number];

// --- Pages and orders ---

/** The direction of a `sort` that comes without an `order`: newest first, cheapest first, A to Z. */
const NATURAL_DIRECTION: Readonly<Record<SortField, SortDirection>> = {
  created_at: 'desc',
  price: 'asc',
  name: 'asc',
};

type AskedOrder = { readonly [Name in 'sort' | 'order']?: ListQuery[Name] };

/** Returns the sort mode asked for. `order` alone changes the direction of `fallback`. */
export function sortModeOf(asked: AskedOrder, fallback: SortMode = 'created_at_desc'): SortMode {
  const cut = fallback.lastIndexOf('_');
  const field = asked.sort ?? (fallback.slice(0, cut) as SortField);
  const usual = asked.sort ? NATURAL_DIRECTION[field] : (fallback.slice(cut + 1) as SortDirection);
  return `${field}_${asked.order ?? usual}`;
}

/** Returns the order of a collection by that mode. Where its resources have no such field, the id alone decides. */
function orderWithin(collection: CollectionName, mode: SortMode): SortOrder {
  return orderOf(mode).filter(([key]) => key === 'id' || key in collections[collection].keys);
}

/** Larger than any catalog, and small enough for the arithmetic of every store. */
const SKIP_MAX = 1_000_000_000_000;

/** Returns what to skip and how much to read for a page. */
export function pageOf(query: Pick<ListQuery, 'page' | 'limit'>): { skip: number; limit: number } {
  return { skip: Math.min((query.page - 1) * query.limit, SKIP_MAX), limit: query.limit };
}

// --- Listings and publications ---

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

type FilterName = keyof typeof publicationFilters;
const FILTERS = Object.keys(publicationFilters) as FilterName[];

/** Returns the flags asked for. Totals are maintained for each of their combinations. */
function flagsOf(query: PublicationsQuery): Partial<FacetFlags> {
  return Object.fromEntries(FACET_FLAGS.filter(isAskedOf(query)).map((name) => [name, query[name]]));
}

/** Whether the total is maintained. It is not for filters by price and by what is no flag. */
function hasMaintainedTotal(query: PublicationsQuery): boolean {
  const isFlag = (name: FilterName) => (FACET_FLAGS as readonly string[]).includes(name);
  return !filtersByPrice(query) && FILTERS.filter(isAskedOf(query)).every(isFlag);
}

/** Returns the filters as conditions on keys, for a list in the order of `mode`. */
function filterKeys(query: PublicationsQuery, mode: SortMode): ViewQuery['where'] {
  const conditions = FILTERS.filter(isAskedOf(query)).map((name) => conditionOf(name, query[name]!));
  return Object.assign({}, ...conditions, priceRange(query, mode));
}

function conditionOf(name: FilterName, value: boolean | string | number): ViewQuery['where'] {
  if (name === 'featured') return { featured_rank: value ? { lte: NOT_FEATURED - 1 } : NOT_FEATURED };
  const key: keyof PublicationKeys = name;
  return { [key]: typeof value === 'boolean' ? Number(value) : value };
}

/**
 * Returns the condition for a range of prices. Both price keys hold an active price; for an inactive one they hold a
 * number that is in no range (decisions §1). Uses the key that the list is sorted by, so that one index serves both.
 */
export function priceRange(query: PriceBounds, mode: SortMode): ViewQuery['where'] {
  if (!filtersByPrice(query)) return {};
  const { min_price, max_price } = query;
  const key = mode === 'price_desc' ? 'price_down' : 'price_up';
  return { [key]: { gte: min_price ?? 0, lte: Math.min(max_price ?? PRICE_AMOUNT_MAX, PRICE_AMOUNT_MAX) } };
}

function filtersByPrice({ min_price, max_price }: PriceBounds): boolean {
  return min_price !== undefined || max_price !== undefined;
}

function isAskedOf(query: PublicationsQuery): (name: FilterName) => boolean {
  return (name) => query[name] !== undefined;
}

interface Shown {
  readonly featured_rank: Key | undefined;
  readonly resource: Presented;
}

/**
 * `GET /api/listing/:id/publications`: a page of one sequence, with the featured ones before all others. The result
 * with its `meta` is the payload (spec, "Listing publications result").
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

/** Whether the listing's own document holds the page: it has the first publications, in the listing's own order. */
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

// --- Payment methods and reviews ---

/** `GET /api/payment-methods` */
export async function readPaymentMethods(sides: ReadSides, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.listPaymentMethods, request, []);
  const store_id = namedStore(request);
  const version = await openStore(sides, request, store_id);
  const [store, page] = await Promise.all([
    version.get('stores', store_id, ['state']),
    version.find('payment_methods', { where: { store_id }, order: orderOfMethods(query), ...pageOf(query) }),
  ]);
  const total = assertActive(store).state.payment_methods;
  const data = page.flatMap(({ document }) => (document ? [document.body] : []));
  return { data, meta: pageMeta({ ...query, total }) };
}

/** The merchant's own order, by `position`, unless another was asked for. */
function orderOfMethods(query: Pick<ListQuery, 'sort' | 'order'>): SortOrder {
  if (query.sort) return orderWithin('payment_methods', sortModeOf(query));
  const direction = query.order ?? 'asc';
  return [
    ['position', direction],
    ['id', direction],
  ];
}

/** `GET /api/publication/:id/reviews` */
export async function readReviews(sides: ReadSides, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.listReviews, request, []);
  const version = await openForId(sides, request, 'publications');
  const [publication, page] = await Promise.all([
    findById(sides, request, version, 'publications', {
      visibility: query.visibility,
      shows: showsContainer,
      parts: ['state'],
    }),
    version.find('reviews', {
      where: { publication_id: request.params.id ?? '' },
      order: orderWithin('reviews', sortModeOf(query)),
      ...pageOf(query),
    }),
  ]);
  const { reviews } = publication.state;
  const data = page.flatMap(({ document }) => (document ? [document.body] : []));
  return { data, meta: { ...pageMeta({ ...query, total: reviews.count }), summary: summaryOf(reviews) } };
}

/** `average` has two decimals, and is 0 where there is no review: `count` says whether it means anything. */
function summaryOf({ count, sum, distribution }: ReviewCounts): JsonObject {
  const average = count === 0 ? 0 : Math.round((sum / count) * 100) / 100;
  const ratings = [1, 2, 3, 4, 5].map((rating) => [String(rating), distribution[rating] ?? 0]);
  return { average, count, distribution: Object.fromEntries(ratings) };
}
