import { writeQuerySchema } from '../../shared/api/requests/writes';
import type { Position } from '../../shared/catalog/events/envelope';
import { laneOf } from '../../shared/catalog/events/lanes';
import type { Environment } from '../../shared/catalog/realm';
import { type Store, storeAggregate } from '../../shared/catalog/store/store';
import { storeOf } from '../../shared/http/auth';
import type { CacheObserver } from '../../shared/http/metrics';
import { assertIfMatch } from '../../shared/http/respond';
import type { ApiRequest } from '../../shared/http/route';
import { parseQuery } from '../../shared/http/validation';
import { withTimeout } from '../../shared/kernel/async';
import { TtlCache } from '../../shared/kernel/cache';
import { CatalogError, type Condition } from '../../shared/kernel/errors';
import type { StoreId } from '../../shared/kernel/ids';
import type { Logger } from '../../shared/kernel/log';
import type { BlobStore } from '../../shared/ports/blob-store';
import type { MediaTasks } from '../../shared/ports/media-tasks';
import type { ActiveView } from '../../shared/ports/view-store';
import { load, placeIn, type StoreDeps, type WriteContext } from './execute';

/** What all writes of the HTTP interface have in common: whose they are, where they go, when they can be read. */

export interface SettleDeps {
  readonly views: Readonly<Record<Environment, ActiveView>>;
  readonly log: Logger;
}

/** Where uploads are kept, and who is told of them. */
export interface MediaDeps {
  readonly blobs: Readonly<Record<Environment, { readonly originals: BlobStore }>>;
  readonly mediaTasks: Pick<MediaTasks, 'add'>;
}

/** What the handlers of writes work with. */
export interface RouteDeps extends StoreDeps, SettleDeps, MediaDeps {
  readonly stores: ActiveStores;
}

/** Who asks and for which operation, for the events' metadata. */
export function writeContextOf(request: ApiRequest): WriteContext {
  const { account_id, api_key_id } = request.principal;
  const context: WriteContext = { source: 'api', request_id: request.request_id, account_id, api_key_id };
  if (request.operation === undefined) return context;
  const { idempotency_key, ...operation } = request.operation;
  return { ...context, idempotency_key, operation };
}

/** The store that the query names, checked to be the token's; undefined where it names none. */
function queriedStore(request: ApiRequest): StoreId | undefined {
  const { store_id } = parseQuery(writeQuerySchema, request.query);
  return store_id === undefined ? undefined : storeOf(request.principal, store_id);
}

/**
 * The store that a new resource goes to: the body's, the query's, or the token's first (decisions §2). Throws
 * `field_invalid` where body and query differ, and `store_access_denied`. Whether the store is open is the write's to check.
 */
export function storeNamedForNew(request: ApiRequest, body_store_id: string | null | undefined): StoreId {
  const queried = queriedStore(request);
  if (queried !== undefined && typeof body_store_id === 'string' && body_store_id !== queried) {
    throw CatalogError.ofFaults([
      { condition: 'field_invalid', field: 'store_id', constraint: 'the same store as in the query' },
    ]);
  }
  return queried ?? storeOf(request.principal, body_store_id ?? undefined);
}

/**
 * The guard of a write by id: the resource must be in one of the token's stores and in the one that the query names
 * (else `not_found`), its store active, and `If-Match` right. Checks the query at once, the rest when the resource is read.
 */
export function guardFor(
  request: ApiRequest,
  stores: ActiveStores,
  not_found: Condition,
): (resource: { readonly store_id: StoreId; readonly version: number }) => Promise<void> {
  const queried = queriedStore(request);
  const { principal } = request;
  return async ({ store_id, version }) => {
    const reachable = principal.stores.includes(store_id) && (queried ?? store_id) === store_id;
    if (!reachable) throw new CatalogError(not_found);
    await stores.require(principal.environment, store_id);
    assertIfMatch(request.header('if-match'), version);
  };
}

/** How long a change of a store's status may go unnoticed by writes. */
const TTL_MS = 1_000;
const ENTRIES_MAX = 1_000;

/** Which stores may be written to, asked on every write. */
export class ActiveStores {
  private readonly caches: Readonly<Record<Environment, TtlCache<Store>>>;

  constructor(deps: StoreDeps & { readonly onCache?: CacheObserver }) {
    const cacheOf = (environment: Environment): TtlCache<Store> =>
      new TtlCache({
        ttl_ms: TTL_MS,
        entries_max: ENTRIES_MAX,
        now: deps.system.now,
        load: async (id) => {
          const { state } = await load(placeIn(deps, environment, storeAggregate, id as StoreId));
          return state.tag === 'present' ? state.store : undefined;
        },
        onLookup: (hit) => deps.onCache?.('written_store', hit),
      });
    this.caches = { live: cacheOf('live'), test: cacheOf('test') };
  }

  /** Throws `store_not_found` for a store that is not there, or not active (decisions §3). */
  async require(environment: Environment, id: StoreId): Promise<void> {
    const store = await this.caches[environment].get(id);
    if (store?.status !== 'active') throw new CatalogError('store_not_found');
  }
}

/** How long a write's answer waits for its own event to be projected (design, "Read your writes"). */
const WAIT_MS = 1_000;

/**
 * What every write's answer says of when it can be read: `X-Catalog-Position`. Resolves when the documents hold the
 * write, or after `WAIT_MS`, or at once on `Prefer: respond-async` (RFC 7240 §4.1) and in a store never projected to.
 * `repeated`: an earlier run of the operation wrote it, and the answer says so. Never fails: the write is done.
 */
export async function settle(
  deps: SettleDeps,
  request: ApiRequest,
  store_id: StoreId,
  position: Position,
  repeated = false,
): Promise<Record<string, string>> {
  const headers = {
    'X-Catalog-Position': String(position),
    ...(repeated ? { 'Idempotent-Replayed': 'true' } : {}),
  };
  if (prefersAsync(request.header('prefer'))) return { ...headers, 'Preference-Applied': 'respond-async' };
  try {
    const view = deps.views[request.principal.environment];
    // A view store that is away may take longer to say so than the answer may wait.
    if (!(await withTimeout(projected(view, store_id, position), WAIT_MS, () => false)))
      deps.log.warn({ store_id, position: headers['X-Catalog-Position'] }, 'write not projected yet');
  } catch (error) {
    deps.log.warn({ err: error, store_id }, 'could not wait for the projection of a write');
  }
  return headers;
}

/** True also where nothing was ever projected: there is nothing to wait for then. */
async function projected(view: ActiveView, store_id: StoreId, position: Position): Promise<boolean> {
  const version = await view.current();
  if (!version) return true;
  return version.waitFor(laneOf(store_id, view.lane_count), position, WAIT_MS);
}

function prefersAsync(prefer: string | undefined): boolean {
  return (prefer ?? '')
    .split(/[,;]/)
    .some((preference) => preference.trim().toLowerCase() === 'respond-async');
}
