import type { z } from 'zod';
import { declaredName, shapeOf } from '../../shared/api/requests/parameters';
import type { Expandable, VisibilityFilter } from '../../shared/api/requests/reads';
import type { DocumentOf } from '../../shared/catalog/documents';
import type { Position } from '../../shared/catalog/events/envelope';
import { partitionOf } from '../../shared/catalog/events/partitions';
import { least } from '../../shared/catalog/events/positions';
import type { ListingDocument } from '../../shared/catalog/listing/document';
import type { Environment } from '../../shared/catalog/realm';
import { compareByOrder, type SortOrder } from '../../shared/catalog/sorting';
import type { ActiveStore, StoreDocument } from '../../shared/catalog/store/document';
import { type Entries, type Entry, EXPANDED_MAX } from '../../shared/catalog/stored-document';
import type { Permission, Visibility } from '../../shared/catalog/vocabulary';
import { storeOf } from '../../shared/http/auth';
import type { CacheObserver } from '../../shared/http/metrics';
import type { Answer, ApiRequest, DocumentVersion, Pictures } from '../../shared/http/route';
import { parseQuery } from '../../shared/http/validation';
import { TtlCache } from '../../shared/kernel/cache';
import { CatalogError, type Condition } from '../../shared/kernel/errors';
import type { StoreId } from '../../shared/kernel/ids';
import type { ActiveView, DocumentReader } from '../../shared/ports/document-reader';
import type { EventStore } from '../../shared/ports/event-store';
import type { DocumentPart, ViewVersion, WordScope } from '../../shared/ports/view-store';
import type { RecordPageView } from './page-view-counter';

const PERMISSION_TO_EXPAND: Readonly<Record<Expandable, Permission>> = {
  publication: 'read:publications',
  listing: 'read:listings',
  media: 'read:media',
  variants: 'read:publications',
};

export interface ReadQuery {
  readonly visibility: VisibilityFilter;
  readonly expand: readonly Expandable[];
  readonly facets?: readonly string[];
}

/**
 * Parses the query of a read. `supported`: the values of `expand` that the read supports; other values are ignored. Throws
 * `invalid_query`. Throws `insufficient_permissions` if a public key requests a `visibility` other than `public`
 * (docs/interface/reads.md#visibility), or if the key does not have the permission for an expansion.
 */
export function parseRead<Query extends ReadQuery>(
  operation: { readonly query: z.ZodType<Query> },
  request: ApiRequest,
  supported: readonly Expandable[],
): Query {
  const query = parseQuery(operation.query, request.query);
  const { permissions } = request.principal;
  if (query.visibility !== 'public') requireSecretKey(request, `visibility=${query.visibility}`);
  if (query.facets?.includes('visibility')) requireSecretKey(request, 'facets=visibility');
  for (const value of supported) {
    const needed = PERMISSION_TO_EXPAND[value];
    if (query.expand.includes(value) && !permissions.includes(needed))
      throw new CatalogError('insufficient_permissions', {
        message: `expand=${value} requires the permission ${needed}`,
      });
  }
  return query;
}

/** Throws `invalid_query` if the request has a parameter of the query whose name is not in `names`. */
export function refuseOthers(
  request: ApiRequest,
  query: z.ZodType,
  names: readonly string[],
  constraint: string,
): void {
  const declared = Object.keys(shapeOf(query));
  const others = Object.keys(request.query).filter(
    (name) => !names.includes(name) && (declared.includes(name) || declared.includes(declaredName(name))),
  );
  const faults = others.map((field) => ({ condition: 'invalid_query', field, constraint }) as const);
  if (faults.length > 0) throw CatalogError.ofFaults(faults);
}

/** Throws `insufficient_permissions` if the key is public. */
export function requireSecretKey({ principal }: ApiRequest, what: string): void {
  if (principal.key_type === 'secret') return;
  throw new CatalogError('insufficient_permissions', { message: `${what} requires a secret key` });
}

// --- Visibility ---

/** Returns the visibilities that the filter includes. */
export function visibilitiesOf(filter: VisibilityFilter): readonly Visibility[] {
  return filter === 'all' ? ['public', 'private'] : [filter];
}

export function visibilityKey(filter: VisibilityFilter): WordScope['visibility'] {
  return filter === 'all' ? { in: visibilitiesOf(filter) } : filter;
}

/** Returns the scope of a search among the publications of one store. */
export function wordScope(store_id: string, filter: VisibilityFilter): WordScope {
  return { store_id, visibility: visibilityKey(filter) };
}

/** Returns whether a resource with this visibility is visible with the filter. Null: it has no visibility of its own. */
export type VisibilityRule = (filter: VisibilityFilter, visibility: Visibility | null) => boolean;

/** The rule for a resource in the response: an item of a list, or the resource of a read by id. */
export const isItemVisible: VisibilityRule = (filter, visibility) =>
  visibility !== null && visibilitiesOf(filter).includes(visibility);

/**
 * The rule for a container whose items are in the response, such as the listing of `GET /api/listing/:id/publications`.
 * With `public`, the container must be public. The other filters accept every container, because a public container can
 * have private items.
 */
export const isContainerVisible: VisibilityRule = (filter, visibility) =>
  filter !== 'public' || visibility === 'public';

/**
 * Returns the first entries that are visible with the filter, in order and without gaps. For `all`, merges the entries of
 * both visibilities. `totalOf` returns the number of items of one visibility. A list may have fewer entries than
 * `EXPANDED_MAX` although there are more items, because entries have a maximum size. What follows the end of such a list
 * is unknown, so the merged list ends there.
 */
export function visibleEntries(
  entries: Entries,
  filter: VisibilityFilter,
  order: SortOrder,
  totalOf: (visibility: Visibility) => number,
): readonly Entry[] {
  if (filter !== 'all') return entries[filter];
  const merged = [...entries.public, ...entries.private]
    .sort((a, b) => compareByOrder(order, a, b))
    .slice(0, EXPANDED_MAX);
  const ends = visibilitiesOf(filter).flatMap((visibility) => {
    const list = entries[visibility];
    const is_cut = list.length < Math.min(EXPANDED_MAX, totalOf(visibility));
    return is_cut ? [merged.indexOf(list.at(-1)!) + 1] : [];
  });
  const known_ends = ends.filter((end) => end > 0);
  return merged.slice(0, Math.min(merged.length, ...known_ends));
}

// --- Store and view version ---

/** The dependencies of reads in one environment. */
export interface EnvironmentReads {
  readonly view: ActiveView;
  readonly active_stores: TtlCache<ActiveStore>;
  readonly events: EventStore;
}

/** The dependencies of the read handlers. */
export type ReadDeps = Readonly<Record<Environment, EnvironmentReads>> & {
  readonly control_view: ActiveView;
  readonly recordPageView: RecordPageView;
  readonly pictures: Pictures;
  readonly now: () => number;
  readonly stopping?: AbortSignal | undefined;
};

export type ReadHandler = (deps: ReadDeps, request: ApiRequest) => Promise<Answer>;

/** Returns the store in the query, by default the token's first. Throws `store_access_denied` and `invalid_uuid`. */
export function requestedStore(request: ApiRequest): StoreId {
  return storeOf(request.principal, request.query.store_id?.[0]);
}

/** Returns the view version for a read of one store. Waits for `position`, by default the request's minimum position. */
export async function openStore(
  deps: Readonly<Record<Environment, Pick<EnvironmentReads, 'view'>>>,
  request: ApiRequest,
  store_id: StoreId,
  position = minPositionOf(request),
): Promise<DocumentReader> {
  const { view } = deps[request.principal.environment];
  const version = await activeVersion(view, position);
  if (position !== undefined) await waitForStores(version, view.partition_count, [store_id], position);
  return version;
}

/**
 * Returns the store's document, with its `state` unless other parts are asked for. Throws `store_not_found` unless the store
 * exists and is active (docs/interface/reads.md#visibility).
 */
export async function requireStore(
  version: DocumentReader,
  store_id: string,
  parts: readonly DocumentPart[] = ['state'],
): Promise<StoreDocument> {
  const document = (await version.get('stores', store_id, parts))?.document;
  if (document?.keys.status !== 'active') throw new CatalogError('store_not_found');
  return document;
}

// --- Read your writes ---

/** How long a read waits for its minimum position (docs/interface/reads.md#read-your-writes). */
const MIN_POSITION_WAIT_MS = 2_000;
const RETRY_AFTER_S = 1;

/** Larger than the position of any event, and small enough for an unsigned 64-bit integer. */
const POSITION_MAX: Position = 10n ** 19n;

/**
 * Returns the active version, which the read uses for all its queries. With a minimum position, its documents are never
 * behind its checkpoints. Throws `unavailable` if the realm was never projected.
 */
async function activeVersion(view: ActiveView, position: Position | undefined): Promise<DocumentReader> {
  const version = await view.current();
  if (version) return position === undefined ? version : (version.upToDate ?? version);
  throw new CatalogError('unavailable', { retry_after_s: RETRY_AFTER_S });
}

/**
 * Returns `X-Catalog-Min-Position`, undefined if the header is missing. Throws `invalid_query` if it is not a position.
 */
function minPositionOf(request: ApiRequest): Position | undefined {
  const text = request.header('x-catalog-min-position');
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return least([POSITION_MAX, BigInt(text)]);
  const constraint = 'a position from an X-Catalog-Position header, in decimal digits';
  throw CatalogError.ofFaults([{ condition: 'invalid_query', field: 'X-Catalog-Min-Position', constraint }]);
}

/**
 * Waits until all events of these stores up to `position` are projected. Throws `unavailable` after
 * `MIN_POSITION_WAIT_MS`, for example if the log has not reached the position.
 */
async function waitForStores(
  version: Pick<ViewVersion, 'waitFor'>,
  partition_count: number,
  stores: readonly string[],
  position: Position,
): Promise<void> {
  const partitions = new Set(stores.map((store_id) => partitionOf(store_id, partition_count)));
  const reached = await Promise.all(
    [...partitions].map((partition) => version.waitFor(partition, position, MIN_POSITION_WAIT_MS)),
  );
  if (reached.includes(false)) throw new CatalogError('unavailable', { retry_after_s: RETRY_AFTER_S });
}

/** What reads by id need of a store. They cache it for this time. */
const ACTIVE_MS = 1_000;
const ACTIVE_STORES_MAX = 10_000;

/**
 * Creates the cache of active stores, by id. Other statuses are not cached, so a store that becomes active is readable
 * immediately.
 */
export function activeStores(
  view: ActiveView,
  now: () => number,
  onCache?: CacheObserver,
): TtlCache<ActiveStore> {
  return new TtlCache({
    ttl_ms: ACTIVE_MS,
    entries_max: ACTIVE_STORES_MAX,
    now,
    load: async (store_id) => activeStore(await view.current(), store_id),
    onLookup: (hit) => onCache?.('read_store', hit),
  });
}

/** Returns undefined unless the store exists and is active. */
export async function activeStore(
  version: DocumentReader | undefined,
  store_id: string,
): Promise<ActiveStore | undefined> {
  const document = (await version?.get('stores', store_id, ['state']))?.document;
  return document?.keys.status === 'active' ? settingsOf(document) : undefined;
}

/** Needs the `state` part of the document. */
export function settingsOf({ state }: StoreDocument): ActiveStore {
  const { id, locales, currencies, markets, price_lists } = state.store!;
  return { id, locales, currencies, markets, price_lists };
}

// --- Reads by id ---

/** The collections whose documents are read by id. */
type CollectionById = DocumentVersion['collection'];

const NOT_FOUND: Readonly<Record<CollectionById, Condition>> = {
  listings: 'listing_not_found',
  publications: 'publication_not_found',
  media: 'media_not_found',
  webhooks: 'webhook_not_found',
  proposals: 'proposal_not_found',
};

/** Returns the view version for a read by id. Waits for the minimum position if the request has one. */
export async function openForId(
  deps: ReadDeps,
  request: ApiRequest,
  collection: CollectionById,
): Promise<DocumentReader> {
  const { view } = deps[request.principal.environment];
  const accessible = accessibleStores(request);
  const position = minPositionOf(request);
  const version = await activeVersion(view, position);
  if (position === undefined) return version;
  const stored = await version.get(collection, request.params.id ?? '');
  const store_id = accessibleStoreOf(accessible, stored?.document);
  await waitForStores(version, view.partition_count, store_id ? [store_id] : accessible, position);
  return version;
}

export interface ByIdRead {
  readonly visibility: VisibilityFilter;
  /** `isItemVisible` or `isContainerVisible`. */
  readonly isVisible: VisibilityRule;
  readonly parts: readonly DocumentPart[];
}

/** A document that exists, with its position. */
export interface FoundById<Document> {
  readonly document: Document;
  readonly made_from: DocumentVersion;
  readonly store: ActiveStore;
}

/**
 * Returns the document with the id from the path. Throws `…_not_found` unless the resource belongs to one of the
 * token's stores (or to the store in the query) and is visible with the read's `visibility` (docs/interface/reads.md#visibility).
 * Throws `store_not_found` if its store, or the store in the query, is not active.
 */
export async function findById<Name extends CollectionById>(
  deps: ReadDeps,
  request: ApiRequest,
  version: DocumentReader,
  collection: Name,
  read: ByIdRead,
  not_found: Condition = NOT_FOUND[collection],
): Promise<FoundById<DocumentOf<Name>>> {
  const accessible = accessibleStores(request);
  const id = request.params.id ?? '';
  const stored = await version.get(collection, id, read.parts);
  const document = stored?.document;
  const store_id = accessibleStoreOf(accessible, document);
  // The store in the query must be active even if it does not contain the resource.
  const checked_store = store_id ?? (request.query.store_id && accessible[0]);
  const { active_stores } = deps[request.principal.environment];
  // The prices of a list follow a change of the store at once.
  const is_fresh = minPositionOf(request) !== undefined || request.principal.price_list !== undefined;
  const loadStore = (id: StoreId) => (is_fresh ? activeStore(version, id) : active_stores.get(id));
  const store = checked_store && (await loadStore(checked_store));
  if (checked_store && !store) throw new CatalogError('store_not_found');
  if (!stored || !document || !store_id || !store) throw new CatalogError(not_found);
  if (!read.isVisible(read.visibility, visibilityOf(document))) throw new CatalogError(not_found);
  return { document, made_from: { collection, id, position: stored.position, store_id }, store };
}

/**
 * Returns the store in the query, or all stores of the token. Throws `store_access_denied` if the token does not have
 * the store, or has none at all (docs/interface/access.md#stores-and-environments).
 */
export function accessibleStores(request: ApiRequest): readonly StoreId[] {
  const store_id = requestedStore(request);
  return request.query.store_id === undefined ? request.principal.stores : [store_id];
}

function accessibleStoreOf(
  accessible: readonly StoreId[],
  document: DocumentOf<CollectionById> | null | undefined,
): StoreId | undefined {
  return accessible.find((store_id) => store_id === document?.keys.store_id);
}

/** Returns the visibility. Null for a media, because media have none. */
function visibilityOf({ keys }: DocumentOf<CollectionById>): Visibility | null {
  return 'visibility' in keys ? keys.visibility : null;
}

/**
 * Returns the state of the listing by which a list is filtered: the listing that contains the publications, or the parent
 * of the listings. Returns undefined if the list has no filter by listing. Returns null if the listing does not exist, is
 * not visible or belongs to another store; the list is empty then.
 */
export async function findFilterListing(
  version: DocumentReader,
  { listing_id, visibility }: Pick<ReadQuery, 'visibility'> & { readonly listing_id?: string | undefined },
  store_id: string,
): Promise<ListingDocument['state'] | null | undefined> {
  if (listing_id === undefined) return undefined;
  const document = (await version.get('listings', listing_id, ['state']))?.document;
  const is_visible =
    document?.keys.store_id === store_id && isContainerVisible(visibility, document.keys.visibility);
  return document && is_visible ? document.state : null;
}
