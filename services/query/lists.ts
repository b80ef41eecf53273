import { reads } from '../../shared/api/operations/reads';
import {
  existingListingsSchema,
  existingPublicationsSchema,
  type ListingPublicationsQuery,
  type ListQuery,
  type MediaListQuery,
  type PublicationsQuery,
  type ReviewsQuery,
  type SORT_FIELDS,
} from '../../shared/api/requests/reads';
import type { PageEnd } from '../../shared/api/responses/envelopes';
import { type CollectionName, collections } from '../../shared/catalog/documents';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { type ListingDocument, publicationCount } from '../../shared/catalog/listing/document';
import type { MediaEmbed } from '../../shared/catalog/media/document';
import type { PublicationDocument } from '../../shared/catalog/publication/document';
import {
  NOT_FEATURED,
  type PublicationKeys,
  placesOf,
  type ReviewCounts,
} from '../../shared/catalog/publication/document';
import { countFacets, type Facets } from '../../shared/catalog/publication/facets';
import { type ShownVariant, shownVariants } from '../../shared/catalog/publication/price-history';
import { averageOf } from '../../shared/catalog/publication/publication';
import { possibleOwners, variantResource } from '../../shared/catalog/publication/variants';
import {
  compareByOrder,
  featuredFirst,
  isAfter,
  orderOf,
  type SortDirection,
  type SortOrder,
} from '../../shared/catalog/sorting';
import type { StoreDocument } from '../../shared/catalog/store/document';
import { EXPANDED_MAX, type Key } from '../../shared/catalog/stored-document';
import { type ListSortMode, reviewStatusSchema, type SortMode } from '../../shared/catalog/vocabulary';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { pageMeta } from '../../shared/http/validation';
import { CatalogError } from '../../shared/kernel/errors';
import type { DocumentReader } from '../../shared/ports/document-reader';
import type { ViewQuery } from '../../shared/ports/view-store';
import { facetsOf } from './facets';
import { type FilterQuery, flagsOf, hasMaintainedTotal, isFiltered, labelTerms } from './filters';
import { bodiesAnswer, endOf, type ListPlace, pageOf, placeOf } from './list-place';
import { withVariants } from './list-reader';
import { visibleListingsBelow, withPlaces } from './listing-tree';
import { type PageSource, pageAnswer, pageItems, partsOfPage } from './page-items';
import { countListings, EXPANSIONS, type Presented } from './present';
import { presentationOf } from './presentation';
import {
  findPublications,
  isByPosition,
  keysInList,
  type PublicationList,
  whereOfList,
} from './publication-list';
import {
  findById,
  findFilterListing,
  isContainerVisible,
  isItemVisible,
  openForId,
  openStore,
  parseRead,
  type ReadDeps,
  requestedStore,
  requireSecretKey,
  requireStore,
  settingsOf,
  visibilitiesOf,
  visibilityKey,
  visibleEntries,
  wordScope,
} from './read';

type SortField = (typeof SORT_FIELDS)[number];

// --- Pages and orders ---

/** The direction of a `sort` without `order`: newest first, lowest price first, A to Z, best rating first. */
const DEFAULT_DIRECTION: Readonly<Record<SortField, SortDirection>> = {
  created_at: 'desc',
  price: 'asc',
  name: 'asc',
  rating: 'desc',
};

type RequestedOrder = { readonly [Name in 'sort' | 'order']?: ListQuery[Name] };

/** Returns the requested sort mode. `order` without `sort` changes the direction of `fallback`. */
export function sortModeOf(requested: RequestedOrder, fallback: SortMode = 'created_at_desc'): ListSortMode {
  const split_at = fallback.lastIndexOf('_');
  const field = requested.sort ?? (fallback.slice(0, split_at) as SortField);
  const direction = requested.sort
    ? DEFAULT_DIRECTION[field]
    : (fallback.slice(split_at + 1) as SortDirection);
  return `${field}_${requested.order ?? direction}`;
}

/** Returns the sort order of a collection. Sorts by id alone if its documents do not have the key of the mode. */
function orderWithin(collection: CollectionName, mode: ListSortMode): SortOrder {
  return orderOf(mode).filter(([key]) => key === 'id' || key in collections[collection].keys);
}

// --- Listings and publications ---

/** Handles `GET /api/listings` and `GET /api/store-listings`, which return the same list. */
export async function readListings(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  const query = parseRead({ query: existingListingsSchema }, request, EXPANSIONS.listing);
  const store_id = requestedStore(request);
  const version = await openStore(deps, request, store_id);
  const { parent_id, external_id, visibility } = query;
  const filters = {
    ...(parent_id !== undefined && { parent_id }),
    ...(external_id !== undefined && { external_id }),
  };
  // By parent or by store, not by both, as in `whereOfList`. Listings at the top need the store, because every store has some.
  const container = parent_id ? {} : { store_id };
  const where = { ...container, visibility: visibilityKey(visibility), ...filters };
  const order = orderWithin('listings', sortModeOf(query));
  const place = placeOf(request, query, 'listings', order);
  const [store, parent, counted_total, page] = await Promise.all([
    requireStore(version, store_id),
    findFilterListing(version, { listing_id: parent_id ?? undefined, visibility }, store_id),
    Object.keys(filters).length === 0 ? undefined : version.count('listings', where),
    version.find('listings', {
      ...{ where, order, parts: partsOfPage('listing', query) },
      ...pageOf(place),
    }),
  ]);
  const as = presentationOf(settingsOf(store), request);
  if (parent === null) return { ...bodiesAnswer(place, [], 0), as };
  const placed = await withPlaces(version, page, visibility);
  const total = counted_total ?? countListings(store, visibility);
  return pageAnswer({ version, request, as }, 'listing', placed, query, place, total);
}

/** Handles `GET /api/publications`. */
export async function readPublications(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  const parsed = parseRead({ query: existingPublicationsSchema }, request, EXPANSIONS.publication);
  const store_id = requestedStore(request);
  const opened = await openStore(deps, request, store_id);
  const [store, listing] = await Promise.all([
    requireStore(opened, store_id),
    findFilterListing(opened, parsed, store_id),
  ]);
  const as = presentationOf(settingsOf(store), request);
  const mode = sortModeOf(parsed);
  const { query, version } = withVariants(as, opened, parsed, mode);
  const source = { version, request, as };
  const featured_first = isByPosition(query);
  const order = featured_first ? featuredFirst(mode) : orderOf(mode);
  const place = placeOf(request, query, 'publications', order);
  const { untranslated } = query;
  if (untranslated !== undefined) checkUntranslated(request, query, as.store.locales);
  const { facets } = listing ?? store.state;
  if (listing === null) {
    const counts = await facetsOf(source, query, undefined, 0);
    return { data: [], meta: { ...pageMeta({ ...place, total: 0 }), ...counts }, as };
  }
  const listing_ids = query.listing_id === undefined ? undefined : [query.listing_id];
  const context = { version, store_id, mode };
  const whereOf = whereOfList(context, listing_ids, query);
  const list = {
    listing_ids,
    query,
    untranslated,
    mode,
    featured_first,
    place,
    scope: wordScope(store_id, query.visibility),
    where: await whereOf(query),
    maintained_total: maintainedTotal([facets], query),
  };
  const { documents, total } = await findPublications(version, list);
  const counts = await facetsOf(source, query, { scope: list.scope, whereOf, terms: [] }, total);
  const answer = await pageAnswer(source, 'publication', documents, query, place, total, (keys) =>
    keysInList(keys, list),
  );
  return { ...answer, meta: { ...answer.meta, ...counts } };
}

/** Throws unless the key is secret, and the locale is one that the store has translations in. */
function checkUntranslated(
  request: ApiRequest,
  { untranslated, facets }: PublicationsQuery,
  [, ...locales]: readonly string[] = [],
): void {
  requireSecretKey(request, 'untranslated');
  const refuse = (constraint: string): never => {
    throw CatalogError.ofFaults([{ condition: 'invalid_query', field: 'untranslated', constraint }]);
  };
  if (facets.length > 0) refuse('none with facets');
  if (!locales.includes(untranslated!))
    refuse(locales.length === 0 ? 'a store with several locales' : `one of ${locales.join(', ')}`);
}

/**
 * Returns the number of publications according to the counts of the store or listing. Undefined if there is not one count:
 * with several listings, with a filter by price or label, or by a key that is not a flag.
 */
function maintainedTotal(
  [facets, ...more]: readonly Facets[],
  query: FilterQuery & Pick<ListQuery, 'visibility'>,
): number | undefined {
  const is_counted = hasMaintainedTotal(query) && labelTerms(query).length === 0;
  if (!facets || more.length > 0 || !is_counted) return undefined;
  return countFacets(facets, visibilitiesOf(query.visibility), flagsOf(query));
}

interface ListedPublication {
  readonly id: string;
  readonly keys: Readonly<Record<string, Key>>;
  readonly resource: Presented;
}

/**
 * Handles `GET /api/listing/:id/publications`. Paginates one sequence, in which featured publications precede all
 * others. `data` contains its own `meta` (docs/interface/listings.md#publications-of-a-listing).
 */
export async function readListingPublications(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  const parsed = parseRead(reads.listListingPublications, request, EXPANSIONS.publication);
  const is_precomputed = isPrecomputed(parsed);
  const opened = await openForId(deps, request, 'listings');
  const { document: listing, store } = await findById(deps, request, opened, 'listings', {
    visibility: parsed.visibility,
    isVisible: isContainerVisible,
    parts: is_precomputed ? ['state', 'expansions'] : ['state'],
  });
  const as = presentationOf(store, request);
  const store_id = store.id;
  const { default_sort_mode } = listing.body;
  const effective_sort_mode = sortModeOf(parsed, default_sort_mode);
  const { query, version } = withVariants(as, opened, parsed, effective_sort_mode);
  const place = placeOf(request, query, 'listing/publications', featuredFirst(effective_sort_mode));
  const { limit, include_descendants = false, visibility } = query;
  const below = include_descendants ? await visibleListingsBelow(version, listing, visibility) : [];
  const all = [listing, ...below.flatMap(({ document }) => document ?? [])];
  const filled = all.filter(({ state }) => publicationCount(state, visibilitiesOf(visibility)) > 0);
  const listings = filled.length === 0 ? [listing] : filled;
  const listing_ids = listings.map(({ body }) => body.id);
  const context = { version, store_id, mode: effective_sort_mode };
  const whereOf = whereOfList(context, listing_ids, query);
  const list = {
    listing_ids,
    query,
    mode: effective_sort_mode,
    place,
    scope: wordScope(store_id, visibility),
    where: await whereOf(query),
    featured_first: true,
    maintained_total: maintainedTotal(
      listings.map(({ state }) => state.facets),
      query,
    ),
  };
  const source = { version, request, as };
  // The document of the listing is in the order of the prices in the first currency of the store, or of the default titles.
  const is_by_own = query.currency === undefined || !default_sort_mode.startsWith('price');
  const is_in_order = is_by_own && query.language === undefined;
  const has_page = is_precomputed && is_in_order && !isFiltered(query);
  const precomputed = has_page ? precomputedPage(listing, query, default_sort_mode) : [];
  const count = list.maintained_total ?? 0;
  const is_complete = has_page && precomputed.length >= Math.min(limit, count);
  const { items, end, total } = is_complete
    ? { items: precomputed, end: endOf(place, precomputed, count > limit), total: count }
    : await findPage(source, list, query);
  const counts = await facetsOf(source, query, { scope: list.scope, whereOf, terms: [] }, total);
  return {
    data: listedData(items, { default_sort_mode, effective_sort_mode }, { ...place, total }, end, counts),
    as,
  };
}

/** Reads a page of the list, with what its answer shows of each publication. */
async function findPage(source: PageSource, list: PublicationList, query: ListingPublicationsQuery) {
  const { place } = list;
  const { documents, total } = await findPublications(source.version, list);
  const { items, cuts } = await pageItems(source, 'publication', documents.slice(0, place.limit), query);
  const listed = items.map(({ id, document, resource }) => ({
    id,
    keys: keysInList(document.keys, list),
    resource,
  }));
  const end = { ...endOf(place, listed, documents.length > items.length), ...cuts };
  return { items: listed, end, total };
}

interface Listed {
  readonly keys: Readonly<Record<string, Key>>;
  readonly resource: Presented;
}

/** Returns `data` of a page of a listing's publications, which has its own `meta` (docs/interface/listings.md#publications-of-a-listing). */
export function listedData(
  items: readonly Listed[],
  modes: { readonly default_sort_mode: SortMode; readonly effective_sort_mode: ListSortMode },
  { page, limit, total }: Pick<ListPlace, 'page' | 'limit'> & { readonly total: number },
  end: PageEnd,
  counts: JsonObject = {},
) {
  const resourcesWhere = (featured: boolean): Presented[] =>
    items
      .filter(({ keys }) => (keys.featured_rank !== NOT_FEATURED) === featured)
      .map(({ resource }) => resource);
  const pagination = { page, limit, total, total_pages: Math.ceil(total / limit), ...end };
  return {
    featured: resourcesWhere(true),
    others: resourcesWhere(false),
    meta: { ...modes, pagination, ...counts },
  };
}

/**
 * Returns whether the listing's document contains the page, or a part of it. The document has the first `EXPANDED_MAX`
 * publications, in the listing's default order and without expansions, or fewer if they are large.
 */
function isPrecomputed(query: ListingPublicationsQuery): boolean {
  const { page, cursor, limit, sort, order, expand, include_descendants } = query;
  if (include_descendants || cursor !== undefined) return false;
  const is_default_form = sort === undefined && order === undefined && expand.length === 0;
  return is_default_form && page === 1 && limit <= EXPANDED_MAX && !isFiltered(query);
}

function precomputedPage(
  listing: ListingDocument,
  { visibility, limit }: ListQuery,
  mode: ListSortMode,
): ListedPublication[] {
  const { expansions, state } = listing;
  const page = visibleEntries(expansions.publications, visibility, featuredFirst(mode), (one) =>
    publicationCount(state, [one]),
  ).slice(0, limit);
  // The entries leave out the ids of other listings that are private.
  if (visibility !== 'public' && page.some(({ keys }) => placesOf(keys as PublicationKeys).size > 0))
    return [];
  return page.map(({ id, keys, body }) => ({ id, keys, resource: body }));
}

// --- Media ---

/** Handles `GET /api/media`. */
export async function readMediaList(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.listMedia, request, []);
  const store_id = requestedStore(request);
  const version = await openStore(deps, request, store_id);
  if (namesResource(query)) return mediaInUse(version, request, query, store_id);
  return mediaOfStore(version, request, query, store_id);
}

async function mediaOfStore(
  version: DocumentReader,
  request: ApiRequest,
  query: MediaListQuery,
  store_id: string,
): Promise<Answer> {
  const { in_use, visibility } = query;
  const is_filtered = in_use !== undefined;
  const where = {
    store_id,
    visibility: visibilityKey(visibility),
    ...(is_filtered && { in_use: Number(in_use) }),
  };
  const order = orderWithin('media', sortModeOf(query));
  const place = placeOf(request, query, 'media', order);
  const [store, page, counted_total] = await Promise.all([
    requireStore(version, store_id),
    version.find('media', { where, order, ...pageOf(place) }),
    is_filtered ? version.count('media', where) : undefined,
  ]);
  const total = counted_total ?? countMedia(store.state, query);
  return { ...bodiesAnswer(place, page, total), as: presentationOf(settingsOf(store), request) };
}

function countMedia({ media }: StoreDocument['state'], { visibility }: MediaListQuery): number {
  return visibilitiesOf(visibility).reduce((total, name) => total + media[name], 0);
}

/** Whether the query asks for the media of a publication or a listing. */
function namesResource({ publication_id, listing_id }: MediaListQuery): boolean {
  return publication_id !== undefined || listing_id !== undefined;
}

/**
 * The order of `media_ids` follows no sort key. So the cursor contains the ids of all media up to its place, with spaces
 * between them, instead of the id of the last one.
 */
const BY_SHOWN: SortOrder = [['id', 'asc']];

/**
 * Returns the media that the publication, the listing, or both use, in the order of `media_ids` of the first one. A
 * document contains all of its media, so the page is cut from them. Returns none if one does not exist, is not visible
 * or belongs to another store, so that the filter does not reveal what exists.
 */
async function mediaInUse(
  version: DocumentReader,
  request: ApiRequest,
  query: MediaListQuery,
  store_id: string,
): Promise<Answer> {
  const { publication_id, listing_id, visibility, in_use } = query;
  const place = placeOf(request, query, 'media in use', BY_SHOWN);
  const parts = ['expansions'] as const;
  const [store, ...resources] = await Promise.all([
    requireStore(version, store_id),
    ...(publication_id === undefined ? [] : [version.get('publications', publication_id, parts)]),
    ...(listing_id === undefined ? [] : [version.get('listings', listing_id, parts)]),
  ]);
  const [first = [], ...others] = resources.map((resource) => {
    const document = resource?.document;
    const is_visible =
      document?.keys.store_id === store_id && isItemVisible(visibility, document.keys.visibility);
    return document && is_visible ? document.expansions.media : [];
  });
  const used = first.filter(
    ({ id }) => in_use !== false && others.every((media) => media.some((other) => other.id === id)),
  );
  const { skip, limit } = pageOf(place);
  const shown_before = String(place.after?.[0] ?? '').split(' ');
  const rest = inOrder(used, query).filter(({ id }) => !shown_before.includes(id));
  const found = rest.slice(skip, skip + limit);
  const page = found.slice(0, place.limit);
  const passed = rest.slice(0, skip + page.length).map(({ id }) => id);
  const shown = [...shown_before, ...passed].join(' ').trim();
  const end = endOf(
    place,
    page.map(() => ({ id: shown, keys: {} })),
    found.length > page.length,
  );
  const meta = pageMeta({ ...place, total: used.length }, end);
  return { data: page.map(({ body }) => body), meta, as: presentationOf(settingsOf(store), request) };
}

/** Returns the media in the order of the query, by default in the given one. */
function inOrder(media: readonly MediaEmbed[], query: MediaListQuery): readonly MediaEmbed[] {
  if (query.sort === undefined) return query.order === 'desc' ? media.toReversed() : media;
  const order = orderWithin('media', sortModeOf(query));
  const keyed = media.map((embed) => ({ embed, id: embed.id, keys: { created_at: createdAt(embed) } }));
  return keyed.sort((a, b) => compareByOrder(order, a, b)).map(({ embed }) => embed);
}

const createdAt = ({ body }: MediaEmbed): string => body.created_at as string;

// --- Payment methods, variants and reviews ---

/** Handles `GET /api/payment-methods`. */
export async function readPaymentMethods(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.listPaymentMethods, request, []);
  const store_id = requestedStore(request);
  const version = await openStore(deps, request, store_id);
  const order = orderOfMethods(query);
  const place = placeOf(request, query, 'payment_methods', order);
  const [store, page] = await Promise.all([
    requireStore(version, store_id),
    version.find('payment_methods', { where: { store_id }, order, ...pageOf(place) }),
  ]);
  return bodiesAnswer(place, page, store.state.payment_methods);
}

/** Returns the requested order, by default the merchant's (`position`). */
function orderOfMethods(query: Pick<ListQuery, 'sort' | 'order'>): SortOrder {
  if (query.sort) return orderWithin('payment_methods', sortModeOf(query));
  return byPosition(query.order ?? 'asc');
}

const byPosition = (direction: SortDirection): SortOrder => [
  ['position', direction],
  ['id', direction],
];

/** Handles `GET /api/publication/:id/variants`. */
export async function readVariants(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.listVariants, request, []);
  const version = await openForId(deps, request, 'publications');
  const { document, store } = await findById(deps, request, version, 'publications', {
    visibility: query.visibility,
    isVisible: isItemVisible,
    parts: ['state'],
  });
  // A document of an old schema, which is read until a rebuild, has no variants.
  const variants = variantsIn(document);
  const order = byPosition('asc');
  const place = placeOf(request, query, 'variants', order);
  const { skip, limit, after } = pageOf(place);
  const found = variants
    .map((variant) => ({ variant, id: variant.id, keys: { position: variant.position } }))
    .filter((one) => !after || isAfter(order, one, after))
    .slice(skip, skip + limit);
  const page = found.slice(0, place.limit);
  const { id, media_ids } = document.body;
  const data = page.map(({ variant }) => variantResource(variant, id, media_ids));
  const end = endOf(place, page, found.length > page.length);
  const meta = pageMeta({ ...place, total: variants.length }, end);
  return { data, meta, as: presentationOf(store, request), owner: document.body };
}

/** Handles `GET /api/variant/:id`. */
export async function readVariant(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  const { visibility } = parseRead(reads.getVariant, request, []);
  const id = request.params.id ?? '';
  const version = await openForId(deps, request, 'publications');
  const found = await possibleOwners(id, (range) => version.scan('publications', range));
  const owner = found.find(({ document }) => variantIn(document, id));
  if (!owner) throw new CatalogError('variant_not_found');
  const { document, store } = await findById(
    deps,
    { ...request, params: { id: owner.id } },
    version,
    'publications',
    { visibility, isVisible: isItemVisible, parts: ['state'] },
    'variant_not_found',
  );
  const variant = variantIn(document, id);
  if (!variant) throw new CatalogError('variant_not_found');
  const { id: publication_id, media_ids } = document.body;
  return {
    data: variantResource(variant, publication_id, media_ids),
    version: Number(document.keys.version),
    as: presentationOf(store, request),
    owner: document.body,
  };
}

const variantsIn = (document: PublicationDocument | null | undefined): readonly ShownVariant[] =>
  document?.state.publication ? shownVariants(document.state.publication) : [];

const variantIn = (document: PublicationDocument | null | undefined, id: string): ShownVariant | undefined =>
  variantsIn(document).find((variant) => variant.id === id);

/** Handles `GET /api/publication/:id/reviews`. */
export async function readReviews(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.listReviews, request, []);
  const { status } = query;
  if (status !== undefined && status !== 'published') requireSecretKey(request, `status=${status}`);
  const version = await openForId(deps, request, 'publications');
  const id = request.params.id ?? '';
  const where = status === undefined ? { publication_id: id } : { about_id: id, ...statusCondition(status) };
  const order = orderWithin('reviews', sortModeOf(query));
  const place = placeOf(request, query, 'reviews', order);
  const [{ document: publication }, page, counted] = await Promise.all([
    findById(deps, request, version, 'publications', {
      visibility: query.visibility,
      isVisible: isContainerVisible,
      parts: ['state'],
    }),
    version.find('reviews', { where, order, ...pageOf(place) }),
    status === undefined ? undefined : version.count('reviews', where),
  ]);
  const { reviews } = publication.state;
  const { data, meta } = bodiesAnswer(place, page, counted ?? reviews.count);
  return {
    data: status === undefined ? data.map(({ status: _, ...review }) => review) : data,
    meta: { ...meta, summary: summaryOf(reviews) },
  };
}

/** Handles `GET /api/reviews`. */
export async function readStoreReviews(deps: ReadDeps, request: ApiRequest): Promise<Answer> {
  const query = parseRead(reads.listStoreReviews, request, []);
  requireSecretKey(request, 'The list of all reviews');
  const store_id = requestedStore(request);
  const version = await openStore(deps, request, store_id);
  const where = { store_id, ...statusCondition(query.status) };
  const order = orderWithin('reviews', sortModeOf(query));
  const place = placeOf(request, query, 'all reviews', order);
  const [page, total] = await Promise.all([
    version.find('reviews', { where, order, ...pageOf(place) }),
    version.count('reviews', where),
    requireStore(version, store_id),
  ]);
  return bodiesAnswer(place, page, total);
}

/** Returns the condition on the key. All statuses are named, so that the index serves the query. */
function statusCondition(status: NonNullable<ReviewsQuery['status']>): ViewQuery['where'] {
  return { status: status === 'all' ? { in: reviewStatusSchema.options } : status };
}

/**
 * Returns the summary of all published reviews. `average` has two decimals, and is 0 if there are no reviews.
 */
function summaryOf({ count, sum, distribution }: ReviewCounts): JsonObject {
  const average = averageOf({ count, sum });
  const ratings = [1, 2, 3, 4, 5].map((rating) => [String(rating), distribution[rating] ?? 0]);
  return { average, count, distribution: Object.fromEntries(ratings) };
}
