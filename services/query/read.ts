import type { z } from 'zod';
import type { Expandable, VisibilityFilter } from '../../shared/api/requests/reads';
import type { DocumentOf, StoredDocument } from '../../shared/catalog/documents';
import type { Position } from '../../shared/catalog/events/envelope';
import { laneOf } from '../../shared/catalog/events/lanes';
import { least } from '../../shared/catalog/events/positions';
import type { ListingDocument } from '../../shared/catalog/listing/document';
import type { Environment } from '../../shared/catalog/realm';
import { compareByOrder, type SortOrder } from '../../shared/catalog/sorting';
import type { StoreDocument } from '../../shared/catalog/store/document';
import { type Entries, type Entry, EXPANDED_MAX } from '../../shared/catalog/stored-document';
import type { Permission, Visibility } from '../../shared/catalog/vocabulary';
import { storeOf } from '../../shared/http/auth';
import type { CacheObserver } from '../../shared/http/metrics';
import type { ApiRequest, Pictures } from '../../shared/http/route';
import { parseQuery } from '../../shared/http/validation';
import { LRUCache } from '../../shared/kernel/cache';
import { CatalogError, type Condition } from '../../shared/kernel/errors';
import type { StoreId } from '../../shared/kernel/ids';
import { type DocumentReader, typed } from '../../shared/ports/document-reader';
import type {
  ActiveView,
  DocumentPart,
  KeyCondition,
  ViewVersion,
  WordScope,
} from '../../shared/ports/view-store';
import type { RecordView } from './view-counter';

const PERMISSION_TO_EXPAND: Readonly<Record<Expandable, Permission>> = {
  publication: 'read:publications',
  listing: 'read:listings',
  media: 'read:media',
};

export interface ReadQuery {
  readonly visibility: VisibilityFilter;
  readonly expand: readonly Expandable[];
}

/**
 * Parses the query of a read. `adds`: the expansions that add something to its answer. Throws `invalid_query`, and
 * `insufficient_permissions` if a public key asks for what is hidden (decisions §3) or for an expansion that it may not
 * read.
 */
export function parseRead<Query extends ReadQuery>(
  operation: { readonly query: z.ZodType<Query> },
  request: ApiRequest,
  adds: readonly Expandable[],
): Query {
  const query = parseQuery(operation.query, request.query);
  const { key_type, permissions } = request.principal;
  if (query.visibility !== 'public' && key_type === 'public')
    throw new CatalogError('insufficient_permissions', {
      message: `visibility=${query.visibility} needs a secret key`,
    });
  for (const value of adds) {
    const needed = PERMISSION_TO_EXPAND[value];
    if (query.expand.includes(value) && !permissions.includes(needed))
      throw new CatalogError('insufficient_permissions', { message: `expand=${value} needs ${needed}` });
  }
  return query;
}

// --- Visibility ---

/** Returns the visibilities that the filter shows. */
export function visibilitiesOf(filter: VisibilityFilter): readonly Visibility[] {
  return filter === 'all' ? ['public', 'private'] : [filter];
}

export function visibilityKey(filter: VisibilityFilter): KeyCondition {
  return filter === 'all' ? { in: visibilitiesOf(filter) } : filter;
}

/** Returns where to look up words of one store's publications. */
export function wordScope(store_id: string, filter: VisibilityFilter): WordScope {
  return { store_id, visibility: filter === 'all' ? { in: visibilitiesOf(filter) } : filter };
}

/** Whether the filter shows a resource. */
export type Shows = (filter: VisibilityFilter, visibility: Visibility | null) => boolean;

/** Whether the filter shows a resource that was itself asked for: an item of a list, or one by its id. */
export const showsItem: Shows = (filter, visibility) =>
  visibility !== null && visibilitiesOf(filter).includes(visibility);

/**
 * Whether the filter shows a resource that only contains the items asked for, such as a listing its publications. With
 * `public` it must be public. With another filter any will do: hidden items are reached through public containers too.
 */
export const showsContainer: Shows = (filter, visibility) => filter !== 'public' || visibility === 'public';

/** Returns the first entries that the filter shows. For `all` it merges the first of each visibility. */
export function entriesShown(entries: Entries, filter: VisibilityFilter, order: SortOrder): readonly Entry[] {
  if (filter !== 'all') return entries[filter];
  return [...entries.public, ...entries.private]
    .sort((a, b) => compareByOrder(order, a, b))
    .slice(0, EXPANDED_MAX);
}

// --- The store and the version to read from ---

/** One environment's documents. */
export interface ReadSide {
  readonly view: ActiveView;
  readonly statuses: StoreStatuses;
}

export type ReadSides = Readonly<Record<Environment, ReadSide>> & {
  readonly recordView: RecordView;
  readonly pictures: Pictures;
};

/** Returns the store that the request names, else the token's first. Throws `store_access_denied`, `invalid_uuid`. */
export function namedStore(request: ApiRequest): StoreId {
  return storeOf(request.principal, request.query.store_id?.[0]);
}

/** Returns the version to read one store's resources from. Waits until it is as new as the request asks. */
export async function openStore(
  sides: ReadSides,
  request: ApiRequest,
  store_id: StoreId,
): Promise<DocumentReader> {
  const position = minPositionOf(request);
  const { view } = sides[request.principal.environment];
  const version = await activeVersion(view);
  if (position !== undefined) await waitForStores(version, view.lane_count, [store_id], position);
  return version;
}

/** Returns the store's document. Throws `store_not_found` unless the store exists and is active (decisions §3). */
export function assertActive(store: StoredDocument<StoreDocument> | undefined): StoreDocument {
  const document = store?.document;
  if (document?.keys.status !== 'active') throw new CatalogError('store_not_found');
  return document;
}

// --- Read your writes ---

/** How long a read waits for the position that it asks for (decisions §6, "Read your writes"). */
const MIN_POSITION_WAIT_MS = 2_000;
const RETRY_AFTER_S = 1;

/** No log reaches this position, and it fits the 64 bits that the stores count with. */
const BEYOND_ALL: Position = 10n ** 19n;

/** Returns the active version, for one whole read. Throws `unavailable` before anything was projected. */
async function activeVersion(view: ActiveView): Promise<DocumentReader> {
  const version = await view.current();
  if (version) return typed(version);
  throw new CatalogError('unavailable', { retry_after_s: RETRY_AFTER_S });
}

/** Returns `X-Catalog-Min-Position`, undefined if it was not sent. Throws `invalid_query` if it is no position. */
function minPositionOf(request: ApiRequest): Position | undefined {
  const text = request.header('x-catalog-min-position');
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return least([BEYOND_ALL, BigInt(text)]);
  const constraint = 'a position as X-Catalog-Position gave it, in decimal digits';
  throw CatalogError.ofFaults([{ condition: 'invalid_query', field: 'X-Catalog-Min-Position', constraint }]);
}

/**
 * Waits until the version's documents have all events of these stores up to `position`. Throws `unavailable` after 2 s,
 * also for a position that the log has not reached.
 */
async function waitForStores(
  version: Pick<ViewVersion, 'waitFor'>,
  lane_count: number,
  stores: readonly string[],
  position: Position,
): Promise<void> {
  const lanes = new Set(stores.map((store_id) => laneOf(store_id, lane_count)));
  const arrived = await Promise.all(
    [...lanes].map((lane) => version.waitFor(lane, position, MIN_POSITION_WAIT_MS)),
  );
  if (arrived.includes(false)) throw new CatalogError('unavailable', { retry_after_s: RETRY_AFTER_S });
}

const CACHED_MS = 1_000;
const CACHED_STORES_MAX = 10_000;

/**
 * Caches for a second which stores are active, for reads by id, which need nothing else of the store. Caches only
 * "active": a store that opens is open at once.
 */
export class StoreStatuses {
  private readonly now: () => number;
  private readonly onCache: CacheObserver | undefined;
  private readonly active_until_ms = new LRUCache<string, number>({ max: CACHED_STORES_MAX });

  /** `now`: Unix milliseconds. */
  constructor(now: () => number, onCache?: CacheObserver) {
    this.now = now;
    this.onCache = onCache;
  }

  /** Returns false if there is no such store. `fresh` reads the document in any case. */
  async isActive(version: DocumentReader, store_id: string, fresh = false): Promise<boolean> {
    const known = !fresh && (this.active_until_ms.get(store_id) ?? 0) > this.now();
    this.onCache?.('read_store', known);
    if (known) return true;
    const looked_at_ms = this.now();
    const store = await version.get('stores', store_id);
    const active = store?.document?.keys.status === 'active';
    if (active) this.active_until_ms.set(store_id, looked_at_ms + CACHED_MS);
    else this.active_until_ms.delete(store_id);
    return active;
  }
}

// --- Reads by id ---

type ById = 'listings' | 'publications' | 'media';

const MISSING: Readonly<Record<ById, Condition>> = {
  listings: 'listing_not_found',
  publications: 'publication_not_found',
  media: 'media_not_found',
};

/** Returns the version to read a resource by id from. Waits until it is as new as the request asks. */
export async function openForId(
  sides: ReadSides,
  request: ApiRequest,
  collection: ById,
): Promise<DocumentReader> {
  const { view } = sides[request.principal.environment];
  const reach = storesInReach(request);
  const position = minPositionOf(request);
  const version = await activeVersion(view);
  if (position === undefined) return version;
  const known = await version.get(collection, request.params.id ?? '');
  const store_id = storeWithin(reach, known?.document);
  await waitForStores(version, view.lane_count, store_id ? [store_id] : reach, position);
  return version;
}

export interface ByIdRead {
  readonly visibility: VisibilityFilter;
  /** `showsItem` or `showsContainer`. */
  readonly shows: Shows;
  readonly parts: readonly DocumentPart[];
}

/**
 * Returns the resource of the path's `:id`. It must belong to one of the token's stores, and to the one that the request
 * names if it names one. Throws the resource's own "not found" for anything else and for what is hidden (decisions §2,
 * §3), and `store_not_found` for a store that is not active.
 */
export async function findById<Name extends ById>(
  sides: ReadSides,
  request: ApiRequest,
  version: DocumentReader,
  collection: Name,
  read: ByIdRead,
): Promise<DocumentOf<Name>> {
  const reach = storesInReach(request);
  const stored = await version.get(collection, request.params.id ?? '', read.parts);
  const document = stored?.document;
  const store_id = storeWithin(reach, document);
  // A store that the request names must be active even if the resource is not in it.
  const guarded = store_id ?? (request.query.store_id && reach[0]);
  if (guarded) {
    const { statuses } = sides[request.principal.environment];
    const fresh = minPositionOf(request) !== undefined;
    if (!(await statuses.isActive(version, guarded, fresh))) throw new CatalogError('store_not_found');
  }
  if (!document || !store_id || !read.shows(read.visibility, visibilityOf(document)))
    throw new CatalogError(MISSING[collection]);
  return document;
}

/** Throws `store_access_denied` also for a token without any store (decisions §2). */
function storesInReach(request: ApiRequest): readonly StoreId[] {
  const named = namedStore(request);
  return request.query.store_id === undefined ? request.principal.stores : [named];
}

function storeWithin(
  reach: readonly StoreId[],
  document: DocumentOf<ById> | null | undefined,
): StoreId | undefined {
  return reach.find((store_id) => store_id === document?.keys.store_id);
}

/** Returns null for a media, which has no visibility. */
function visibilityOf({ keys }: DocumentOf<ById>): Visibility | null {
  return 'visibility' in keys ? keys.visibility : null;
}

/**
 * Returns the counts of the listing that a list is filtered by. Undefined: the list is not filtered by one. Null: the
 * listing is unknown, hidden or of another store, so nothing matches.
 */
export async function listingAskedFor(
  version: DocumentReader,
  { listing_id, visibility }: ReadQuery & { readonly listing_id?: string | undefined },
  store_id: string,
): Promise<ListingDocument['state'] | null | undefined> {
  if (listing_id === undefined) return undefined;
  const document = (await version.get('listings', listing_id, ['state']))?.document;
  const shown = document?.keys.store_id === store_id && showsContainer(visibility, document.keys.visibility);
  return document && shown ? document.state : null;
}
