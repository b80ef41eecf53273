import { writeQuerySchema } from '../../shared/api/requests/writes';
import type { JsonObject, Position } from '../../shared/catalog/events/envelope';
import { partitionOf } from '../../shared/catalog/events/partitions';
import type { Environment } from '../../shared/catalog/realm';
import { type Store, storeAggregate } from '../../shared/catalog/store/store';
import { storeOf } from '../../shared/http/auth';
import type { CacheObserver } from '../../shared/http/metrics';
import { assertIfMatch } from '../../shared/http/respond';
import type { Answer, ApiRequest } from '../../shared/http/route';
import { parseQuery } from '../../shared/http/validation';
import { withTimeout } from '../../shared/kernel/async';
import { TtlCache } from '../../shared/kernel/cache';
import type { Config } from '../../shared/kernel/config';
import { CatalogError, type Condition, invalidField } from '../../shared/kernel/errors';
import type { AccountId, StoreId } from '../../shared/kernel/ids';
import type { Logger } from '../../shared/kernel/log';
import type { BlobStore } from '../../shared/ports/blob-store';
import type { ActiveView, DocumentReader } from '../../shared/ports/document-reader';
import type { MediaTaskQueue } from '../../shared/ports/media-tasks';
import { findInLog } from '../../shared/ports/stream-state';
import type { Guard, StoreDeps, WriteContext, Written } from './execute';

/** What all write endpoints share: the context, the store, the guard, and waiting for the projection. */

export interface ProjectionDeps {
  readonly views: Readonly<Record<Environment, ActiveView>>;
  readonly log: Logger;
}

/** Where uploads are stored, and the task queue for their pictures. */
export interface MediaDeps {
  readonly blobs: Readonly<Record<Environment, { readonly originals: BlobStore }>>;
  readonly mediaTasks: Pick<MediaTaskQueue, 'add'>;
}

/** Dependencies of the write handlers. */
export interface RouteDeps extends StoreDeps, ProjectionDeps, MediaDeps {
  readonly config: Pick<Config, 'WEBHOOKS' | 'WEBHOOKS_PER_STORE'>;
  readonly stores: ActiveStores;
}

/** Returns the context of a request, which becomes metadata of its events. */
export function writeContextOf(request: ApiRequest): WriteContext {
  const { account_id, api_key_id } = request.principal;
  const { request_id, run, beforeSend, planned, onNames } = request;
  const requester = { source: 'api', request_id, run, account_id, api_key_id } as const;
  const context: WriteContext = { ...requester, beforeSend, planned, onNames };
  if (request.operation === undefined) return context;
  const { idempotency_key, ...operation } = request.operation;
  return { ...context, idempotency_key, operation };
}

/**
 * Returns the store in the query, undefined if there is none. Throws `store_access_denied` if the token does not have
 * it.
 */
function storeInQuery(request: ApiRequest): StoreId | undefined {
  const { store_id } = parseQuery(writeQuerySchema, request.query);
  return store_id === undefined ? undefined : storeOf(request.principal, store_id);
}

/**
 * Returns the store for a new resource: the one in the body or in the query, by default the token's first
 * (docs/interface/access.md#stores-and-environments). Throws `field_invalid` if body and query differ, and
 * `store_access_denied`. Does not check that the store is active; `ActiveStores.require` does.
 */
export function storeForNew(request: ApiRequest, body_store_id: string | null | undefined): StoreId {
  const store_in_query = storeInQuery(request);
  if (store_in_query !== undefined && typeof body_store_id === 'string' && body_store_id !== store_in_query) {
    throw CatalogError.ofFaults([invalidField('store_id', 'the same store as in the query')]);
  }
  return store_in_query ?? storeOf(request.principal, body_store_id ?? undefined);
}

/**
 * Returns a guard that throws `not_found` unless the resource is in one of the token's stores and in the store of the
 * query, `store_not_found` unless that store is active, and `precondition_failed` if `If-Match` does not name the `version`
 * of the resource. Without a version, `If-Match` is not compared. Parses the query at the call, so that an invalid query is
 * reported before the resource is loaded.
 */
export function guardFor(
  request: ApiRequest,
  stores: ActiveStores,
  not_found: Condition,
): Guard<{ readonly store_id: StoreId; readonly version?: number }> {
  const store_in_query = storeInQuery(request);
  const { principal } = request;
  return async ({ store_id, version }) => {
    const is_accessible = principal.stores.includes(store_id) && (store_in_query ?? store_id) === store_id;
    if (!is_accessible) throw new CatalogError(not_found);
    await stores.require(principal.environment, store_id);
    if (version !== undefined) assertIfMatch(request.header('if-match'), version);
  };
}

/** How long writes may use an outdated status of a store. */
const TTL_MS = 1_000;
const ENTRIES_MAX = 1_000;

/** Checks that a store is active, with a cache, because every write does it. */
export class ActiveStores {
  private readonly caches: Readonly<Record<Environment, TtlCache<Store>>>;

  constructor(deps: StoreDeps & { readonly onCache?: CacheObserver }) {
    const cacheOf = (environment: Environment): TtlCache<Store> =>
      new TtlCache({
        ttl_ms: TTL_MS,
        entries_max: ENTRIES_MAX,
        now: deps.system.now,
        load: (id) => findInLog(deps, environment, storeAggregate, id as StoreId),
        onLookup: (hit) => deps.onCache?.('written_store', hit),
      });
    this.caches = { live: cacheOf('live'), test: cacheOf('test') };
  }

  /** Returns the store with any status. */
  known(environment: Environment, id: StoreId): Promise<Store | undefined> {
    return this.caches[environment].get(id);
  }

  /** Lets the next write read the store. */
  forget(environment: Environment, id: StoreId): void {
    this.caches[environment].delete(id);
  }

  /** Returns the store. Throws `store_not_found` unless it exists and is active (docs/interface/reads.md#visibility). */
  async require(environment: Environment, id: StoreId): Promise<Store> {
    const store = await this.known(environment, id);
    if (store?.status !== 'active') throw new CatalogError('store_not_found');
    return store;
  }
}

/** How long the response to a write waits until its events are projected (docs/interface/reads.md#read-your-writes). */
const WAIT_MS = 1_000;
/** The wait ends this long before the response must begin. */
const RENDERING_MS = 100;

/**
 * Waits until the write is projected, and returns the response headers, with the position of the write. Does not wait
 * longer than `WAIT_MS` or `answer_by_ms`, and not at all with `Prefer: respond-async` (RFC 7240 §4.1) or if nothing
 * was ever projected. `repeated`: an earlier run of the operation did the write. Never throws, because the write is
 * already done.
 */
export async function awaitProjection(
  deps: ProjectionDeps,
  request: ApiRequest,
  store_id: StoreId,
  { position, repeated = false }: Pick<Written<unknown>, 'position' | 'repeated'>,
): Promise<Record<string, string>> {
  const headers = {
    'X-Catalog-Position': String(position),
    ...(repeated ? { 'Idempotent-Replayed': 'true' } : {}),
  };
  if (prefersAsync(request.header('prefer'))) return { ...headers, 'Preference-Applied': 'respond-async' };
  try {
    const view = deps.views[request.principal.environment];
    const left_ms = request.answer_by_ms - RENDERING_MS - performance.now();
    const wait_ms = Math.min(WAIT_MS, Math.max(0, left_ms));
    // A second timeout, because a view store that is unavailable may take longer than `WAIT_MS` to report it.
    if (!(await withTimeout(waitUntilProjected(view, store_id, position), wait_ms, () => false)))
      deps.log.warn({ store_id, position: headers['X-Catalog-Position'] }, 'write not projected yet');
  } catch (error) {
    deps.log.warn({ err: error, store_id }, 'could not wait for the projection of a write');
  }
  return headers;
}

/**
 * Returns the answer to a write of a resource, after `awaitProjection`. `dataOf` returns the data after the wait. `location`:
 * the address of a resource that the write has created.
 */
export async function answerTo<Value extends { readonly store_id: StoreId; readonly version: number }>(
  deps: ProjectionDeps,
  request: ApiRequest,
  written: Written<Value>,
  dataOf: (value: Value) => JsonObject | Promise<JsonObject>,
  location?: string,
): Promise<Omit<Answer, 'data'> & { readonly data: JsonObject }> {
  const { value } = written;
  const headers = await awaitProjection(deps, request, value.store_id, written);
  const answer = { data: await dataOf(value), version: value.version, headers };
  return location === undefined
    ? answer
    : { ...answer, status: 201, headers: { ...headers, Location: location } };
}

/** Returns whether the position was projected in time. Returns true if there is no active version to wait for. */
export async function waitUntilProjected(
  view: ActiveView,
  owner: StoreId | AccountId,
  position: Position,
  wait_ms = WAIT_MS,
): Promise<boolean> {
  const version = await view.current();
  if (!version) return true;
  return version.waitFor(partitionOf(owner, view.partition_count), position, wait_ms);
}

/**
 * Returns what `readIn` reads from documents, such as counts. Returns undefined if the view store has no active version or
 * does not answer within `WAIT_MS`: the response to a write that is done must not fail.
 */
export async function readView<Result>(
  { views, log }: ProjectionDeps,
  environment: Environment,
  readIn: (version: DocumentReader) => Promise<Result>,
): Promise<Result | undefined> {
  const read = async (): Promise<Result | undefined> => {
    const version = await views[environment].current();
    return version && readIn(version.upToDate ?? version);
  };
  try {
    return await withTimeout(read(), WAIT_MS, () => undefined);
  } catch (error) {
    log.warn({ err: error }, 'could not read a count for the response to a write');
    return undefined;
  }
}

function prefersAsync(prefer: string | undefined): boolean {
  return (prefer ?? '')
    .split(/[,;]/)
    .some((preference) => preference.trim().toLowerCase() === 'respond-async');
}
